//! What a fuzz target is.

use crate::RandomSource;

/// One parser of foreign bytes, behind the entry point that such bytes take in the product.
pub trait FuzzTarget {
    /// Inputs to start from: good ones, and ones that are broken in telling ways.
    fn seeds(&self) -> Vec<Vec<u8>>;

    /// Words of the format.
    fn dictionary(&self) -> &'static [&'static str];

    /// Hands the input to the parser and checks what comes back. Panics when a promise is broken.
    ///
    /// Returns the kind of outcome. Inputs with an outcome not seen before become seeds, so it should say which parts
    /// of the parser were reached, and nothing that differs from run to run.
    fn execute(&mut self, input: &[u8]) -> String;

    /// Makes sums and lengths right again after a mutation, where without them nothing else would be read.
    fn restore(&self, _input: &mut Vec<u8>, _random: &mut RandomSource) {}

    /// The longest input that is made.
    fn max_bytes(&self) -> usize {
        64 * 1024
    }
}

/// A target by name.
#[derive(Debug, Clone, Copy)]
pub struct TargetInfo {
    pub name: &'static str,
    /// What is parsed, for the list of targets.
    pub about: &'static str,
    /// Executions in a short run, chosen so that it takes a few seconds in a debug build.
    pub short_run: u64,
    pub open: fn() -> Box<dyn FuzzTarget>,
}

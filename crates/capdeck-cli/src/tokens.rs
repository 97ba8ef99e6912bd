//! Counts tokens exactly, as budgets do.

use crate::errors::Failure;

/// A counter of tokens.
pub(crate) struct Tokens(&'static tiktoken::CoreBpe);

impl Tokens {
    /// The name of the encoding, as output shows it.
    pub(crate) const ENCODING: &'static str = "o200k";

    pub(crate) fn new() -> Result<Self, Failure> {
        let name = format!("{}_base", Self::ENCODING);
        tiktoken::get_encoding(&name)
            .map(Self)
            .ok_or_else(|| Failure::bug(format!("the encoding {name} is missing")))
    }

    pub(crate) fn count(&self, text: &str) -> usize {
        self.0.count(text)
    }
}

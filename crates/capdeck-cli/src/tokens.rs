//! Counts tokens exactly, as budgets do.

/// A counter of tokens.
pub(crate) struct Tokens(tiktoken::CoreBpe);

impl Tokens {
    /// The name of the encoding, as output shows it.
    pub(crate) const ENCODING: &'static str = "o200k";

    pub(crate) fn new() -> Self {
        // By its own function and not by its name: the way by name has the words of every encoding put into the binary.
        Self(tiktoken::encoding::o200k_base())
    }

    pub(crate) fn count(&self, text: &str) -> usize {
        self.0.count(text)
    }
}

//! Texts at addresses. The command line fetches them with the client that all outgoing requests use.

/// Fetches what stands at an address. Implemented by the command line, called while content is gathered.
pub trait Fetch {
    /// The body of a successful answer.
    fn fetch(&self, url: &str) -> Result<Vec<u8>, FetchError>;
}

/// An address did not answer with what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FetchError {
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

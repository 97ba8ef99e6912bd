//! Work that waits for the disk.

use tokio::task::JoinError;

use crate::{OAuthError, inbound::RegistryError};

/// Runs work that waits for the disk on a thread of its own. It is finished even when its caller stops waiting.
pub(crate) async fn blocking<T: Send + 'static, E: From<JoinError> + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    tokio::task::spawn_blocking(work).await?
}

impl From<JoinError> for OAuthError {
    fn from(error: JoinError) -> Self {
        Self::Client { reason: error.to_string() }
    }
}

impl From<JoinError> for RegistryError {
    fn from(error: JoinError) -> Self {
        Self::Disk { path: "the registry".to_owned(), reason: error.to_string() }
    }
}

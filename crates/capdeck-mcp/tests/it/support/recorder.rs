//! A handler that remembers what a server sent, and answers every request alike.

use std::sync::Arc;

use async_trait::async_trait;
use capdeck_mcp::{RawObject, RpcError, client::ClientHandler};
use serde_json::value::RawValue;
use tokio::sync::{Mutex, mpsc};

use super::raw;

/// Remembers methods in order of arrival.
pub(crate) struct Recorder {
    sender: mpsc::UnboundedSender<String>,
    seen: Mutex<mpsc::UnboundedReceiver<String>>,
}

impl Recorder {
    pub(crate) fn new() -> Arc<Self> {
        let (sender, seen) = mpsc::unbounded_channel();
        Arc::new(Self { sender, seen: Mutex::new(seen) })
    }

    /// The next method that came in.
    pub(crate) async fn next(&self) -> String {
        super::soon(async { self.seen.lock().await.recv().await.unwrap() }).await
    }

    /// What came in and was not asked for.
    pub(crate) async fn rest(&self) -> Vec<String> {
        let mut seen = self.seen.lock().await;
        std::iter::from_fn(|| seen.try_recv().ok()).collect()
    }
}

#[async_trait]
impl ClientHandler for Recorder {
    fn notification(&self, method: &str, _params: Option<RawObject>) {
        self.sender.send(method.to_owned()).unwrap();
    }

    async fn request(
        &self,
        method: &str,
        _params: Option<RawObject>,
    ) -> Result<Box<RawValue>, RpcError> {
        self.sender.send(method.to_owned()).unwrap();
        Ok(raw(r#"{"action":"accept"}"#))
    }
}

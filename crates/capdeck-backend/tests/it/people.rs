//! A caller and a listener that remember what reached them.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use capdeck_backend::{CallContext, CallError, CallerHandle};
use capdeck_catalog::RawMembers;
use serde_json::value::RawValue;
use tokio::sync::{Mutex, mpsc};

/// Both roles at once; every request is answered with `accept`.
pub(crate) struct Person {
    sender: mpsc::UnboundedSender<String>,
    heard: Mutex<mpsc::UnboundedReceiver<String>>,
}

impl Person {
    pub(crate) fn new() -> Arc<Self> {
        let (sender, heard) = mpsc::unbounded_channel();
        Arc::new(Self { sender, heard: Mutex::new(heard) })
    }

    /// The next thing that reached this person.
    pub(crate) async fn next(&self) -> String {
        let next = async { self.heard.lock().await.recv().await.unwrap() };
        tokio::time::timeout(Duration::from_secs(20), next).await.expect("nothing was heard")
    }

    /// Everything that reached this person and was not asked for.
    pub(crate) async fn rest(&self) -> Vec<String> {
        let mut heard = self.heard.lock().await;
        std::iter::from_fn(|| heard.try_recv().ok()).collect()
    }

    /// A context in which this person calls.
    pub(crate) fn calls(self: &Arc<Self>, timeout: Duration) -> CallContext {
        CallContext { caller: Arc::clone(self) as _, ..CallContext::detached(timeout) }
    }

    fn hear(&self, what: String) {
        self.sender.send(what).unwrap();
    }
}

#[async_trait]
impl CallerHandle for Person {
    fn wants_progress(&self) -> bool {
        true
    }

    fn progress(&self, params: RawMembers) {
        self.hear(serde_json::to_string(&params).unwrap());
    }

    fn notify(&self, method: &str, _params: Option<RawMembers>) {
        self.hear(method.to_owned());
    }

    async fn request(
        &self,
        method: &str,
        _params: Option<RawMembers>,
    ) -> Result<Box<RawValue>, CallError> {
        self.hear(method.to_owned());
        Ok(RawValue::from_string(r#"{"action":"accept","content":{}}"#.to_owned()).unwrap())
    }
}

//! What all clients of one fixture process share.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use capdeck_mcp::{
    RawObject, RpcError,
    server::{ClientHello, ClientPeer, ServerSession, SessionFactory},
};
use serde_json::json;

use super::{
    call::raw_object,
    listeners::{ChangedList, FixtureListeners},
    session::FixtureSession,
    tasks::FixtureTaskTable,
};

/// The server. Lists, tasks and who listens belong to the process; everything else to a session.
#[derive(Default)]
pub struct ConformanceFixture {
    pub(super) tasks: FixtureTaskTable,
    /// Whether the tool that comes and goes is there.
    extra_tool: AtomicBool,
    /// Whether the prompt that comes and goes is there.
    extra_prompt: AtomicBool,
    pub(super) listeners: FixtureListeners,
}

impl ConformanceFixture {
    /// A server as it is at its start.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(super) fn has_extra_tool(&self) -> bool {
        self.extra_tool.load(Ordering::Relaxed)
    }

    pub(super) fn has_extra_prompt(&self) -> bool {
        self.extra_prompt.load(Ordering::Relaxed)
    }

    /// Adds or removes a tool and tells everyone.
    pub(super) fn change_tools(&self) {
        self.extra_tool.fetch_xor(true, Ordering::Relaxed);
        self.listeners.announce(ChangedList::Tools);
    }

    /// Adds or removes a prompt and tells everyone.
    pub(super) fn change_prompts(&self) {
        self.extra_prompt.fetch_xor(true, Ordering::Relaxed);
        self.listeners.announce(ChangedList::Prompts);
    }
}

/// The service is a handle, so that sessions can keep one too.
pub(super) struct FixtureService(pub(super) Arc<ConformanceFixture>);

#[async_trait]
impl SessionFactory for FixtureService {
    async fn open(
        &self,
        hello: ClientHello,
        peer: ClientPeer,
    ) -> Result<Arc<dyn ServerSession>, RpcError> {
        Ok(Arc::new(FixtureSession::open(Arc::clone(&self.0), &hello, peer)))
    }
}

/// What the server says about itself in an era.
pub(super) fn description(modern: bool) -> RawObject {
    let mut capabilities = json!({
        "tools": { "listChanged": true },
        "resources": { "subscribe": true, "listChanged": true },
        "prompts": { "listChanged": true },
        "completions": {},
        "logging": {},
        "extensions": { super::skills::EXTENSION: { "directoryRead": true } },
    });
    // Tasks were part of the protocol before they became an extension.
    if modern {
        capabilities["extensions"][super::tasks::EXTENSION] = json!({});
    } else {
        capabilities["tasks"] =
            json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
    }
    raw_object(&json!({
        "capabilities": capabilities,
        "serverInfo": { "name": "capdeck-conformance", "version": "1.0.0" },
        "instructions": "Call the tool that a scenario names.",
    }))
}

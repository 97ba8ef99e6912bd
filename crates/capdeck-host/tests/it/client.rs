//! A scripted client: answers what servers ask it and remembers what it was informed.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use capdeck_host::{
    CallContext, CallError, CallerHandle, ClientProfile, ErrorCode, Host, Principal, RawMembers,
    Session, SessionContinuity, SessionScope, SessionSettings, TaskForm, ViewPolicy,
};
use parking_lot::Mutex;
use serde_json::{Value, json, value::RawValue};

use crate::deck::raw;

/// A client that answers every question the same way, with its own name if nothing else was said.
pub(crate) struct ScriptedClient {
    name: String,
    reply: Option<Value>,
    received: Mutex<Vec<ReceivedMessage>>,
}

/// One thing the client was informed or asked, and on which way.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReceivedMessage {
    pub(crate) channel: MessageChannel,
    pub(crate) method: String,
    pub(crate) params: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageChannel {
    /// While a call of its own runs.
    Call,
    /// Outside any call.
    Session,
}

impl ScriptedClient {
    pub(crate) fn new(name: &str) -> Arc<Self> {
        let content = json!({ "name": name });
        Self::answering(name, Some(json!({ "action": "accept", "content": content })))
    }

    /// A client with this answer to everything; `None` fails to answer.
    pub(crate) fn answering(name: &str, reply: Option<Value>) -> Arc<Self> {
        Arc::new(Self { name: name.to_owned(), reply, received: Mutex::default() })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn received(&self) -> Vec<ReceivedMessage> {
        self.received.lock().clone()
    }

    /// The methods it heard, in order.
    pub(crate) fn methods(&self) -> Vec<String> {
        self.received().into_iter().map(|received| received.method).collect()
    }

    /// A session of this client that declares these capabilities.
    pub(crate) fn session(
        self: &Arc<Self>,
        host: &Host,
        scope: SessionScope,
        capabilities: &[&str],
    ) -> Arc<Session> {
        let declared = capabilities.iter().map(|key| ((*key).to_owned(), raw(&json!({}))));
        let (declared, principal) = (declared.collect(), Principal::local());
        self.session_of(host, scope, declared, principal, TaskForm::Awaited)
    }

    /// A session of this client that speaks for this principal and knows tasks in this form.
    pub(crate) fn session_of(
        self: &Arc<Self>,
        host: &Host,
        scope: SessionScope,
        capabilities: RawMembers,
        principal: Principal,
        tasks: TaskForm,
    ) -> Arc<Session> {
        let info = [("name".to_owned(), raw(&json!(self.name)))];
        host.session(SessionSettings {
            scope,
            client_name: self.name.clone(),
            principal,
            client: ClientProfile { info: Some(info.into_iter().collect()), capabilities },
            listener: Arc::new(SessionListener(self.clone())),
            tasks,
            continuity: SessionContinuity::Connection,
            access: None,
            shares_files: true,
        })
    }

    /// A session with the whole deck.
    pub(crate) fn agent(self: &Arc<Self>, host: &Host, capabilities: &[&str]) -> Arc<Session> {
        self.session(host, SessionScope::Deck(ViewPolicy::default()), capabilities)
    }

    /// The context of a call this client makes.
    pub(crate) fn context(self: &Arc<Self>) -> CallContext {
        CallContext { timeout: None, caller: self.clone(), ..CallContext::detached(Duration::ZERO) }
    }

    fn note(&self, channel: MessageChannel, method: &str, params: Option<RawMembers>) {
        let params = serde_json::to_value(params).unwrap();
        self.received.lock().push(ReceivedMessage { channel, method: method.to_owned(), params });
    }

    fn answer(&self) -> Result<Box<RawValue>, CallError> {
        let cannot = || CallError::new(ErrorCode::UnsupportedCapability, "it cannot answer");
        self.reply.as_ref().map(raw).ok_or_else(cannot)
    }
}

#[async_trait]
impl CallerHandle for ScriptedClient {
    fn wants_progress(&self) -> bool {
        true
    }

    fn progress(&self, params: RawMembers) {
        self.note(MessageChannel::Call, "progress", Some(params));
    }

    fn notify(&self, method: &str, params: Option<RawMembers>) {
        self.note(MessageChannel::Call, method, params);
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawMembers>,
    ) -> Result<Box<RawValue>, CallError> {
        self.note(MessageChannel::Call, method, params);
        self.answer()
    }
}

/// Receives what servers send outside a call.
struct SessionListener(Arc<ScriptedClient>);

#[async_trait]
impl CallerHandle for SessionListener {
    fn notify(&self, method: &str, params: Option<RawMembers>) {
        self.0.note(MessageChannel::Session, method, params);
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawMembers>,
    ) -> Result<Box<RawValue>, CallError> {
        self.0.note(MessageChannel::Session, method, params);
        self.0.answer()
    }
}

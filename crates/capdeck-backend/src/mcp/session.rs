//! The live session with one server: sends requests, reopens a lost session, explains its end.

mod clients;
mod end;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use capdeck_auth::SecretScrubber;
use capdeck_catalog::{RawMembers, ServerDetails};
use capdeck_definition::{CapabilityId, StartLimit};
use capdeck_mcp::{
    Era,
    client::{
        ClientDescription, ClientError, EraChoice, InputRequiredMode, McpClient, RequestOptions,
        ServerHello,
    },
};
use parking_lot::Mutex;
use serde_json::value::{RawValue, to_raw_value};
use tokio_util::sync::CancellationToken;

use self::clients::McpClientRecords;
use super::{
    MessageBridge, ServerScrubber,
    failure::McpOperation,
    subscriptions::{SUBSCRIBE, ServerSubscriptions, UNSUBSCRIBE},
};
use crate::{
    CallContext, CallError, CallResult, CallerHandle, ErrorCode, process::Process,
    process_log::ProcessLog, start_allowance::StartAllowance,
};

/// A call ends after this many timeouts, regardless of progress.
const MAX_TIMEOUTS_PER_CALL: u32 = 10;

/// The maximum number of lost sessions per request. Other requests consume sessions too.
const MAX_SESSION_REOPENS: u32 = 3;

const NOTIFY_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct McpSessionParts {
    pub(super) id: CapabilityId,
    pub(super) client: McpClient,
    pub(super) process: Option<Process>,
    pub(super) log: ProcessLog,
    pub(super) listener: Arc<dyn CallerHandle>,
    pub(super) introduction: ClientDescription,
    pub(super) own_info: RawMembers,
    pub(super) era: EraChoice,
    /// From earlier connections.
    pub(super) refuses_other_era: Option<Era>,
    pub(super) call_timeout: Duration,
    pub(super) log_scrubber: SecretScrubber,
    /// Removed from everything that the server sends.
    pub(super) given: Arc<ServerScrubber>,
}

pub(super) struct McpSession {
    parts: McpSessionParts,
    /// How long a session may take to open again.
    reopen_timeout: Duration,
    facts: Mutex<ServerDetails>,
    is_modern: AtomicBool,
    clients: McpClientRecords,
    subscriptions: ServerSubscriptions,
    watched_tasks: Mutex<Vec<String>>,
    /// The last level sent to a legacy server; held while it is sent.
    sent_level: tokio::sync::Mutex<Option<String>>,
    /// Counts handshakes; held during one, so that concurrent calls that find the session lost reopen it once.
    handshakes: tokio::sync::Mutex<u64>,
    /// Cancelled when the host ends the session.
    stop: CancellationToken,
    /// Cancelled when the connection and its process are gone.
    gone: CancellationToken,
}

pub(super) struct McpStartError {
    pub(super) status: Option<u16>,
    /// True when the server exited instead of answering.
    pub(super) ended: bool,
    pub(super) error: CallError,
}

impl McpSession {
    /// Runs the handshake. The process ends with the session, and the session when `stop` is cancelled.
    pub(super) async fn start(
        parts: McpSessionParts,
        allowance: &StartAllowance,
        stop: CancellationToken,
    ) -> Result<Arc<Self>, McpStartError> {
        let clients = McpClientRecords::new(parts.own_info.clone());
        let session = Arc::new(Self {
            parts,
            reopen_timeout: allowance.limit.least,
            facts: Mutex::default(),
            is_modern: AtomicBool::new(false),
            clients,
            subscriptions: ServerSubscriptions::default(),
            watched_tasks: Mutex::default(),
            sent_level: tokio::sync::Mutex::default(),
            handshakes: tokio::sync::Mutex::new(0),
            stop,
            gone: CancellationToken::new(),
        });
        tokio::spawn(Arc::clone(&session).watch_end());
        let started = tokio::select! {
            started = session.introduce(session.parts.era, allowance.remaining()) => started,
            after = allowance.ended(&session.parts.log, session.parts.process.as_ref()) => {
                Err(ClientError::Timeout { method: "initialize".to_owned(), after })
            }
        };
        match started {
            Ok(()) => Ok(session),
            Err(error) => {
                let status = match &error {
                    ClientError::Http { status, .. } => Some(*status),
                    _ => None,
                };
                let ended = matches!(error, ClientError::Closed { .. });
                let error = match error {
                    // Several requests were needed to find the era; the definition has one limit for all.
                    ClientError::Timeout { method, after } => {
                        let StartLimit { least, most, .. } = allowance.limit;
                        ClientError::Timeout { method, after: after.clamp(least, most) }
                    }
                    error => error,
                };
                let error = session.explain(McpOperation::Start, error).await;
                Err(McpStartError { status, ended, error })
            }
        }
    }

    pub(super) fn id(&self) -> &str {
        self.parts.id.as_str()
    }

    pub(super) fn is_modern(&self) -> bool {
        self.is_modern.load(Ordering::Relaxed)
    }

    pub(super) fn facts(&self) -> ServerDetails {
        self.facts.lock().clone()
    }

    pub(super) fn timeout(&self, context: &CallContext) -> Duration {
        context.timeout.unwrap_or(self.parts.call_timeout)
    }

    pub(super) async fn request(
        &self,
        method: &str,
        params: Option<RawMembers>,
        context: &CallContext,
        operation: McpOperation<'_>,
    ) -> CallResult {
        match method {
            SUBSCRIBE | UNSUBSCRIBE => {
                return self.subscriptions.update(self, method, params, context).await;
            }
            "logging/setLevel" => return self.set_level(params, context).await,
            _ => self.send_log_level(context).await,
        }
        let caller = Arc::clone(&context.caller);
        let mut options = self.options(context);
        if caller.takes_input_required() {
            options.input_required = InputRequiredMode::HandBack;
        }
        let given = Arc::clone(&self.parts.given);
        let target = Arc::clone(&caller);
        options.events = Some(Arc::new(MessageBridge { target, given: Arc::clone(&given) }));
        options.group = self.client_group(context);
        let wants_progress = caller.wants_progress();
        // Tool calls always request progress: it shows that a long call is alive.
        if wants_progress || matches!(operation, McpOperation::Tool { .. }) {
            options.on_progress = Some(Arc::new(move |params| {
                if wants_progress {
                    caller.progress(given.scrub_params(params));
                }
            }));
        }
        let outcome = match self.parts.process {
            // A process has no session that it could lose.
            Some(_) => self.parts.client.request(method, params, options).await,
            None => self.send(method, params, options).await,
        };
        match outcome {
            Ok(result) => Ok(self.parts.given.scrub(result)),
            Err(error) => Err(self.explain(operation, error).await),
        }
    }

    pub(super) async fn forward(
        &self,
        method: &str,
        params: Option<RawMembers>,
        context: &CallContext,
    ) -> CallResult {
        match self.send(method, params, self.options(context)).await {
            Ok(result) => Ok(self.parts.given.scrub(result)),
            Err(error) => Err(self.explain(McpOperation::from_method(method), error).await),
        }
    }

    pub(super) async fn watch_resources(
        &self,
        uris: Vec<String>,
        context: &CallContext,
    ) -> Result<(), CallError> {
        if !self.can_watch() {
            let message = format!("`{}` does not report resource changes", self.id());
            return Err(CallError::new(ErrorCode::UnsupportedCapability, message));
        }
        let watching = self.parts.client.watch_resources(uris, self.timeout(context));
        self.until_cancelled(watching, McpOperation::Resource, context).await
    }

    pub(super) async fn watch_tasks(
        &self,
        ids: Vec<String>,
        context: &CallContext,
    ) -> Result<(), CallError> {
        self.watched_tasks.lock().clone_from(&ids);
        let watching = self.parts.client.watch_tasks(ids, self.timeout(context));
        self.until_cancelled(watching, McpOperation::from_method("tasks/get"), context).await
    }

    async fn until_cancelled(
        &self,
        watching: impl Future<Output = Result<(), ClientError>>,
        operation: McpOperation<'_>,
        context: &CallContext,
    ) -> Result<(), CallError> {
        let watched = tokio::select! {
            watched = watching => watched,
            () = context.cancel.cancelled() => Err(ClientError::Cancelled),
        };
        match watched {
            Ok(()) => Ok(()),
            Err(error) => Err(self.explain(operation, error).await),
        }
    }

    fn options(&self, context: &CallContext) -> RequestOptions {
        let timeout = self.timeout(context);
        let mut options = RequestOptions {
            max_timeout: timeout.saturating_mul(MAX_TIMEOUTS_PER_CALL),
            cancel: context.cancel.clone(),
            ..RequestOptions::within(timeout)
        };
        if self.is_modern() {
            options.client = context.client.as_ref().map(|client| self.clients.hello(client));
            let standing = || self.clients.level(context.client.as_ref());
            options.log_level = context.log_level.clone().or_else(standing);
        }
        options
    }

    /// Calls with the same number are for the same client. A connection without client capabilities may be shared,
    /// and then only the call names its client.
    fn client_group(&self, context: &CallContext) -> Option<u64> {
        match &context.client {
            Some(client) => u64::try_from(Arc::as_ptr(client).addr()).ok(),
            None => (!self.parts.introduction.capabilities.is_empty()).then_some(0),
        }
    }

    fn can_watch(&self) -> bool {
        let facts = self.facts.lock();
        let resources = facts.capabilities.get("resources");
        let declared =
            resources.and_then(|text| serde_json::from_str::<RawMembers>(text.get()).ok());
        declared.is_some_and(|one| one.get("subscribe").is_some_and(|text| text.get() == "true"))
    }

    /// Sends a request, and again when the server lost the session and did not process it.
    async fn send(
        &self,
        method: &str,
        params: Option<RawMembers>,
        options: RequestOptions,
    ) -> Result<Box<RawValue>, ClientError> {
        let mut give_up = None;
        for _ in 0..MAX_SESSION_REOPENS {
            let seen = self.handshakes_so_far(method, &options).await?;
            match self.parts.client.request(method, params.clone(), options.clone()).await {
                Err(ClientError::SessionExpired) => {
                    // However often the server loses the session, its caller waits for one start only.
                    let give_up =
                        *give_up.get_or_insert_with(|| Instant::now() + self.reopen_timeout);
                    tokio::select! {
                        reopened = self.reopen(seen, method) => reopened?,
                        () = options.cancel.cancelled() => return Err(ClientError::Cancelled),
                        () = tokio::time::sleep_until(give_up.into()) => {
                            return Err(ClientError::SessionExpired);
                        }
                    }
                }
                outcome => return outcome,
            }
        }
        self.parts.client.request(method, params, options).await
    }

    /// Counts handshakes. Waits for a running one: until it is done there is no session.
    async fn handshakes_so_far(
        &self,
        method: &str,
        options: &RequestOptions,
    ) -> Result<u64, ClientError> {
        tokio::select! {
            handshakes = self.handshakes.lock() => Ok(*handshakes),
            () = options.cancel.cancelled() => Err(ClientError::Cancelled),
            () = tokio::time::sleep(options.timeout) => {
                Err(ClientError::Timeout { method: method.to_owned(), after: options.timeout })
            }
        }
    }

    async fn reopen(&self, seen: u64, method: &str) -> Result<(), ClientError> {
        let mut handshakes = self.handshakes.lock().await;
        if *handshakes != seen {
            return Ok(());
        }
        tracing::info!(server = self.id(), "the server forgot the session; opening a new one");
        let era = match self.parts.era {
            EraChoice::Auto if !self.is_modern() => EraChoice::LegacyFirst,
            era => era,
        };
        self.introduce(era, self.reopen_timeout).await?;
        *handshakes += 1;
        self.subscribe_again().await;
        // A server that lost its sessions may be a new version. Where a list lost the session, the lists are being read:
        // announcing a change again would not end with a server that forgets after a few requests.
        if !method.ends_with("/list") {
            self.parts.listener.notify("notifications/tools/list_changed", None);
        }
        Ok(())
    }

    async fn introduce(&self, era: EraChoice, timeout: Duration) -> Result<(), ClientError> {
        let introduction = self.parts.introduction.clone();
        let hello = self.parts.client.connect(introduction, era, timeout).await?;
        self.is_modern.store(hello.revision.era() == Era::Modern, Ordering::Relaxed);
        *self.facts.lock() = self.scrubbed_facts(hello);
        Ok(())
    }

    /// Subscriptions end with a session, which their owners do not see.
    async fn subscribe_again(&self) {
        let (uris, tasks) = (self.subscriptions.uris(), self.watched_tasks.lock().clone());
        let client = &self.parts.client;
        let timeout = self.reopen_timeout;
        let subscribing = async {
            if self.is_modern() {
                client.watch_tasks(tasks, timeout).await?;
                return client.watch_resources(uris, timeout).await;
            }
            for uri in uris {
                let uri = to_raw_value(&uri).unwrap_or_else(|_| RawValue::NULL.to_owned());
                let params = RawMembers::from_iter([("uri".to_owned(), uri)]);
                client.request(SUBSCRIBE, Some(params), RequestOptions::within(timeout)).await?;
            }
            Ok(())
        };
        let has_any =
            !self.subscriptions.uris().is_empty() || !self.watched_tasks.lock().is_empty();
        if has_any && !matches!(tokio::time::timeout(timeout, subscribing).await, Ok(Ok(()))) {
            tracing::warn!(server = self.id(), "not every subscription could be renewed");
        }
    }

    pub(super) async fn notify(&self, method: &str, params: Option<RawMembers>) {
        let sent = tokio::time::timeout(NOTIFY_TIMEOUT, self.parts.client.notify(method, params));
        if !matches!(sent.await, Ok(Ok(()))) {
            tracing::debug!(server = self.id(), method, "a notification could not be delivered");
        }
    }
}

impl McpSession {
    /// A server may repeat a secret in its handshake, and the facts are stored on disk.
    fn scrubbed_facts(&self, hello: ServerHello) -> ServerDetails {
        let era = hello.revision.era();
        let is_known = self.parts.refuses_other_era.is_some_and(|refused| refused != era);
        let facts = ServerDetails {
            refuses_other_era: hello.refuses_other_era || is_known,
            protocol_version: hello.revision.as_str().to_owned(),
            capabilities: hello.capabilities,
            server_info: hello.server_info,
            instructions: hello.instructions,
        };
        let given = &self.parts.given;
        if given.is_empty() {
            return facts;
        }
        let text = serde_json::value::to_raw_value(&facts).map(|text| given.scrub(text));
        text.and_then(|text| serde_json::from_str(text.get())).unwrap_or_default()
    }
}

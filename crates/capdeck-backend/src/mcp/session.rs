//! The live session with one server: requests out, a lost session reopened, the end explained.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use capdeck_auth::Scrubber;
use capdeck_catalog::{RawObject, ServerFacts};
use capdeck_definition::CapabilityId;
use capdeck_mcp::client::{Client, ClientError, ClientHello, RequestOptions, ServerHello};
use parking_lot::Mutex;
use serde_json::{Value, value::RawValue};
use tokio_util::sync::CancellationToken;

use super::{
    bridge::ToCaller,
    failure::{Operation, call_error},
};
use crate::{
    CallContext, CallError, Listener,
    process::{Exit, Process},
    process_log::ProcessLog,
    scrub_json::scrub_json,
};

/// However much progress a server reports, a call ends after this many of its timeouts.
const HARD_LIMIT: u32 = 10;

/// How often one request may find that the server forgot the session. Other requests use sessions up, too.
const REOPENINGS: u32 = 3;

/// How long a notification may wait for a server that does not read.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the pipes of an ended process may hold unread output.
const LAST_OUTPUT: Duration = Duration::from_millis(500);

/// How long a server may take to end by itself once its input is closed.
const FAREWELL: Duration = Duration::from_secs(1);

/// How much of a dead server's last words an error repeats.
const LAST_LINES: usize = 5;
const LAST_BYTES: usize = 1000;

/// What a session is made of.
pub(super) struct SessionParts {
    pub(super) id: CapabilityId,
    pub(super) client: Client,
    pub(super) process: Option<Process>,
    pub(super) log: ProcessLog,
    pub(super) listener: Arc<dyn Listener>,
    pub(super) introduction: ClientHello,
    pub(super) startup_timeout: Duration,
    pub(super) call_timeout: Duration,
    pub(super) log_scrubber: Scrubber,
    pub(super) result_scrubber: Scrubber,
}

/// A server that has been talked to.
pub(super) struct Session {
    parts: SessionParts,
    facts: Mutex<ServerFacts>,
    /// Counts handshakes; held while one is under way, so that ten calls that find the session lost reopen it once.
    handshakes: tokio::sync::Mutex<u64>,
    /// Cancelled when everything behind the session is gone.
    gone: CancellationToken,
}

/// A handshake that failed.
pub(super) struct StartError {
    /// The HTTP status, when that is what failed it.
    pub(super) status: Option<u16>,
    pub(super) error: CallError,
}

impl Session {
    /// Does the handshake. The process ends with the session, and the session when `stop` is cancelled.
    pub(super) async fn start(
        parts: SessionParts,
        deadline: Instant,
        stop: CancellationToken,
    ) -> Result<Arc<Self>, StartError> {
        let session = Arc::new(Self {
            parts,
            facts: Mutex::default(),
            handshakes: tokio::sync::Mutex::new(0),
            gone: CancellationToken::new(),
        });
        tokio::spawn(Arc::clone(&session).watch(stop));
        match session.shake_hands(deadline.saturating_duration_since(Instant::now())).await {
            Ok(()) => Ok(session),
            Err(error) => {
                let status = match &error {
                    ClientError::Http { status, .. } => Some(*status),
                    _ => None,
                };
                Err(StartError { status, error: session.explain(Operation::Start, error).await })
            }
        }
    }

    pub(super) fn id(&self) -> &str {
        self.parts.id.as_str()
    }

    /// What the server said about itself in the last handshake.
    pub(super) fn facts(&self) -> ServerFacts {
        self.facts.lock().clone()
    }

    /// The timeout in force for a call.
    pub(super) fn timeout(&self, context: &CallContext) -> Duration {
        context.timeout.unwrap_or(self.parts.call_timeout)
    }

    /// Sends a request for a caller, with everything that ties the two together.
    pub(super) async fn request(
        &self,
        method: &str,
        params: Option<RawObject>,
        context: &CallContext,
        operation: Operation<'_>,
    ) -> Result<Box<RawValue>, CallError> {
        let caller = Arc::clone(&context.caller);
        let mut options = self.options(context);
        options.events = Some(Arc::new(ToCaller(Arc::clone(&caller))));
        let wants_progress = caller.wants_progress();
        // Tools are asked for progress in any case: it shows that a long call is alive.
        if wants_progress || matches!(operation, Operation::Tool { .. }) {
            options.on_progress = Some(Arc::new(move |params| {
                if wants_progress {
                    caller.progress(params);
                }
            }));
        }
        self.exchange(method, params, options, operation).await
    }

    /// Asks for one page of a list. Nothing that the server says meanwhile belongs to it: a listing
    /// beside a call must not leave open whom a question of that call is for.
    pub(super) async fn list(
        &self,
        method: &str,
        params: Option<RawObject>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        self.exchange(method, params, self.options(context), Operation::of(method)).await
    }

    fn options(&self, context: &CallContext) -> RequestOptions {
        let timeout = self.timeout(context);
        RequestOptions {
            timeout,
            max_timeout: timeout.saturating_mul(HARD_LIMIT),
            cancel: context.cancel.clone(),
            on_progress: None,
            events: None,
        }
    }

    async fn exchange(
        &self,
        method: &str,
        params: Option<RawObject>,
        options: RequestOptions,
        operation: Operation<'_>,
    ) -> Result<Box<RawValue>, CallError> {
        match self.send(method, params, options).await {
            Ok(result) => Ok(self.scrub(result)),
            Err(error) => Err(self.explain(operation, error).await),
        }
    }

    /// Sends a request, and again when the server had forgotten the session and so did not process it.
    async fn send(
        &self,
        method: &str,
        params: Option<RawObject>,
        options: RequestOptions,
    ) -> Result<Box<RawValue>, ClientError> {
        if self.parts.process.is_some() {
            return self.parts.client.request(method, params, options).await;
        }
        for _ in 0..REOPENINGS {
            let seen = self.handshakes_so_far(method, &options).await?;
            match self.parts.client.request(method, params.clone(), options.clone()).await {
                Err(ClientError::SessionExpired) => tokio::select! {
                    reopened = self.reopen(seen) => reopened?,
                    () = options.cancel.cancelled() => return Err(ClientError::Cancelled),
                },
                outcome => return outcome,
            }
        }
        self.parts.client.request(method, params, options).await
    }

    /// Counts handshakes. Waits for one that is under way: until it is through there is no session to send with.
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

    async fn reopen(&self, seen: u64) -> Result<(), ClientError> {
        let mut handshakes = self.handshakes.lock().await;
        if *handshakes != seen {
            return Ok(());
        }
        tracing::info!(server = self.id(), "the server forgot the session; opening a new one");
        let hello = self.initialize(self.parts.startup_timeout).await?;
        *self.facts.lock() = self.scrubbed_facts(hello);
        *handshakes += 1;
        // A server that forgot its sessions may be a new version of itself.
        self.parts.listener.notified("notifications/tools/list_changed", None);
        Ok(())
    }

    async fn shake_hands(&self, timeout: Duration) -> Result<(), ClientError> {
        let hello = self.initialize(timeout).await?;
        *self.facts.lock() = self.scrubbed_facts(hello);
        Ok(())
    }

    async fn initialize(&self, timeout: Duration) -> Result<ServerHello, ClientError> {
        self.parts.client.initialize(self.parts.introduction.clone(), timeout).await
    }

    pub(super) async fn notify(&self, method: &str, params: Option<RawObject>) {
        let sent = tokio::time::timeout(NOTIFY_TIMEOUT, self.parts.client.notify(method, params));
        if !matches!(sent.await, Ok(Ok(()))) {
            tracing::debug!(server = self.id(), method, "a notification could not be delivered");
        }
    }

    pub(super) fn ended(&self) -> Option<String> {
        let reason = self.parts.client.ended()?;
        let exit = self.parts.process.as_ref().and_then(Process::exit);
        Some(self.last_words(exit.map_or(reason, describe)))
    }

    /// Waits until the connection and the process behind it are gone.
    pub(super) async fn gone(&self) {
        self.gone.cancelled().await;
    }

    /// Ends what is left when one part of the connection ends, or when it is told to.
    async fn watch(self: Arc<Self>, stop: CancellationToken) {
        let SessionParts { client, process, .. } = &self.parts;
        match process {
            None => {
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = client.wait_ended() => {}
                }
                client.close().await;
            }
            Some(process) => {
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = client.wait_ended() => {}
                    // A descendant may hold the pipe open for ever; the server itself is gone.
                    _ = process.exited() => {
                        tokio::time::timeout(LAST_OUTPUT, client.wait_ended()).await.ok();
                    }
                }
                client.close().await;
                tokio::time::timeout(FAREWELL, process.exited()).await.ok();
                process.kill().await;
            }
        }
        self.gone.cancel();
    }

    /// Words an error, with the exit status and last lines of a process that is gone.
    async fn explain(&self, operation: Operation<'_>, error: ClientError) -> CallError {
        let process = self.parts.process.as_ref();
        let closed = matches!(error, ClientError::Closed { .. });
        let silent = matches!((&error, operation), (ClientError::Timeout { .. }, Operation::Start));
        let mut call_error = call_error(self.id(), operation, error);
        if let (true, Some(process)) = (closed, process) {
            // The end of its output and the end of the process arrive in any order.
            if let Ok(exit) = tokio::time::timeout(LAST_OUTPUT, process.gone()).await {
                call_error.message = format!("`{}` {}", self.id(), describe(exit));
            }
        }
        if (closed || silent) && process.is_some() {
            call_error.message = self.last_words(call_error.message);
        }
        call_error.scrubbed(&self.parts.log_scrubber)
    }

    fn last_words(&self, message: String) -> String {
        let text = self.parts.log.text();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines.get(lines.len().saturating_sub(LAST_LINES)..).unwrap_or_default();
        let last = last.join(" | ");
        if last.is_empty() {
            return message;
        }
        let (_, last) =
            last.split_at(last.ceil_char_boundary(last.len().saturating_sub(LAST_BYTES)));
        format!("{message}; it last wrote: {last}")
    }

    /// A server may repeat a secret in its handshake too, and that is kept on disk.
    fn scrubbed_facts(&self, hello: ServerHello) -> ServerFacts {
        let facts = facts(hello);
        if self.parts.result_scrubber.is_empty() {
            return facts;
        }
        let text = serde_json::value::to_raw_value(&facts).map(|text| self.scrub(text));
        text.and_then(|text| serde_json::from_str(text.get())).unwrap_or_default()
    }

    /// Passes a result on byte for byte, unless it repeats a secret that was given to the server.
    fn scrub(&self, result: Box<RawValue>) -> Box<RawValue> {
        let scrubber = &self.parts.result_scrubber;
        if scrubber.is_empty() {
            return result;
        }
        let scrubbed = match scrubber.text(result.get()) {
            std::borrow::Cow::Borrowed(_) => return result,
            std::borrow::Cow::Owned(text) => text,
        };
        RawValue::from_string(scrubbed).unwrap_or_else(|_| {
            // The secret stood outside of any string, so that only a walk over the values is safe.
            let mut value: Value = serde_json::from_str(result.get()).unwrap_or_default();
            scrub_json(&mut value, scrubber);
            serde_json::value::to_raw_value(&value).unwrap_or(result)
        })
    }
}

fn facts(hello: ServerHello) -> ServerFacts {
    ServerFacts {
        protocol_version: hello.revision.as_str().to_owned(),
        capabilities: hello.capabilities,
        server_info: hello.server_info,
        instructions: hello.instructions,
    }
}

fn describe(exit: Exit) -> String {
    match (exit.code, exit.signal_name()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was ended by {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

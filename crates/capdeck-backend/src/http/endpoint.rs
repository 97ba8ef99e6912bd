//! One remote HTTP API: its credentials, limits and responses.

use std::{
    borrow::Cow,
    sync::Arc,
    time::{Duration, Instant as StdInstant},
};

use bytes::Bytes;
use capdeck_auth::{AuthHeader, ReferenceTarget, SecretScrubber, StaticCredentials};
use capdeck_catalog::RawMembers;
use capdeck_definition::{CapabilityId, HttpBlock, RequestSettings};
use parking_lot::Mutex;
use reqwest::{
    Response, StatusCode,
    header::{AUTHORIZATION, HeaderMap},
};
use serde_json::{json, value::to_raw_value};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{
    EndpointRequest, header_name, header_value,
    limits::{EndpointLimiter, EndpointNetwork},
    response::ResponseHead,
    send::{EndpointSender, no_response_error},
};
use crate::{
    CallContext, CallError, CallResult, CallerHandle, ErrorCode,
    capture::{MAX_TOTAL, SpillTarget, StreamCapture},
    connect::ResolvedBackend,
    connector_context::ConnectorContext,
    sign_in::{CapabilitySignIn, credentials},
};

tokio::task_local! {
    /// The pace and the deadline of the running call, available to all of its requests.
    static PACE: Arc<ProgressDeadline>;
}

/// The endpoint of one capability, with its credentials and limits. Shared by all of its calls.
#[derive(Debug)]
pub(crate) struct ApiEndpoint {
    pub(crate) id: CapabilityId,
    credentials: StaticCredentials,
    pub(crate) sign_in: Option<CapabilitySignIn>,
    sender: EndpointSender,
    log_scrubber: SecretScrubber,
    pub(crate) result_scrubber: SecretScrubber,
    pub(crate) surroundings: Arc<ConnectorContext>,
    timeout: Duration,
    /// Cancelled when the connection is closed; running requests end with it.
    closed: CancellationToken,
    /// The references in the `auth` block, for hints.
    auth_references: Vec<ReferenceTarget>,
    /// False where 401 and 403 are responses like any other.
    pub(crate) are_refusals_errors: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum ResponseDelivery {
    /// Inline for text within the limit, otherwise an artifact.
    Inline {
        limit: u64,
    },
    Artifact {
        filename: Option<String>,
    },
}

impl ApiEndpoint {
    /// Creates the endpoint of a prepared block. `server` is the base URL for a sign-in, if known.
    pub(crate) fn new<T: HttpBlock>(
        prepared: &mut ResolvedBackend<T>,
        server: Option<Url>,
        cancel: &CancellationToken,
    ) -> Self {
        let RequestSettings { auth, request_timeout_ms, .. } = prepared.block.requests().clone();
        let credentials = credentials(&auth);
        prepared.add_secrets(&credentials.secrets());
        let outgoing = prepared.block.outgoing();
        let sender = EndpointSender {
            network: EndpointNetwork::new(prepared),
            turns: EndpointLimiter::new(&prepared.id, outgoing),
            retries: outgoing.retries,
        };
        let sign_in = server.and_then(|server| prepared.sign_in(server));
        Self {
            id: prepared.id.clone(),
            credentials,
            sign_in,
            sender,
            log_scrubber: prepared.log_scrubber.clone(),
            result_scrubber: prepared.result_scrubber.clone(),
            surroundings: Arc::clone(&prepared.surroundings),
            timeout: Duration::from_millis(request_timeout_ms),
            closed: cancel.child_token(),
            auth_references: prepared.auth_references.clone(),
            are_refusals_errors: true,
        }
    }

    pub(crate) fn without_secrets(&self, document: Bytes) -> Bytes {
        let scrubber = self.with_tokens(&self.result_scrubber);
        match std::str::from_utf8(&document).map(|text| scrubber.text(text)) {
            Ok(Cow::Owned(scrubbed)) => scrubbed.into(),
            Ok(Cow::Borrowed(_)) | Err(_) => document,
        }
    }

    pub(crate) fn log(&self, line: &str) {
        let line = self.log_scrubber.text(line);
        tracing::warn!(capability = %self.id, "{line}");
        self.surroundings.logs.log_of(&self.id).push(line.into_owned());
    }

    /// The error for a refusal of our credentials, which names what to renew.
    pub(crate) async fn rejection_error(&self, response: Response) -> CallError {
        let (id, status) = (&self.id, response.status());
        let words = read_body_excerpt(response).await;
        let has_credentials = self.sign_in.is_some() || self.credentials != StaticCredentials::None;
        let reason = match (status, has_credentials) {
            (StatusCode::UNAUTHORIZED, true) => "does not accept our credentials",
            (StatusCode::UNAUTHORIZED, false) => {
                "asks for credentials, and its definition has none"
            }
            (_, true) => "does not allow this with our credentials",
            (_, false) => "does not allow this without credentials",
        };
        let message = format!("`{id}` {reason} (HTTP {})", status.as_u16());
        let body = self.result_scrubber.text(&words);
        // Signing in again helps with 401 only; with 403 the rights are missing.
        let code = match status {
            StatusCode::UNAUTHORIZED => ErrorCode::AuthRequired,
            _ => ErrorCode::AuthFailed,
        };
        CallError::new(code, message)
            .hint(self.renewal_hint())
            .data(json!({"status": status.as_u16(), "body": body}))
    }

    fn renewal_hint(&self) -> String {
        let id = &self.id;
        if self.sign_in.is_some() {
            return format!("run: capdeck auth login {id}");
        }
        if self.credentials == StaticCredentials::None {
            return format!("give the definition of `{id}` an `auth` block");
        }
        let renewals: Vec<String> = self.auth_references.iter().map(renewal_hint).collect();
        match renewals.as_slice() {
            [] => format!("renew the credentials in the `auth` block of `{id}`"),
            renewals => renewals.join("; "),
        }
    }

    /// The time that the definition gives each request.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(crate) fn auth_headers(&self) -> Result<Vec<AuthHeader>, CallError> {
        Ok(self.credentials.headers()?)
    }

    /// Runs a call until its end, deadline, cancellation or the end of the connection. Progress extends the deadline.
    pub(crate) async fn bounded<Answer>(
        &self,
        name: &str,
        context: &CallContext,
        call: impl Future<Output = Result<Answer, CallError>>,
    ) -> Result<Answer, CallError> {
        let timeout = context.timeout.unwrap_or(self.timeout);
        let pace = Arc::new(ProgressDeadline::new(context, timeout));
        let answer = tokio::select! {
            // A call that ends at its deadline has the better message.
            biased;
            answer = PACE.scope(Arc::clone(&pace), call) => answer,
            () = context.cancel.cancelled() => {
                Err(CallError::new(ErrorCode::Cancelled, format!("`{name}` was cancelled")))
            }
            () = self.closed.cancelled() => Err(CallError::new(
                ErrorCode::Cancelled,
                format!("`{name}` was cancelled: the connection was closed"),
            )),
            () = pace.expired() => Err(CallError::new(
                ErrorCode::ToolCallTimeout,
                format!("`{name}` had no complete answer within {} ms", timeout.as_millis()),
            )
            .hint("raise `requestTimeoutMs`, or ask for less at once")),
        };
        answer.map_err(|error| {
            let error = error.scrubbed(&self.with_tokens(&self.log_scrubber));
            self.surroundings.logs.log_of(&self.id).push(format!("{name}: {}", error.message));
            error
        })
    }

    fn with_tokens<'a>(&self, base: &'a SecretScrubber) -> Cow<'a, SecretScrubber> {
        self.sign_in.as_ref().map_or(Cow::Borrowed(base), |sign_in| sign_in.scrubber(base))
    }

    /// Sends a request with our credentials. The body is not read yet; the response counts as running until it is
    /// dropped.
    pub(crate) async fn send(&self, request: EndpointRequest) -> Result<Response, CallError> {
        let mut credentials = HeaderMap::new();
        for header in self.auth_headers()? {
            let mut value = header_value(&header.name, header.value.expose())?;
            value.set_sensitive(true);
            credentials.insert(header_name(&header.name)?, value);
        }
        let deadline = self.deadline();
        match &self.sign_in {
            None => self.sender.send(&request, &credentials, deadline).await,
            Some(sign_in) => {
                let with_token = |token| {
                    let credentials = HeaderMap::from_iter([(AUTHORIZATION, token)]);
                    let request = &request;
                    async move { self.sender.send(request, &credentials, deadline).await }
                };
                sign_in.send(with_token).await
            }
        }
    }

    pub(crate) async fn send_anonymously(
        &self,
        request: EndpointRequest,
    ) -> Result<Response, CallError> {
        self.sender.send(&request, &HeaderMap::new(), self.deadline()).await
    }

    pub(crate) fn report_progress(&self, done: u64, total: u64) {
        // Without a call there is no one to tell.
        PACE.try_with(|pace| pace.report_progress(done, total)).ok();
    }

    fn deadline(&self) -> Instant {
        PACE.try_with(|pace| pace.deadline()).unwrap_or_else(|_| Instant::now() + self.timeout)
    }

    pub(crate) async fn exchange(
        &self,
        request: EndpointRequest,
        delivery: ResponseDelivery,
    ) -> CallResult {
        let started = StdInstant::now();
        let url = request.url.clone();
        let response = self.send(request).await?;
        self.answer(response, &url, delivery, started).await
    }

    pub(crate) async fn answer(
        &self,
        mut response: Response,
        url: &Url,
        delivery: ResponseDelivery,
        started: StdInstant,
    ) -> CallResult {
        if self.are_refusals_errors && matches!(response.status().as_u16(), 401 | 403) {
            return Err(self.rejection_error(response).await);
        }
        let mut head = ResponseHead::new(&response);
        let scrubber = self.with_tokens(&self.result_scrubber);
        head.scrub(&scrubber);
        let limit = match delivery {
            ResponseDelivery::Inline { limit } => limit,
            // An error response is inline text, even when a file was requested.
            ResponseDelivery::Artifact { filename } => head.keep_whole(filename),
        };
        let mut body = StreamCapture::new(
            limit,
            &scrubber,
            SpillTarget {
                store: self.surroundings.artifacts.clone(),
                capability: self.id.clone(),
                filename: head.filename(),
                mime_type: head.mime_type(),
            },
        );
        let mut total = 0;
        if response.content_length().is_some_and(|length| length > MAX_TOTAL) {
            return Err(too_large());
        }
        while let Some(chunk) =
            response.chunk().await.map_err(|error| no_response_error(url, error))?
        {
            total += chunk.len() as u64;
            if total > MAX_TOTAL {
                return Err(too_large());
            }
            body.push(&chunk).await;
        }
        head.answer(body.finish().await, limit, started, &scrubber).await
    }

    pub(crate) fn ended(&self) -> Option<String> {
        self.closed.is_cancelled().then(|| "the connection was closed".to_owned())
    }

    /// Cancels running requests and rejects later ones.
    pub(crate) fn close(&self) {
        self.closed.cancel();
    }
}

fn too_large() -> CallError {
    CallError::new(
        ErrorCode::ContentTooLarge,
        format!("the response is larger than {} MiB", MAX_TOTAL / (1024 * 1024)),
    )
    .hint("ask for less at once, such as one page")
}

/// The progress of one call. Progress resets the call's deadline.
struct ProgressDeadline {
    timeout: Duration,
    deadline: Mutex<Instant>,
    caller: Arc<dyn CallerHandle>,
}

impl ProgressDeadline {
    fn new(context: &CallContext, timeout: Duration) -> Self {
        let deadline = Mutex::new(Instant::now() + timeout);
        Self { timeout, deadline, caller: Arc::clone(&context.caller) }
    }

    fn deadline(&self) -> Instant {
        *self.deadline.lock()
    }

    fn report_progress(&self, done: u64, total: u64) {
        *self.deadline.lock() = Instant::now() + self.timeout;
        if self.caller.wants_progress() {
            let facts = [("progress", done), ("total", total)];
            let params: RawMembers = facts
                .into_iter()
                .filter_map(|(name, bytes)| Some((name.to_owned(), to_raw_value(&bytes).ok()?)))
                .collect();
            self.caller.progress(params);
        }
    }

    /// Resolves at the deadline, which may move.
    async fn expired(&self) {
        while Instant::now() < self.deadline() {
            sleep_until(self.deadline()).await;
        }
    }
}

const MAX_BODY_EXCERPT_BYTES: usize = 4 * 1024;

fn renewal_hint(reference: &ReferenceTarget) -> String {
    match reference {
        ReferenceTarget::Variable { name } => {
            format!("set `{name}` to a valid value where capdeck is started")
        }
        ReferenceTarget::Vault { name } => format!("run: capdeck vault set {name}"),
    }
}

async fn read_body_excerpt(mut response: Response) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < MAX_BODY_EXCERPT_BYTES
        && let Ok(Some(chunk)) = response.chunk().await
    {
        bytes.extend_from_slice(&chunk);
    }
    bytes.truncate(MAX_BODY_EXCERPT_BYTES);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod progress_deadline_tests {
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_call_that_advances_is_not_silent() {
        let pace =
            ProgressDeadline::new(&CallContext::detached(Duration::ZERO), Duration::from_secs(60));
        let started = Instant::now();
        let upload = async {
            for done in 1..=3 {
                sleep(Duration::from_secs(50)).await;
                pace.report_progress(done, 3);
            }
        };
        tokio::join!(upload, pace.expired());
        assert_eq!(started.elapsed(), Duration::from_secs(3 * 50 + 60));
    }
}

//! Hand-written HTTP actions as a connection.

mod exchange;
mod mapping;
mod request;
mod response;
mod target;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use async_trait::async_trait;
use capdeck_auth::Credentials;
use capdeck_catalog::Discovery;
use capdeck_definition::{HttpAction, HttpApi, HttpMethod};
use reqwest::header::AUTHORIZATION;
use serde_json::{json, value::RawValue};
use tokio_util::sync::CancellationToken;
use url::Url;

use self::{
    exchange::{failure, send},
    request::{Request, build_request},
    response::Head,
    target::parse_base,
};
use crate::{
    CallContext, CallError, Connection, ErrorCode, ToolCall,
    arguments::{no_such_tool, read_arguments},
    capture::{Capture, MAX_TOTAL, SpillPlace},
    connect::Prepared,
    declared_tool::{DeclaredTool, declared_discovery},
    outbound::credentials,
    sign_in::{self, CapabilitySignIn},
};

/// The actions of one HTTP API.
#[derive(Debug)]
pub(crate) struct HttpConnection {
    prepared: Prepared<HttpApi>,
    base: Url,
    credentials: Credentials,
    sign_in: Option<CapabilitySignIn>,
    /// Cancelled when the connection is closed; running requests end with it.
    closed: CancellationToken,
}

#[async_trait]
impl Connection for HttpConnection {
    async fn discover(&self, _context: &CallContext) -> Result<Discovery, CallError> {
        let tools = self.prepared.block.actions.iter().map(|(name, action)| declare(name, action));
        declared_discovery(tools, &self.prepared.result_scrubber)
    }

    async fn call_tool(
        &self,
        call: ToolCall<'_>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let declared_timeout = Duration::from_millis(self.prepared.block.request_timeout_ms);
        let timeout = context.timeout.unwrap_or(declared_timeout);
        let name = call.name;
        let answer = tokio::select! {
            answer = self.call(call) => answer,
            () = context.cancel.cancelled() => {
                Err(CallError::new(ErrorCode::Cancelled, format!("`{name}` was cancelled")))
            }
            () = self.closed.cancelled() => Err(CallError::new(
                ErrorCode::Cancelled,
                format!("`{name}` was cancelled: the connection was closed"),
            )),
            () = tokio::time::sleep(timeout) => Err(CallError::new(
                ErrorCode::ToolCallTimeout,
                format!("`{name}` had no complete answer within {} ms", timeout.as_millis()),
            )
            .hint("raise `requestTimeoutMs`, or ask for less at once")),
        };
        answer.map_err(|error| {
            let error = error.scrubbed(&self.prepared.log_scrubber);
            let log = self.prepared.surroundings.logs.of(&self.prepared.id);
            log.push(format!("{name}: {}", error.message));
            error
        })
    }

    fn ended(&self) -> Option<String> {
        self.closed.is_cancelled().then(|| "the connection was closed".to_owned())
    }

    async fn close(&self) {
        self.closed.cancel();
    }
}

impl HttpConnection {
    /// A connection that also ends with this token.
    pub(crate) fn new(
        mut prepared: Prepared<HttpApi>,
        cancel: &CancellationToken,
    ) -> Result<Self, CallError> {
        let credentials = credentials(&prepared.block.auth);
        prepared.also_secret(&credentials.secrets());
        let base = parse_base(&prepared.block.base_url)
            .map_err(|error| error.scrubbed(&prepared.log_scrubber))?;
        let sign_in = sign_in::of_api(
            &prepared.id,
            &prepared.block.auth,
            base.clone(),
            &prepared.surroundings,
        );
        Ok(Self { prepared, base, credentials, sign_in, closed: cancel.child_token() })
    }

    async fn call(&self, call: ToolCall<'_>) -> Result<Box<RawValue>, CallError> {
        let actions = &self.prepared.block.actions;
        let action =
            actions.get(call.name).ok_or_else(|| no_such_tool(call.name, actions.keys()))?;
        let arguments = read_arguments(call.arguments)?;
        let auth = self.credentials.headers()?;
        let request = build_request(&self.base, action, &auth, &arguments)?;
        self.exchange(request).await
    }

    async fn exchange(&self, request: Request) -> Result<Box<RawValue>, CallError> {
        let started = Instant::now();
        let url = request.url.clone();
        let http = self.prepared.surroundings.http()?;
        let mut response = match &self.sign_in {
            None => send(http, request).await?,
            Some(sign_in) => {
                let with_token = |token| {
                    let mut request = request.clone();
                    request.headers.insert(AUTHORIZATION, token);
                    send(http, request)
                };
                sign_in.send(with_token).await?
            }
        };
        let mut head = Head::new(response.status(), response.headers());
        head.scrub(&self.prepared.result_scrubber);
        let limit = self.prepared.block.max_response_bytes;
        let mut body = Capture::new(
            limit,
            &self.prepared.result_scrubber,
            SpillPlace {
                store: self.prepared.surroundings.artifacts.clone(),
                capability: self.prepared.id.clone(),
                filename: head.filename(),
                mime_type: head.mime_type(),
            },
        );
        let mut total = 0;
        while let Some(chunk) = response.chunk().await.map_err(|error| failure(&url, error))? {
            total += chunk.len() as u64;
            if total > MAX_TOTAL {
                return Err(CallError::new(
                    ErrorCode::ContentTooLarge,
                    format!("the response is larger than {} MiB", MAX_TOTAL / (1024 * 1024)),
                )
                .hint("ask for less at once, such as one page"));
            }
            body.push(&chunk).await;
        }
        head.answer(body.finish().await, limit, started).await
    }
}

pub(crate) fn declare<'a>(name: &'a str, action: &'a HttpAction) -> DeclaredTool<'a> {
    let method = json!(action.method);
    let method = method.as_str().unwrap_or_default();
    DeclaredTool {
        name,
        description: action
            .description
            .clone()
            .unwrap_or_else(|| format!("{method} {}", action.path)),
        use_when: action.use_when.as_ref(),
        avoid_when: action.avoid_when.as_ref(),
        input_schema: action.input_schema.as_ref(),
        output_schema: action.output_schema.as_ref(),
        annotations: json!({
            "readOnlyHint": action.method == HttpMethod::Get,
            "destructiveHint": action.method == HttpMethod::Delete,
        }),
    }
}

//! One capability with its own names, URIs, capabilities and instructions.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use capdeck_host::{
    CallContext, CallError, CapabilityId, RawMembers, Session as HostSession, calls, forward,
    is_task_request, subscriptions, tasks, transparent,
};
use capdeck_mcp::{
    Era, HeaderParams, LogSeverity, RpcError,
    server::{RequestExchange, ServerSession},
};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::{
    caller::{LogFilter, NotificationPolicy, context},
    client_streams::{ClientStreams, ListenFilter, ListenSource, listen},
    event_reaction,
    failure::{self, ErrorForm},
    params::{self, MethodResult, empty, raw},
};

const START_TIMEOUT: Duration = Duration::from_secs(60);

const UNWATCH_TIMEOUT: Duration = Duration::from_secs(3);

pub(super) struct TransparentSession {
    id: CapabilityId,
    session: Arc<HostSession>,
    streams: Arc<ClientStreams>,
    /// The level of a legacy client.
    log_level: Mutex<LogSeverity>,
    ended: CancellationToken,
}

impl TransparentSession {
    pub(super) fn open(
        id: CapabilityId,
        session: Arc<HostSession>,
        streams: Arc<ClientStreams>,
    ) -> Arc<dyn ServerSession> {
        let ended = CancellationToken::new();
        event_reaction::one_server(&session, id.clone(), streams.clone(), ended.clone());
        Arc::new(Self { id, session, streams, log_level: Mutex::new(default_level()), ended })
    }

    /// Log messages for a legacy client. A legacy server filters by itself.
    fn legacy_logs(&self) -> LogFilter {
        if !self.session.shares_connection(self.id.as_str()) {
            return LogFilter::All;
        }
        LogFilter::AtLeast(*self.log_level.lock())
    }

    async fn set_log_level(
        &self,
        params: Option<RawMembers>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let level = params.as_ref().map(|params| params::text(params, "level"));
        *self.log_level.lock() = match level {
            // An unknown level passes everything.
            Some(Ok(level)) => LogSeverity::parse(&level).unwrap_or_default(),
            Some(Err(_)) | None => default_level(),
        };
        if self.session.shares_connection(self.id.as_str()) {
            // Modern requests carry the level; on a shared connection nothing is set.
            return Ok(empty());
        }
        forward::forward(
            &self.session.request(context),
            self.id.as_str(),
            "logging/setLevel",
            params,
        )
        .await
    }

    async fn call_tool(
        &self,
        params: Option<RawMembers>,
        era: Era,
        context: &CallContext,
    ) -> MethodResult {
        let (name, mut request) = params::tool_call(params.unwrap_or_default())?;
        (request.capability, request.tool) = (self.id.to_string(), name);
        match calls::call(self.session.request(context), &request).await {
            Ok(result) => Ok(result),
            Err(error) if error.rpc.is_some() => Err(failure::as_rpc_error(&error, era)),
            Err(error) => failure::as_tool_result(&error, ErrorForm::TextAndFacts),
        }
    }

    async fn pass_on(
        &self,
        method: &str,
        params: Option<RawMembers>,
        era: Era,
        context: &CallContext,
    ) -> MethodResult {
        let id = self.id.as_str();
        let uri = || params::text(params.as_ref().unwrap_or(&RawMembers::new()), "uri");
        let request = &self.session.request(context);
        let outcome = match (method, era) {
            ("resources/subscribe", Era::Legacy) => {
                subscriptions::subscribe(request, id, &uri()?).await.map(|()| empty())
            }
            ("resources/unsubscribe", Era::Legacy) => {
                subscriptions::unsubscribe(request, id, &uri()?).await.map(|()| empty())
            }
            ("logging/setLevel", Era::Legacy) => self.set_log_level(params, context).await,
            ("resources/subscribe" | "resources/unsubscribe" | "logging/setLevel", Era::Modern) => {
                return Err(RpcError::method_not_found(method));
            }
            (_, _) if is_task_request(method) => {
                let params = params.unwrap_or_default();
                tasks::answer(request, &self.id, method, params).await
            }
            _ => transparent::answer(request, id, method, params).await,
        };
        outcome.map_err(|error| failure::as_rpc_error(&error, era))
    }
}

/// For a client that sets none.
fn default_level() -> LogSeverity {
    LogSeverity::parse("info").unwrap_or_default()
}

#[async_trait]
impl ServerSession for TransparentSession {
    /// Connects to the server and repeats its initialize result.
    async fn describe(&self) -> Result<RawMembers, RpcError> {
        let waiting = CallContext::detached(START_TIMEOUT);
        let facts =
            transparent::server_facts(&self.session.request(&waiting), self.id.as_str()).await;
        // These errors exist in both eras.
        let mut facts = facts.map_err(|error| failure::as_rpc_error(&error, Era::Modern))?;
        tasks::describe_server(&self.session, &mut facts);
        let mut result = RawMembers::new();
        result.insert("capabilities".to_owned(), raw(&facts.capabilities)?);
        result.insert("serverInfo".to_owned(), raw(&facts.server_info)?);
        if let Some(instructions) = &facts.instructions {
            result.insert("instructions".to_owned(), raw(instructions)?);
        }
        Ok(result)
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawMembers>,
        exchange: RequestExchange,
    ) -> MethodResult {
        let era = exchange.revision.era();
        let context = context(exchange.clone(), NotificationPolicy::Everything, self.legacy_logs());
        if method == "tools/call" {
            return self.call_tool(params, era, &context).await;
        }
        if method == "subscriptions/listen" && era == Era::Modern {
            let requested = ListenFilter::from_params(params.as_ref())?;
            if !requested.task_ids.is_empty() {
                let checked = tasks::check_listening(&self.session);
                checked.map_err(|error| failure::as_rpc_error(&error, era))?;
            }
            self.session.note_listening(self.id.as_str());
            return listen(self, &self.streams, requested, exchange, &context).await;
        }
        let mut params = params;
        if let Some(params) = &mut params {
            params::strip_progress_token(params);
        }
        self.pass_on(method, params, era, &context).await
    }

    async fn notification(&self, method: &str, params: Option<RawMembers>) {
        if method != "notifications/initialized" {
            forward::notify(&self.session, self.id.as_str(), method, params).await;
        }
    }

    async fn header_params(&self, tool: &str) -> HeaderParams {
        let deck = self.session.snapshot();
        let tool = deck.catalog().tool(self.id.as_str(), tool);
        params::header_params(tool.and_then(|tool| tool.input_schema()))
    }

    async fn resting(&self) {
        self.session.end_unused_processes();
    }

    async fn closed(&self) {
        self.ended.cancel();
        self.session.close().await;
    }
}

#[async_trait]
impl ListenSource for TransparentSession {
    async fn offered(&self, requested: ListenFilter) -> ListenFilter {
        let context = CallContext::detached(START_TIMEOUT);
        let Ok(facts) =
            transparent::server_facts(&self.session.request(&context), self.id.as_str()).await
        else {
            return ListenFilter::default();
        };
        let offers = |capability: &str, feature: &str| {
            let text = facts.capabilities.get(capability)?;
            let features: RawMembers = serde_json::from_str(text.get()).ok()?;
            Some(features.get(feature)?.get() == "true")
        };
        let changes = |capability: &str| offers(capability, "listChanged") == Some(true);
        let mut honoured = ListenFilter {
            tools_list_changed: requested.tools_list_changed && changes("tools"),
            prompts_list_changed: requested.prompts_list_changed && changes("prompts"),
            resources_list_changed: requested.resources_list_changed && changes("resources"),
            resource_subscriptions: requested.resource_subscriptions,
            task_ids: requested.task_ids,
        };
        if offers("resources", "subscribe") != Some(true) {
            honoured.resource_subscriptions.clear();
        }
        honoured
    }

    async fn watch(&self, uri: &str, context: &CallContext) -> Result<(), CallError> {
        subscriptions::subscribe(&self.session.request(context), self.id.as_str(), uri).await
    }

    async fn watch_task(&self, id: &str) -> Result<(), CallError> {
        tasks::watch_task(&self.session, &self.id, id).await
    }

    async fn unwatch_task(&self, id: &str) {
        tasks::unwatch_task(&self.session, &self.id, id).await;
    }

    async fn unwatch(&self, uri: &str) {
        let context = CallContext::detached(UNWATCH_TIMEOUT);
        if let Err(error) =
            subscriptions::unsubscribe(&self.session.request(&context), self.id.as_str(), uri).await
        {
            tracing::debug!(uri, %error, "cannot end the subscription of a resource");
        }
    }
}

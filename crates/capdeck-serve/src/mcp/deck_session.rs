//! The deck as one MCP server: listed tools, resources, prompts, and the tools for everything else.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use capdeck_host::{
    CallContext, CallError, ErrorKind, RawMembers, Session as HostSession, View, calls, code_mode,
    listing, prompts, resources, skills, subscriptions,
};
use capdeck_mcp::{
    Era, HeaderParams, LogSeverity, RpcError,
    server::{RequestExchange, ServerSession},
};
use parking_lot::Mutex;
use serde_json::{json, value::RawValue};
use tokio_util::sync::CancellationToken;

use super::{
    caller::{LogFilter, NotificationPolicy, context},
    client_streams::{ClientStreams, ListenFilter, ListenSource, listen},
    entry_changes::DeckEntryLists,
    event_reaction::{self, ListKind, SeenLists},
    failure::{self, ErrorForm},
    page::page,
    params::{self, MethodResult, empty, raw, raw_members},
};

const UNWATCH_TIMEOUT: Duration = Duration::from_secs(3);

pub(super) struct DeckSession {
    session: Arc<HostSession>,
    seen: Arc<SeenLists>,
    entries: Arc<DeckEntryLists>,
    streams: Arc<ClientStreams>,
    /// The level of a legacy client. No log messages until it is set.
    log_level: Mutex<Option<LogSeverity>>,
    ended: CancellationToken,
}

impl DeckSession {
    pub(super) fn open(
        session: Arc<HostSession>,
        streams: Arc<ClientStreams>,
    ) -> Arc<dyn ServerSession> {
        let ended = CancellationToken::new();
        let seen = Arc::new(SeenLists::default());
        let entries = DeckEntryLists::new(session.clone(), streams.clone(), ended.clone());
        event_reaction::deck(&session, seen.clone(), &entries, streams.clone(), ended.clone());
        Arc::new(Self { session, seen, entries, streams, log_level: Mutex::new(None), ended })
    }

    /// The view for a list. A legacy client is notified when this list changes later.
    async fn read(&self, list: ListKind, context: &CallContext) -> Arc<View> {
        let request = self.session.request(context);
        let view = match list {
            ListKind::Tools => listing::discovered_view(&request).await,
            ListKind::Resources | ListKind::Prompts => listing::discovered_offers(&request).await,
        };
        if !self.streams.is_modern() {
            self.seen.record_read(list, &self.session);
        }
        if list == ListKind::Tools {
            code_mode::prepare(&self.session);
        }
        view
    }

    fn context(&self, exchange: RequestExchange) -> CallContext {
        let legacy_logs = self.log_level.lock().map_or(LogFilter::None, LogFilter::AtLeast);
        context(exchange, NotificationPolicy::Nothing, legacy_logs)
    }

    /// Answers every request but `tools/call`.
    async fn answer(
        &self,
        method: &str,
        params: Option<RawMembers>,
        exchange: RequestExchange,
    ) -> MethodResult {
        let era = exchange.revision.era();
        let context = self.context(exchange.clone());
        let list = match method {
            "tools/list" => Some((ListKind::Tools, "tools")),
            "resources/list" => Some((ListKind::Resources, "resources")),
            "resources/templates/list" => Some((ListKind::Resources, "resourceTemplates")),
            "prompts/list" => Some((ListKind::Prompts, "prompts")),
            _ => None,
        };
        if let Some((list, key)) = list {
            return self.list(list, key, params.as_ref(), &context).await;
        }
        if method == "subscriptions/listen" && era == Era::Modern {
            let requested = ListenFilter::from_params(params.as_ref())?;
            self.session.note_listening("");
            return listen(self, &self.streams, requested, exchange, &context).await;
        }
        let request = &self.session.request(&context);
        let mut params = params.unwrap_or_default();
        params::strip_progress_token(&mut params);
        let outcome: Result<Box<RawValue>, CallError> = match (method, era) {
            ("skills/list", _) => {
                return page("skills", &raw(&skills::list(request).await)?, Some(&params));
            }
            ("skills/get", _) => {
                let uri = params::text(&params, "uri")?;
                let skill = skills::get(request, &uri).await;
                // Every protocol revision reports an unknown skill as an invalid parameter.
                let skill = skill.map_err(|error| failure::as_rpc_error(&error, Era::Modern))?;
                return raw(&json!({ "skill": skill }));
            }
            ("resources/directory/read", _) => {
                let uri = params::text(&params, "uri")?;
                let children = skills::read_folder(request, &uri).await;
                let children = children.map_err(|error| failure::as_rpc_error(&error, era))?;
                return page("resources", &raw(&children)?, Some(&params));
            }
            ("resources/read", _) => {
                let uri = params::text(&params, "uri")?;
                resources::read(request, &uri, params).await
            }
            ("prompts/get", _) => {
                let name = params::text(&params, "name")?;
                prompts::get(request, &name, params).await
            }
            ("completion/complete", _) => prompts::complete(request, params).await,
            ("resources/subscribe", Era::Legacy) => {
                let uri = params::text(&params, "uri")?;
                self.subscribe(&uri, &context).await.map(|()| empty())
            }
            ("resources/unsubscribe", Era::Legacy) => {
                let uri = params::text(&params, "uri")?;
                self.unsubscribe(&uri, &context).await.map(|()| empty())
            }
            ("logging/setLevel", Era::Legacy) => return self.set_log_level(&params),
            _ => return Err(RpcError::method_not_found(method)),
        };
        outcome.map_err(|error| failure::as_rpc_error(&error, era))
    }

    fn set_log_level(&self, params: &RawMembers) -> MethodResult {
        let name = params::text(params, "level")?;
        let level = LogSeverity::parse(&name)
            .ok_or_else(|| RpcError::invalid_params(format!("there is no log level `{name}`")))?;
        *self.log_level.lock() = Some(level);
        Ok(empty())
    }

    /// One page of a list.
    async fn list(
        &self,
        list: ListKind,
        key: &str,
        params: Option<&RawMembers>,
        context: &CallContext,
    ) -> MethodResult {
        if key == "resources"
            && let Some(page) = self.entries.page(params).await?
        {
            return Ok(page);
        }
        let view = self.read(list, context).await;
        let own = match key {
            "tools" => return page(key, view.tools(), params),
            "resources" => page(key, &view.resources(), params)?,
            "resourceTemplates" => page(key, &view.resource_templates(), params)?,
            _ => page(key, &view.prompts(), params)?,
        };
        self.entries.append_to(key, own).await
    }

    async fn subscribe(&self, uri: &str, context: &CallContext) -> Result<(), CallError> {
        match self.entries.watch(uri, !self.streams.is_modern()).await? {
            true => Ok(()),
            false => subscriptions::subscribe_listed(&self.session.request(context), uri).await,
        }
    }

    async fn unsubscribe(&self, uri: &str, context: &CallContext) -> Result<(), CallError> {
        match self.entries.unwatch(uri) {
            true => Ok(()),
            false => subscriptions::unsubscribe_listed(&self.session.request(context), uri).await,
        }
    }
}

#[async_trait]
impl ServerSession for DeckSession {
    /// The initialize result. It matches the handlers below.
    async fn describe(&self) -> Result<RawMembers, RpcError> {
        let view = self.session.view();
        let mut capabilities = json!({
            "tools": { "listChanged": true },
            "resources": { "listChanged": true },
            "prompts": { "listChanged": true },
            "logging": {},
            "extensions": { "io.modelcontextprotocol/skills": { "directoryRead": true } },
        });
        if !view.direct().is_empty() {
            capabilities["resources"]["subscribe"] = json!(true);
            capabilities["completions"] = json!({});
        }
        let mut result = raw_members(json!({
            "capabilities": capabilities,
            "serverInfo": {
                "name": "capdeck",
                "title": "Capdeck",
                "version": self.session.host().settings().version,
            },
        }))?;
        if let Some(instructions) = view.instructions() {
            result.insert("instructions".to_owned(), raw(&instructions)?);
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
        if method != "tools/call" {
            return Box::pin(self.answer(method, params, exchange)).await;
        }
        let (name, request) = params::tool_call(params.unwrap_or_default())?;
        let context = self.context(exchange);
        let mounted = self.session.mounted_capsule();
        let outcome = calls::call_listed(self.session.request(&context), &name, request).await;
        if self.session.mounted_capsule() != mounted {
            // Short addresses now belong to another capsule.
            self.entries.listening.notify_lists(true, false);
        }
        match outcome {
            Ok(Some(result)) => Ok(result),
            Ok(None) => Err(RpcError::invalid_params(format!("there is no tool `{name}`"))),
            // Errors that the client itself must handle are not results for its model.
            Err(error) if error.kind() == ErrorKind::Cancelled || failure::requires_url(&error) => {
                Err(failure::as_rpc_error(&error, era))
            }
            Err(error) => {
                let form = match self.session.reads_text_alone() {
                    true => ErrorForm::Text,
                    false => ErrorForm::TextAndFacts,
                };
                failure::as_tool_result(&error, form)
            }
        }
    }

    async fn notification(&self, method: &str, params: Option<RawMembers>) {
        if method == "notifications/roots/list_changed" {
            self.session.notify_servers(method, params).await;
        }
    }

    async fn header_params(&self, tool: &str) -> HeaderParams {
        let tool = self.session.snapshot().listed_tool(tool);
        params::header_params(tool.as_ref().and_then(|tool| tool.input_schema()))
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
impl ListenSource for DeckSession {
    async fn offered(&self, requested: ListenFilter) -> ListenFilter {
        let directly = !self.session.view().direct().is_empty();
        let honoured = ListenFilter {
            prompts_list_changed: requested.prompts_list_changed && directly,
            // The deck waits for tasks itself, so clients see none.
            task_ids: Vec::new(),
            ..requested
        };
        for (list, is_wanted) in [
            (ListKind::Tools, honoured.tools_list_changed),
            (ListKind::Resources, honoured.resources_list_changed),
            (ListKind::Prompts, honoured.prompts_list_changed),
        ] {
            if is_wanted {
                self.seen.record_subscription(list, &self.session);
            }
        }
        let (resources, prompts) = (honoured.resources_list_changed, honoured.prompts_list_changed);
        if resources || prompts {
            self.entries.follow_lists(resources, prompts).await;
        }
        honoured
    }

    async fn watch(&self, uri: &str, context: &CallContext) -> Result<(), CallError> {
        self.subscribe(uri, context).await
    }

    async fn unwatch(&self, uri: &str) {
        let context = CallContext::detached(UNWATCH_TIMEOUT);
        if let Err(error) = self.unsubscribe(uri, &context).await {
            tracing::debug!(uri, %error, "cannot end the subscription of a resource");
        }
    }
}

//! The deck as one MCP server: listed tools, resources, prompts, and the tools for everything else.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use capdeck_host::{
    CallContext, CallError, ErrorKind, RawMembers, Session as HostSession, View, calls, code_mode,
    listing, prompts, resources, skills, subscriptions,
};
use capdeck_mcp::{
    Era, HeaderParams, RpcError,
    server::{RequestExchange, ServerSession},
};
use parking_lot::Mutex;
use serde_json::{Value, json, value::RawValue};
use tokio_util::sync::CancellationToken;

use super::{
    caller::{NotificationPolicy, context},
    client_streams::{ClientStreams, ListenFilter},
    deck_entry_lists::DeckEntryLists,
    event_reaction, failure,
    listen::{ListenSource, listen},
    log_level::{LogFilter, McpLogLevel},
    page::page,
    params,
    seen_lists::{ListKind, SeenLists},
};

const UNWATCH_TIMEOUT: Duration = Duration::from_secs(3);

pub(super) struct DeckSession {
    session: Arc<HostSession>,
    seen: Arc<SeenLists>,
    entries: Arc<DeckEntryLists>,
    streams: Arc<ClientStreams>,
    /// The level of a legacy client. No log messages until it is set.
    log_level: Mutex<Option<McpLogLevel>>,
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

    /// The initialize result. It matches the handlers below.
    fn introduction(&self) -> RawMembers {
        let view = self.session.view();
        let mut capabilities = json!({
            "tools": { "listChanged": true },
            "resources": { "listChanged": true },
            "prompts": { "listChanged": true },
            "logging": {},
            "extensions": { "io.modelcontextprotocol/skills": { "directoryRead": true } },
        });
        if view.offers_directly() {
            capabilities["resources"]["subscribe"] = json!(true);
            capabilities["completions"] = json!({});
        }
        let mut result = object(json!({
            "capabilities": capabilities,
            "serverInfo": {
                "name": "capdeck",
                "title": "Capdeck",
                "version": self.session.host().settings().version,
            },
        }));
        if let Some(instructions) = view.instructions()
            && let Ok(text) = serde_json::value::to_raw_value(&instructions)
        {
            result.insert("instructions".to_owned(), text);
        }
        result
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

    async fn call_tool(
        &self,
        params: Option<RawMembers>,
        exchange: RequestExchange,
    ) -> Result<Box<RawValue>, RpcError> {
        let (name, request) = params::tool_call(params.unwrap_or_default())?;
        let era = exchange.revision.era();
        let context = self.context(exchange);
        let mounted = self.session.mounted_capsule();
        let outcome = calls::call_listed(self.session.request(&context), &name, request).await;
        if self.session.mounted_capsule() != mounted {
            self.entries.notify_mount_change();
        }
        match outcome {
            Ok(Some(result)) => Ok(result),
            Ok(None) => Err(RpcError::invalid_params(format!("there is no tool `{name}`"))),
            // Errors that the client itself must handle are not results for its model.
            Err(error) if error.kind() == ErrorKind::Cancelled || failure::requires_url(&error) => {
                Err(failure::as_rpc_error(&error, era))
            }
            Err(error) => failure::as_tool_result(&error),
        }
    }

    fn set_log_level(&self, params: &RawMembers) -> Result<Box<RawValue>, RpcError> {
        let name = params::text(params, "level")?;
        let level = McpLogLevel::parse(&name)
            .ok_or_else(|| RpcError::invalid_params(format!("there is no log level `{name}`")))?;
        *self.log_level.lock() = Some(level);
        Ok(empty())
    }

    /// One page of a list; `None` for other methods.
    async fn list(
        &self,
        method: &str,
        params: Option<&RawMembers>,
        context: &CallContext,
    ) -> Option<Result<Box<RawValue>, RpcError>> {
        Some(match method {
            "tools/list" => {
                page("tools", self.read(ListKind::Tools, context).await.tools(), params)
            }
            "resources/list" => self.list_resources(params, context).await,
            "resources/templates/list" => {
                let view = self.read(ListKind::Resources, context).await;
                match page("resourceTemplates", &view.resource_templates(), params) {
                    Ok(own) => self.entries.after_templates(own).await,
                    Err(error) => Err(error),
                }
            }
            "prompts/list" => {
                let view = self.read(ListKind::Prompts, context).await;
                match page("prompts", &view.prompts(), params) {
                    Ok(own) => self.entries.after_prompts(own).await,
                    Err(error) => Err(error),
                }
            }
            _ => return None,
        })
    }

    async fn list_resources(
        &self,
        params: Option<&RawMembers>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, RpcError> {
        if let Some(page) = self.entries.page(params).await? {
            return Ok(page);
        }
        let view = self.read(ListKind::Resources, context).await;
        self.entries.after_resources(page("resources", &view.resources(), params)?).await
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
    async fn describe(&self) -> Result<RawMembers, RpcError> {
        Ok(self.introduction())
    }

    async fn request(
        &self,
        method: &str,
        params: Option<RawMembers>,
        exchange: RequestExchange,
    ) -> Result<Box<RawValue>, RpcError> {
        if method == "tools/call" {
            return self.call_tool(params, exchange).await;
        }
        let era = exchange.revision.era();
        let context = self.context(exchange.clone());
        if let Some(answer) = self.list(method, params.as_ref(), &context).await {
            return answer;
        }
        if method == "subscriptions/listen" && era == Era::Modern {
            let wanted = ListenFilter::of(params.as_ref())?;
            self.session.note_listening("");
            return listen(self, &self.streams, wanted, exchange, &context).await;
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

    async fn notification(&self, method: &str, params: Option<RawMembers>) {
        if method == "notifications/roots/list_changed" {
            self.session.notify_servers(method, params).await;
        }
    }

    async fn header_params(&self, tool: &str) -> HeaderParams {
        let tool = self.session.snapshot().listed_tool(tool);
        params::header_params(tool.as_ref().and_then(|tool| tool.input_schema()))
    }

    async fn closed(&self) {
        self.ended.cancel();
        self.session.close().await;
    }
}

#[async_trait]
impl ListenSource for DeckSession {
    async fn offered(&self, wanted: ListenFilter) -> ListenFilter {
        let directly = self.session.view().offers_directly();
        let honoured = ListenFilter {
            prompts_list_changed: wanted.prompts_list_changed && directly,
            // The deck waits for tasks itself, so clients see none.
            task_ids: Vec::new(),
            ..wanted
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

fn raw(value: &impl serde::Serialize) -> Result<Box<RawValue>, RpcError> {
    serde_json::value::to_raw_value(value).map_err(|error| RpcError::internal(error.to_string()))
}

fn empty() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_default()
}

fn object(value: Value) -> RawMembers {
    let Value::Object(members) = value else { return RawMembers::new() };
    members
        .into_iter()
        .filter_map(|(key, value)| Some((key, serde_json::value::to_raw_value(&value).ok()?)))
        .collect()
}

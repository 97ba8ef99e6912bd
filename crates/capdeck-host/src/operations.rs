//! The operations on a capability; [`wrapper`] and code mode's bridge shape the facts for their
//! callers.

mod arguments;
mod wrapper;

use std::sync::Arc;

use capdeck_backend::{CallError, ErrorCode};
use capdeck_catalog::{Capability, Discovery, RawMembers, ToolSearchRequest, compact};
use capdeck_definition::Backend;
use capdeck_sandbox::DeckOperation;
use serde_json::{Map, Value, json, value::RawValue};

pub(crate) use self::{
    arguments::OperationArguments,
    wrapper::{call_wrapper, member_name, set_discovery, wrapper_tool},
};
use crate::{
    RequestContext, artifacts, calls, check, deck_snapshot::DeckSnapshot, forward::forward,
    listing, observed_shape, page::paginate, projection, raw, report, search,
};

/// `tool`, `uri` or `prompt`, with its value.
type OperationItem = (&'static str, String);

pub(crate) enum OperationResult {
    Facts { item: Option<OperationItem>, facts: Value, markdown: String },
    Forwarded { item: OperationItem, answer: Box<RawValue> },
}

impl OperationResult {
    fn facts(facts: Value, markdown: String) -> Self {
        Self::Facts { item: None, facts, markdown }
    }

    pub(crate) fn into_data(self) -> raw::Answer {
        match self {
            Self::Forwarded { answer, .. } => Ok(answer),
            Self::Facts { facts, .. } => raw::text(&facts),
        }
    }
}

/// The entries of one page: of a search that names no number, and at most.
struct ListLimits {
    default: usize,
    max: usize,
}

struct CapabilityOperation<'a> {
    request: &'a RequestContext<'a>,
    capability: &'a Arc<Capability>,
    arguments: &'a OperationArguments,
    /// Other members of the request; answers to a server's questions are forwarded to it.
    rest: &'a RawMembers,
}

/// Runs an operation on a capability. [`calls::call`] makes the calls of tools.
pub(crate) async fn run(
    request: &RequestContext<'_>,
    capability: &Arc<Capability>,
    operation: DeckOperation,
    arguments: &OperationArguments,
    rest: &RawMembers,
) -> Result<OperationResult, CallError> {
    let this = CapabilityOperation { request, capability, arguments, rest };
    match operation {
        DeckOperation::Inspect => Ok(this.inspect()),
        DeckOperation::Check => {
            let report = check::check(request, this.id()).await;
            let state = if report.outcome.is_ok() { "available" } else { "unavailable" };
            let markdown = format!("`{}` is {state}", this.id());
            Ok(OperationResult::facts(report.to_json(), markdown))
        }
        DeckOperation::Tools => {
            let rows = |d: &Discovery| d.tools.iter().map(|tool| compact(tool)).collect();
            this.list("Tools", "name", rows).await
        }
        DeckOperation::SearchTools => this.search_tools().await,
        DeckOperation::DescribeTool => this.describe_tool().await,
        DeckOperation::Resources => {
            this.list("Resources", "uri", |d| this.items(&d.resources, "resource")).await
        }
        DeckOperation::ResourceTemplates => {
            let rows = |d: &Discovery| this.items(&d.resource_templates, "resourceTemplate");
            this.list("Resource templates", "uriTemplate", rows).await
        }
        DeckOperation::Prompts => this.list("Prompts", "prompt", |d| this.prompts(d)).await,
        DeckOperation::SearchResources => {
            let query = arguments.text("query")?.to_lowercase();
            let rows = |d: &Discovery| {
                let mut all = this.items(&d.resources, "resource");
                all.extend(this.items(&d.resource_templates, "resourceTemplate"));
                matching(all, &query)
            };
            this.list("Resources", "uri", rows).await
        }
        DeckOperation::SearchPrompts => {
            let query = arguments.text("query")?.to_lowercase();
            this.list("Prompts", "prompt", |d| matching(this.prompts(d), &query)).await
        }
        DeckOperation::ReadResource => {
            let uri = arguments.text("uri")?;
            let item = ("uri", uri.to_owned());
            if artifacts::has(&request.deck, uri) {
                let answer = artifacts::read(&request.deck, uri).await?;
                return Ok(OperationResult::Forwarded { item, answer });
            }
            let params = raw::object([("uri", json!(uri))]);
            this.forward("resources/read", params, item).await
        }
        DeckOperation::GetPrompt => {
            let name = arguments.text("name")?;
            let mut params = raw::object([("name", json!(name))]);
            if let Some(given) = arguments.optional_object("args")? {
                params.extend(raw::object([("arguments", as_prompt_arguments(given))]));
            }
            this.forward("prompts/get", params, ("prompt", name.to_owned())).await
        }
        DeckOperation::Complete => {
            let (params, item) = this.completion()?;
            this.forward("completion/complete", params, item).await
        }
        DeckOperation::CallTool
        | DeckOperation::Search
        | DeckOperation::Types
        | DeckOperation::ReadArtifact
        | DeckOperation::ReadLogs
        | DeckOperation::ReadRecovery
        | DeckOperation::CallReadOnly
        | DeckOperation::SetUpTools
        | DeckOperation::RunCode => {
            let message = format!("`{}` is not a method of a handle", operation.script_name());
            Err(CallError::new(ErrorCode::UnknownOperation, message))
        }
    }
}

impl CapabilityOperation<'_> {
    fn inspect(&self) -> OperationResult {
        let card = report::card(self.capability);
        let mut text = format!("`{}`: {}", self.id(), self.capability.definition.description);
        if let Some(count) = card["importProblems"].as_u64() {
            text.push_str(&format!(
                "\n{count} operations could not be imported: capdeck why {}",
                self.id()
            ));
        }
        OperationResult::facts(card, text)
    }

    async fn search_tools(&self) -> Result<OperationResult, CallError> {
        self.discovery().await?;
        let query = self.arguments.text("query")?;
        let deck = self.request.renewed().deck;
        let catalog = deck.catalog();
        search::warm(catalog).await;
        let limits = self.limits();
        let limit = self.arguments.limit()?.unwrap_or(limits.default).min(limits.max);
        let cursor = self.arguments.optional_text("cursor")?;
        let page = catalog
            .search(&ToolSearchRequest {
                query,
                within: Some(self.id()),
                limit,
                cursor,
                allowed: &|capability| deck.may_see(capability),
            })
            .map_err(|error| CallError::invalid_request(error.to_string()))?;
        let found = page.hits.iter().filter_map(|hit| hit.tool.as_deref());
        let rows: Vec<Value> = found.map(compact).collect();
        let (rows, next) = match rows.is_empty() && cursor.is_none() {
            // Words that no tool has do not hide the tools: the caller sees what there is.
            true => (self.unmatched_tools(&deck, limit), None),
            false => (rows, page.next_cursor),
        };
        let result = self.page(Some(query), rows, next);
        let text = list_markdown("Tools", &result, "name");
        Ok(OperationResult::facts(result, text))
    }

    /// The first tools of the capability, those that only read before the others.
    fn unmatched_tools(&self, deck: &DeckSnapshot<'_>, limit: usize) -> Vec<Value> {
        let known = deck.catalog().get(self.id()).and_then(|one| one.discovery.clone());
        let mut tools: Vec<_> = known.iter().flat_map(|known| &known.tools).collect();
        tools.sort_by_key(|tool| {
            let is = |hint: &str| tool.annotation(hint) == Some(true);
            (!is("readOnlyHint"), is("destructiveHint"), tool.name().to_owned())
        });
        tools.into_iter().take(limit).map(|tool| compact(tool)).collect()
    }

    /// How much a list or a search gives. A set has limits of its own, for itself and its members.
    fn limits(&self) -> ListLimits {
        let catalog = self.request.deck.catalog();
        let config = catalog.config();
        let member_of = self.capability.definition.member_of.as_ref();
        let set = member_of.and_then(|set| catalog.get(set.as_str()));
        let backend = &set.unwrap_or(self.capability).definition.backend;
        let (default, max) = match backend {
            Backend::Caplets(set) => (set.default_search_limit, set.max_search_limit),
            _ => (config.default_search_limit, config.max_search_limit),
        };
        let max = max.min(config.max_search_limit) as usize;
        ListLimits { default: (default as usize).min(max), max }
    }

    async fn describe_tool(&self) -> Result<OperationResult, CallError> {
        let name = self.arguments.text("name")?;
        let found = calls::find_tool(self.request, self.capability, name).await?;
        let tool = found.ok_or_else(|| {
            let message = "the tool was removed during the request";
            CallError::internal(message)
        })?;
        let mut facts = json!({
            "id": self.id(),
            "tool": tool.as_ref(),
            "fieldSelection": projection::support(self.capability, &tool),
        });
        let mut markdown = serde_json::to_string_pretty(tool.as_ref()).unwrap_or_default();
        let definition = &self.capability.definition;
        if let Some(shape) = observed_shape(self.request.host(), definition, &tool) {
            let seen = shape["typeScript"].as_str().unwrap_or_default();
            markdown.push_str(&format!("\n\nIts results looked like this so far: `{seen}`"));
            facts["observedOutputShape"] = shape;
        }
        Ok(OperationResult::Facts { item: Some(("tool", name.to_owned())), facts, markdown })
    }

    fn completion(&self) -> Result<(RawMembers, OperationItem), CallError> {
        let reference = self.arguments.object("ref")?;
        let text = |key: &str| reference.get(key).and_then(Value::as_str);
        let (wire, subject) = match (text("type"), text("name"), text("uri")) {
            (Some("prompt"), Some(name), _) => {
                (json!({ "type": "ref/prompt", "name": name }), ("prompt", name.to_owned()))
            }
            (Some("resourceTemplate"), _, Some(uri)) => {
                (json!({ "type": "ref/resource", "uri": uri }), ("uri", uri.to_owned()))
            }
            _ => {
                return Err(CallError::invalid_request("`ref` names neither a prompt nor a template").hint(
                    "use {\"type\":\"prompt\",\"name\":…} or {\"type\":\"resourceTemplate\",\"uri\":…}",
                ));
            }
        };
        let argument = Value::Object(self.arguments.object("argument")?.clone());
        let mut params = raw::object([("ref", wire), ("argument", argument)]);
        if let Some(context) = self.arguments.optional_object("context")? {
            params.extend(raw::object([("context", Value::Object(context.clone()))]));
        }
        Ok((params, subject))
    }

    async fn forward(
        &self,
        method: &str,
        mut params: RawMembers,
        item: OperationItem,
    ) -> Result<OperationResult, CallError> {
        let retried = ["inputResponses", "requestState"];
        params.extend(retried.into_iter().filter_map(|key| {
            self.rest.get_key_value(key).map(|(key, value)| (key.clone(), value.clone()))
        }));
        let answer = forward(self.request, self.id(), method, Some(params)).await?;
        Ok(OperationResult::Forwarded { item, answer })
    }

    async fn list(
        &self,
        title: &str,
        label: &str,
        rows: impl FnOnce(&Discovery) -> Vec<Value>,
    ) -> Result<OperationResult, CallError> {
        let discovery = self.discovery().await?;
        let ListLimits { max, .. } = self.limits();
        let limit = self.arguments.limit()?.unwrap_or(max).min(max);
        let cursor = self.arguments.optional_text("cursor")?;
        let (items, next) = paginate(rows(&discovery), limit, cursor, "this list")?;
        let result = self.page(None, items, next);
        let text = list_markdown(title, &result, label);
        Ok(OperationResult::facts(result, text))
    }

    /// The capability's lists, read again when they are old. If that fails, the old ones are
    /// returned.
    async fn discovery(&self) -> Result<Arc<Discovery>, CallError> {
        let definition = &self.capability.definition;
        let ask = || listing::discover(self.request, definition);
        match &self.capability.discovery {
            Some(known) if self.request.connections().discovery_is_old(definition) => {
                Ok(ask().await.unwrap_or_else(|_| known.clone()))
            }
            Some(known) => Ok(known.clone()),
            None => ask().await,
        }
    }

    fn id(&self) -> &str {
        self.capability.definition.id.as_str()
    }

    fn page(&self, query: Option<&str>, items: Vec<Value>, next: Option<String>) -> Value {
        let definition = &self.capability.definition;
        let mut page = json!({ "id": definition.id, "name": definition.name });
        raw::put_some(&mut page, "query", query);
        page["items"] = Value::Array(items);
        if let Some(cursor) = next {
            page["nextCursor"] = json!(cursor);
            page["truncated"] = json!(true);
        }
        page
    }

    fn items(&self, list: &[RawMembers], kind: &str) -> Vec<Value> {
        let keys = ["uri", "uriTemplate", "name", "title", "description", "mimeType", "size"];
        let start = [("id", json!(self.id())), ("kind", json!(kind))];
        list.iter().map(|object| row(&start, object, keys.map(|key| (key, key)))).collect()
    }

    fn prompts(&self, discovery: &Discovery) -> Vec<Value> {
        let keys = [("name", "prompt"), ("description", "description"), ("arguments", "arguments")];
        let start = [("id", json!(self.id()))];
        discovery.prompts.iter().map(|object| row(&start, object, keys)).collect()
    }
}

fn row<const N: usize>(
    start: &[(&str, Value)],
    object: &RawMembers,
    keys: [(&str, &str); N],
) -> Value {
    let mut row: Map<String, Value> =
        start.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    for (from, to) in keys {
        if let Some(value) = object.get(from).and_then(|text| raw::value(text)) {
            row.insert(to.to_owned(), value);
        }
    }
    Value::Object(row)
}

fn matching(rows: Vec<Value>, query: &str) -> Vec<Value> {
    rows.into_iter().filter(|row| row.to_string().to_lowercase().contains(query)).collect()
}

/// Prompt arguments are strings on the wire; other values are sent as their JSON text.
fn as_prompt_arguments(arguments: &Map<String, Value>) -> Value {
    arguments
        .iter()
        .map(|(key, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (key.clone(), Value::String(text))
        })
        .collect::<Map<_, _>>()
        .into()
}

fn list_markdown(title: &str, page: &Value, label: &str) -> String {
    let items = page["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut text = format!("{title}: {}\n", items.len());
    for (index, item) in items.iter().enumerate() {
        let name = item.get(label).and_then(Value::as_str).unwrap_or("?");
        text.push_str(&format!("{}. `{name}`", index + 1));
        if let Some(args) = item.get("requiredArgs").and_then(Value::as_array)
            && !args.is_empty()
        {
            let args: Vec<&str> = args.iter().filter_map(Value::as_str).collect();
            text.push_str(&format!(" ({})", args.join(", ")));
        }
        if let Some(line) =
            item.get("description").and_then(Value::as_str).and_then(|text| text.lines().next())
        {
            text.push_str(&format!(": {line}"));
        }
        text.push('\n');
    }
    if let Some(cursor) = page.get("nextCursor").and_then(Value::as_str) {
        text.push_str(&format!("More: cursor `{cursor}`\n"));
    }
    text
}

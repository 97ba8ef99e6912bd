//! Runs one wrapper operation.

use std::{sync::Arc, time::Instant};

use capdeck_backend::{ArtifactUri, CallContext, CallError, ErrorCode};
use capdeck_catalog::{Capability, Discovery, RawObject, SearchRequest, compact};
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    answer::{Subject, list_markdown},
    operation::{Operation, Request, invalid},
    page::paginate,
};
use crate::{
    CallForm, Consent, Session, ToolRequest, card, deck_snapshot::DeckSnapshot, projection, raw,
};

impl Session {
    /// Runs a wrapper call of the capability `id`.
    pub(crate) async fn run_wrapper(
        &self,
        deck: DeckSnapshot<'_>,
        id: &str,
        outer: &ToolRequest,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let started = Instant::now();
        let capability = deck.capability(id)?;
        let fields = match &outer.arguments {
            None => Map::new(),
            Some(text) => serde_json::from_str(text.get())
                .map_err(|_| invalid("the arguments must be a JSON object".to_owned()))?,
        };
        let kind = capability.definition.backend.kind();
        let request = Request::parse(&capability.definition.id, kind, fields)?;
        let capability = &capability;
        let form = Form::Wrapped;
        let session = self;
        let run = WrapperCall { session, deck, capability, request, outer, context, started, form };
        run.run().await
    }

    /// Runs one operation of the capability `id` for a program: the answer is the bare data.
    pub(crate) async fn run_operation(
        &self,
        deck: DeckSnapshot<'_>,
        id: &str,
        operation: &str,
        mut fields: Map<String, Value>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let (started, form) = (Instant::now(), Form::Bare);
        let capability = &deck.capability(id)?;
        fields.insert("operation".to_owned(), json!(operation));
        let kind = capability.definition.backend.kind();
        let request = Request::parse(&capability.definition.id, kind, fields)?;
        let outer = &ToolRequest::default();
        let session = self;
        let run = WrapperCall { session, deck, capability, request, outer, context, started, form };
        run.run().await
    }
}

/// Who reads the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A model: a tool result, with text and facts.
    Wrapped,
    /// A program: the facts alone.
    Bare,
}

struct WrapperCall<'a> {
    session: &'a Session,
    /// The catalog that the capability is from.
    deck: DeckSnapshot<'a>,
    capability: &'a Arc<Capability>,
    request: Request,
    /// The wrapper call itself. What else it carries, such as answers to questions, is meant for the server.
    outer: &'a ToolRequest,
    context: &'a CallContext,
    started: Instant,
    form: Form,
}

impl WrapperCall<'_> {
    async fn run(&self) -> Result<Box<RawValue>, CallError> {
        match self.request.operation {
            Operation::Inspect => {
                let card = card(self.capability);
                let mut text =
                    format!("`{}`: {}", self.id(), self.capability.definition.description);
                if let Some(count) = card["importProblems"].as_u64() {
                    text.push_str(&format!(
                        "\n{count} operations could not be imported: capdeck why {}",
                        self.id()
                    ));
                }
                self.answer(None, &card, text)
            }
            Operation::Check => self.check().await,
            Operation::Tools => self.tools().await,
            Operation::SearchTools => self.search_tools().await,
            Operation::DescribeTool => self.describe_tool().await,
            Operation::CallTool => self.call_tool().await,
            Operation::Resources => {
                self.list("Resources", "uri", |d| self.items(&d.resources, "resource")).await
            }
            Operation::ResourceTemplates => {
                let rows = |d: &Discovery| self.items(&d.resource_templates, "resourceTemplate");
                self.list("Resource templates", "uriTemplate", rows).await
            }
            Operation::Prompts => self.list("Prompts", "prompt", |d| self.prompts(d)).await,
            Operation::SearchResources => {
                let query = self.request.text("query")?.to_lowercase();
                let rows = |d: &Discovery| {
                    let mut all = self.items(&d.resources, "resource");
                    all.extend(self.items(&d.resource_templates, "resourceTemplate"));
                    matching(all, &query)
                };
                self.list("Resources", "uri", rows).await
            }
            Operation::SearchPrompts => {
                let query = self.request.text("query")?.to_lowercase();
                self.list("Prompts", "prompt", |d| matching(self.prompts(d), &query)).await
            }
            Operation::ReadResource => {
                let uri = self.request.text("uri")?;
                if self.session.has_artifact(uri) {
                    let read = self.session.read_artifact(uri).await?;
                    return self.embed(read, ("uri", uri));
                }
                let params = raw::object([("uri", json!(uri))]);
                self.forward("resources/read", params, ("uri", uri)).await
            }
            Operation::GetPrompt => {
                let name = self.request.text("name")?;
                let arguments = self.request.optional_object("args")?;
                let mut params = raw::object([("name", json!(name))]);
                if let Some(arguments) = arguments {
                    params.extend(raw::object([("arguments", as_prompt_arguments(arguments))]));
                }
                self.forward("prompts/get", params, ("prompt", name)).await
            }
            Operation::Complete => {
                let (params, subject) = self.completion()?;
                self.forward("completion/complete", params, subject).await
            }
        }
    }

    async fn check(&self) -> Result<Box<RawValue>, CallError> {
        let report = self.session.check(self.id(), self.context).await;
        let state = if report.is_available() { "available" } else { "unavailable" };
        self.answer(None, &report.to_json(), format!("`{}` is {state}", self.id()))
    }

    async fn tools(&self) -> Result<Box<RawValue>, CallError> {
        let rows = |d: &Discovery| d.tools.iter().map(|tool| compact(tool)).collect();
        self.list("Tools", "name", rows).await
    }

    async fn search_tools(&self) -> Result<Box<RawValue>, CallError> {
        self.discovery().await?;
        let query = self.request.text("query")?;
        let catalog = self.session.searchable_catalog().await;
        let config = catalog.config();
        let longest = config.max_search_limit as usize;
        let limit = self.request.limit()?.unwrap_or(config.default_search_limit as usize);
        let page = catalog
            .search(&SearchRequest {
                query,
                within: Some(self.id()),
                limit: limit.min(longest),
                cursor: self.request.optional_text("cursor")?,
                allowed: &|capability| self.deck.may_see(capability),
            })
            .map_err(|error| invalid(error.to_string()))?;
        let rows = page.hits.iter().filter_map(|hit| hit.tool.as_deref()).map(compact);
        let mut result = self.listing();
        result.insert("query".to_owned(), json!(query));
        result.insert("items".to_owned(), rows.collect());
        if let Some(cursor) = page.next_cursor {
            result.insert("nextCursor".to_owned(), json!(cursor));
            result.insert("truncated".to_owned(), json!(true));
        }
        let text = list_markdown("Tools", &result, "name");
        self.answer(None, &Value::Object(result), text)
    }

    async fn describe_tool(&self) -> Result<Box<RawValue>, CallError> {
        let name = self.request.text("name")?;
        let tool = self.session.find_tool(self.capability, name, self.context).await?;
        let Some(tool) = tool else { return Err(bug("the tool vanished while it was described")) };
        let mut result = json!({
            "id": self.id(),
            "tool": tool.as_ref(),
            "fieldSelection": projection::support(self.capability, &tool),
        });
        let mut text = serde_json::to_string_pretty(tool.as_ref()).unwrap_or_default();
        let definition = &self.capability.definition;
        if let Some(shape) = self.session.host.observed_shape(definition, &tool) {
            let seen = shape["typeScript"].as_str().unwrap_or_default();
            text.push_str(&format!("\n\nIts results looked like this so far: `{seen}`"));
            result["observedOutputShape"] = shape;
        }
        self.answer(Some(("tool", name)), &result, text)
    }

    async fn call_tool(&self) -> Result<Box<RawValue>, CallError> {
        let name = self.request.text("name")?;
        if ArtifactUri::is_meant(name) {
            return self.session.read_on(name).await;
        }
        let arguments = serde_json::value::to_raw_value(self.request.object("args")?)
            .map_err(|error| invalid(error.to_string()))?;
        let request = ToolRequest {
            capability: self.id().to_owned(),
            tool: name.to_owned(),
            arguments: Some(arguments),
            fields: self.request.field_paths()?,
            meta: self.outer.meta.clone(),
            rest: self.outer.rest.clone(),
            consent: Consent::NotAsked,
            flow: self.outer.flow.clone(),
            whole: self.outer.whole,
            unformatted: self.outer.unformatted,
            form: CallForm::OwnName,
        };
        let deck = self.deck.clone();
        let result = self.session.call_in(deck, &request, self.context).await?;
        if asks_for_input(&result) {
            return Ok(result);
        }
        Ok(self.subject(Some(("tool", name))).annotate(&result).unwrap_or(result))
    }

    fn completion(&self) -> Result<(RawObject, (&'static str, &str)), CallError> {
        let reference = self.request.object("ref")?;
        let text = |key: &str| reference.get(key).and_then(Value::as_str);
        let (wire, subject) = match (text("type"), text("name"), text("uri")) {
            (Some("prompt"), Some(name), _) => {
                (json!({ "type": "ref/prompt", "name": name }), ("prompt", name))
            }
            (Some("resourceTemplate"), _, Some(uri)) => {
                (json!({ "type": "ref/resource", "uri": uri }), ("uri", uri))
            }
            _ => {
                return Err(invalid("`ref` names neither a prompt nor a template".to_owned()).hint(
                    "use {\"type\":\"prompt\",\"name\":…} or {\"type\":\"resourceTemplate\",\"uri\":…}",
                ));
            }
        };
        let argument = Value::Object(self.request.object("argument")?.clone());
        let mut params = raw::object([("ref", wire), ("argument", argument)]);
        if let Some(context) = self.request.optional_object("context")? {
            params.extend(raw::object([("context", Value::Object(context.clone()))]));
        }
        Ok((params, subject))
    }

    async fn forward(
        &self,
        method: &str,
        params: RawObject,
        item: (&'static str, &str),
    ) -> Result<Box<RawValue>, CallError> {
        let mut params = params;
        let retried = ["inputResponses", "requestState"];
        params.extend(retried.into_iter().filter_map(|key| {
            self.outer.rest.get_key_value(key).map(|(key, value)| (key.clone(), value.clone()))
        }));
        let answer = self.session.forward(self.id(), method, Some(params), self.context).await?;
        if asks_for_input(&answer) {
            return Ok(answer);
        }
        self.embed(answer, item)
    }

    fn embed(
        &self,
        answer: Box<RawValue>,
        item: (&'static str, &str),
    ) -> Result<Box<RawValue>, CallError> {
        if self.form == Form::Bare {
            return Ok(answer);
        }
        let subject = self.subject(Some(item));
        subject.embed(&answer).ok_or_else(|| bug("the answer could not be written as JSON"))
    }

    async fn list(
        &self,
        title: &str,
        label: &str,
        rows: impl FnOnce(&Discovery) -> Vec<Value>,
    ) -> Result<Box<RawValue>, CallError> {
        let discovery = self.discovery().await?;
        let longest = self.session.catalog().config().max_search_limit as usize;
        let limit = self.request.limit()?.unwrap_or(longest).min(longest);
        let cursor = self.request.optional_text("cursor")?;
        let mut result = self.listing();
        result.extend(paginate(rows(&discovery), limit, cursor)?);
        let text = list_markdown(title, &result, label);
        self.answer(None, &Value::Object(result), text)
    }

    /// What the capability offers, asked for again once it is old. A list that cannot be renewed
    /// is better than none.
    async fn discovery(&self) -> Result<Arc<Discovery>, CallError> {
        let (host, definition) = (&self.session.host, &self.capability.definition);
        let connections = &self.session.connections;
        let ask = || self.session.discover(definition, self.context);
        match &self.capability.discovery {
            Some(known) if host.discovery_is_old(definition, connections) => {
                Ok(ask().await.unwrap_or_else(|_| known.clone()))
            }
            Some(known) => Ok(known.clone()),
            None => ask().await,
        }
    }

    fn id(&self) -> &str {
        self.capability.definition.id.as_str()
    }

    fn listing(&self) -> Map<String, Value> {
        let definition = &self.capability.definition;
        Map::from_iter([
            ("id".to_owned(), json!(definition.id)),
            ("name".to_owned(), json!(definition.name)),
        ])
    }

    fn subject<'b>(&'b self, item: Option<(&'static str, &'b str)>) -> Subject<'b> {
        Subject {
            capability: self.capability,
            operation: self.request.operation,
            item,
            started: self.started,
        }
    }

    fn answer(
        &self,
        item: Option<(&'static str, &str)>,
        result: &Value,
        text: String,
    ) -> Result<Box<RawValue>, CallError> {
        let answer = match self.form {
            Form::Wrapped => self.subject(item).answer(result, text),
            Form::Bare => serde_json::value::to_raw_value(result).ok(),
        };
        answer.ok_or_else(|| bug("the answer could not be written as JSON"))
    }

    /// Rows of resources or templates: `{id, kind, …the server's own members}`.
    fn items(&self, list: &[RawObject], kind: &str) -> Vec<Value> {
        let keys = ["uri", "uriTemplate", "name", "title", "description", "mimeType", "size"];
        let start = [("id", json!(self.id())), ("kind", json!(kind))];
        list.iter().map(|object| row(&start, object, keys.map(|key| (key, key)))).collect()
    }

    /// Rows of prompts: `{id, prompt, description?, arguments?}`.
    fn prompts(&self, discovery: &Discovery) -> Vec<Value> {
        let keys = [("name", "prompt"), ("description", "description"), ("arguments", "arguments")];
        let start = [("id", json!(self.id()))];
        discovery.prompts.iter().map(|object| row(&start, object, keys)).collect()
    }
}

/// One row of a list: what it starts with, then the object's own members under their new names.
fn row<const N: usize>(
    start: &[(&str, Value)],
    object: &RawObject,
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

/// Prompt arguments are strings on the wire; other values travel as their JSON text.
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

/// True when the server wants something from the client first. Such an answer is the client's, whole.
fn asks_for_input(result: &RawValue) -> bool {
    #[derive(serde::Deserialize)]
    struct Kind {
        #[serde(default, rename = "resultType")]
        result_type: Option<String>,
    }
    let kind: Option<Kind> = serde_json::from_str(result.get()).ok();
    kind.and_then(|kind| kind.result_type).as_deref() == Some("input_required")
}

fn bug(message: &str) -> CallError {
    CallError::new(ErrorCode::InternalError, message)
}

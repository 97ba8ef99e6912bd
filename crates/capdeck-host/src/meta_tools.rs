//! `search`, `describe` and `call_tool`: three tools that reach a deck of any size.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use capdeck_backend::{ArtifactUri, CallContext, CallError, ErrorCode};
use capdeck_catalog::{Capability, Catalog, RawObject, SearchHit, SearchRequest, signature};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::{
    CallForm, EntryHit, Scope, Session, ToolRequest, View,
    call_form::nearest_of,
    capsules::{CapsuleTool, capability::CAPSULES},
    discover::Hurry,
    on_demand::correctable,
    raw,
    view::SpokenName,
};

/// Longest description shown in a search answer; `describe` shows all of it.
const SHOWN_DESCRIPTION: usize = 200;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    query: String,
    #[serde(default)]
    capability: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
    #[serde(default)]
    cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DescribeArguments {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallArguments {
    name: String,
    /// Agents that write `args` or `arguments` mean the same thing.
    #[serde(default, alias = "args", alias = "arguments")]
    data: Option<Box<RawValue>>,
    /// Dotted paths of the result to keep. Not in the listed schema, which every client pays for; `describe` tells.
    #[serde(default)]
    fields: Vec<String>,
}

/// One page of a search, with the capabilities that could not be searched.
#[derive(Debug)]
pub struct SearchAnswer {
    pub hits: Vec<SearchHit>,
    pub next_cursor: Option<String>,
    pub total: usize,
    /// Entries of capsules that fit, with the first page.
    pub entries: Vec<EntryHit>,
    /// Capabilities whose tools are not known, each with the reason.
    pub unavailable: Vec<(String, CallError)>,
}

impl Session {
    /// Finds tools across everything this client may search, asking backends that never answered.
    pub async fn search(
        &self,
        query: &str,
        within: Option<&str>,
        limit: Option<usize>,
        cursor: Option<&str>,
    ) -> Result<SearchAnswer, CallError> {
        let may_search = |view: &View, capability: &Capability| self.may_search(view, capability);
        self.search_among(query, within, limit, cursor, &may_search).await
    }

    /// The same among those that `allowed` lets through, in view of what the client sees.
    pub(crate) async fn search_among(
        &self,
        query: &str,
        within: Option<&str>,
        limit: Option<usize>,
        cursor: Option<&str>,
        allowed: &(dyn Fn(&View, &Capability) -> bool + Sync),
    ) -> Result<SearchAnswer, CallError> {
        if let Some(id) = within {
            self.capability(id)?;
        }
        let view = self.view();
        let wanted = |capability: &&Arc<Capability>| {
            within.is_none_or(|id| id == capability.definition.id.as_str())
                && allowed(&view, capability)
        };
        let catalog = self.catalog();
        let unknown = catalog.capabilities().filter(wanted).cloned();
        let unavailable =
            self.host.discover_unknown(unknown, &self.connections, Hurry::AnyListWillDo).await;

        let catalog = self.searchable_catalog().await;
        // What has answered just now may be offered in another way.
        let view = self.view();
        let allowed = |capability: &Capability| allowed(&view, capability);
        let config = catalog.config();
        let limit = limit.unwrap_or(config.default_search_limit as usize);
        let page = catalog
            .search(&SearchRequest {
                query,
                within,
                limit: limit.clamp(1, config.max_search_limit as usize),
                cursor,
                allowed: &allowed,
            })
            .map_err(|error| {
                CallError::new(ErrorCode::RequestInvalid, error.to_string())
                    .hint("start without a cursor")
            })?;
        let entries = match cursor.is_none() && self.searches_entries(within, &allowed) {
            true => self.search_entries(query).await,
            false => Vec::new(),
        };
        let unavailable =
            unavailable.into_iter().map(|(id, error)| (id.to_string(), error)).collect();
        Ok(SearchAnswer {
            hits: page.hits,
            next_cursor: page.next_cursor,
            total: page.total,
            entries,
            unavailable,
        })
    }

    /// The catalog with its index built. Building takes long for a large deck, so it never holds up other calls.
    pub(crate) async fn searchable_catalog(&self) -> Arc<Catalog> {
        let catalog = self.catalog();
        if !catalog.is_search_warm() {
            let building = catalog.clone();
            if let Err(error) = tokio::task::spawn_blocking(move || building.warm_search()).await {
                tracing::error!(%error, "building the search index ended by a bug");
            }
        }
        catalog
    }

    fn may_search(&self, view: &View, capability: &Capability) -> bool {
        match &self.scope {
            Scope::Operator => capability.is_usable(),
            Scope::Deck(_) => view.is_searchable(capability),
            Scope::Transparent(_) => self.may_see(capability),
        }
    }

    /// The `search` tool.
    pub(crate) async fn search_tool(
        &self,
        arguments: Option<&RawValue>,
    ) -> Result<Box<RawValue>, CallError> {
        let asked: SearchArguments = parse("search", arguments)?;
        let (within, cursor) = (asked.capability.as_deref(), asked.cursor.as_deref());
        let answer = self.search(&asked.query, within, asked.limit, cursor).await?;
        let view = self.view();
        let failing = self.failing_among(&answer.hits);
        let items: Vec<Value> = answer
            .hits
            .iter()
            .map(|hit| {
                let mut item = search_item(&view, hit);
                if let Some(failure) = failing.get(hit.capability.as_str()) {
                    item["health"] = json!(failure);
                }
                item
            })
            .collect();
        let mut text = String::new();
        for item in &items {
            let part = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
            text.push_str(&format!("{}\n  {}\n", part("signature"), part("description")));
            if item.get("health").is_some() {
                text.push_str(&format!("  {}\n", part("health")));
            }
        }
        if items.is_empty() {
            text.push_str("no tool matches; try other words for what it should do\n");
        }
        let mut result = json!({ "items": items, "total": answer.total });
        if !answer.entries.is_empty() {
            let reader = view.name_of(CAPSULES, CapsuleTool::Read.name());
            text.push_str(&format!("in capsules, read with `{reader}`:\n"));
            let facts = answer.entries.iter().map(|hit| {
                text.push_str(&hit.line());
                let mut facts = hit.facts();
                facts["read"] = json!({ "name": reader, "data": hit.arguments() });
                facts
            });
            result["entries"] = facts.collect();
        }
        if let Some(cursor) = answer.next_cursor {
            text.push_str(&format!("more with cursor `{cursor}`\n"));
            result["nextCursor"] = json!(cursor);
        }
        if !answer.unavailable.is_empty() {
            let rows = answer.unavailable.iter();
            text.push_str("not searched:\n");
            let rows: Vec<Value> = rows
                .map(|(id, error)| {
                    text.push_str(&format!("  {id}: {error}\n"));
                    json!({ "capability": id, "reason": error.to_string() })
                })
                .collect();
            result["unavailable"] = json!(rows);
        }
        answer_with(&result, text)
    }

    /// How those capabilities of a search fail that do.
    fn failing_among(&self, hits: &[SearchHit]) -> BTreeMap<String, String> {
        let catalog = self.catalog();
        let records = self.host.0.health.records();
        let ids: BTreeSet<&str> = hits.iter().map(|hit| hit.capability.as_str()).collect();
        let capabilities = ids.into_iter().filter_map(|id| catalog.get(id));
        let failures = capabilities.filter_map(|one| {
            let failure = self.host.health_among(&records, one).failure()?;
            Some((one.definition.id.to_string(), failure))
        });
        failures.collect()
    }

    /// The `describe` tool.
    pub(crate) async fn describe_tool(
        &self,
        arguments: Option<&RawValue>,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let asked: DescribeArguments = parse("describe", arguments)?;
        let (id, name) = self.named_tool(&asked.name, context).await?;
        let capability = self.snapshot().capability_of_tool(&id, &name)?;
        let found = self.find_tool(&capability, &name, context).await;
        let found = found.map_err(|error| self.with_spoken_name(&id, error))?;
        let tool = found.ok_or_else(|| {
            CallError::new(ErrorCode::ToolNotFound, format!("`{id}` has no tool `{name}`"))
        })?;
        let mut shown: RawObject = tool.raw().clone();
        shown.extend(raw::object([("name", json!(asked.name))]));
        let mut text = serde_json::to_string(&shown).unwrap_or_default();
        text.push_str(
            "\n`call_tool` takes `fields` beside `data`: dotted paths of the result to keep.",
        );
        let mut answer = json!({ "capability": id, "tool": shown });
        if let Some(failure) = self.host.health(&capability).failure() {
            text.push_str(&format!("\n`{id}` is {failure}"));
            answer["health"] = json!(failure);
        }
        if let Some(shape) = self.host.observed_shape(&capability.definition, &tool) {
            let seen = shape["typeScript"].as_str().unwrap_or_default();
            text.push_str(&format!("\nIts results looked like this so far: {seen}"));
            answer["observedOutputShape"] = shape;
        }
        answer_with(&answer, text)
    }

    /// The `call_tool` tool.
    pub(crate) async fn call_named_tool(
        &self,
        request: ToolRequest,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        let asked: CallArguments = parse("call_tool", request.arguments.as_deref())?;
        if ArtifactUri::is_meant(&asked.name) {
            return self.read_on(&asked.name).await;
        }
        let (id, tool) = self.named_tool(&asked.name, context).await?;
        // What else the client sent with the call, such as answers to questions, is meant for the tool.
        let CallArguments { name: _, data, fields } = asked;
        let arguments = data.map(unquoted);
        let deck = self.snapshot();
        let view = deck.view();
        let capability = deck.capability_of_tool(&id, &tool)?;
        let is_on_demand = view.is_on_demand(&capability);
        let spoken = match is_on_demand {
            true => view.spoken_name(&id, &tool),
            false => view.name_of(&id, &tool),
        };
        let form = CallForm::ListedName(spoken.clone());
        let inner = ToolRequest { capability: id, tool, arguments, fields, form, ..request };
        let id = inner.capability.as_str();
        if !is_on_demand {
            let outcome = self.call_in(deck, &inner, context).await;
            return outcome.map_err(|error| self.with_spoken_name(id, error));
        }
        let known = self.find_tool(&capability, &inner.tool, context).await;
        let known = known.map_err(|error| self.with_spoken_name(id, error))?;
        self.check_set_up(&view, &capability, &inner.tool)?;
        let outcome = self.call_in(deck, &inner, context).await;
        match known {
            Some(tool) => correctable(&spoken, &tool, outcome),
            None => outcome,
        }
    }

    /// The error with the name that it suggests as `call_tool` takes it.
    fn with_spoken_name(&self, id: &str, error: CallError) -> CallError {
        match nearest_of(&error).map(|near| self.view().spoken_name(id, near)) {
            Some(near) => {
                error.hint(format!("did you mean `{near}`?")).data(json!({ "nearest": near }))
            }
            None => error,
        }
    }

    /// The tool that a client means. Backends that were never asked are asked when no list has the name, and those
    /// that are connected are asked again.
    async fn named_tool(
        &self,
        name: &str,
        context: &CallContext,
    ) -> Result<(String, String), CallError> {
        let mut meant = self.view().understand(name);
        if let SpokenName::Unknown { .. } = meant {
            self.ask_connected(context).await;
            meant = self.view().understand(name);
        }
        if let SpokenName::Unknown { .. } = meant {
            let view = self.view();
            let unasked = view.catalog().capabilities().filter(|one| view.reaches(one)).cloned();
            let unasked: Vec<_> = unasked.filter(|one| one.discovery.is_none()).collect();
            if !unasked.is_empty() {
                let asking = unasked.into_iter();
                self.host.discover_unknown(asking, &self.connections, Hurry::OwnListOnly).await;
                meant = self.view().understand(name);
            }
        }
        let way = match self.view().offers_setup() {
            true => "use a name that `setup_tools` returned",
            false => "use a name that `search` returned",
        };
        let missing =
            || CallError::new(ErrorCode::ToolNotFound, format!("there is no tool `{name}`"));
        match meant {
            SpokenName::Tool(capability, tool) => Ok((capability, tool)),
            SpokenName::Unknown { near: Some(near) } => Err(missing()
                .hint(format!("did you mean `{near}`?"))
                .data(json!({ "nearest": near }))),
            SpokenName::Unknown { near: None } => {
                Err(match self.catalog().nearest_capability(name) {
                    Some(id) if !self.view().offers_setup() => {
                        missing().hint(format!("search in `{id}`, or {way}"))
                    }
                    _ => missing().hint(way),
                })
            }
            SpokenName::Several(names) => {
                let message = format!("`{name}` is the name of several tools");
                Err(CallError::new(ErrorCode::RequestInvalid, message)
                    .hint(format!("say which one: {}", names.join(", "))))
            }
        }
    }
}

/// Arguments that came as a text of JSON instead of as JSON.
fn unquoted(data: Box<RawValue>) -> Box<RawValue> {
    let inner = raw::string(&data).and_then(|text| RawValue::from_string(text).ok());
    inner.unwrap_or(data)
}

fn search_item(view: &View, hit: &SearchHit) -> Value {
    let id = hit.capability.as_str();
    let Some(tool) = &hit.tool else {
        let description = view
            .catalog()
            .get(id)
            .map(|capability| capability.definition.description.clone())
            .unwrap_or_default();
        return json!({
            "capability": id,
            "signature": format!("{id} (its tools are not known yet)"),
            "description": shorten(&description),
            "score": hit.score,
        });
    };
    let name = view.name_of(id, tool.name());
    json!({
        "name": name,
        "capability": id,
        "signature": signature(&name, tool),
        "description": shorten(&tool.description().unwrap_or_default()),
        "score": hit.score,
    })
}

/// The first paragraph, cut at a word.
fn shorten(text: &str) -> String {
    let first = text.trim().split("\n\n").next().unwrap_or_default().replace('\n', " ");
    if first.chars().count() <= SHOWN_DESCRIPTION {
        return first;
    }
    let cut: String = first.chars().take(SHOWN_DESCRIPTION).collect();
    let whole = cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words);
    format!("{whole}…")
}

pub(crate) fn parse<'a, T: Deserialize<'a>>(
    tool: &str,
    arguments: Option<&'a RawValue>,
) -> Result<T, CallError> {
    let text = arguments.map_or("{}", RawValue::get);
    serde_json::from_str(text).map_err(|error| {
        // The position says nothing to an agent that wrote one line of JSON.
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        CallError::new(ErrorCode::RequestInvalid, format!("`{tool}`: {message}"))
    })
}

pub(crate) fn answer_with(structured: &Value, text: String) -> Result<Box<RawValue>, CallError> {
    serde_json::value::to_raw_value(&json!({
        "content": [{ "type": "text", "text": text }],
        "structuredContent": structured,
    }))
    .map_err(|error| CallError::new(ErrorCode::InternalError, error.to_string()))
}

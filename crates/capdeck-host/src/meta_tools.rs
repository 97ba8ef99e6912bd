//! The deck's own tools: `search`, `describe`, `call_tool`, `call_read_only`, `setup_tools` and
//! `code_mode`. They reach a deck of any size.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use capdeck_backend::{ArtifactUri, CallError, ErrorCode};
use capdeck_catalog::{Capability, Catalog, RawMembers, ToolSearchMatch, signature};
use capdeck_sandbox::DeckOperation;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::{
    CallForm, HealthStatus, RequestContext, ToolRequest, View, artifacts,
    calls::{self, nearest_of},
    capsules::{CapsuleTool, capability::CAPSULES},
    code_mode,
    deck_snapshot::DeckSnapshot,
    discover::{DiscoveryPurpose, MissingList},
    gate,
    health::health_among,
    listing, observed_shape,
    on_demand::{self, DESCRIBE, check_set_up, correctable},
    optional_argument::{count, given},
    raw,
    search::{self, ToolQuery},
    view::ResolvedName,
};

/// Max description length in search results; `describe` has all of it.
const MAX_DESCRIPTION_LENGTH: usize = 200;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchToolArguments {
    query: String,
    #[serde(default, deserialize_with = "given")]
    capability: Option<String>,
    #[serde(default, deserialize_with = "count")]
    limit: Option<u64>,
    #[serde(default, deserialize_with = "given")]
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
    /// Agents also write `args` or `arguments`.
    #[serde(default, alias = "args", alias = "arguments")]
    data: Option<Box<RawValue>>,
    /// Dotted paths of the result to keep. Not in the listed schema, which costs every client
    /// tokens; `describe` documents it.
    #[serde(default, deserialize_with = "given")]
    fields: Option<Vec<String>>,
}

/// The tool that a call of `call_tool` names, and the arguments for it; `None` where they cannot be read.
pub(crate) fn called_tool(arguments: Option<&RawValue>) -> Option<(String, Option<Box<RawValue>>)> {
    let CallArguments { name, data, .. } = parse("call_tool", arguments).ok()?;
    Some((name, data.map(unquoted)))
}

pub(crate) async fn run(
    request: &RequestContext<'_>,
    operation: DeckOperation,
    call: ToolRequest,
) -> raw::Answer {
    let (session, arguments) = (request.session(), call.arguments.as_deref());
    match operation {
        DeckOperation::Search => {
            session.as_read(session.audited("search", "", "", search(request, arguments)).await)
        }
        DeckOperation::DescribeTool => {
            session.as_read(session.audited("describe", "", "", describe(request, arguments)).await)
        }
        DeckOperation::SetUpTools => {
            let setting_up = on_demand::setup_tools(request, arguments);
            session.as_read(session.audited("setup_tools", "", "", setting_up).await)
        }
        DeckOperation::CallTool => call_tool(request, call, CallRange::AnyTool).await,
        DeckOperation::CallReadOnly => call_tool(request, call, CallRange::ReadOnlyTools).await,
        DeckOperation::RunCode => code_mode::run_tool(request, arguments).await,
        other => {
            let message = format!("there is no tool `{}`", other.wrapper_name());
            Err(CallError::new(ErrorCode::ToolNotFound, message))
        }
    }
}

async fn search(request: &RequestContext<'_>, arguments: Option<&RawValue>) -> raw::Answer {
    let asked: SearchToolArguments = parse("search", arguments)?;
    let SearchToolArguments { query, capability, limit, cursor } = &asked;
    let (within, cursor) = (capability.as_deref(), cursor.as_deref());
    let limit = limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let query = ToolQuery { words: query, within, limit, cursor };
    let answer = search::find(request, query).await?;
    let request = request.renewed();
    let view = request.deck.view();
    let failing = failing_among(&request.deck, &answer.hits);
    let items: Vec<Value> = answer
        .hits
        .iter()
        .map(|hit| {
            let mut item = search_item(&view, hit);
            raw::put_some(&mut item, "health", failing.get(hit.capability.as_str()));
            item
        })
        .collect();
    let mut text = String::new();
    for item in &items {
        let part = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
        text.push_str(&format!("{}\n  {}\n", part("signature"), part("description")));
        for (key, label) in [("useWhen", "use when"), ("avoidWhen", "avoid when")] {
            if item.get(key).is_some() {
                text.push_str(&format!("  {label}: {}\n", part(key)));
            }
        }
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
    if let Some(cursor) = &answer.next_cursor {
        text.push_str(&format!("more with cursor `{cursor}`\n"));
        result["nextCursor"] = json!(cursor);
    }
    if !answer.unavailable.is_empty() {
        text.push_str("not searched:\n");
        for MissingList { id, error, .. } in &answer.unavailable {
            text.push_str(&format!("  {id}: {error}\n"));
        }
        result["unavailable"] = answer.unavailable_rows();
    }
    answer_with(&result, text)
}

fn failing_among(deck: &DeckSnapshot<'_>, hits: &[ToolSearchMatch]) -> BTreeMap<String, String> {
    let host = &deck.session().host;
    let records = host.0.health.records();
    let ids: BTreeSet<&str> = hits.iter().map(|hit| hit.capability.as_str()).collect();
    let capabilities = ids.into_iter().filter_map(|id| deck.catalog().get(id));
    let failures = capabilities.filter_map(|one| {
        let failure = health_among(host, &records, one).failure()?;
        Some((one.definition.id.to_string(), failure))
    });
    failures.collect()
}

async fn describe(request: &RequestContext<'_>, arguments: Option<&RawValue>) -> raw::Answer {
    let asked: DescribeArguments = parse("describe", arguments)?;
    let (request, (id, name)) = named_tool(request, &asked.name).await?;
    let host = request.host();
    let capability = gate::require_offered(&request.deck, &id, Some(&name))?;
    let found = calls::find_tool(&request, &capability, &name).await;
    let found = found.map_err(|error| with_spoken_name(&request, &id, error))?;
    let tool = found.ok_or_else(|| {
        CallError::new(ErrorCode::ToolNotFound, format!("`{id}` has no tool `{name}`"))
    })?;
    let mut shown: RawMembers = tool.raw().clone();
    raw::set(&mut shown, "name", &asked.name);
    let mut text = serde_json::to_string(&shown).unwrap_or_default();
    text.push_str(
        "\n`call_tool` takes `fields` beside `data`: dotted paths of the result to keep.",
    );
    let mut answer = json!({ "capability": id, "tool": shown });
    if let Some(failure) = HealthStatus::of(host, &capability).failure() {
        text.push_str(&format!("\n`{id}` is {failure}"));
        answer["health"] = json!(failure);
    }
    if let Some(shape) = observed_shape(host, &capability.definition, &tool) {
        let seen = shape["typeScript"].as_str().unwrap_or_default();
        text.push_str(&format!("\nIts results looked like this so far: {seen}"));
        answer["observedOutputShape"] = shape;
    }
    answer_with(&answer, text)
}

/// The tools that a call may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallRange {
    AnyTool,
    /// Tools that say of themselves that they only read.
    ReadOnlyTools,
}

async fn call_tool(
    request: &RequestContext<'_>,
    outer: ToolRequest,
    range: CallRange,
) -> raw::Answer {
    let asked: CallArguments = parse("call_tool", outer.arguments.as_deref())?;
    if ArtifactUri::is_meant(&asked.name) {
        return artifacts::read_on(&request.deck, &asked.name).await;
    }
    let is_description = asked.name == DESCRIBE && request.deck.view().offers_setup();
    let named = match named_tool(request, &asked.name).await {
        // No tool has the name, so it is what hints and signatures speak of.
        Err(error) if is_description && error.code == ErrorCode::ToolNotFound => {
            let data = asked.data.map(unquoted);
            let describing = describe(request, data.as_deref());
            return request.session().audited(DESCRIBE, "", "", describing).await;
        }
        named => named?,
    };
    let (request, (id, tool)) = named;
    // The other members of the request, such as answers to questions, are for the tool.
    let CallArguments { name: _, data, fields } = asked;
    let (arguments, fields) = (data.map(unquoted), fields.unwrap_or_default());
    let view = request.deck.view();
    let capability = gate::require_offered(&request.deck, &id, Some(&tool))?;
    if range == CallRange::ReadOnlyTools {
        require_read_only(&request, &capability, &tool).await?;
    }
    let is_on_demand = view.is_on_demand(&capability);
    let spoken = match is_on_demand {
        true => view.spoken_name(&id, &tool),
        false => view.name_of(&id, &tool),
    };
    let form = CallForm::ListedName(spoken.clone());
    let inner = ToolRequest { capability: id, tool, arguments, fields, form, ..outer };
    let id = inner.capability.as_str();
    if !is_on_demand {
        let outcome = calls::call(request.clone(), &inner).await;
        return outcome.map_err(|error| with_spoken_name(&request, id, error));
    }
    let known = calls::find_tool(&request, &capability, &inner.tool).await;
    let known = known.map_err(|error| with_spoken_name(&request, id, error))?;
    check_set_up(request.session(), &view, &capability, &inner.tool)?;
    let outcome = calls::call(request, &inner).await;
    match known {
        Some(tool) => correctable(&spoken, &tool, outcome),
        None => outcome,
    }
}

async fn require_read_only(
    request: &RequestContext<'_>,
    capability: &Arc<Capability>,
    name: &str,
) -> Result<(), CallError> {
    let id = capability.definition.id.as_str();
    let found = calls::find_tool(request, capability, name).await;
    let found = found.map_err(|error| with_spoken_name(request, id, error))?;
    if found.is_some_and(|tool| tool.annotation("readOnlyHint") == Some(true)) {
        return Ok(());
    }
    let spoken = request.deck.view().name_of(id, name);
    let message = format!("`{spoken}` does not say that it only reads");
    Err(CallError::invalid_request(message).hint("call it with `call_tool`"))
}

fn with_spoken_name(request: &RequestContext<'_>, id: &str, error: CallError) -> CallError {
    // The name may come from a list that was read since the request began.
    match nearest_of(&error).map(|near| request.renewed().deck.view().spoken_name(id, near)) {
        Some(near) => {
            error.hint(format!("did you mean `{near}`?")).data(json!({ "nearest": near }))
        }
        None => error,
    }
}

/// Resolves a name, with the request whose deck has it. Asks backends without a known list when no
/// list has the name, and then connected ones again.
async fn named_tool<'a>(
    request: &RequestContext<'a>,
    name: &str,
) -> Result<(RequestContext<'a>, (String, String)), CallError> {
    let mut request = request.clone();
    let mut meant = ResolvedName::of(&request.deck.view(), name);
    if let ResolvedName::Unknown { .. } = meant {
        listing::ask_connected(&request).await;
        request = request.renewed();
        meant = ResolvedName::of(&request.deck.view(), name);
    }
    if let ResolvedName::Unknown { .. } = meant {
        let view = request.deck.view();
        let unasked = view.catalog().capabilities().filter(|one| view.reaches(one)).cloned();
        let unasked: Vec<_> = unasked.filter(|one| one.discovery.is_none()).collect();
        if !unasked.is_empty() {
            let (asking, own) = (unasked.into_iter(), DiscoveryPurpose::Listing);
            request.connections().discover_unknown(asking, own).await;
            request = request.renewed();
            meant = ResolvedName::of(&request.deck.view(), name);
        }
    }
    let offers_setup = request.deck.view().offers_setup();
    let next_step = match offers_setup {
        true => "use a name that `setup_tools` returned",
        false => "use a name that `search` returned",
    };
    let missing = || CallError::new(ErrorCode::ToolNotFound, format!("there is no tool `{name}`"));
    match meant {
        ResolvedName::Tool(capability, tool) => Ok((request, (capability, tool))),
        ResolvedName::Unknown { near: Some(near) } => {
            Err(missing().hint(format!("did you mean `{near}`?")).data(json!({ "nearest": near })))
        }
        ResolvedName::Unknown { near: None } => {
            Err(match request.deck.catalog().nearest_capability(name) {
                Some(id) if !offers_setup => {
                    missing().hint(format!("search in `{id}`, or {next_step}"))
                }
                _ => missing().hint(next_step),
            })
        }
        ResolvedName::Several(names) => {
            let message = format!("`{name}` is the name of several tools");
            Err(CallError::invalid_request(message)
                .hint(format!("use one of: {}", names.join(", "))))
        }
    }
}

/// The arguments that a text of JSON means; an empty text means none.
fn unquoted(data: Box<RawValue>) -> Box<RawValue> {
    let Some(text) = raw::string(&data) else { return data };
    let text = if text.trim().is_empty() { "{}".to_owned() } else { text };
    RawValue::from_string(text).unwrap_or(data)
}

fn search_item(view: &View, hit: &ToolSearchMatch) -> Value {
    let id = hit.capability.as_str();
    let Some(tool) = &hit.tool else {
        let description = view.catalog().get(id).map(|one| one.definition.description.as_str());
        let mut item = json!({
            "capability": id,
            "signature": format!("{id} (its tools are not known yet)"),
            "description": shorten(description.unwrap_or_default()),
            "score": hit.score,
        });
        add_hints(&mut item, view.catalog(), hit);
        return item;
    };
    let name = view.name_of(id, tool.name());
    let mut item = json!({
        "name": name,
        "capability": id,
        "signature": signature(&name, tool),
        "description": shorten(&tool.description().unwrap_or_default()),
        "score": hit.score,
    });
    add_hints(&mut item, view.catalog(), hit);
    item
}

/// Says when to use what was found and when not: the tool's own hints, else its capability's.
pub(crate) fn add_hints(item: &mut Value, catalog: &Catalog, hit: &ToolSearchMatch) {
    let hints = catalog.get(hit.capability.as_str()).map(|one| &one.definition.hints);
    let own = |key: &str| hit.tool.as_ref().and_then(|tool| tool.text(key));
    for (key, above) in [
        ("useWhen", hints.and_then(|hints| hints.use_when.as_ref())),
        ("avoidWhen", hints.and_then(|hints| hints.avoid_when.as_ref())),
    ] {
        raw::put_some(item, key, own(key).or_else(|| above.cloned()));
    }
}

fn shorten(text: &str) -> String {
    let first = text.trim().split("\n\n").next().unwrap_or_default().replace('\n', " ");
    if first.chars().count() <= MAX_DESCRIPTION_LENGTH {
        return first;
    }
    let cut: String = first.chars().take(MAX_DESCRIPTION_LENGTH).collect();
    let whole = cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words);
    format!("{whole}…")
}

pub(crate) fn parse<'a, T: Deserialize<'a>>(
    tool: &str,
    arguments: Option<&'a RawValue>,
) -> Result<T, CallError> {
    let text = arguments.map_or("{}", RawValue::get);
    serde_json::from_str(text).map_err(|error| {
        // The position is useless to an agent that wrote one line of JSON.
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        CallError::invalid_request(format!("`{tool}`: {message}"))
    })
}

pub(crate) fn answer_with(structured: &Value, text: String) -> raw::Answer {
    raw::text(&json!({
        "content": [{ "type": "text", "text": text }],
        "structuredContent": structured,
    }))
}

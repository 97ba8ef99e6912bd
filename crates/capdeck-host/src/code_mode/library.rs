//! The functions of `caplets` itself: search, types, artifacts, logs.

use capdeck_backend::{ArtifactUri, CallError, ErrorCode};
use capdeck_catalog::{ToolSearchMatch, argument_list, compact};
use capdeck_sandbox::{DeckOperation, call_text, member_of};
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{bridge::arguments, code_owner, may_code, types::types_of};
use crate::{
    RequestContext, artifacts,
    journal::read_recovery,
    meta_tools::add_hints,
    page::OffsetPage,
    raw,
    search::{self, ToolQuery},
};

#[derive(Deserialize)]
struct LibrarySearchArguments {
    query: String,
    limit: Option<usize>,
    cursor: Option<String>,
}

#[derive(Deserialize)]
struct TypesArguments {
    id: String,
    tool: Option<String>,
}

#[derive(Deserialize)]
struct ArtifactArguments {
    #[serde(rename = "ref")]
    uri: String,
    #[serde(flatten)]
    part: Map<String, Value>,
}

#[derive(Deserialize)]
struct LogsArguments {
    #[serde(rename = "logRef")]
    reference: String,
    #[serde(flatten)]
    page: OffsetPage,
}

#[derive(Deserialize)]
struct RecoveryArguments {
    #[serde(rename = "recoveryRef")]
    reference: String,
    #[serde(flatten)]
    page: OffsetPage,
}

pub(super) async fn answer(
    request: &RequestContext<'_>,
    method: DeckOperation,
    args: &RawValue,
) -> raw::Answer {
    match method {
        DeckOperation::Search => {
            let asked: LibrarySearchArguments = arguments(method, args)?;
            request.session().audited("search", "", "", find_tools(request, &asked)).await
        }
        DeckOperation::Types => {
            let asked: TypesArguments = arguments(method, args)?;
            raw::text(&types_of(request, &asked.id, asked.tool.as_deref()).await?)
        }
        DeckOperation::ReadArtifact => read_artifact(request, arguments(method, args)?).await,
        DeckOperation::ReadLogs => {
            let asked: LogsArguments = arguments(method, args)?;
            let logs = &request.host().0.code_mode.logs;
            let owner = code_owner(request.session());
            raw::text(&logs.read(&owner, &asked.reference, &asked.page).await?)
        }
        DeckOperation::ReadRecovery => {
            let asked: RecoveryArguments = arguments(method, args)?;
            raw::text(&read_recovery(request, &asked.reference, &asked.page).await?)
        }
        _ => Err(CallError::new(
            ErrorCode::UnknownOperation,
            format!("`{}` needs a capability", method.script_name()),
        )),
    }
}

async fn find_tools(request: &RequestContext<'_>, asked: &LibrarySearchArguments) -> raw::Answer {
    let LibrarySearchArguments { query, limit, cursor } = asked;
    let query = ToolQuery { words: query, within: None, limit: *limit, cursor: cursor.as_deref() };
    let found = search::find_among(request, query, &may_code).await?;
    let deck = request.renewed().deck;
    let item = |hit| {
        let mut item = search_item(hit);
        add_hints(&mut item, deck.catalog(), hit);
        item
    };
    let items: Vec<Value> = found.hits.iter().map(item).collect();
    let mut result = json!({ "items": items, "total": found.total });
    raw::put_some(&mut result, "nextCursor", found.next_cursor.as_ref());
    if !found.entries.is_empty() {
        let entries = found.entries.iter().map(|hit| {
            let mut facts = hit.facts();
            let call = format!("caplets.capsules.capsol_read({})", hit.arguments());
            facts["call"] = json!(call);
            facts
        });
        result["entries"] = entries.collect();
    }
    if !found.unavailable.is_empty() {
        result["unavailable"] = found.unavailable_rows();
    }
    raw::text(&result)
}

async fn read_artifact(request: &RequestContext<'_>, asked: ArtifactArguments) -> raw::Answer {
    let ArtifactArguments { uri, part } = asked;
    let uri = match (ArtifactUri::is_meant(&uri), uri.contains('?') || part.is_empty()) {
        (false, _) => {
            let message = format!("`{uri}` is not an artifact");
            return Err(CallError::invalid_request(message)
                .hint("use a URI from a result: `capdeck://artifacts/…`"));
        }
        (true, true) => uri,
        (true, false) => format!("{uri}?{}", query_of(&part)),
    };
    let read = artifacts::read(&request.deck, &uri).await?;
    let read = raw::value(&read).unwrap_or_default();
    let mut content = read.pointer("/contents/0").cloned().unwrap_or_default();
    if let Some(members) = content.as_object_mut() {
        let facts = members
            .remove("_meta")
            .and_then(|mut meta| meta.get_mut("capdeck/artifact").map(Value::take));
        if let Some(Value::Object(facts)) = facts {
            members.extend(facts);
        }
    }
    raw::text(&content)
}

fn search_item(hit: &ToolSearchMatch) -> Value {
    let id = hit.capability.as_str();
    let Some(tool) = &hit.tool else {
        return json!({ "capability": id, "score": hit.score, "call": format!("caplets{}.tools()", member_of(id)) });
    };
    let mut item = compact(tool);
    if let Some(members) = item.as_object_mut() {
        // The template is for wrapper tools; a script calls the tool by its name.
        members.remove("callTemplate");
    }
    item["capability"] = json!(id);
    item["call"] = json!(call_text(id, tool.name(), &argument_list(tool)));
    item["score"] = json!(hit.score);
    item
}

fn query_of(part: &Map<String, Value>) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let encode = |text: String| {
        percent_encoding::utf8_percent_encode(&text, percent_encoding::NON_ALPHANUMERIC).to_string()
    };
    let given = part.iter().filter(|(_, value)| !value.is_null());
    let pairs =
        given.map(|(key, value)| format!("{}={}", encode(key.clone()), encode(text(value))));
    pairs.collect::<Vec<_>>().join("&")
}

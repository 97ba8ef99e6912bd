//! The functions of `caplets` itself: search, types, artifacts, logs.

use capdeck_backend::{ArtifactUri, CallError, ErrorCode};
use capdeck_catalog::{ToolSearchMatch, argument_list, compact};
use capdeck_sandbox::{DeckOperation, call_text, member_of};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};

use super::{bridge::arguments, code_owner, may_code, types::types_of};
use crate::{
    RequestContext, artifacts,
    journal::read_recovery,
    raw,
    search::{self, ToolQuery},
};

#[derive(Deserialize)]
struct LibrarySearchArguments {
    query: String,
    #[serde(default)]
    limit: Option<usize>,
    #[serde(default)]
    cursor: Option<String>,
}

#[derive(Deserialize)]
struct TypesArguments {
    id: String,
    #[serde(default)]
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
#[serde(rename_all = "camelCase")]
struct LogsArguments {
    log_ref: String,
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecoveryArguments {
    recovery_ref: String,
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
}

pub(super) async fn answer(
    request: &RequestContext<'_>,
    method: DeckOperation,
    args: &RawValue,
) -> Result<Box<RawValue>, CallError> {
    match method {
        DeckOperation::Search => {
            let asked: LibrarySearchArguments = arguments(method, args)?;
            request.session().audited("search", "", "", find_tools(request, &asked)).await
        }
        DeckOperation::Types => {
            let asked: TypesArguments = arguments(method, args)?;
            to_json(&types_of(request, &asked.id, asked.tool.as_deref()).await?)
        }
        DeckOperation::ReadArtifact => read_artifact(request, arguments(method, args)?).await,
        DeckOperation::ReadLogs => {
            let asked: LogsArguments = arguments(method, args)?;
            let logs = &request.host().0.code_mode.logs;
            let (cursor, owner) = (asked.cursor.as_deref(), code_owner(request.session()));
            to_json(&logs.read(&owner, &asked.log_ref, cursor, asked.limit).await?)
        }
        DeckOperation::ReadRecovery => {
            let asked: RecoveryArguments = arguments(method, args)?;
            let RecoveryArguments { recovery_ref, cursor, limit } = asked;
            let read = read_recovery(request, &recovery_ref, cursor.as_deref(), limit).await?;
            to_json(&read)
        }
        _ => Err(CallError::new(
            ErrorCode::UnknownOperation,
            format!("`{}` needs a capability", method.script_name()),
        )),
    }
}

async fn find_tools(
    request: &RequestContext<'_>,
    asked: &LibrarySearchArguments,
) -> Result<Box<RawValue>, CallError> {
    let LibrarySearchArguments { query, limit, cursor } = asked;
    let query = ToolQuery { words: query, within: None, limit: *limit, cursor: cursor.as_deref() };
    let found = search::find_among(request, query, &may_code).await?;
    let items: Vec<Value> = found.hits.iter().map(search_item).collect();
    let mut result = json!({ "items": items, "total": found.total });
    if let Some(cursor) = found.next_cursor {
        result["nextCursor"] = json!(cursor);
    }
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
        let unavailable = found.unavailable.iter();
        let rows =
            unavailable.map(|(id, error)| json!({ "capability": id, "reason": error.to_string() }));
        result["unavailable"] = rows.collect();
    }
    to_json(&result)
}

async fn read_artifact(
    request: &RequestContext<'_>,
    asked: ArtifactArguments,
) -> Result<Box<RawValue>, CallError> {
    let ArtifactArguments { uri, part } = asked;
    let uri = match (ArtifactUri::is_meant(&uri), uri.contains('?') || part.is_empty()) {
        (false, _) => {
            let message = format!("`{uri}` is not an artifact");
            return Err(CallError::new(ErrorCode::RequestInvalid, message)
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
    to_json(&content)
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

pub(super) fn to_json(value: &impl Serialize) -> Result<Box<RawValue>, CallError> {
    serde_json::value::to_raw_value(value)
        .map_err(|error| CallError::new(ErrorCode::InternalError, error.to_string()))
}

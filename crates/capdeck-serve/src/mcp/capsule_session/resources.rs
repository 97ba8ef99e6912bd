//! Entries as resources. What is read has its bands; a binary payload comes beside them.

use capdeck_host::{CapsuleOperation, ListQuery, RawObject, ReadBody};
use capdeck_mcp::{Era, RpcError};
use serde_json::{Value, json, value::RawValue};

use super::{
    super::{capsule_client::CapsuleClient, capsule_failure, page::page},
    array, raw, skills,
};

/// Entries on one page of the list.
const PAGE: usize = 200;

/// What an entry with its bands is, whatever its body is.
const BANDED: &str = "text/markdown";

pub(super) async fn list(
    client: &CapsuleClient,
    params: &RawObject,
) -> Result<Box<RawValue>, RpcError> {
    let cursor = match params.get("cursor").filter(|cursor| cursor.get() != "null") {
        None => None,
        Some(cursor) => Some(serde_json::from_str(cursor.get()).map_err(|_| {
            RpcError::invalid_params("`cursor` must be that of a page of this list")
        })?),
    };
    let query = ListQuery { limit: PAGE, cursor, ..ListQuery::default() };
    let answer = client.ask(CapsuleOperation::List(query)).await;
    let answer = answer.map_err(|failure| capsule_failure::as_rpc_error(&failure))?;
    let next = answer["next_cursor"].clone();
    let resources: Vec<Value> = array(answer, "entries").iter().map(resource).collect();
    let mut result = json!({ "resources": resources });
    if next.is_string() {
        result["nextCursor"] = next;
    }
    raw(&result)
}

pub(super) async fn templates(
    client: &CapsuleClient,
    params: &RawObject,
) -> Result<Box<RawValue>, RpcError> {
    let answer = client.ask(CapsuleOperation::Schemes).await;
    let answer = answer.map_err(|failure| capsule_failure::as_rpc_error(&failure))?;
    let templates: Vec<Value> = array(answer, "schemes").iter().map(template).collect();
    page("resourceTemplates", &raw(&templates)?, Some(params))
}

pub(super) async fn read(
    client: &CapsuleClient,
    uri: &str,
    era: Era,
) -> Result<Box<RawValue>, RpcError> {
    if let Some(name) = skills::name_in(uri) {
        return skills::read(client, uri, name, era).await;
    }
    let body = ReadBody::Banded;
    let read = CapsuleOperation::Read { uri: uri.to_owned(), version: None, body };
    let entry = client.ask(read).await;
    let entry = entry.map_err(|failure| capsule_failure::of_resource(&failure, era))?;
    let mut contents = vec![json!({ "uri": uri, "mimeType": BANDED, "text": entry["text"] })];
    if entry["blob"].is_object() {
        // Of the version that was read, in case there is a newer one by now.
        let version = entry["version"].as_u64();
        let read = CapsuleOperation::ReadBlob { uri: uri.to_owned(), version };
        let blob = client.ask(read).await;
        let blob = blob.map_err(|failure| capsule_failure::of_resource(&failure, era))?;
        contents.push(json!({ "uri": uri, "mimeType": blob["mime"], "blob": blob["data"] }));
    }
    raw(&json!({ "contents": contents }))
}

fn resource(entry: &Value) -> Value {
    let mime = entry["blob"]["mime"].as_str().unwrap_or(BANDED);
    json!({
        "uri": entry["uri"],
        "name": entry["uri"],
        "title": entry["title"],
        "mimeType": mime,
        "annotations": { "lastModified": entry["written_at"] },
    })
}

fn template(scheme: &Value) -> Value {
    let name = scheme["name"].as_str().unwrap_or_default();
    let mut template = json!({
        "uriTemplate": format!("{name}://{{+path}}"),
        "name": name,
        "mimeType": BANDED,
    });
    for key in ["title", "description"] {
        if let Some(text) = scheme[key].as_str().filter(|text| !text.is_empty()) {
            template[key] = json!(text);
        }
    }
    template
}

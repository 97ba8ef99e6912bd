//! The functions of `caplets` itself: search, types, artifacts, logs.

use capdeck_backend::{ArtifactUri, CallContext, CallError, ErrorCode};
use capdeck_catalog::{SearchHit, argument_list, compact};
use capdeck_sandbox::{Method, call_text, member_of};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};

use super::bridge::arguments;
use crate::{Session, raw};

#[derive(Deserialize)]
struct Search {
    query: String,
    #[serde(default)]
    limit: Option<usize>,
    #[serde(default)]
    cursor: Option<String>,
}

#[derive(Deserialize)]
struct Types {
    id: String,
    #[serde(default)]
    tool: Option<String>,
}

#[derive(Deserialize)]
struct ReadArtifact {
    #[serde(rename = "ref")]
    uri: String,
    #[serde(flatten)]
    part: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadLogs {
    log_ref: String,
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadRecovery {
    recovery_ref: String,
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    limit: Option<usize>,
}

impl Session {
    /// Answers a call that is about no single capability.
    pub(super) async fn library(
        &self,
        method: Method,
        args: &RawValue,
        context: &CallContext,
    ) -> Result<Box<RawValue>, CallError> {
        match method {
            Method::Search => {
                let asked: Search = arguments(method, args)?;
                self.audited("search", "", "", self.search_for_code(&asked)).await
            }
            Method::Types => {
                let asked: Types = arguments(method, args)?;
                answer(&self.types_of(&asked.id, asked.tool.as_deref(), context).await?)
            }
            Method::ReadArtifact => self.artifact_for_code(arguments(method, args)?).await,
            Method::ReadLogs => {
                let asked: ReadLogs = arguments(method, args)?;
                let logs = &self.host.0.code_mode.logs;
                let (cursor, owner) = (asked.cursor.as_deref(), self.code_owner());
                answer(&logs.read(&owner, &asked.log_ref, cursor, asked.limit).await?)
            }
            Method::ReadRecovery => {
                let asked: ReadRecovery = arguments(method, args)?;
                let ReadRecovery { recovery_ref, cursor, limit } = asked;
                answer(&self.read_recovery(&recovery_ref, cursor.as_deref(), limit).await?)
            }
            _ => Err(CallError::new(
                ErrorCode::UnknownOperation,
                format!("`{}` needs a capability", method.name()),
            )),
        }
    }

    async fn search_for_code(&self, asked: &Search) -> Result<Box<RawValue>, CallError> {
        let Search { query, limit, cursor } = asked;
        let may_code = |view: &_, capability: &_| self.may_code_in(view, capability);
        let found = self.search_among(query, None, *limit, cursor.as_deref(), &may_code).await?;
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
            let told = found.unavailable.iter();
            let rows =
                told.map(|(id, error)| json!({ "capability": id, "reason": error.to_string() }));
            result["unavailable"] = rows.collect();
        }
        answer(&result)
    }

    /// One part of an artifact, as text or as base64, with where it is and how to go on.
    async fn artifact_for_code(&self, asked: ReadArtifact) -> Result<Box<RawValue>, CallError> {
        let ReadArtifact { uri, part } = asked;
        let uri = match (ArtifactUri::is_meant(&uri), uri.contains('?') || part.is_empty()) {
            (false, _) => {
                let message = format!("`{uri}` is no artifact");
                return Err(CallError::new(ErrorCode::RequestInvalid, message)
                    .hint("results name theirs: `capdeck://artifacts/…`"));
            }
            (true, true) => uri,
            (true, false) => format!("{uri}?{}", query_of(&part)),
        };
        let read = self.read_artifact(&uri).await?;
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
        answer(&content)
    }
}

fn search_item(hit: &SearchHit) -> Value {
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

pub(super) fn answer(value: &impl Serialize) -> Result<Box<RawValue>, CallError> {
    serde_json::value::to_raw_value(value)
        .map_err(|error| CallError::new(ErrorCode::InternalError, error.to_string()))
}

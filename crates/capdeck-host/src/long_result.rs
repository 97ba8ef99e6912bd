//! Results too large for an agent: a shortened result, and a URI to read on.
//!
//! The whole result is stored as an artifact. The client gets the first items of its lists and the
//! beginning of its long texts; each cut says how much there is and which URI continues it.

mod shrink;

use std::io::Read as _;

use capdeck_backend::{ArtifactStore, ArtifactUri, CallError, ErrorCode};
use capdeck_catalog::{Capability, ObservedShape, RawMembers};
use capdeck_definition::{Backend, CapabilityId, DeckConfig};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json, value::RawValue};

pub(crate) use self::shrink::{ItemRange, ValueTruncation, is_json, shrink, shrink_list, window};
use crate::{Session, SessionScope, partial_json::PartialJson, raw};

/// Limit for backends that are not MCP servers, where the config sets none.
const DEFAULT_MAX_BYTES: usize = 256 * 1024;

/// No limit is smaller, so that most results need no check of the config.
const MIN_LIMIT: usize = 1024;

/// Cuts that are described in the text; all of them are in `_meta`.
const MAX_REPORTED_CUTS: usize = 8;

const QUERY: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

pub(crate) async fn fit_result(
    session: &Session,
    config: &DeckConfig,
    capability: &Capability,
    result: Box<RawValue>,
) -> Result<Box<RawValue>, CallError> {
    let size = result.get().len();
    if size <= MIN_LIMIT || !matches!(session.scope, SessionScope::Deck(_)) {
        return Ok(result);
    }
    let is_server = matches!(capability.definition.backend, Backend::Mcp(_));
    let limit = result_bytes(config);
    if (config.result_bytes.is_none() && is_server) || size <= limit {
        return Ok(result);
    }
    let long = LongResult { id: capability.definition.id.clone(), limit };
    long.shorten(session.host.artifacts(), result).await
}

pub(crate) fn result_bytes(config: &DeckConfig) -> usize {
    let set = config.result_bytes;
    set.map_or(DEFAULT_MAX_BYTES, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
}

struct LongResult {
    id: CapabilityId,
    limit: usize,
}

impl LongResult {
    async fn shorten(
        &self,
        store: &ArtifactStore,
        result: Box<RawValue>,
    ) -> Result<Box<RawValue>, CallError> {
        let Some(mut object) = self.cuttable(&result) else { return Ok(result) };
        let (uri, cuts) = match self.cut_existing_artifact(store, &mut object).await? {
            Some(done) => done,
            None => self.cut_all(store, &mut object, &result).await?,
        };
        let mut content = blocks(&object);
        let told: Vec<String> =
            cuts.iter().take(MAX_REPORTED_CUTS).map(|cut| truncation_note(&uri, cut)).collect();
        if !told.is_empty() {
            content.push(json!({ "type": "text", "text": told.join("\n") }));
        }
        let is_linked = content.iter().any(|block| block["uri"] == uri.as_str());
        if !is_linked {
            content.push(json!({ "type": "resource_link", "uri": uri, "name": "result.json", "mimeType": "application/json" }));
        }
        let cuts: Vec<Value> = cuts.iter().map(|cut| cut_json(&uri, cut)).collect();
        let mut meta: RawMembers = object
            .get("_meta")
            .and_then(|meta| serde_json::from_str(meta.get()).ok())
            .unwrap_or_default();
        let mut page = json!({ "uri": uri, "cuts": cuts });
        if let Some(shape) = shape_of(&result) {
            page["typeScript"] = json!(shape);
        }
        meta.extend(raw::object([("capdeck/page", page)]));
        object.extend(raw::object([("content", Value::Array(content)), ("_meta", json!(meta))]));
        serde_json::value::to_raw_value(&object).map_err(|error| bug(&error))
    }

    /// The members of a result that is too large by what can be cut: images and audio pass
    /// unchanged, and so does a question or a task.
    fn cuttable(&self, result: &RawValue) -> Option<RawMembers> {
        let object: RawMembers = serde_json::from_str(result.get()).ok()?;
        let content: Vec<&RawValue> = serde_json::from_str(object.get("content")?.get()).ok()?;
        let media: usize =
            content.iter().filter(|block| is_media(block)).map(|block| block.get().len()).sum();
        (result.get().len() - media > self.limit).then_some(object)
    }

    async fn cut_existing_artifact(
        &self,
        store: &ArtifactStore,
        object: &mut RawMembers,
    ) -> Result<Option<(String, Vec<ValueTruncation>)>, CallError> {
        let Some(structured) = object.get("structuredContent") else { return Ok(None) };
        let Some((uri, member)) = existing_artifact(structured) else { return Ok(None) };
        let Some(text) = read_text(store, &uri).await? else { return Ok(None) };
        let mut members: RawMembers =
            serde_json::from_str(structured.get()).map_err(|error| bug(&error))?;
        let mut cuts = Vec::new();
        let room = self.limit / 3;
        let head = if is_json(&text) {
            serde_json::value::to_raw_value(&shrink(&text, room, "", &mut cuts))
        } else {
            let (shown, kept, total) = window(&text, ItemRange { from: 0, count: None }, room);
            cuts.push(ValueTruncation { at: String::new(), shown, total, unit: "characters" });
            serde_json::value::to_raw_value(&kept)
        };
        let head = head.map_err(|error| bug(&error))?;
        let links = blocks(object).into_iter().filter(|block| block["type"] != "text");
        let mut content = vec![json!({ "type": "text", "text": shown_text(&head) })];
        content.extend(links);
        members.insert(member.to_owned(), head);
        object.extend(raw::object([("content", Value::Array(content))]));
        let structured = serde_json::value::to_raw_value(&members).map_err(|error| bug(&error))?;
        object.insert("structuredContent".to_owned(), structured);
        Ok(Some((uri.to_string(), cuts)))
    }

    async fn cut_all(
        &self,
        store: &ArtifactStore,
        object: &mut RawMembers,
        whole: &RawValue,
    ) -> Result<(String, Vec<ValueTruncation>), CallError> {
        let uri = self.keep(store, whole).await?;
        let mut cuts = Vec::new();
        let has_structured = object.contains_key("structuredContent");
        let content: Vec<Box<RawValue>> = object
            .get("content")
            .and_then(|content| serde_json::from_str(content.get()).ok())
            .unwrap_or_default();
        let same = has_structured && duplicates_structured(object, &content);
        let parts = if has_structured { 2 } else { 1 };
        let room = self.limit / parts;
        let mut head = None;
        if let Some(structured) = object.get("structuredContent") {
            let kept = shrink(structured.get(), room, "/structuredContent", &mut cuts);
            head = Some(serde_json::value::to_raw_value(&kept).map_err(|error| bug(&error))?);
        }
        let cut: Vec<PartialJson> = match (&head, same) {
            (Some(head), true) => {
                let text = json!({ "type": "text", "text": head.get() });
                vec![PartialJson::Whole(
                    serde_json::value::to_raw_value(&text).map_err(|error| bug(&error))?,
                )]
            }
            _ => {
                let large = content.iter().filter(|block| !is_media(block)).count().max(1);
                let cut = content.into_iter().enumerate().map(|(index, block)| {
                    if is_media(&block) {
                        return PartialJson::Whole(block);
                    }
                    shrink(block.get(), room / large, &format!("/content/{index}"), &mut cuts)
                });
                cut.collect()
            }
        };
        let content = serde_json::value::to_raw_value(&cut).map_err(|error| bug(&error))?;
        object.insert("content".to_owned(), content);
        if let Some(head) = head {
            object.insert("structuredContent".to_owned(), head);
        }
        Ok((uri, cuts))
    }

    async fn keep(&self, store: &ArtifactStore, whole: &RawValue) -> Result<String, CallError> {
        let writing = async {
            let mut writer =
                store.create(&self.id, "result.json", Some("application/json")).await?;
            writer.write(whole.get().as_bytes()).await?;
            writer.finish().await
        };
        let artifact = writing.await.map_err(|error| {
            CallError::new(
                ErrorCode::ContentTooLarge,
                "the result is too large to send and could not be stored",
            )
            .hint("check the free space of the state folder")
            .detail(error)
        })?;
        Ok(artifact.uri)
    }
}

fn existing_artifact(structured: &RawValue) -> Option<(ArtifactUri, &'static str)> {
    let value = raw::value(structured)?;
    if value.get("truncated") != Some(&json!(true)) {
        return None;
    }
    let places = [("/uri", "body"), ("/artifact/uri", "stdout")];
    places.into_iter().find_map(|(place, member)| {
        let uri = value.pointer(place)?.as_str()?;
        Some((ArtifactUri::parse(uri).ok()?.0, member))
    })
}

async fn read_text(store: &ArtifactStore, uri: &ArtifactUri) -> Result<Option<String>, CallError> {
    let (store, uri) = (store.clone(), uri.clone());
    let reading = tokio::task::spawn_blocking(move || {
        let mut text = String::new();
        store.reader(&uri).ok()?.read_to_string(&mut text).ok()?;
        Some(text)
    });
    reading.await.map_err(|error| bug(&error))
}

fn duplicates_structured(object: &RawMembers, content: &[Box<RawValue>]) -> bool {
    let [only] = content else { return false };
    let text = raw::value(only).and_then(|block| block.get("text")?.as_str().map(str::to_owned));
    let structured = object.get("structuredContent").and_then(|text| raw::value(text));
    match (text, structured) {
        (Some(text), Some(structured)) => {
            serde_json::from_str::<Value>(&text).is_ok_and(|said| said == structured)
        }
        _ => false,
    }
}

fn shape_of(result: &RawValue) -> Option<String> {
    let value = raw::value(result)?;
    let structured = value.get("structuredContent")?;
    Some(ObservedShape::of(structured).type_script().0)
}

fn blocks(object: &RawMembers) -> Vec<Value> {
    let content = object.get("content");
    content.and_then(|content| serde_json::from_str(content.get()).ok()).unwrap_or_default()
}

fn is_media(block: &RawValue) -> bool {
    #[derive(serde::Deserialize)]
    struct ContentBlockKind {
        #[serde(rename = "type")]
        kind: String,
    }
    serde_json::from_str::<ContentBlockKind>(block.get())
        .is_ok_and(|block| block.kind == "image" || block.kind == "audio")
}

fn shown_text(head: &RawValue) -> String {
    raw::string(head).unwrap_or_else(|| head.get().to_owned())
}

/// `[20 of 1234 items shown at /structuredContent/items; continue with: capdeck://…]`.
pub(crate) fn truncation_note(uri: &str, cut: &ValueTruncation) -> String {
    let ValueTruncation { at, shown, total, unit } = cut;
    let place = if at.is_empty() { String::new() } else { format!(" at {at}") };
    format!("[{shown} of {total} {unit} shown{place}; continue with: {}]", next(uri, cut))
}

pub(crate) fn cut_json(uri: &str, cut: &ValueTruncation) -> Value {
    let mut shown = json!(cut);
    shown["next"] = json!(next(uri, cut));
    shown
}

fn next(uri: &str, cut: &ValueTruncation) -> String {
    let at = utf8_percent_encode(&cut.at, QUERY);
    format!("{uri}?at={at}&from={}", cut.shown)
}

fn bug(error: &dyn std::error::Error) -> CallError {
    CallError::new(ErrorCode::InternalError, error.to_string())
}

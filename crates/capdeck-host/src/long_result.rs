//! Results too large for an agent: a shortened result, and how to read on.
//!
//! The whole result is stored as an artifact. The client gets the first items of its lists and the
//! beginning of its long texts; each cut says how much there is and which call or URI continues it.

mod shrink;

use std::io::Read as _;

use capdeck_backend::{ArtifactStore, ArtifactUri, CallError, ErrorCode};
use capdeck_catalog::{Capability, ObservedShape, RawMembers};
use capdeck_definition::{Backend, CapabilityId, DeckConfig};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json, value::RawValue};

pub(crate) use self::shrink::{ItemRange, ValueTruncation, is_json, shrink, shrink_list, window};
use crate::{Session, SessionScope, durable::blocking, partial_json::PartialJson, raw};

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
) -> raw::Answer {
    let size = result.get().len();
    if size <= MIN_LIMIT || !matches!(session.scope, SessionScope::Deck(_)) {
        return Ok(result);
    }
    let is_server = matches!(capability.definition.backend, Backend::Mcp(_));
    let text_alone = session.reads_text_alone();
    if is_server && config.result_bytes.is_none() && !text_alone {
        return Ok(result);
    }
    let (reads_on, limit) = (ReadOn::of(session), result_bytes(session, config));
    let is_limited = config.result_bytes.is_some() || reads_on == ReadOn::CallTool;
    if (!is_limited && is_server) || size <= limit {
        return Ok(result);
    }
    let long = LongResult { id: capability.definition.id.clone(), limit, reads_on, text_alone };
    long.shorten(session.host.artifacts(), result).await
}

/// The largest result that is sent whole.
pub(crate) fn result_bytes(session: &Session, config: &DeckConfig) -> usize {
    let set = config.result_bytes;
    let general =
        set.map_or(DEFAULT_MAX_BYTES, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    agent_limit(session).map_or(general, |own| own.min(general))
}

/// What a known agent passes to its model, where the model can read on.
fn agent_limit(session: &Session) -> Option<usize> {
    let agent = session.known_agent()?;
    (ReadOn::of(session) == ReadOn::CallTool).then_some(agent.result_bytes)
}

/// How a client reads on in a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadOn {
    /// With the tool `call_tool`, which it has.
    CallTool,
    /// By the URI alone.
    Resource,
}

impl ReadOn {
    pub(crate) fn of(session: &Session) -> Self {
        let is_deck = matches!(session.scope, SessionScope::Deck(_));
        match is_deck && session.view().route("call_tool").is_some() {
            true => Self::CallTool,
            false => Self::Resource,
        }
    }

    /// `[20 of 1234 items shown at /structuredContent/items; continue with: capdeck://…]`.
    pub(crate) fn note(self, uri: &str, cut: &ValueTruncation) -> String {
        let ValueTruncation { at, shown, total, unit } = cut;
        let place = if at.is_empty() { String::new() } else { format!(" at {at}") };
        let uri = next(uri, cut);
        let how = match self {
            Self::CallTool => format!("call_tool {}", json!({ "name": uri })),
            Self::Resource => uri,
        };
        format!("[{shown} of {total} {unit} shown{place}; continue with: {how}]")
    }
}

struct LongResult {
    id: CapabilityId,
    limit: usize,
    reads_on: ReadOn,
    /// Whether the structured form is left out, as the client reads only one of the two.
    text_alone: bool,
}

impl LongResult {
    async fn shorten(&self, store: &ArtifactStore, result: Box<RawValue>) -> raw::Answer {
        let Some(mut object) = self.cuttable(&result) else { return Ok(result) };
        if self.text_alone {
            object = with_text_alone(object)?;
        }
        let (uri, cuts) = match self.cut_existing_artifact(store, &mut object).await? {
            Some(done) => done,
            None => {
                // Places of cuts lead into what is kept.
                let whole = if self.text_alone { raw::text(&object)? } else { result.clone() };
                self.cut_all(store, &mut object, &whole).await?
            }
        };
        if self.text_alone {
            object.shift_remove("structuredContent");
        }
        let mut content = blocks(&object);
        let notes: Vec<String> =
            cuts.iter().take(MAX_REPORTED_CUTS).map(|cut| self.reads_on.note(&uri, cut)).collect();
        if !notes.is_empty() {
            content.push(json!({ "type": "text", "text": notes.join("\n") }));
        }
        let is_linked = content.iter().any(|block| block["uri"] == uri.as_str());
        // A link beside the words is one thing more for a client to fail on.
        if !is_linked && (self.reads_on == ReadOn::Resource || notes.is_empty()) {
            content.push(json!({ "type": "resource_link", "uri": uri, "name": "result.json", "mimeType": "application/json" }));
        }
        let cuts: Vec<Value> = cuts.iter().map(|cut| cut_json(&uri, cut)).collect();
        let mut meta: RawMembers = raw::get(&object, "_meta").unwrap_or_default();
        let mut page = json!({ "uri": uri, "cuts": cuts });
        if let Some(shape) = shape_of(&result) {
            page["typeScript"] = json!(shape);
        }
        meta.extend(raw::object([("capdeck/page", page)]));
        object.extend(raw::object([("content", Value::Array(content)), ("_meta", json!(meta))]));
        raw::text(&object)
    }

    /// The members of a result that is too large by what can be cut: images and audio pass
    /// unchanged, and so does a question or a task.
    fn cuttable(&self, result: &RawValue) -> Option<RawMembers> {
        let object: RawMembers = raw::parse(result)?;
        let content: Vec<&RawValue> = raw::get(&object, "content")?;
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
            serde_json::from_str(structured.get()).map_err(CallError::internal)?;
        let mut cuts = Vec::new();
        let room = self.limit / 3;
        let head = if is_json(&text) {
            raw::text(&shrink(&text, room, "", &mut cuts))?
        } else {
            let (shown, kept, total) = window(&text, ItemRange { from: 0, count: None }, room);
            cuts.push(ValueTruncation { at: String::new(), shown, total, unit: "characters" });
            raw::text(&kept)?
        };
        let is_own_link = |block: &Value| {
            self.reads_on == ReadOn::CallTool && block["uri"] == uri.to_string().as_str()
        };
        let links = blocks(object)
            .into_iter()
            .filter(|block| block["type"] != "text" && !is_own_link(block));
        let text = raw::string(&head).unwrap_or_else(|| head.get().to_owned());
        let mut content = vec![json!({ "type": "text", "text": text })];
        content.extend(links);
        members.insert(member.to_owned(), head);
        object.extend(raw::object([("content", Value::Array(content))]));
        raw::set(object, "structuredContent", &members);
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
        let content: Vec<Box<RawValue>> = raw::get(object, "content").unwrap_or_default();
        let same = has_structured && duplicates_structured(object, &content);
        let parts = if has_structured { 2 } else { 1 };
        let room = self.limit / parts;
        let mut head = None;
        if let Some(structured) = object.get("structuredContent") {
            let kept = shrink(structured.get(), room, "/structuredContent", &mut cuts);
            head = Some(raw::text(&kept)?);
        }
        let cut: Vec<PartialJson> = match (&head, same) {
            (Some(head), true) => {
                let text = json!({ "type": "text", "text": head.get() });
                vec![PartialJson::Whole(raw::text(&text)?)]
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
        raw::set(object, "content", &cut);
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

/// The result with the text of its structured form in place of that form, unless its own text says as much.
fn with_text_alone(mut object: RawMembers) -> Result<RawMembers, CallError> {
    let Some(structured) = object.get("structuredContent").cloned() else { return Ok(object) };
    if existing_artifact(&structured).is_some() {
        return Ok(object);
    }
    object.shift_remove("structuredContent");
    let mut content: Vec<Value> = blocks(&object);
    let said: usize = content.iter().filter_map(|block| block["text"].as_str()).map(str::len).sum();
    if said < structured.get().len() / 2 {
        content.push(json!({ "type": "text", "text": structured.get() }));
        raw::set(&mut object, "content", &content);
    }
    Ok(object)
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
    blocking(move || {
        let mut text = String::new();
        store.reader(&uri).ok()?.read_to_string(&mut text).ok()?;
        Some(text)
    })
    .await
}

fn duplicates_structured(object: &RawMembers, content: &[Box<RawValue>]) -> bool {
    let [only] = content else { return false };
    let text = raw::value(only).and_then(|block| block.get("text")?.as_str().map(str::to_owned));
    let parsed = text.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    parsed.is_some() && parsed == raw::get(object, "structuredContent")
}

fn shape_of(result: &RawValue) -> Option<String> {
    let value = raw::value(result)?;
    let structured = value.get("structuredContent")?;
    Some(ObservedShape::from_value(structured).type_script().0)
}

fn blocks(object: &RawMembers) -> Vec<Value> {
    raw::get(object, "content").unwrap_or_default()
}

fn is_media(block: &RawValue) -> bool {
    #[derive(serde::Deserialize)]
    struct ContentBlockKind {
        #[serde(rename = "type")]
        kind: String,
    }
    raw::parse::<ContentBlockKind>(block)
        .is_some_and(|block| block.kind == "image" || block.kind == "audio")
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

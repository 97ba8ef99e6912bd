//! A tool's result for a script: the data, and everything else in `meta`.
//!
//! Nothing is cut or dropped, except what repeats the data.

use capdeck_backend::{ArtifactStore, ArtifactUri};
use capdeck_catalog::RawMembers;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::{durable, raw};

/// A result stored as a file is restored up to this size; a larger one is read in parts.
const MAX_RESTORED_BYTES: u64 = 12 << 20;

#[derive(Debug)]
pub(super) struct ScriptResult {
    pub(super) data: Box<RawValue>,
    pub(super) facts: RawMembers,
    pub(super) is_error: bool,
    pub(super) stored: Option<StoredBody>,
}

#[derive(Debug)]
pub(super) struct StoredBody {
    uri: ArtifactUri,
    is_json: bool,
}

#[derive(Deserialize)]
struct RawCallResult<'a> {
    #[serde(borrow, default)]
    content: Vec<&'a RawValue>,
    #[serde(borrow, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
    #[serde(default, rename = "isError")]
    is_error: bool,
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct TextBlock {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
}

/// Splits a result. Anything else, such as a server's invalid response, is data as it is.
pub(super) fn read(result: &RawValue) -> ScriptResult {
    let Some(parsed) = raw::parse::<RawCallResult<'_>>(result) else {
        return ScriptResult::from_data(result.to_owned());
    };
    let mut parts = match parsed.structured {
        Some(structured) => of_structured(structured, &parsed.content),
        None => of_content(&parsed.content),
    };
    parts.is_error = parsed.is_error;
    parts.add_meta(parsed.meta);
    parts
}

impl ScriptResult {
    fn from_data(data: Box<RawValue>) -> Self {
        Self { data, facts: RawMembers::new(), is_error: false, stored: None }
    }

    fn add_meta(&mut self, meta: Option<&RawValue>) {
        let Some(mut meta) = meta.and_then(raw::parse::<RawMembers>) else { return };
        for (from, to) in [
            ("capdeck/responseHeaders", "headers"),
            ("capdeck/status", "status"),
            ("capdeck/attempts", "attempts"),
        ] {
            if let Some(fact) = meta.shift_remove(from) {
                self.facts.insert(to.to_owned(), fact);
            }
        }
        if !meta.is_empty() {
            raw::set(&mut self.facts, "_meta", &meta);
        }
    }

    fn add_blocks(&mut self, blocks: &[&RawValue]) {
        if !blocks.is_empty() {
            raw::set(&mut self.facts, "content", blocks);
        }
    }
}

fn of_structured(structured: &RawValue, content: &[&RawValue]) -> ScriptResult {
    let response = raw::parse::<RawMembers>(structured).filter(is_response);
    let is_response = response.is_some();
    let mut parts = match response {
        Some(response) => of_response(response, structured),
        None => ScriptResult::from_data(structured.to_owned()),
    };
    // A server repeats its structured data as text for older clients; our backends describe it in
    // words.
    let adds = |block: &&&RawValue| match text_of(block) {
        Some(text) => !is_response && significant(&text).ne(significant(structured.get())),
        None => !is_response || !block.get().contains("\"resource_link\""),
    };
    let blocks: Vec<&RawValue> = content.iter().filter(adds).copied().collect();
    parts.add_blocks(&blocks);
    parts
}

fn is_response(members: &RawMembers) -> bool {
    raw::get::<u16>(members, "status").is_some()
        && members.get("headers").is_some_and(|headers| headers.get().starts_with('{'))
}

fn of_response(mut members: RawMembers, whole: &RawValue) -> ScriptResult {
    let is_cut = members.contains_key("truncated");
    if !is_cut && let Some(body) = members.shift_remove("body") {
        members.shift_remove("kind");
        return ScriptResult { facts: members, ..ScriptResult::from_data(body) };
    }
    let own = ["status", "statusText", "headers", "elapsedMs"];
    let facts = own.into_iter().filter_map(|key| Some((key.to_owned(), members.get(key)?.clone())));
    let mut parts =
        ScriptResult { facts: facts.collect(), ..ScriptResult::from_data(whole.to_owned()) };
    if let Some(artifact) = artifact(&members) {
        raw::set(&mut parts.facts, "artifacts", &[artifact]);
    }
    let size = raw::get::<u64>(&members, "byteLength");
    if is_cut && size.is_some_and(|size| size <= MAX_RESTORED_BYTES) {
        let kind = raw::get::<String>(&members, "mimeType");
        let is_json = kind.is_some_and(|kind| kind.contains("json"));
        let uri = raw::get::<String>(&members, "uri").and_then(|uri| ArtifactUri::parse(&uri).ok());
        parts.stored = uri.map(|(uri, _)| StoredBody { uri, is_json });
    }
    parts
}

fn artifact(members: &RawMembers) -> Option<Value> {
    let keys = ["uri", "filename", "mimeType", "byteLength", "sha256", "path"];
    members.get("uri")?;
    let known =
        keys.into_iter().filter_map(|key| Some((key.to_owned(), raw::value(members.get(key)?)?)));
    Some(Value::Object(known.collect()))
}

fn of_content(content: &[&RawValue]) -> ScriptResult {
    let texts: Vec<Option<String>> = content.iter().map(|block| text_of(block)).collect();
    let joined: Vec<&str> = texts.iter().flatten().map(String::as_str).collect();
    let others: Vec<&RawValue> = content
        .iter()
        .zip(&texts)
        .filter_map(|(block, text)| text.is_none().then_some(*block))
        .collect();
    let data = match joined.as_slice() {
        [] => raw::text(content).ok(),
        [only] if only.trim_start().starts_with(['{', '[']) => {
            RawValue::from_string((*only).to_owned()).ok().or_else(|| string(only))
        }
        joined => string(&joined.join("\n")),
    };
    let mut parts = ScriptResult::from_data(data.unwrap_or_default());
    if !joined.is_empty() {
        parts.add_blocks(&others);
    }
    parts
}

/// Reads a body that was stored as a file. `None` when it is not text or is gone; then the script
/// reads the file itself.
pub(super) async fn whole_body(store: &ArtifactStore, body: StoredBody) -> Option<Box<RawValue>> {
    let store = store.clone();
    let reading = durable::blocking(move || {
        let bytes = store.reader(&body.uri).ok()?.next(u64::MAX).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        let parsed = body.is_json.then(|| RawValue::from_string(text.clone()).ok()).flatten();
        parsed.or_else(|| string(&text))
    });
    reading.await.ok().flatten()
}

fn text_of(block: &RawValue) -> Option<String> {
    raw::parse::<TextBlock>(block).filter(|block| block.kind == "text")?.text
}

fn string(text: &str) -> Option<Box<RawValue>> {
    raw::text(text).ok()
}

fn significant(text: &str) -> impl Iterator<Item = u8> + '_ {
    let (mut in_string, mut escaped) = (false, false);
    text.bytes().filter(move |byte| {
        if in_string {
            in_string = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
            return true;
        }
        in_string = *byte == b'"';
        !byte.is_ascii_whitespace()
    })
}

#[cfg(test)]
mod tests;

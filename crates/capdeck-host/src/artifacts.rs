//! Artifacts for clients: who may read them, and how much at once.

mod value_excerpt;

use std::{collections::HashSet, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use capdeck_backend::{
    Artifact, ArtifactError, ArtifactLimits, ArtifactPart, ArtifactReader, ArtifactUri, CallError,
    ErrorCode, StoredArtifact,
};
use capdeck_catalog::RawMembers;
use capdeck_definition::DeckConfig;
use parking_lot::Mutex;
use serde_json::{Value, json, value::RawValue};

use self::value_excerpt::ValueExcerpt;
use crate::{
    Host, SessionScope,
    audit::without_query,
    deck_snapshot::DeckSnapshot,
    durable::blocking,
    long_result::{self, ItemRange, ReadOn, cut_json},
    raw,
};

const MAX_READ: u64 = 1024 * 1024;

/// How many bytes are examined to detect text.
const SNIFF_BYTES: u64 = 8 * 1024;

const TEMPLATE: &str =
    "capdeck://artifacts/{capability}/{call}/{file}{?offset,length,at,from,count}";

/// A client that exceeds this keeps the artifacts it already knows.
const MAX_KNOWN: usize = 4096;

const URI_PREFIX: &str = "capdeck://artifacts/";

struct ArtifactChunk {
    artifact: Artifact,
    /// By its type, else by its first bytes, so that all parts are treated alike.
    is_text: bool,
    offset: u64,
    bytes: Vec<u8>,
}

struct ArtifactExcerpt {
    artifact: Artifact,
    at: String,
    range: ItemRange,
    shown: ValueExcerpt,
}

pub(crate) fn artifact_limits(config: &DeckConfig) -> ArtifactLimits {
    let default = ArtifactLimits::default();
    let days = |days: u32| Duration::from_secs(u64::from(days) * 24 * 3600);
    let bytes = |megabytes: u32| u64::from(megabytes) << 20;
    ArtifactLimits::new(
        config.artifacts.max_age_days.map_or(default.max_age, days),
        config.artifacts.max_megabytes.map_or(default.max_bytes, bytes),
    )
}

pub(crate) fn template() -> RawMembers {
    let description = "A result that was too large to send. Results name their URI. `offset` and `length` are bytes; `at` is a JSON pointer, `from` and `count` items or characters there.";
    raw::object([
        ("uriTemplate", json!(TEMPLATE)),
        ("name", json!("artifact")),
        ("title", json!("Large results")),
        ("description", json!(description)),
    ])
}

/// Reads an artifact, or the part that the URI names, as an MCP `resources/read` response.
pub async fn read(deck: &DeckSnapshot<'_>, text: &str) -> raw::Answer {
    let reading = async {
        let (uri, part) = may_read(deck, text)?;
        let content = match part {
            ArtifactPart::Place { at, from, count } => {
                let shown = show(deck, uri, at, range(from, count), MAX_READ as usize).await?;
                shown.content(text)
            }
            ArtifactPart::Whole | ArtifactPart::Bytes { .. } => {
                read_bytes(deck, uri, part).await?.content(text)
            }
        };
        raw::text(&json!({ "contents": [content] }))
    };
    audited(deck, text, reading).await
}

/// Reads on in a result that was cut, as the result of another call.
pub(crate) async fn read_on(deck: &DeckSnapshot<'_>, text: &str) -> raw::Answer {
    let reading = async {
        let (uri, part) = may_read(deck, text)?;
        let (at, range) = match part {
            ArtifactPart::Whole => (String::new(), range(0, None)),
            ArtifactPart::Place { at, from, count } => (at, range(from, count)),
            ArtifactPart::Bytes { .. } => {
                let read = read_bytes(deck, uri, part).await?.content(text);
                let block = json!({ "type": "resource", "resource": read });
                return raw::text(&json!({ "content": [block] }));
            }
        };
        let session = deck.session();
        let limit = long_result::result_bytes(session, deck.catalog().config());
        // Beside the excerpt, a structured form is as long; an agent reads the text alone.
        let budget = if session.reads_text_alone() { limit } else { limit / 2 };
        show(deck, uri, at, range, budget).await?.result(ReadOn::of(session))
    };
    audited(deck, text, reading).await
}

async fn audited<T>(
    deck: &DeckSnapshot<'_>,
    uri: &str,
    reading: impl Future<Output = Result<T, CallError>>,
) -> Result<T, CallError> {
    let bare = without_query(uri);
    let id = ArtifactUri::parse(bare).map(|(parsed, _)| parsed.capability().to_string());
    let id = id.unwrap_or_default();
    deck.session().audited("resources/read", &id, bare, reading).await
}

async fn read_bytes(
    deck: &DeckSnapshot<'_>,
    uri: ArtifactUri,
    part: ArtifactPart,
) -> Result<ArtifactChunk, CallError> {
    let host = deck.session().host.clone();
    blocking(move || read_range(&host, &uri, &part)).await?
}

async fn show(
    deck: &DeckSnapshot<'_>,
    uri: ArtifactUri,
    at: String,
    range: ItemRange,
    budget: usize,
) -> Result<ArtifactExcerpt, CallError> {
    let host = deck.session().host.clone();
    blocking(move || {
        let mut reader = host.artifacts().reader(&uri).map_err(to_call_error)?;
        let artifact = reader.artifact().clone();
        let text =
            String::from_utf8(reader.next(u64::MAX).map_err(to_call_error)?).map_err(|_| {
                CallError::invalid_request("the artifact is not text, so `at` does not apply")
                    .hint(format!("read it by bytes: {uri}?offset=0&length={MAX_READ}"))
            })?;
        let shown = value_excerpt::show(&text, &at, range, budget).ok_or_else(|| {
            CallError::invalid_request(format!("there is nothing at `{at}`"))
                .hint(format!("start with: {uri}?at="))
        })?;
        Ok(ArtifactExcerpt { artifact, at, range, shown })
    })
    .await?
}

pub(crate) fn has(deck: &DeckSnapshot<'_>, text: &str) -> bool {
    let artifacts = deck.session().host.artifacts();
    may_read(deck, text).is_ok_and(|(uri, _)| artifacts.reader(&uri).is_ok())
}

/// Opens an artifact for reading, without a size limit.
pub async fn open(deck: &DeckSnapshot<'_>, text: &str) -> Result<ArtifactReader, CallError> {
    let (uri, part) = may_read(deck, text)?;
    let opening = async {
        let mut reader = deck.session().host.artifacts().reader(&uri).map_err(to_call_error)?;
        if let ArtifactPart::Bytes { offset, .. } = part {
            reader.seek(offset).map_err(to_call_error)?;
        }
        Ok(reader)
    };
    audited(deck, &uri.to_string(), opening).await
}

/// Returns all stored artifacts, newest first.
pub fn list(deck: &DeckSnapshot<'_>) -> Vec<StoredArtifact> {
    let may_read = |one: &StoredArtifact| may_read(deck, &one.artifact.uri).is_ok();
    deck.session().host.artifacts().list().into_iter().filter(may_read).collect()
}

/// Removes an artifact.
pub fn delete(deck: &DeckSnapshot<'_>, text: &str) -> Result<(), CallError> {
    let (uri, _) = may_read(deck, text)?;
    deck.session().host.artifacts().delete(&uri).map_err(to_call_error)
}

/// Rejects arguments that name an artifact which the client may not read: the tool would read it
/// for the client.
pub(crate) fn check_arguments(
    deck: &DeckSnapshot<'_>,
    arguments: Option<&RawValue>,
) -> Result<(), CallError> {
    let named = arguments.map(|text| uris(text.get())).unwrap_or_default();
    for uri in named {
        may_read(deck, &uri)?;
    }
    Ok(())
}

/// Resolves a URI if the client may use the artifact's capability. Forbidden and unknown artifacts
/// give the same error.
fn may_read(deck: &DeckSnapshot<'_>, text: &str) -> Result<(ArtifactUri, ArtifactPart), CallError> {
    let (uri, part) = ArtifactUri::parse(text).map_err(to_call_error)?;
    // The person owns the files, also those of removed capabilities.
    let may_use = match deck.capability(uri.capability().as_str()) {
        _ if *deck.scope() == SessionScope::Operator => true,
        // Artifacts of other clients are private, also those of a shared capability.
        Ok(capability) if !capability.tools_only && deck.session().access.is_none() => true,
        Ok(_) => deck.session().known_artifacts.has(&uri.to_string()),
        Err(_) => false,
    };
    if !may_use {
        return Err(to_call_error(ArtifactError::NotFound { uri: uri.to_string() }));
    }
    Ok((uri, part))
}

fn read_range(
    host: &Host,
    uri: &ArtifactUri,
    part: &ArtifactPart,
) -> Result<ArtifactChunk, CallError> {
    let mut reader = host.artifacts().reader(uri).map_err(to_call_error)?;
    let artifact = reader.artifact().clone();
    let is_text = match artifact.mime_type.as_deref() {
        Some(mime_type) => is_text_type(mime_type),
        None => is_text_by_looks(&reader.next(SNIFF_BYTES).map_err(to_call_error)?),
    };
    let (offset, length) = match *part {
        ArtifactPart::Whole | ArtifactPart::Place { .. } => (0, None),
        ArtifactPart::Bytes { offset, length } => (offset, length),
    };
    reader.seek(offset).map_err(to_call_error)?;
    let left = artifact.byte_length - offset;
    let length = length.map_or(left, |length| length.min(left));
    if length > MAX_READ {
        return Err(too_much(&artifact, offset));
    }
    let bytes = reader.next(length).map_err(to_call_error)?;
    Ok(ArtifactChunk { artifact, is_text, offset, bytes })
}

impl ArtifactChunk {
    fn content(mut self, asked: &str) -> Value {
        let mut content = json!({ "uri": asked });
        raw::put_some(&mut content, "mimeType", self.artifact.mime_type.as_ref());
        match self.text() {
            Some(text) => content["text"] = json!(text),
            None => content["blob"] = json!(BASE64_STANDARD.encode(&self.bytes)),
        }
        let end = self.offset + self.bytes.len() as u64;
        let mut facts = json!({
            "size": self.artifact.byte_length,
            "sha256": self.artifact.sha256,
            "offset": self.offset,
            "length": self.bytes.len(),
        });
        if end < self.artifact.byte_length {
            facts["next"] = json!(part_uri(&self.artifact, end));
        }
        content["_meta"] = json!({ "capdeck/artifact": facts });
        content
    }

    /// The bytes as text, if they are text. A character that the range splits is left to the next
    /// range.
    fn text(&mut self) -> Option<String> {
        if !self.is_text {
            return None;
        }
        let is_inside = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
        let before = self.bytes.iter().take(3).take_while(is_inside).count();
        if self.offset > 0 && before < self.bytes.len() {
            self.bytes.drain(..before);
            self.offset += before as u64;
        }
        let is_end = self.offset + self.bytes.len() as u64 >= self.artifact.byte_length;
        if let Err(error) = std::str::from_utf8(&self.bytes)
            && error.error_len().is_none()
            && !is_end
            && error.valid_up_to() > 0
        {
            self.bytes.truncate(error.valid_up_to());
        }
        String::from_utf8(self.bytes.clone()).ok()
    }
}

impl ArtifactExcerpt {
    fn content(self, asked: &str) -> Value {
        let facts = self.facts();
        let kind = if self.shown.is_json { "application/json" } else { "text/plain" };
        json!({
            "uri": asked,
            "mimeType": kind,
            "text": self.shown.text,
            "_meta": { "capdeck/artifact": facts },
        })
    }

    fn result(self, reads_on: ReadOn) -> raw::Answer {
        let facts = self.facts();
        let cuts = self.shown.cuts.iter().take(8).map(|cut| reads_on.note(&self.artifact.uri, cut));
        let cuts: Vec<String> = cuts.collect();
        let mut content = vec![json!({ "type": "text", "text": self.shown.text })];
        if !cuts.is_empty() {
            content.push(json!({ "type": "text", "text": cuts.join("\n") }));
        }
        raw::text(&json!({ "content": content, "_meta": { "capdeck/page": facts } }))
    }

    fn facts(&self) -> Value {
        let uri = &self.artifact.uri;
        let cuts: Vec<Value> = self.shown.cuts.iter().map(|cut| cut_json(uri, cut)).collect();
        let own = cuts.iter().find(|cut| cut["at"] == self.at.as_str());
        let mut facts = json!({
            "uri": uri,
            "size": self.artifact.byte_length,
            "sha256": self.artifact.sha256,
            "at": self.at,
            "from": self.range.from,
            "cuts": cuts,
        });
        raw::put_some(&mut facts, "next", own.map(|own| &own["next"]));
        facts
    }
}

fn range(from: u64, count: Option<u64>) -> ItemRange {
    let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    ItemRange { from: number(from), count: count.map(number) }
}

fn too_much(artifact: &Artifact, offset: u64) -> CallError {
    let size = artifact.byte_length;
    CallError::new(
        ErrorCode::ContentTooLarge,
        format!("the artifact has {size} bytes, and one read returns at most {MAX_READ}"),
    )
    .hint(format!("read it in parts, starting with: {}", part_uri(artifact, offset)))
    .data(json!({ "size": size, "mostBytes": MAX_READ, "next": part_uri(artifact, offset) }))
}

fn part_uri(artifact: &Artifact, offset: u64) -> String {
    format!("{}?offset={offset}&length={MAX_READ}", artifact.uri)
}

fn to_call_error(error: ArtifactError) -> CallError {
    let code = match &error {
        ArtifactError::InvalidUri { .. } | ArtifactError::NotFound { .. } => {
            ErrorCode::ResourceNotFound
        }
        ArtifactError::InvalidPart { .. }
        | ArtifactError::BeyondEnd { .. }
        | ArtifactError::InUse { .. } => ErrorCode::RequestInvalid,
        ArtifactError::Write { .. } | ArtifactError::Read { .. } | ArtifactError::Remove { .. } => {
            ErrorCode::InternalError
        }
    };
    let answer = CallError::new(code, error.to_string());
    match &error {
        ArtifactError::InvalidPart { .. } => {
            answer.hint("a part is `?offset=BYTES&length=BYTES` or `?at=/JSON/POINTER&from=N&count=N` after the URI")
        }
        ArtifactError::InUse { .. } => answer.hint("try again when it is no longer being read"),
        ArtifactError::NotFound { .. } => answer.hint("call the tool again for a new one"),
        _ => match std::error::Error::source(&error) {
            Some(source) => answer.detail(source),
            None => answer,
        },
    }
}

fn is_text_by_looks(bytes: &[u8]) -> bool {
    let is_utf8 = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        // A character split at the end is not an error.
        Err(error) => error.error_len().is_none(),
    };
    is_utf8 && !bytes.contains(&0)
}

fn is_text_type(mime_type: &str) -> bool {
    let essence = mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence.starts_with("text/")
        || ["json", "xml", "yaml", "javascript", "x-ndjson", "graphql", "x-www-form-urlencoded"]
            .iter()
            .any(|kind| essence.strip_suffix(kind).is_some_and(|rest| rest.ends_with(['/', '+'])))
}

/// A client that has only some tools of a capability may read the artifacts of its own results, and
/// none of others.
#[derive(Debug, Default)]
pub(crate) struct KnownArtifacts(Mutex<HashSet<String>>);

impl KnownArtifacts {
    pub(crate) fn note(&self, result: &RawValue) {
        let found = uris(result.get());
        let mut known = self.0.lock();
        for uri in found {
            if known.len() < MAX_KNOWN {
                known.insert(uri);
            }
        }
    }

    pub(crate) fn has(&self, uri: &str) -> bool {
        self.0.lock().contains(uri)
    }
}

fn uris(text: &str) -> Vec<String> {
    let ends =
        |letter: char| !(letter.is_ascii_alphanumeric() || "-._~%/!$&'()*+,;=:@".contains(letter));
    let tails = text.split(URI_PREFIX).skip(1);
    let uri = |tail: &str| {
        let path = tail.split(ends).next().unwrap_or_default();
        format!("{URI_PREFIX}{path}")
    };
    tails.map(uri).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_found_anywhere_in_a_text() {
        let text = r#"{"a":"capdeck://artifacts/x/1/out.txt","b":"see capdeck://artifacts/y/2/b%20c?offset=1 now"}"#;
        assert_eq!(
            uris(text),
            ["capdeck://artifacts/x/1/out.txt", "capdeck://artifacts/y/2/b%20c"]
        );
        assert!(uris("capdeck://artifact/x").is_empty());
    }
}

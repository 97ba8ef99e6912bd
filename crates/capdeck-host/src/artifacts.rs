//! Artifacts in the hands of clients: who may read them, and how much at once.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use capdeck_backend::{
    Artifact, ArtifactError, ArtifactLimits, ArtifactPart, ArtifactReader, ArtifactUri, CallError,
    ErrorCode, StoredArtifact, Swept,
};
use capdeck_catalog::RawObject;
use capdeck_definition::DeckConfig;
use serde_json::{Value, json, value::RawValue};

use crate::{Host, Scope, Session, raw};

/// The most bytes that one read answers with.
const MOST_READ: u64 = 1024 * 1024;

/// How much is looked at to tell a text from other bytes.
const SNIFFED: u64 = 8 * 1024;

/// How clients that list templates come to know artifacts.
const TEMPLATE: &str = "capdeck://artifacts/{capability}/{call}/{file}{?offset,length}";

/// A part of an artifact that was read.
struct Read {
    artifact: Artifact,
    /// By its type; where there is none, by its first bytes, so that every part of it is told alike.
    is_text: bool,
    offset: u64,
    bytes: Vec<u8>,
}

/// What the config lets stay.
pub(crate) fn artifact_limits(config: &DeckConfig) -> ArtifactLimits {
    let default = ArtifactLimits::default();
    let days = |days: u32| Duration::from_secs(u64::from(days) * 24 * 3600);
    let bytes = |megabytes: u32| u64::from(megabytes) << 20;
    ArtifactLimits::new(
        config.artifacts.max_age_days.map_or(default.max_age, days),
        config.artifacts.max_megabytes.map_or(default.max_bytes, bytes),
    )
}

/// The template as a list of templates shows it.
pub(crate) fn template() -> RawObject {
    let description = "A result that was too large to send. Results name their URI; `offset` and `length` are bytes.";
    raw::object([
        ("uriTemplate", json!(TEMPLATE)),
        ("name", json!("artifact")),
        ("title", json!("Large results")),
        ("description", json!(description)),
    ])
}

impl Session {
    /// Reads an artifact, or the part of it that the URI names, as MCP's answer to `resources/read`.
    pub async fn read_artifact(&self, uri: &str) -> Result<Box<RawValue>, CallError> {
        let bare = uri.split('?').next().unwrap_or_default();
        let id = ArtifactUri::parse(bare).map(|(parsed, _)| parsed.capability().to_string());
        let reading = self.read_part(uri);
        self.audited("resources/read", id.as_deref().unwrap_or_default(), bare, reading).await
    }

    async fn read_part(&self, text: &str) -> Result<Box<RawValue>, CallError> {
        let (uri, part) = self.may_read(text)?;
        let host = self.host.clone();
        let reading = tokio::task::spawn_blocking(move || read(&host, &uri, &part));
        let read = reading
            .await
            .map_err(|error| CallError::new(ErrorCode::InternalError, error.to_string()))??;
        serde_json::value::to_raw_value(&json!({ "contents": [read.content(text)] }))
            .map_err(|error| CallError::new(ErrorCode::InternalError, error.to_string()))
    }

    /// True when the host itself keeps an artifact under this URI that the client may read.
    pub(crate) fn has_artifact(&self, text: &str) -> bool {
        let found = self.may_read(text).map(|(uri, _)| self.host.artifacts().reader(&uri).is_ok());
        found.unwrap_or(false)
    }

    /// Opens an artifact for reading at any length.
    pub async fn open_artifact(&self, text: &str) -> Result<ArtifactReader, CallError> {
        let (uri, part) = self.may_read(text)?;
        let (id, bare) = (uri.capability().to_string(), uri.to_string());
        let opening = async {
            let mut reader = self.host.artifacts().reader(&uri).map_err(told)?;
            if let ArtifactPart::Bytes { offset, .. } = part {
                reader.seek(offset).map_err(told)?;
            }
            Ok(reader)
        };
        self.audited("resources/read", &id, &bare, opening).await
    }

    /// Everything that is kept, the newest first.
    pub fn artifacts(&self) -> Vec<StoredArtifact> {
        let may_read = |one: &StoredArtifact| self.may_read(&one.artifact.uri).is_ok();
        self.host.artifacts().list().into_iter().filter(may_read).collect()
    }

    /// Removes an artifact.
    pub fn delete_artifact(&self, text: &str) -> Result<(), CallError> {
        let (uri, _) = self.may_read(text)?;
        self.host.artifacts().delete(&uri).map_err(told)
    }

    /// The artifact of this URI, if the client may use the capability it came from. One that may not be read and
    /// one that does not exist are told alike.
    fn may_read(&self, text: &str) -> Result<(ArtifactUri, ArtifactPart), CallError> {
        let (uri, part) = ArtifactUri::parse(text).map_err(told)?;
        // The person owns the files, also those of capabilities that are no longer there.
        let may_use =
            self.scope == Scope::Operator || self.capability(uri.capability().as_str()).is_ok();
        if !may_use {
            return Err(told(ArtifactError::NotFound { uri: uri.to_string() }));
        }
        Ok((uri, part))
    }
}

impl Host {
    /// Removes the artifacts that exceed the limits; with `all`, every one that nobody is using.
    pub fn prune_artifacts(&self, all: bool) -> Swept {
        if all { self.artifacts().clear() } else { self.artifacts().prune() }
    }
}

fn read(host: &Host, uri: &ArtifactUri, part: &ArtifactPart) -> Result<Read, CallError> {
    let mut reader = host.artifacts().reader(uri).map_err(told)?;
    let artifact = reader.artifact().clone();
    let is_text = match artifact.mime_type.as_deref() {
        Some(mime_type) => is_text_type(mime_type),
        None => is_text_by_looks(&reader.next(SNIFFED).map_err(told)?),
    };
    let (offset, length) = match *part {
        ArtifactPart::Whole => (0, None),
        ArtifactPart::Bytes { offset, length } => (offset, length),
    };
    reader.seek(offset).map_err(told)?;
    let left = artifact.byte_length - offset;
    let wanted = length.map_or(left, |length| length.min(left));
    if wanted > MOST_READ {
        return Err(too_much(&artifact, offset));
    }
    let bytes = reader.next(wanted).map_err(told)?;
    Ok(Read { artifact, is_text, offset, bytes })
}

impl Read {
    /// One entry of `contents`, under the URI that was asked for.
    fn content(mut self, asked: &str) -> Value {
        let mut content = json!({ "uri": asked });
        if let Some(mime_type) = &self.artifact.mime_type {
            content["mimeType"] = json!(mime_type);
        }
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

    /// The bytes as text, if that is what they are. A character that the range cuts is left to the next range.
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

fn too_much(artifact: &Artifact, offset: u64) -> CallError {
    let size = artifact.byte_length;
    CallError::new(
        ErrorCode::ContentTooLarge,
        format!("the artifact has {size} bytes, and one read answers with at most {MOST_READ}"),
    )
    .hint(format!("read it in parts, starting with: {}", part_uri(artifact, offset)))
    .data(json!({ "size": size, "mostBytes": MOST_READ, "next": part_uri(artifact, offset) }))
}

fn part_uri(artifact: &Artifact, offset: u64) -> String {
    format!("{}?offset={offset}&length={MOST_READ}", artifact.uri)
}

fn told(error: ArtifactError) -> CallError {
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
    let told = CallError::new(code, error.to_string());
    match &error {
        ArtifactError::InvalidPart { .. } => {
            told.hint("a part is `?offset=BYTES&length=BYTES` after the URI")
        }
        ArtifactError::InUse { .. } => told.hint("try again when the reading has ended"),
        ArtifactError::NotFound { .. } => told.hint("call the tool again for a new one"),
        _ => match std::error::Error::source(&error) {
            Some(source) => told.detail(source),
            None => told,
        },
    }
}

fn is_text_by_looks(bytes: &[u8]) -> bool {
    let is_utf8 = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        // A character that is cut at the end is none that is wrong.
        Err(error) => error.error_len().is_none(),
    };
    is_utf8 && !bytes.contains(&0)
}

/// True for types that people and models read as they are.
fn is_text_type(mime_type: &str) -> bool {
    let essence = mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence.starts_with("text/")
        || ["json", "xml", "yaml", "javascript", "x-ndjson", "graphql", "x-www-form-urlencoded"]
            .iter()
            .any(|kind| essence.strip_suffix(kind).is_some_and(|rest| rest.ends_with(['/', '+'])))
}

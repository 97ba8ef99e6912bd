//! The arguments of a call, read for backends that have to look inside; files and content that they name.

use std::path::{Path, PathBuf};

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::Bytes;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, value::RawValue};

use crate::{CallError, ErrorCode};

/// The arguments object; no arguments are an empty one.
pub(crate) fn read_arguments(
    arguments: Option<&RawValue>,
) -> Result<Map<String, Value>, CallError> {
    let Some(arguments) = arguments else { return Ok(Map::new()) };
    match serde_json::from_str(arguments.get()) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) | Err(_) => Err(CallError::invalid_request("the arguments are not a JSON object")
            .hint("send the arguments as one object, such as `{\"name\": \"value\"}`")),
    }
}

/// A string, number or boolean as text. `None` for everything else.
///
/// Whole numbers written as `2.0` come out as `2`, as they do in the languages such files are written for.
pub(crate) fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Number(number) => Some(match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => {
                format!("{float:.0}")
            }
            _ => number.to_string(),
        }),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A value for a program, which no NUL character may be in.
pub(crate) fn without_nul(name: &str, text: String) -> Result<String, CallError> {
    if text.contains('\0') {
        return Err(CallError::invalid_request(format!(
            "argument `{name}` holds a NUL character, which no program can be given"
        )));
    }
    Ok(text)
}

pub(crate) fn no_such_tool<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a String>,
) -> CallError {
    let mut known: Vec<&str> = known.into_iter().map(String::as_str).collect();
    known.sort_unstable();
    let shown =
        known.iter().take(10).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    CallError::new(ErrorCode::ToolNotFound, format!("there is no tool `{name}`"))
        .hint(format!("tools here: {shown}"))
}

/// The file a path means, relative to the project, with links followed. Why it is not used, as the end of a sentence.
pub(crate) fn project_file(named: &str, project: Option<&Path>) -> Result<PathBuf, String> {
    let project = project.ok_or("is a path, and there is no project to read it from")?;
    let project = project.canonicalize().map_err(|error| format!("cannot be read: {error}"))?;
    let file = project
        .join(named)
        .canonicalize()
        .map_err(|error| format!("cannot be read: `{named}`: {error}"))?;
    // Links were followed before the check: one inside the project may lead out of it.
    if !file.starts_with(&project) {
        return Err(format!("is outside of the project: `{named}`"));
    }
    if !file.is_file() {
        return Err("is no file".to_owned());
    }
    Ok(file)
}

/// What to do instead of naming such a path.
pub(crate) const PROJECT_FILE_HINT: &str = "give a path inside the project (`--project DIR` says which), an artifact, or the content itself";

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DataUrl {
    pub(crate) bytes: Bytes,
    pub(crate) mime_type: Option<String>,
}

/// Models leave padding out and mix the two alphabets; both are read.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const BASE64: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);

impl DataUrl {
    /// Reads one; the error is the end of a sentence.
    pub(crate) fn read(text: &str) -> Result<Self, &'static str> {
        let rest = text.trim().strip_prefix("data:").ok_or("is no data URL")?;
        let (head, data) = rest.split_once(',').ok_or("has no comma")?;
        let (kind, is_base64) = match head.strip_suffix(";base64") {
            Some(kind) => (kind, true),
            None => (head, false),
        };
        let bytes = if is_base64 {
            let data = percent_decode_str(data).decode_utf8_lossy();
            decode_base64(&data).map_err(|_error| "is not base64 after the comma")?
        } else {
            percent_decode_str(data).collect()
        };
        let mime_type = (!kind.is_empty()).then(|| kind.to_owned());
        Ok(Self { bytes: bytes.into(), mime_type })
    }
}

pub(crate) fn decode_base64(text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    let letters: String = text
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .map(|letter| match letter {
            '-' => '+',
            '_' => '/',
            other => other,
        })
        .collect();
    BASE64.decode(letters)
}

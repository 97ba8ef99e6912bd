//! Converts a response to a call result: the body inline, or an artifact when it is too large.

use std::time::Instant;

use capdeck_auth::SecretScrubber;
use encoding_rs::{Encoding, UTF_8};
use percent_encoding::percent_decode_str;
use reqwest::{
    Response, StatusCode,
    header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderMap},
};
use serde_json::{Map, Value, json};

use super::send::RequestAttempts;
use crate::{
    Artifact, CallError, CallResult, ErrorCode,
    call_error::scrub_json,
    capture::{CapturedStream, MAX_INLINE},
    declared_tool::ToolResult,
};

/// Of no use to an agent, or a credential.
const DROPPED_HEADERS: [&str; 8] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "set-cookie",
    "set-cookie2",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The inline limit of a definition without its own.
pub(crate) const DEFAULT_MAX_INLINE_BYTES: u64 = 1024 * 1024;

#[derive(Debug)]
pub(super) struct ResponseHead {
    status: StatusCode,
    content_type: Option<String>,
    /// In lower case, without parameters; empty when the server sent none.
    mime_type: String,
    is_attachment: bool,
    /// The server's file name, not yet made safe.
    filename: Option<String>,
    headers: Map<String, Value>,
    attempts: u32,
}

impl ResponseHead {
    pub(super) fn new(response: &Response) -> Self {
        let (status, headers) = (response.status(), response.headers());
        let text = |name| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
        let content_type = text(CONTENT_TYPE).map(|value| value.trim().to_owned());
        let mime_type = content_type
            .as_deref()
            .and_then(|value| value.split(';').next())
            .map(|value| value.trim().to_ascii_lowercase())
            .unwrap_or_default();
        let disposition = text(CONTENT_DISPOSITION).unwrap_or_default();
        Self {
            status,
            is_attachment: disposition.trim_start().to_ascii_lowercase().starts_with("attachment"),
            filename: file_name(&disposition),
            content_type,
            mime_type,
            headers: useful_headers(headers),
            attempts: response.extensions().get().map_or(1, |RequestAttempts(attempts)| *attempts),
        }
    }

    pub(super) fn scrub(&mut self, scrubber: &SecretScrubber) {
        self.headers.values_mut().for_each(|value| scrub_json(value, scrubber));
        self.content_type =
            self.content_type.as_ref().map(|value| scrubber.text(value).into_owned());
    }

    /// Requests the body as an artifact, and returns the inline limit that then applies.
    pub(super) fn keep_whole(&mut self, filename: Option<String>) -> u64 {
        if self.status.is_success() {
            self.is_attachment = true;
            self.filename = filename.or(self.filename.take());
        }
        DEFAULT_MAX_INLINE_BYTES
    }

    pub(super) fn mime_type(&self) -> Option<String> {
        (!self.mime_type.is_empty()).then(|| self.mime_type.clone())
    }

    pub(super) fn filename(&self) -> String {
        let default = match self.mime_type.as_str() {
            "" => "response",
            mime if is_json(mime) => "response.json",
            "text/html" => "response.html",
            "text/csv" => "response.csv",
            "application/pdf" => "response.pdf",
            "application/zip" => "response.zip",
            "image/png" => "response.png",
            "image/jpeg" => "response.jpg",
            mime if mime.starts_with("text/") => "response.txt",
            _ => "response.bin",
        };
        self.filename.clone().unwrap_or_else(|| default.to_owned())
    }

    fn is_text(&self) -> bool {
        let mime = self.mime_type.as_str();
        mime.is_empty()
            || mime.starts_with("text/")
            || is_json(mime)
            || mime.ends_with("/xml")
            || mime.ends_with("+xml")
            || mime.ends_with("/yaml")
            || mime == "application/x-ndjson"
            || mime == "application/javascript"
            || mime == "application/x-www-form-urlencoded"
    }

    pub(super) async fn answer(
        self,
        body: CapturedStream,
        max_response_bytes: u64,
        started: Instant,
        scrubber: &SecretScrubber,
    ) -> CallResult {
        let limit = max_response_bytes.min(MAX_INLINE);
        let is_inline_kind = self.is_text()
            && !self.is_attachment
            && !(self.mime_type.is_empty() && body.head().contains(&0));
        let total = body.total();
        let charset = charset(self.content_type.as_deref(), body.head());
        let status_text = self.status.canonical_reason().unwrap_or_default();
        let mut structured = Map::new();
        structured.insert("status".into(), self.status.as_u16().into());
        structured.insert("statusText".into(), status_text.into());
        let content_type =
            self.content_type.as_ref().map(|value| ("content-type".into(), value.as_str().into()));
        structured.insert("headers".into(), Value::Object(content_type.into_iter().collect()));
        let mut text = String::new();
        let mut artifacts = Vec::new();
        if is_inline_kind && total <= limit {
            structured.insert("kind".into(), "inline".into());
            if total > 0 {
                text = decode(charset, &body, total, scrubber);
                let parsed = is_json(&self.mime_type).then(|| serde_json::from_str(&text).ok());
                structured.insert(
                    "body".into(),
                    parsed.flatten().unwrap_or_else(|| text.as_str().into()),
                );
            }
        } else {
            if is_inline_kind {
                text = decode(charset, &body, limit, scrubber);
                structured.insert("body".into(), text.as_str().into());
                structured.insert("truncated".into(), true.into());
            }
            let artifact = keep(body).await?;
            let note = if is_inline_kind {
                format!("cut at {limit} of {total} bytes; all of it: {}", artifact.uri)
            } else {
                format!(
                    "{total} bytes of {}: {}",
                    self.content_type.as_deref().unwrap_or("data"),
                    artifact.uri
                )
            };
            text = if text.is_empty() { note } else { format!("{text}\n\n[{note}]") };
            describe(&artifact, &mut structured);
            artifacts.push(artifact);
        }
        let elapsed_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        structured.insert("elapsedMs".into(), elapsed_ms.into());
        let is_error = self.status.as_u16() >= 400;
        if is_error || text.is_empty() {
            let status_line = format!("HTTP {} {status_text}", self.status.as_u16());
            text = format!("{}\n\n{text}", status_line.trim_end()).trim_end().to_owned();
        }
        let mut meta = Map::from_iter([
            ("capdeck/status".into(), self.status.as_u16().into()),
            ("capdeck/responseHeaders".into(), Value::Object(self.headers)),
        ]);
        if self.attempts > 1 {
            meta.insert("capdeck/attempts".into(), self.attempts.into());
        }
        ToolResult { text, artifacts, structured: Some(structured), is_error, meta }.build()
    }
}

/// The artifact fields that clients know. No path: the client may be on another machine.
fn describe(artifact: &Artifact, structured: &mut Map<String, Value>) {
    structured.insert("kind".into(), "remote-reference".into());
    if let Value::Object(fields) = json!(artifact) {
        structured.extend(fields);
    }
}

async fn keep(body: CapturedStream) -> Result<Artifact, CallError> {
    body.keep().await.map_err(|error| {
        CallError::new(
            ErrorCode::ContentTooLarge,
            "the response is too large to send inline and could not be stored as an artifact",
        )
        .hint("check the free space of the state folder")
        .detail(format!("{error}: {:?}", std::error::Error::source(&error)))
    })
}

fn is_json(mime: &str) -> bool {
    mime == "application/json" || mime.ends_with("+json") || mime.ends_with("/json")
}

fn useful_headers(headers: &HeaderMap) -> Map<String, Value> {
    let mut useful = Map::new();
    for name in headers.keys().filter(|name| !DROPPED_HEADERS.contains(&name.as_str())) {
        let values: Vec<_> = headers
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()))
            .collect();
        useful.insert(name.as_str().to_owned(), values.join(", ").into());
    }
    useful
}

/// Uses the byte order mark, then the `charset` of the content type. An unknown name is ignored.
fn charset(content_type: Option<&str>, body: &[u8]) -> &'static Encoding {
    let marked = Encoding::for_bom(body).map(|(encoding, _length)| encoding);
    let named = || Encoding::for_label(label(content_type?)?.as_bytes());
    marked.or_else(named).unwrap_or(UTF_8)
}

/// Decodes the first bytes of a body, without the mark and cut between characters.
fn decode(
    charset: &'static Encoding,
    body: &CapturedStream,
    max_bytes: u64,
    scrubber: &SecretScrubber,
) -> String {
    if charset == UTF_8 {
        let text = body.text(max_bytes);
        return text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    }
    let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    let bytes = body.head().get(..max_bytes).unwrap_or(body.head());
    let is_whole = bytes.len() as u64 == body.total();
    let mut decoder = charset.new_decoder_with_bom_removal();
    let room = decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(bytes.len());
    let mut text = String::with_capacity(room);
    // The buffer is large enough: see the length above.
    let _result = decoder.decode_to_string(bytes, &mut text, is_whole);
    // Secrets were searched among the bytes, where another encoding hides them.
    scrubber.text(&text).into_owned()
}

/// `iso-8859-1` of `text/plain; charset="iso-8859-1"`.
fn label(content_type: &str) -> Option<&str> {
    let mut parameters = content_type.split(';').skip(1).filter_map(|part| part.split_once('='));
    let (_, label) = parameters.find(|(key, _)| key.trim().eq_ignore_ascii_case("charset"))?;
    Some(label.trim().trim_matches('"'))
}

/// Returns the server's name, not yet made safe. `filename*`, which can hold any character, comes before `filename`.
pub(super) fn file_name(disposition: &str) -> Option<String> {
    let parameters = parameters(disposition);
    let value = |name: &str| {
        let found = parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    };
    let name =
        value("filename*").and_then(extended).or_else(|| value("filename").map(str::to_owned));
    name.filter(|name| !name.is_empty())
}

/// Parses `UTF-8'en'na%C3%AFve.csv`: an encoding, a language and the text.
fn extended(value: &str) -> Option<String> {
    let (charset, rest) = value.split_once('\'')?;
    let (_language, text) = rest.split_once('\'')?;
    let encoding = Encoding::for_label(charset.as_bytes())?;
    let bytes: Vec<u8> = percent_decode_str(text).collect();
    Some(encoding.decode_without_bom_handling(&bytes).0.into_owned())
}

/// Parses `key=value` and `key="value; with marks"` after the first word.
fn parameters(disposition: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    let mut rest = disposition.split_once(';').map_or("", |(_, rest)| rest);
    while let Some((key, after)) = rest.split_once('=') {
        // Text before the last `;` has no value.
        let key = key.rsplit(';').next().unwrap_or(key).trim();
        let after = after.trim_start();
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => unquote(quoted),
            None => {
                let (value, next) = after.split_once(';').unwrap_or((after, ""));
                (value.trim().to_owned(), next)
            }
        };
        found.push((key, value));
        rest = next;
    }
    found
}

/// Returns the text up to the closing quote, and the rest. A backslash before a quote or a backslash is an escape;
/// others are part of the name, because some servers send paths of their own machine.
fn unquote(quoted: &str) -> (String, &str) {
    let mut value = String::new();
    let mut letters = quoted.char_indices().peekable();
    while let Some((_, letter)) = letters.next() {
        match letter {
            '"' => break,
            '\\' => match letters.next_if(|(_, next)| matches!(next, '"' | '\\')) {
                Some((_, escaped)) => value.push(escaped),
                None => value.push(letter),
            },
            _ => value.push(letter),
        }
    }
    let end = letters.peek().map_or(quoted.len(), |(index, _)| *index);
    (value, quoted.get(end..).unwrap_or_default())
}

#[cfg(test)]
mod charset_tests {
    use super::*;

    #[test]
    fn a_mark_comes_before_a_name_and_an_unknown_name_says_nothing() {
        for (content_type, body, expected) in [
            (None, &b""[..], "UTF-8"),
            (Some("text/plain"), b"", "UTF-8"),
            (Some("text/plain; charset=utf-8"), b"", "UTF-8"),
            (Some("text/plain; charset=iso-8859-1"), b"", "windows-1252"),
            (Some("text/plain;format=flowed; Charset=\"Shift_JIS\""), b"", "Shift_JIS"),
            (Some("text/plain; charset=klingon"), b"", "UTF-8"),
            (Some("text/plain; charset=iso-8859-1"), b"\xef\xbb\xbfa", "UTF-8"),
            (Some("application/json"), b"\xff\xfea\0", "UTF-16LE"),
        ] {
            assert_eq!(charset(content_type, body).name(), expected, "{content_type:?}");
        }
    }
}

#[cfg(test)]
mod file_name_tests {
    use super::*;

    #[test]
    fn names_are_found_however_they_are_written() {
        for (disposition, expected) in [
            ("attachment", None),
            ("attachment; filename=", None),
            ("attachment; filename=report.pdf", Some("report.pdf")),
            ("attachment; FileName = \"a b.pdf\" ; size=3", Some("a b.pdf")),
            (r#"attachment; filename="a;b=\"c\".csv"; x=y"#, Some(r#"a;b="c".csv"#)),
            (r#"attachment; filename="C:\tmp\a.csv""#, Some(r"C:\tmp\a.csv")),
            ("attachment; filename=\"no end", Some("no end")),
            ("attachment; filename*=UTF-8''na%C3%AFve%20x.csv", Some("naïve x.csv")),
            ("attachment; filename=plain.csv; filename*=iso-8859-1'de'%FC.csv", Some("ü.csv")),
            ("attachment; filename=plain.csv; filename*=klingon''x", Some("plain.csv")),
            ("attachment; odd; filename=x.csv", Some("x.csv")),
            ("inline; \"", None),
        ] {
            assert_eq!(file_name(disposition).as_deref(), expected, "{disposition}");
        }
    }
}

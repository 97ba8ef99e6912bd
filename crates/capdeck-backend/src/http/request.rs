//! One request to send: its URL, which stays below the base URL, its headers and a body that may be larger than memory.

use std::{
    io::{self, SeekFrom},
    path::PathBuf,
};

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use reqwest::{
    Method,
    header::{ACCEPT, HeaderMap, HeaderName, HeaderValue},
};
use tokio::{
    fs::File,
    io::{AsyncReadExt as _, AsyncSeekExt as _, Take},
};
use tokio_util::io::ReaderStream;
use url::Url;

use crate::CallError;

/// A request without credentials, which the endpoint adds.
#[derive(Debug, Clone)]
pub(crate) struct EndpointRequest {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<HttpRequestBody>,
    /// True when sending it twice has the same effect as once. The method sets the initial value.
    pub(crate) is_idempotent: bool,
    pub(crate) redirects: RedirectScope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RedirectScope {
    SameOrigin,
    /// To any https address within the endpoint's network, without credentials. For documents, never for calls.
    AnyOrigin,
}

impl EndpointRequest {
    /// A request that accepts any response and prefers JSON.
    pub(crate) fn new(method: Method, url: Url) -> Self {
        let accept = HeaderValue::from_static("application/json, */*;q=0.5");
        Self {
            is_idempotent: method.is_idempotent(),
            method,
            url,
            headers: HeaderMap::from_iter([(ACCEPT, accept)]),
            body: None,
            redirects: RedirectScope::SameOrigin,
        }
    }
}

pub(crate) fn header_name(name: &str) -> Result<HeaderName, CallError> {
    HeaderName::from_bytes(name.as_bytes())
        .map_err(|_invalid| CallError::invalid_config(format!("`{name}` is not a header name")))
}

/// Rejects line breaks, which could inject another header. The value is not shown.
pub(crate) fn header_value(name: &str, value: &str) -> Result<HeaderValue, CallError> {
    HeaderValue::from_bytes(value.as_bytes()).map_err(|_invalid| {
        CallError::invalid_request(format!(
            "the value for header `{name}` holds a line break or another control character"
        ))
    })
}

/// All characters except those that are safe in one path segment.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// An address that requests may go to, by the same rules as in a file; else the reason.
pub(crate) fn parse_address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    let is_local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_local => Ok(url),
        "http" => Err("plain http is allowed for this machine only".to_owned()),
        _ => Err("it is neither http nor https".to_owned()),
    }
}

/// The same for a base URL, which is nothing but an address.
pub(crate) fn parse_bare_address(text: &str) -> Result<Url, String> {
    let url = parse_address(text)?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it holds a user name or password".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("it has a query or a fragment".to_owned());
    }
    Ok(url)
}

pub(crate) fn parse_base(text: &str) -> Result<Url, CallError> {
    parse_bare_address(text).map_err(|reason| {
        CallError::invalid_config(format!("`baseUrl` cannot be used: {reason}"))
            .hint("give an https URL without user name, query or fragment")
    })
}

/// A text with everything escaped that is not safe in one segment of a path.
pub fn encode_segment(value: &str) -> PercentEncode<'_> {
    utf8_percent_encode(value, SEGMENT)
}

/// Returns the URL of a resolved path, which starts with `/`.
pub(crate) fn below(base: &Url, path: &str) -> Result<Url, CallError> {
    let base_path = base.path().trim_end_matches('/');
    let full_path = format!("{base_path}{path}");
    if full_path.split(['/', '\\']).any(is_dot_segment) {
        return Err(CallError::invalid_request(
            "the path has a `.` or `..` segment, which would leave the API's base path",
        )
        .hint("use a value that is a single name"));
    }
    let mut url = base.clone();
    url.set_path(&full_path);
    // The parser may still normalise; the final path counts.
    let is_inside = url.path() == base_path
        || url.path().strip_prefix(base_path).is_some_and(|rest| rest.starts_with('/'));
    if url.origin() != base.origin() || !is_inside {
        return Err(CallError::invalid_request("the path leads outside of the API's base URL"));
    }
    Ok(url)
}

/// Returns true for `.`, `..` and their encoded forms, which servers and URL parsers treat alike.
fn is_dot_segment(segment: &str) -> bool {
    let plain = segment.to_ascii_lowercase().replace("%2e", ".");
    plain == "." || plain == ".."
}

/// A sequence of bytes and files. Cheap to clone, so a request can be sent again.
#[derive(Debug, Clone, Default)]
pub(crate) struct HttpRequestBody {
    parts: Vec<HttpBodyPart>,
}

/// Content of known length. A file is read while it is sent.
#[derive(Debug, Clone)]
pub(crate) enum HttpBodyPart {
    Bytes(Bytes),
    File { path: PathBuf, offset: u64, length: u64 },
}

impl HttpBodyPart {
    pub(crate) fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File { length, .. } => *length,
        }
    }

    /// The bytes from this position on, which must be within the part.
    pub(crate) fn slice(&self, start: u64, length: u64) -> Self {
        match self {
            Self::Bytes(bytes) => {
                let index = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
                Self::Bytes(bytes.slice(index(start)..index(start + length)))
            }
            Self::File { path, offset, .. } => {
                Self::File { path: path.clone(), offset: offset + start, length }
            }
        }
    }
}

impl From<HttpBodyPart> for HttpRequestBody {
    fn from(part: HttpBodyPart) -> Self {
        Self { parts: vec![part] }
    }
}

impl HttpRequestBody {
    pub(crate) fn bytes(bytes: impl Into<Bytes>) -> Self {
        HttpBodyPart::Bytes(bytes.into()).into()
    }

    pub(crate) fn push_bytes(&mut self, bytes: impl Into<Bytes>) {
        self.parts.push(HttpBodyPart::Bytes(bytes.into()));
    }

    pub(crate) fn push(&mut self, part: HttpBodyPart) {
        self.parts.push(part);
    }

    pub(crate) fn length(&self) -> u64 {
        self.parts.iter().map(HttpBodyPart::length).sum()
    }

    /// Returns the body for the HTTP client. Files are opened when they are reached.
    pub(super) fn to_stream(&self) -> reqwest::Body {
        if let [HttpBodyPart::Bytes(bytes)] = self.parts.as_slice() {
            return bytes.clone().into();
        }
        reqwest::Body::wrap_stream(stream::iter(self.parts.clone()).flat_map(|part| {
            match part {
                HttpBodyPart::Bytes(bytes) => stream::once(async move { Ok(bytes) }).boxed(),
                HttpBodyPart::File { path, offset, length } => {
                    stream::once(open(path, offset, length))
                        .map_ok(ReaderStream::new)
                        .try_flatten()
                        .boxed()
                }
            }
        }))
    }
}

/// Opens a file range. The file may grow meanwhile; no more than the announced length is sent.
async fn open(path: PathBuf, offset: u64, length: u64) -> io::Result<Take<File>> {
    let mut file = File::open(path).await?;
    if offset > 0 {
        file.seek(SeekFrom::Start(offset)).await?;
    }
    Ok(file.take(length))
}

//! Gets the text of a description: from a file, or from the web.
//!
//! What was fetched is kept as one file, replaced whole. It is named for the capability and the address, which itself is
//! not written down: it may hold a key. The server is asked whether it has changed, and without an answer the copy is
//! used and the log says so. A server that answers with a refusal is believed: then there is no description.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use bytes::{Bytes, BytesMut};
use capdeck_definition::CapabilityId;
use capdeck_storage::{FileReaders, replace_file, sha256_hex};
use reqwest::{
    Method, Response, StatusCode,
    header::{ETAG, HeaderName, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED},
};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::{
    CallError, ErrorCode,
    http::{ApiEndpoint, EndpointRequest, RedirectScope, header_value},
};

/// How long a server may take to answer when there is a copy to go on with.
const REVALIDATION_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub(crate) enum DocumentLocation {
    File(PathBuf),
    Url(Url),
}

impl DocumentLocation {
    /// The file that a definition names, else the address. `None` when it names neither.
    pub(crate) fn new(
        path: Option<&String>,
        url: Option<&String>,
        parse: impl FnOnce(&str) -> Result<Url, CallError>,
    ) -> Result<Option<Self>, CallError> {
        match (path, url) {
            (Some(path), _) => Ok(Some(Self::File(PathBuf::from(path)))),
            (None, Some(url)) => parse(url).map(|url| Some(Self::Url(url))),
            (None, None) => Ok(None),
        }
    }

    pub(crate) fn url(&self) -> Option<&Url> {
        match self {
            Self::Url(url) => Some(url),
            Self::File(_) => None,
        }
    }
}

/// A description that a server gave, and what it gave to recognise that version by. `None` when a copy is still right.
type FetchedDocument = Option<(Bytes, DocumentValidators)>;

struct DocumentFetchError {
    error: CallError,
    /// True for a reason that may pass: a copy will do.
    may_pass: bool,
}

impl From<CallError> for DocumentFetchError {
    fn from(error: CallError) -> Self {
        let may_pass = matches!(
            error.code,
            ErrorCode::ServerUnavailable
                | ErrorCode::ToolCallTimeout
                | ErrorCode::DownstreamProtocolError
        );
        Self { error, may_pass }
    }
}

/// Reads a description of at most this many bytes.
///
/// Credentials go along only when `is_trusted`: a description on another server than the API gets none.
pub(crate) async fn read_document(
    endpoint: &ApiEndpoint,
    place: &DocumentLocation,
    is_trusted: bool,
    limit: u64,
) -> Result<Bytes, CallError> {
    let bytes = match place {
        DocumentLocation::File(path) => {
            let unreadable = |error: std::io::Error| {
                CallError::invalid_config(format!(
                    "the description `{}` cannot be read: {error}",
                    path.display()
                ))
                .hint("check the path; it is relative to the file that names it")
            };
            let facts = tokio::fs::metadata(path).await.map_err(unreadable)?;
            // A device or a pipe says that it is empty, and never ends.
            if !facts.is_file() {
                return Err(unreadable(std::io::Error::other("it is no file")));
            }
            if facts.len() > limit {
                return Err(too_large(limit));
            }
            tokio::fs::read(path).await.map_err(unreadable)?.into()
        }
        DocumentLocation::Url(url) => fetch(endpoint, url, is_trusted, limit).await?,
    };
    check_depth(&bytes)?;
    Ok(bytes)
}

/// Reads the body of a response, at most this many bytes of it.
pub(crate) async fn read_body(
    response: &mut Response,
    url: &Url,
    limit: u64,
) -> Result<Bytes, CallError> {
    let mut bytes = BytesMut::new();
    while let Some(chunk) =
        response.chunk().await.map_err(|error| crate::http::no_response_error(url, error))?
    {
        if (bytes.len() + chunk.len()) as u64 > limit {
            return Err(too_large(limit));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes.freeze())
}

async fn fetch(
    endpoint: &ApiEndpoint,
    url: &Url,
    is_trusted: bool,
    limit: u64,
) -> Result<Bytes, CallError> {
    let entry = DocumentCacheEntry::new(
        &endpoint.surroundings.settings.documents_dir,
        &endpoint.id,
        url,
        is_trusted,
    );
    let copy = entry.load().await.filter(|copy| copy.bytes.len() as u64 <= limit);
    let asking = request_document(endpoint, url, is_trusted, copy.as_ref(), limit);
    let said = match &copy {
        Some(_) => {
            tokio::time::timeout(REVALIDATION_TIMEOUT, asking).await.unwrap_or_else(|_elapsed| {
                let message = format!("no answer within {} s", REVALIDATION_TIMEOUT.as_secs());
                Err(CallError::unavailable(message).into())
            })
        }
        None => asking.await,
    };
    match (said, copy) {
        (Ok(Some((bytes, marks))), _) => {
            entry.save(marks, bytes.clone()).await;
            Ok(bytes)
        }
        (Ok(None), Some(copy)) => {
            entry.confirm().await;
            Ok(copy.bytes)
        }
        (Ok(None), None) => Err(http_status_error(url, StatusCode::NOT_MODIFIED)),
        (Err(DocumentFetchError { error, may_pass: true }), Some(copy)) => {
            endpoint.log(&format!(
                "the description could not be fetched ({}); using the cached copy, {} s old",
                error.message,
                copy.age().as_secs()
            ));
            Ok(copy.bytes)
        }
        (Err(failed), _) => Err(failed.error),
    }
}

async fn request_document(
    endpoint: &ApiEndpoint,
    url: &Url,
    is_trusted: bool,
    copy: Option<&CachedDocument>,
    limit: u64,
) -> Result<FetchedDocument, DocumentFetchError> {
    let mut request = EndpointRequest::new(Method::GET, url.clone());
    request.redirects = RedirectScope::AnyOrigin;
    if let Some(CachedDocument { marks, .. }) = copy {
        for (name, mark) in
            [(IF_NONE_MATCH, &marks.etag), (IF_MODIFIED_SINCE, &marks.last_modified)]
        {
            let value = mark.as_deref().map(|mark| header_value(name.as_str(), mark));
            request.headers.extend(value.and_then(Result::ok).map(|value| (name, value)));
        }
    }
    let sent = if is_trusted {
        endpoint.send(request).await
    } else {
        endpoint.send_anonymously(request).await
    };
    let mut response = sent?;
    let status = response.status();
    match status {
        StatusCode::NOT_MODIFIED if copy.is_some() => return Ok(None),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if is_trusted => {
            return Err(endpoint.rejection_error(response).await.into());
        }
        _ if status.is_success() => {}
        _ => {
            let may_pass = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
            return Err(DocumentFetchError { error: http_status_error(url, status), may_pass });
        }
    }
    let text = |name: HeaderName| {
        response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
    };
    let marks = DocumentValidators { etag: text(ETAG), last_modified: text(LAST_MODIFIED) };
    let bytes = read_body(&mut response, url, limit).await?;
    // Some repeat what they were asked with; it would be kept with the copy and shown with every tool.
    Ok(Some((endpoint.without_secrets(bytes), marks)))
}

fn http_status_error(url: &Url, status: StatusCode) -> CallError {
    CallError::unavailable(format!(
        "the description at `{}` was not given: HTTP {status}",
        url.path()
    ))
    .hint("open the URL in a browser; if it has moved, change the definition")
}

fn too_large(limit: u64) -> CallError {
    CallError::new(
        ErrorCode::ContentTooLarge,
        format!("the description is larger than {} MiB", limit / (1024 * 1024)),
    )
    .hint("save the part that is needed to a file and name that")
}

#[derive(Debug, Clone)]
pub(super) struct DocumentCacheEntry {
    path: PathBuf,
}

#[derive(Debug, Clone)]
pub(super) struct CachedDocument {
    pub(super) marks: DocumentValidators,
    pub(super) bytes: Bytes,
    fetched: SystemTime,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DocumentValidators {
    pub(super) etag: Option<String>,
    last_modified: Option<String>,
}

/// The first line of a copy; the description follows.
#[derive(Debug, Serialize, Deserialize)]
struct DocumentCacheHeader {
    #[serde(flatten)]
    marks: DocumentValidators,
    length: usize,
}

impl DocumentCacheEntry {
    /// The place below a folder for what one capability reads at this address. What was read with credentials is kept
    /// apart.
    fn new(folder: &Path, id: &CapabilityId, url: &Url, is_trusted: bool) -> Self {
        let digest = sha256_hex(format!("{is_trusted} {url}"));
        let mark: String = digest.chars().take(24).collect();
        Self { path: folder.join(format!("{id}-{mark}")) }
    }

    /// The copy, if there is a whole one.
    pub(super) async fn load(&self) -> Option<CachedDocument> {
        let path = self.path.clone();
        tokio::task::spawn_blocking(move || read(&path)).await.ok()?
    }

    /// The server says that the copy is still right.
    pub(super) async fn confirm(&self) {
        self.keep(|path| File::options().append(true).open(path)?.set_modified(SystemTime::now()))
            .await;
    }

    pub(super) async fn save(&self, marks: DocumentValidators, bytes: Bytes) {
        self.keep(move |path| write(path, marks, &bytes)).await;
    }

    /// Changes the copy. A failure is only logged: the description itself is there.
    async fn keep(&self, change: impl FnOnce(&Path) -> io::Result<()> + Send + 'static) {
        let path = self.path.clone();
        if let Ok(Err(error)) = tokio::task::spawn_blocking(move || change(&path)).await {
            tracing::warn!(%error, path = %self.path.display(), "a description could not be kept");
        }
    }
}

impl CachedDocument {
    /// How long ago the server last gave or confirmed it.
    pub(super) fn age(&self) -> Duration {
        self.fetched.elapsed().unwrap_or_default()
    }
}

fn read(path: &Path) -> Option<CachedDocument> {
    let fetched = fs::metadata(path).ok()?.modified().ok()?;
    let whole = Bytes::from(fs::read(path).ok()?);
    let end = whole.iter().position(|byte| *byte == b'\n')?;
    let facts: DocumentCacheHeader = serde_json::from_slice(whole.get(..end)?).ok()?;
    let bytes = whole.slice(end + 1..);
    (bytes.len() == facts.length).then_some(CachedDocument { marks: facts.marks, bytes, fetched })
}

fn write(path: &Path, marks: DocumentValidators, bytes: &[u8]) -> io::Result<()> {
    let header = DocumentCacheHeader { marks, length: bytes.len() };
    let mut file = serde_json::to_vec(&header).map_err(io::Error::other)?;
    file.push(b'\n');
    file.extend_from_slice(bytes);
    replace_file(path, &file, FileReaders::Owner)
}

/// The deepest nesting of a description. Readers go down once for each level, and the stack is not endless.
const MAX_DEPTH: usize = 128;

/// Looks at brackets only, and only at what begins as JSON does. Readers of other formats have limits of their own.
fn check_depth(document: &[u8]) -> Result<(), CallError> {
    if !matches!(document.trim_ascii_start().first(), Some(b'{' | b'[')) {
        return Ok(());
    }
    let mut depth = 0_usize;
    let mut bytes = document.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => {
                while let Some(inner) = bytes.next() {
                    match inner {
                        b'"' => break,
                        b'\\' => {
                            bytes.next();
                        }
                        _ => {}
                    }
                }
            }
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    let message =
                        format!("the description is nested deeper than {MAX_DEPTH} levels");
                    return Err(CallError::new(ErrorCode::ContentTooLarge, message).hint(
                        "API descriptions are not nested this deeply; check where this one comes from",
                    ));
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod document_cache_tests {
    use super::*;

    #[tokio::test]
    async fn a_copy_comes_back_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("documents");
        let id = CapabilityId::new("thing").unwrap();
        let url = Url::parse("https://api.example/spec?key=canary").unwrap();
        let entry = DocumentCacheEntry::new(&cache, &id, &url, true);
        assert!(entry.load().await.is_none());
        let marks = DocumentValidators { etag: Some("\"1\"".to_owned()), last_modified: None };
        entry.save(marks.clone(), Bytes::from_static(b"line\nline")).await;
        let copy = entry.load().await.unwrap();
        assert_eq!((copy.marks.clone(), copy.bytes.as_ref()), (marks, &b"line\nline"[..]));
        assert!(copy.age() < Duration::from_secs(60));
        let long_ago = SystemTime::now() - Duration::from_secs(5_000);
        File::options().append(true).open(&entry.path).unwrap().set_modified(long_ago).unwrap();
        assert!(entry.load().await.unwrap().age() >= Duration::from_secs(5_000));
        entry.confirm().await;
        assert!(entry.load().await.unwrap().age() < Duration::from_secs(60));
        for other in [
            DocumentCacheEntry::new(&cache, &id, &url, false),
            DocumentCacheEntry::new(
                &cache,
                &id,
                &Url::parse("https://api.example/spec").unwrap(),
                true,
            ),
            DocumentCacheEntry::new(&cache, &CapabilityId::new("other").unwrap(), &url, true),
        ] {
            assert!(other.load().await.is_none());
        }
        let whole = fs::read(&entry.path).unwrap();
        assert!(!String::from_utf8_lossy(&whole).contains("canary"));
        for damaged in [&whole[..whole.len() - 1], b"{}\n", b"", b"no line"] {
            fs::write(&entry.path, damaged).unwrap();
            assert!(entry.load().await.is_none());
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn nobody_else_may_read_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("documents");
        let id = CapabilityId::new("thing").unwrap();
        let entry = DocumentCacheEntry::new(
            &cache,
            &id,
            &Url::parse("https://api.example").unwrap(),
            false,
        );
        entry.save(DocumentValidators::default(), Bytes::from_static(b"{}")).await;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&entry.path), mode(&cache)), (0o600, 0o700));
    }
}

#[cfg(test)]
mod depth_tests {
    use super::*;

    #[test]
    fn only_nesting_counts() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for fine in [
            nested(128),
            format!("[{}]", "[],".repeat(5_000)),
            format!("{{\"a\": \"{}\\\"{}\"}}", "[".repeat(500), "{".repeat(500)),
            format!("type: {}", nested(500)),
            String::new(),
        ] {
            assert!(check_depth(fine.as_bytes()).is_ok(), "{fine}");
        }
        for deep in [nested(129), format!("  {{\"a\": {}}}", nested(128)), "[".repeat(1_000_000)] {
            let error = check_depth(deep.as_bytes()).unwrap_err();
            assert_eq!(error.message, "the description is nested deeper than 128 levels");
        }
    }
}

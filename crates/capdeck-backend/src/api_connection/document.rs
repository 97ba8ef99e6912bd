//! Gets the text of a description: from a file, or from the web.
//!
//! What was fetched is kept. The server is asked whether it has changed, and when nobody answers the copy is used and the log
//! says so. A server that answers with a refusal is believed: then there is no description.

mod depth;

use std::{path::PathBuf, time::Duration};

use bytes::{Bytes, BytesMut};
use reqwest::{
    Method, Response, StatusCode,
    header::{ETAG, HeaderName, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED},
};
use url::Url;

use self::depth::check_depth;
use super::document_cache::{CachedDocument, DocumentValidators};
use crate::{
    CallError, ErrorCode,
    http::{ApiEndpoint, EndpointRequest, RedirectScope, header_value},
};

/// How long a server may take to answer when there is a copy to go on with.
const REVALIDATION_TIMEOUT: Duration = Duration::from_secs(10);

/// Where a description is.
#[derive(Debug, Clone)]
pub(crate) enum DocumentLocation {
    File(PathBuf),
    Url(Url),
}

/// What a server said when it was asked for a description.
enum DocumentResponse {
    /// The copy is still right.
    Same,
    New {
        bytes: Bytes,
        marks: DocumentValidators,
    },
}

/// Why a server gave no description.
enum DocumentFetchError {
    /// For a reason that may pass; a copy will do.
    Passing(CallError),
    /// For good.
    Refused(CallError),
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
                CallError::new(
                    ErrorCode::ConfigInvalid,
                    format!("the description `{}` cannot be read: {error}", path.display()),
                )
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
    let entry = endpoint.documents().entry(endpoint.id(), url, is_trusted);
    let copy = entry.load().await.filter(|copy| copy.bytes.len() as u64 <= limit);
    let asking = request_document(endpoint, url, is_trusted, copy.as_ref(), limit);
    let said = match &copy {
        Some(_) => {
            tokio::time::timeout(REVALIDATION_TIMEOUT, asking).await.unwrap_or_else(|_elapsed| {
                let message = format!("no answer within {} s", REVALIDATION_TIMEOUT.as_secs());
                Err(DocumentFetchError::Passing(CallError::new(
                    ErrorCode::ServerUnavailable,
                    message,
                )))
            })
        }
        None => asking.await,
    };
    match (said, copy) {
        (Ok(DocumentResponse::New { bytes, marks }), _) => {
            entry.save(marks, bytes.clone()).await;
            Ok(bytes)
        }
        (Ok(DocumentResponse::Same), Some(copy)) => {
            entry.confirm().await;
            Ok(copy.bytes)
        }
        (Ok(DocumentResponse::Same), None) => Err(http_status_error(url, StatusCode::NOT_MODIFIED)),
        (Err(DocumentFetchError::Passing(error)), Some(copy)) => {
            endpoint.log(&format!(
                "the description could not be fetched ({}); using the cached copy, {} s old",
                error.message,
                copy.age().as_secs()
            ));
            Ok(copy.bytes)
        }
        (Err(DocumentFetchError::Passing(error) | DocumentFetchError::Refused(error)), _) => {
            Err(error)
        }
    }
}

async fn request_document(
    endpoint: &ApiEndpoint,
    url: &Url,
    is_trusted: bool,
    copy: Option<&CachedDocument>,
    limit: u64,
) -> Result<DocumentResponse, DocumentFetchError> {
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
    let mut response = sent.map_err(classify_error)?;
    let status = response.status();
    match status {
        StatusCode::NOT_MODIFIED if copy.is_some() => return Ok(DocumentResponse::Same),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if is_trusted => {
            return Err(DocumentFetchError::Refused(endpoint.rejection_error(response).await));
        }
        _ if status.is_success() => {}
        _ if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
            return Err(DocumentFetchError::Passing(http_status_error(url, status)));
        }
        _ => return Err(DocumentFetchError::Refused(http_status_error(url, status))),
    }
    let text = |name: HeaderName| {
        response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
    };
    let marks = DocumentValidators { etag: text(ETAG), last_modified: text(LAST_MODIFIED) };
    let bytes = read_body(&mut response, url, limit).await.map_err(classify_error)?;
    // Some repeat what they were asked with; it would be kept with the copy and shown with every tool.
    Ok(DocumentResponse::New { bytes: endpoint.without_secrets(bytes), marks })
}

fn classify_error(error: CallError) -> DocumentFetchError {
    match error.code {
        ErrorCode::ServerUnavailable | ErrorCode::ToolCallTimeout => {
            DocumentFetchError::Passing(error)
        }
        ErrorCode::DownstreamProtocolError => DocumentFetchError::Passing(error),
        _ => DocumentFetchError::Refused(error),
    }
}

fn http_status_error(url: &Url, status: StatusCode) -> CallError {
    CallError::new(
        ErrorCode::ServerUnavailable,
        format!("the description at `{}` was not given: HTTP {status}", url.path()),
    )
    .hint("open the URL in a browser; if it has moved, change the definition")
}

fn too_large(limit: u64) -> CallError {
    CallError::new(
        ErrorCode::ContentTooLarge,
        format!("the description is larger than {} MiB", limit / (1024 * 1024)),
    )
    .hint("save the part that is needed to a file and name that")
}

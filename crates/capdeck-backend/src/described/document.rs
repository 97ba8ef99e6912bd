//! Gets the text of a description: from a file, or from the web.

use std::path::PathBuf;

use bytes::{Bytes, BytesMut};
use reqwest::{Method, Response};
use url::Url;

use crate::{
    CallError, ErrorCode,
    http::{Endpoint, Redirects, Request},
};

/// Where a description is.
#[derive(Debug, Clone)]
pub(crate) enum DocumentPlace {
    File(PathBuf),
    Url(Url),
}

/// Reads a description of at most this many bytes.
///
/// Credentials go along only when `is_trusted`: a description on another server than the API gets none.
pub(crate) async fn read_document(
    endpoint: &Endpoint,
    place: &DocumentPlace,
    is_trusted: bool,
    limit: u64,
) -> Result<Bytes, CallError> {
    match place {
        DocumentPlace::File(path) => {
            let unreadable = |error: std::io::Error| {
                CallError::new(
                    ErrorCode::ConfigInvalid,
                    format!("the description `{}` cannot be read: {error}", path.display()),
                )
                .hint("check the path; it is relative to the file that names it")
            };
            let length = tokio::fs::metadata(path).await.map_err(unreadable)?.len();
            if length > limit {
                return Err(too_large(limit));
            }
            Ok(tokio::fs::read(path).await.map_err(unreadable)?.into())
        }
        DocumentPlace::Url(url) => fetch(endpoint, url, is_trusted, limit).await,
    }
}

async fn fetch(
    endpoint: &Endpoint,
    url: &Url,
    is_trusted: bool,
    limit: u64,
) -> Result<Bytes, CallError> {
    let mut request = Request::new(Method::GET, url.clone());
    request.redirects = Redirects::AnyOrigin;
    let mut response = if is_trusted {
        endpoint.send(request).await?
    } else {
        endpoint.send_anonymously(request).await?
    };
    let status = response.status();
    if !status.is_success() {
        return Err(CallError::new(
            ErrorCode::ServerUnavailable,
            format!("the description at `{}` was not given: HTTP {status}", url.path()),
        )
        .hint("open the URL in a browser; if it has moved, change the definition"));
    }
    read_body(&mut response, url, limit).await
}

/// Reads the body of a response, at most this many bytes of it.
pub(crate) async fn read_body(
    response: &mut Response,
    url: &Url,
    limit: u64,
) -> Result<Bytes, CallError> {
    let mut bytes = BytesMut::new();
    while let Some(chunk) =
        response.chunk().await.map_err(|error| crate::http::failure(url, error))?
    {
        if (bytes.len() + chunk.len()) as u64 > limit {
            return Err(too_large(limit));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes.freeze())
}

fn too_large(limit: u64) -> CallError {
    CallError::new(
        ErrorCode::ContentTooLarge,
        format!("the description is larger than {} MiB", limit / (1024 * 1024)),
    )
    .hint("save the part that is needed to a file and name that")
}

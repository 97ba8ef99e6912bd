//! The dashboard: one page at `/` and its files below `/assets/<build>/`, embedded in the binary.
//!
//! The page is the same for every visitor and holds no data; `/v1` and `/api` check access.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    io::Write,
    sync::{Arc, LazyLock},
};

use axum::{
    Extension, Router,
    extract::{Path, State},
    response::{IntoResponse, Response},
    routing::get,
};
use bytes::Bytes;
use capdeck_storage::sha256_hex;
use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use crate::{http_state::HttpState, transport::http::ClientAddress};

/// Only files of this host are loaded.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

/// The address contains the build, so the content never changes.
const IMMUTABLE_CACHE: &str = "public, max-age=31536000, immutable";

pub(crate) fn routes() -> Router<Arc<HttpState>> {
    Router::new().route("/", get(home)).route("/assets/{build}/{*path}", get(asset))
}

/// The page for browsers, plain text for other clients.
async fn home(
    State(http_state): State<Arc<HttpState>>,
    address: Option<Extension<ClientAddress>>,
    headers: HeaderMap,
) -> Response {
    let accepts_pages = values(&headers, header::ACCEPT).any(|one| one == "text/html");
    let mut response = if accepts_pages {
        send(page(), &headers, "no-cache")
    } else {
        plain_home(&http_state.issuer(&headers, address.as_deref().copied())).into_response()
    };
    response
        .headers_mut()
        .insert(header::VARY, HeaderValue::from_static("accept, accept-encoding"));
    response
}

/// Reveals nothing about the deck.
fn plain_home(issuer: &str) -> String {
    format!(
        "Capdeck is running.\n\nMCP clients connect to {issuer}/mcp\n\
         One capability: {issuer}/servers/<id>/mcp\n\
         One view: {issuer}/views/<name>/mcp\n\
         Dashboard: open {issuer}/ in a browser\n\
         Health: /health  Readiness: /ready  Metrics: /metrics\n"
    )
}

async fn asset(Path((wanted, path)): Path<(String, String)>, headers: HeaderMap) -> Response {
    let found = if wanted == build() { file(&path) } else { None };
    match found {
        Some(packed) => {
            let mut response = send(packed, &headers, IMMUTABLE_CACHE);
            response
                .headers_mut()
                .insert(header::VARY, HeaderValue::from_static("accept-encoding"));
            response
        }
        // A page that was open during an update requests files of the old build.
        None => {
            let head = [(header::CACHE_CONTROL, "no-store")];
            let advice =
                "this file is not part of this version of the dashboard; reload the page\n";
            (StatusCode::NOT_FOUND, head, advice).into_response()
        }
    }
}

fn send(packed: &'static PackedFile, headers: &HeaderMap, caching: &'static str) -> Response {
    let accepts_gzip = values(headers, header::ACCEPT_ENCODING).any(|one| one == "gzip");
    let known = values(headers, header::IF_NONE_MATCH).any(|one| one == packed.tag || one == "*");
    let zipped = packed.gzip.as_ref().filter(|_| accepts_gzip && !known);
    let body = if known { Bytes::new() } else { zipped.unwrap_or(&packed.plain).clone() };
    let status = if known { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
    let mut response = (status, body).into_response();
    let mut set = |name: HeaderName, value: &'static str| {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    };
    set(header::CONTENT_TYPE, packed.content_type);
    set(header::CACHE_CONTROL, caching);
    set(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "no-referrer");
    set(header::X_FRAME_OPTIONS, "DENY");
    set(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    set(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    if zipped.is_some() {
        set(header::CONTENT_ENCODING, "gzip");
    }
    if let Ok(tag) = HeaderValue::from_str(&packed.tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// The members of a list header without parameters; members with `q=0` are omitted.
fn values(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).filter_map(|member| {
        let (value, parameters) = member.split_once(';').unwrap_or((member, ""));
        let refused = matches!(parameters.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000");
        (!refused).then(|| value.trim().trim_start_matches("W/"))
    })
}

struct PackedFile {
    content_type: &'static str,
    plain: Bytes,
    gzip: Option<Bytes>,
    /// The entity tag, quoted.
    tag: String,
}

macro_rules! include_files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_bytes!(concat!("../dashboard/", $path)))),*]
    };
}

/// Every file of the dashboard but the page. A test compares it with the folder.
const FILES: &[(&str, &[u8])] = include_files![
    "act.js",
    "activity-row.js",
    "api.js",
    "app.js",
    "approval-modes.js",
    "bands.js",
    "charts.js",
    "copy.js",
    "diff-view.js",
    "feedback.js",
    "finder.js",
    "format.js",
    "host-message.js",
    "icon.svg",
    "icons.js",
    "keyboard.js",
    "line-diff.js",
    "live.js",
    "markdown.js",
    "mode-bars.js",
    "navigation.js",
    "page-head.js",
    "pages/access-mine.js",
    "pages/access-policy.js",
    "pages/access-profiles.js",
    "pages/access-requests.js",
    "pages/access.js",
    "pages/activity.js",
    "pages/approvals.js",
    "pages/approve-dialog.js",
    "pages/capabilities.js",
    "pages/capability.js",
    "pages/capsule-access.js",
    "pages/capsule-entries.js",
    "pages/capsule-log.js",
    "pages/capsule-settings.js",
    "pages/capsule-signals.js",
    "pages/capsule.js",
    "pages/capsules.js",
    "pages/clients.js",
    "pages/connect.js",
    "pages/entry-editor.js",
    "pages/entry-history.js",
    "pages/entry.js",
    "pages/help.js",
    "pages/library.js",
    "pages/operator-account.js",
    "pages/operators.js",
    "pages/overview.js",
    "pages/pins.js",
    "pages/runs.js",
    "pages/settings.js",
    "pages/tool.js",
    "resource.js",
    "result-view.js",
    "router.js",
    "schema-form.js",
    "schema.js",
    "session.js",
    "shell.js",
    "sign-in.js",
    "signal.js",
    "states.js",
    "styles/base.css",
    "styles/layout.css",
    "styles/pages.css",
    "styles/parts.css",
    "table-frame.js",
    "target.js",
    "theme-first.js",
    "theme.js",
    "tool-hints.js",
    "vendor/LICENSE-htm",
    "vendor/LICENSE-preact",
    "vendor/hooks.js",
    "vendor/htm.js",
    "vendor/preact.js",
    "view.js",
    "visibility.js",
];

const PAGE: &str = include_str!("../dashboard/index.html");

const FOLDER: &str = "__assets__";

/// The name of this build: other files get other addresses. Imports are relative, so the files need no rewriting.
fn build() -> &'static str {
    static BUILD: LazyLock<String> = LazyLock::new(|| {
        let mut all = Vec::new();
        for (path, bytes) in FILES {
            all.extend_from_slice(path.as_bytes());
            all.extend_from_slice(&bytes.len().to_le_bytes());
            all.extend_from_slice(bytes);
        }
        short_hash(&all)
    });
    &BUILD
}

fn page() -> &'static PackedFile {
    static PACKED: LazyLock<PackedFile> = LazyLock::new(|| {
        let text = PAGE.replace(FOLDER, &format!("/assets/{}", build()));
        pack("text/html; charset=utf-8", Bytes::from(text))
    });
    &PACKED
}

/// A file by its path. All are compressed at the first request, so an unused dashboard costs nothing.
fn file(path: &str) -> Option<&'static PackedFile> {
    static PACKED: LazyLock<BTreeMap<&'static str, PackedFile>> = LazyLock::new(|| {
        let packed = FILES
            .iter()
            .map(|(path, bytes)| (*path, pack(content_type(path), Bytes::from_static(bytes))));
        packed.collect()
    });
    PACKED.get(path)
}

fn pack(content_type: &'static str, plain: Bytes) -> PackedFile {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail; if it did, the uncompressed file would be sent.
    let gzip = encoder.write_all(&plain).and_then(|()| encoder.finish()).map(Bytes::from).ok();
    let tag = format!("\"{}\"", short_hash(&plain));
    PackedFile { content_type, plain, gzip, tag }
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}

fn short_hash(bytes: &[u8]) -> String {
    sha256_hex(bytes).chars().take(16).collect()
}

//! The embedded files of the dashboard, plain and compressed.

use std::{collections::BTreeMap, io::Write, sync::LazyLock};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};

pub(super) struct PackedFile {
    pub(super) content_type: &'static str,
    pub(super) plain: Bytes,
    pub(super) gzip: Option<Bytes>,
    /// The entity tag, quoted.
    pub(super) tag: String,
}

macro_rules! include_files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_bytes!(concat!("../../dashboard/", $path)))),*]
    };
}

/// Every file of the dashboard but the page. A test compares it with the folder.
const FILES: &[(&str, &[u8])] = include_files![
    "act.js",
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
    "happening.js",
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
    "said.js",
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

const PAGE: &str = include_str!("../../dashboard/index.html");

const FOLDER: &str = "__assets__";

/// The name of this build: other files get other addresses. Imports are relative, so the files need no rewriting.
pub(super) fn build() -> &'static str {
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

pub(super) fn page() -> &'static PackedFile {
    static PACKED: LazyLock<PackedFile> = LazyLock::new(|| {
        let text = PAGE.replace(FOLDER, &format!("/assets/{}", build()));
        pack("text/html; charset=utf-8", Bytes::from(text))
    });
    &PACKED
}

/// A file by its path. All are compressed at the first request, so an unused dashboard costs nothing.
pub(super) fn file(path: &str) -> Option<&'static PackedFile> {
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
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;

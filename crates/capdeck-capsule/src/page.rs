//! Listings in pages, with opaque cursors.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use capdeck_storage::sha256_hex;
use serde::Serialize;

use crate::{EntryScope, StoreError, StoreResult, service::ListQuery};

/// Items of one page at most.
pub const MAX_LIST_PAGE_SIZE: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StorePage<T> {
    pub items: Vec<T>,
    /// Set while there are more.
    #[serde(rename = "next_cursor", skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl ListQuery {
    pub(crate) fn page_size(&self) -> usize {
        if self.limit == 0 { 50 } else { self.limit.min(MAX_LIST_PAGE_SIZE) }
    }

    /// What makes two requests the same listing.
    pub(crate) fn fingerprint(&self, scope: &EntryScope) -> String {
        let same = Self { limit: 0, cursor: None, ..self.clone() };
        fingerprint(&format!("{same:?}{scope:?}"))
    }
}

/// A short name for a request.
pub(crate) fn fingerprint(text: &str) -> String {
    sha256_hex(text.as_bytes()).chars().take(12).collect()
}

/// A cursor that belongs to one request.
pub(crate) fn write_cursor(fingerprint: &str, position: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{fingerprint} {position}"))
}

/// The position in a cursor of this request.
pub(crate) fn read_cursor(fingerprint: &str, cursor: &str) -> StoreResult<String> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| StoreError::BadCursor)?;
    let text = String::from_utf8(bytes).map_err(|_| StoreError::BadCursor)?;
    match text.split_once(' ') {
        Some((known, position)) if known == fingerprint => Ok(position.to_owned()),
        _ => Err(StoreError::BadCursor),
    }
}

//! Listings in pages, with cursors that say nothing to whoever holds them.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::Serialize;

use crate::{EntryScope, StoreError, UriPrefix, digest::sha256_hex};

/// Items of one page at most.
pub const MAX_LIST_PAGE_SIZE: usize = 200;

/// One page of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StorePage<T> {
    pub items: Vec<T>,
    /// Set while there are more.
    #[serde(rename = "next_cursor", skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Which entries to list.
#[derive(Debug, Clone, Default)]
pub struct ListRequest {
    pub scheme: Option<String>,
    pub prefix: Option<UriPrefix>,
    pub tag: Option<String>,
    /// Only entries written after this moment.
    pub written_after: Option<Timestamp>,
    pub order: ListOrder,
    /// 0 means 50; never more than [`MAX_LIST_PAGE_SIZE`].
    pub limit: usize,
    /// `next_cursor` of the page before, for the same request.
    pub cursor: Option<String>,
    /// What the caller reaches; the rest does not exist.
    pub scope: EntryScope,
}

/// In which order entries are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ListOrder {
    #[default]
    ByUri,
    /// Latest first.
    ByTime,
}

impl ListRequest {
    pub(crate) fn page_size(&self) -> usize {
        if self.limit == 0 { 50 } else { self.limit.min(MAX_LIST_PAGE_SIZE) }
    }

    /// What makes two requests the same listing.
    pub(crate) fn fingerprint(&self) -> String {
        let Self { scheme, prefix, tag, written_after, order, scope, limit: _, cursor: _ } = self;
        fingerprint(&format!("{scheme:?}{prefix:?}{tag:?}{written_after:?}{order:?}{scope:?}"))
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
pub(crate) fn read_cursor(fingerprint: &str, cursor: &str) -> Result<String, StoreError> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| StoreError::BadCursor)?;
    let text = String::from_utf8(bytes).map_err(|_| StoreError::BadCursor)?;
    match text.split_once(' ') {
        Some((known, position)) if known == fingerprint => Ok(position.to_owned()),
        _ => Err(StoreError::BadCursor),
    }
}

//! Where the next page starts. Opaque to clients, and only good for the search it came from.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::{SearchCursorError, ToolSearchRequest};

/// The cursor of the page that starts at `offset`.
///
/// It names a place and not a document, so it still works after a reload: hits may then move across
/// the border of a page, which is all that can be promised about a list that changed.
pub(super) fn write(request: &ToolSearchRequest<'_>, offset: usize) -> String {
    format!("{offset:x}-{:06x}", mark(request))
}

/// Where the asked-for page starts.
pub(super) fn read(request: &ToolSearchRequest<'_>) -> Result<usize, SearchCursorError> {
    let Some(cursor) = request.cursor else { return Ok(0) };
    let parsed = cursor.split_once('-').and_then(|(offset, own)| {
        let own = u32::from_str_radix(own, 16).ok()?;
        let offset = usize::from_str_radix(offset, 16).ok()?;
        (own == mark(request)).then_some(offset)
    });
    parsed.ok_or_else(|| SearchCursorError { cursor: cursor.chars().take(40).collect() })
}

/// A short mark of the search itself, so that a cursor of another one is noticed.
fn mark(request: &ToolSearchRequest<'_>) -> u32 {
    let mut hasher = FxHasher::default();
    (request.query, request.within).hash(&mut hasher);
    let hash = hasher.finish();
    ((hash >> 40) ^ hash) as u32 & 0xff_ffff
}

//! Paging. A cursor is bound to one list with its filters.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use capdeck_storage::sha256_hex;
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ApiError, ApiResult, RestCall};

const DEFAULT_PAGE_SIZE: usize = 50;
pub(super) const MAX_PAGE_SIZE: usize = 200;
/// Longer than any cursor of this host.
const MAX_CURSOR_BYTES: usize = 4_096;

/// A page of a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub(super) struct ListPage<T> {
    pub(super) items: Vec<T>,
    /// Send it as `cursor` for the next page; null at the end.
    pub(super) next_cursor: Option<String>,
}

/// Selects a page.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct PageQuery {
    /// The maximum number of items.
    #[schemars(range(min = 1, max = 200))]
    pub(super) limit: Option<usize>,
    /// `next_cursor` of the previous page, with the same filters.
    #[schemars(length(min = 1, max = 4096))]
    pub(super) cursor: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct PageCursor {
    list: String,
    after: String,
    #[serde(default)]
    place: usize,
}

impl<T> ListPage<T> {
    pub(super) fn whole(items: Vec<T>) -> Self {
        Self { items, next_cursor: None }
    }

    pub(super) fn map<U>(self, change: impl FnMut(T) -> U) -> ListPage<U> {
        ListPage {
            items: self.items.into_iter().map(change).collect(),
            next_cursor: self.next_cursor,
        }
    }
}

impl PageQuery {
    pub(super) fn limit(&self) -> usize {
        self.limit.unwrap_or(DEFAULT_PAGE_SIZE).clamp(1, MAX_PAGE_SIZE)
    }

    /// A page of a complete list. `key` identifies an item.
    pub(super) fn page_of<T>(
        &self,
        call: &RestCall,
        items: Vec<T>,
        key: impl Fn(&T) -> String,
    ) -> ApiResult<ListPage<T>> {
        let start = match self.open_cursor(call)? {
            None => 0,
            Some(PageCursor { after, place, .. }) => {
                // The last item may be deleted; then continue at its position.
                let known = items.iter().position(|item| key(item) == after);
                known.map_or(place, |known| known + 1)
            }
        };
        let total = items.len();
        let shown: Vec<T> = items.into_iter().skip(start).take(self.limit()).collect();
        let end = start.saturating_add(shown.len());
        let next_cursor = shown
            .last()
            .filter(|_| end < total)
            .map(|last| seal(&PageCursor { list: list_name(call), after: key(last), place: end }));
        Ok(ListPage { items: shown, next_cursor })
    }

    pub(super) fn inner_cursor(&self, call: &RestCall) -> ApiResult<Option<String>> {
        Ok(self.open_cursor(call)?.map(|sealed| sealed.after))
    }

    pub(super) fn outer_cursor(call: &RestCall, inner: Option<String>) -> Option<String> {
        inner.map(|after| seal(&PageCursor { list: list_name(call), after, place: 0 }))
    }

    fn open_cursor(&self, call: &RestCall) -> ApiResult<Option<PageCursor>> {
        let Some(cursor) = &self.cursor else { return Ok(None) };
        let bad = || {
            ApiError::new(
                StatusCode::BAD_REQUEST,
                "bad_cursor",
                "the cursor is not valid for this list",
            )
            .hint("request the first page again and do not change the filters")
        };
        if cursor.len() > MAX_CURSOR_BYTES {
            return Err(bad());
        }
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(cursor).map_err(|_| bad())?;
        let sealed: PageCursor = serde_json::from_slice(&bytes).map_err(|_| bad())?;
        if sealed.list == list_name(call) { Ok(Some(sealed)) } else { Err(bad()) }
    }
}

/// The list of a request with its filters.
fn list_name(call: &RestCall) -> String {
    sha256_hex(format!("{}?{}", call.path, call.filters)).chars().take(16).collect()
}

fn seal(sealed: &PageCursor) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(sealed).unwrap_or_default())
}

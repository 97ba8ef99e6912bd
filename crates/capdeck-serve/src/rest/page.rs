//! Paging. A cursor is bound to one list with its filters.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use capdeck_host::sha256_hex;
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{call::Call, problem::ApiError};

const USUAL: usize = 50;
pub(super) const MOST: usize = 200;
/// Longer than any cursor of this host.
const LONGEST_CURSOR: usize = 4_096;

/// A page of a list.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub(super) struct Page<T> {
    pub(super) items: Vec<T>,
    /// Send it as `cursor` for the next page; null at the end.
    pub(super) next_cursor: Option<String>,
}

/// Selects a page.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub(super) struct Paging {
    /// The maximum number of items.
    #[schemars(range(min = 1, max = 200))]
    pub(super) limit: Option<usize>,
    /// `next_cursor` of the previous page, with the same filters.
    #[schemars(length(min = 1, max = 4096))]
    pub(super) cursor: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Sealed {
    list: String,
    after: String,
    #[serde(default)]
    place: usize,
}

impl<T> Page<T> {
    pub(super) fn whole(items: Vec<T>) -> Self {
        Self { items, next_cursor: None }
    }

    pub(super) fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(change).collect(), next_cursor: self.next_cursor }
    }
}

impl Paging {
    pub(super) fn limit(&self) -> usize {
        self.limit.unwrap_or(USUAL).clamp(1, MOST)
    }

    /// A page of a complete list. `key` identifies an item.
    pub(super) fn cut<T>(
        &self,
        call: &Call,
        items: Vec<T>,
        key: impl Fn(&T) -> String,
    ) -> Result<Page<T>, ApiError> {
        let start = match self.opened(call)? {
            None => 0,
            Some(Sealed { after, place, .. }) => {
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
            .map(|last| seal(&Sealed { list: call.list_name(), after: key(last), place: end }));
        Ok(Page { items: shown, next_cursor })
    }

    pub(super) fn inner(&self, call: &Call) -> Result<Option<String>, ApiError> {
        Ok(self.opened(call)?.map(|sealed| sealed.after))
    }

    pub(super) fn outer(call: &Call, inner: Option<String>) -> Option<String> {
        inner.map(|after| seal(&Sealed { list: call.list_name(), after, place: 0 }))
    }

    fn opened(&self, call: &Call) -> Result<Option<Sealed>, ApiError> {
        let Some(cursor) = &self.cursor else { return Ok(None) };
        let bad = || {
            ApiError::new(
                StatusCode::BAD_REQUEST,
                "bad_cursor",
                "the cursor is not valid for this list",
            )
            .hint("request the first page again and do not change the filters")
        };
        if cursor.len() > LONGEST_CURSOR {
            return Err(bad());
        }
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(cursor).map_err(|_| bad())?;
        let sealed: Sealed = serde_json::from_slice(&bytes).map_err(|_| bad())?;
        if sealed.list == call.list_name() { Ok(Some(sealed)) } else { Err(bad()) }
    }
}

pub(super) fn list_name(path: &str, filters: &str) -> String {
    sha256_hex(&format!("{path}?{filters}")).chars().take(16).collect()
}

fn seal(sealed: &Sealed) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(sealed).unwrap_or_default())
}

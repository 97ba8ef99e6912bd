//! Pages of a list whose cursors are decimal offsets.

use capdeck_backend::CallError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Where a page begins, and how long it may be.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct OffsetPage {
    pub(crate) cursor: Option<String>,
    pub(crate) limit: Option<usize>,
}

impl OffsetPage {
    /// `{entries, nextCursor?}`. The sizes are those of a page by default, and at most.
    pub(crate) fn of<T: Serialize>(
        &self,
        items: Vec<T>,
        (usual, most): (usize, usize),
        list: &str,
    ) -> Result<Value, CallError> {
        let limit = self.limit.unwrap_or(usual).clamp(1, most);
        let (page, next) = paginate(items, limit, self.cursor.as_deref(), list)?;
        let mut answer = json!({ "entries": page });
        if let Some(next) = next {
            answer["nextCursor"] = json!(next);
        }
        Ok(answer)
    }
}

/// One page of a list, and the cursor of the next one.
pub(crate) fn paginate<T>(
    items: Vec<T>,
    limit: usize,
    cursor: Option<&str>,
    list: &str,
) -> Result<(Vec<T>, Option<String>), CallError> {
    let total = items.len();
    let start = cursor.map_or(Some(0), |cursor| cursor.parse::<usize>().ok());
    let start = start.filter(|start| *start <= total).ok_or_else(|| {
        let cursor = cursor.unwrap_or_default();
        CallError::invalid_request(format!("`{cursor}` is not a cursor of {list}"))
            .hint("start without a cursor")
    })?;
    let end = total.min(start.saturating_add(limit));
    let page = items.into_iter().skip(start).take(limit).collect();
    Ok((page, (end < total).then(|| end.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_reach_the_end_without_gap_or_repeat() {
        let items: Vec<u32> = (0..7).collect();
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let (page, next) = paginate(items.clone(), 3, cursor.as_deref(), "it").unwrap();
            seen.extend(page);
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, items);
    }

    #[test]
    fn a_foreign_cursor_is_refused() {
        assert!(paginate(vec![1], 3, Some("9"), "it").is_err());
        assert!(paginate(vec![1], 3, Some("x"), "it").is_err());
    }
}

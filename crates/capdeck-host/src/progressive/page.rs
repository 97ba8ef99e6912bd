//! Pages of a list: a decimal offset as cursor, never past the end, never a gap.

use capdeck_backend::CallError;
use serde_json::{Map, Value, json};

use super::operation::invalid;

/// One page of `items`, as `{items, nextCursor?, truncated?}` members.
pub(super) fn paginate(
    items: Vec<Value>,
    limit: usize,
    cursor: Option<&str>,
) -> Result<Map<String, Value>, CallError> {
    let start = match cursor {
        None => 0,
        Some(cursor) => {
            cursor.parse::<usize>().ok().filter(|start| *start <= items.len()).ok_or_else(|| {
                invalid(format!("`{cursor}` is not a cursor of this list"))
                    .hint("start without a cursor")
            })?
        }
    };
    let total = items.len();
    let end = total.min(start.saturating_add(limit));
    let page: Vec<Value> = items.into_iter().skip(start).take(limit).collect();
    let mut answer = Map::new();
    answer.insert("items".to_owned(), Value::Array(page));
    if end < total {
        answer.insert("nextCursor".to_owned(), json!(end.to_string()));
        answer.insert("truncated".to_owned(), json!(true));
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_reach_the_end_without_gap_or_repeat() {
        let items: Vec<Value> = (0..7).map(|n| json!(n)).collect();
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let page = paginate(items.clone(), 3, cursor.as_deref()).unwrap();
            seen.extend(page["items"].as_array().unwrap().clone());
            let Some(next) = page.get("nextCursor") else { break };
            cursor = next.as_str().map(str::to_owned);
        }
        assert_eq!(seen, items);
    }

    #[test]
    fn a_foreign_cursor_is_refused() {
        assert!(paginate(vec![json!(1)], 3, Some("9")).is_err());
        assert!(paginate(vec![json!(1)], 3, Some("x")).is_err());
    }
}

//! Paging of the deck's large lists.

use std::hash::{DefaultHasher, Hash, Hasher};

use capdeck_host::{EntryPage, RawMembers};
use capdeck_mcp::RpcError;
use serde_json::value::RawValue;

use super::params::{MethodResult, raw};

/// A page ends with the item that exceeds this size.
const PAGE_BYTES: usize = 256 * 1024;

/// The same for tools. No server in use sends them in pages, and clients read one page (Gemini CLI) or twenty (Claude
/// Code), without a word about the rest.
const TOOLS_PAGE_BYTES: usize = 2 * 1024 * 1024;

/// Appends items to the last page of a list.
pub(super) fn append_items(key: &str, page: Box<RawValue>, following: &EntryPage) -> MethodResult {
    if following.resources.is_empty() && following.next_cursor.is_none() {
        return Ok(page);
    }
    let internal = |error: serde_json::Error| RpcError::internal(error.to_string());
    let mut members: RawMembers = serde_json::from_str(page.get()).map_err(internal)?;
    let mut items: Vec<Box<RawValue>> = match members.get(key) {
        Some(items) => serde_json::from_str(items.get()).map_err(internal)?,
        None => Vec::new(),
    };
    for item in &following.resources {
        items.push(raw(item)?);
    }
    members.insert(key.to_owned(), raw(&items)?);
    if let Some(next) = &following.next_cursor {
        members.insert("nextCursor".to_owned(), raw(next)?);
    }
    raw(&members)
}

pub(super) fn is_last(page: &RawValue) -> bool {
    let members: Result<RawMembers, _> = serde_json::from_str(page.get());
    members.is_ok_and(|members| !members.contains_key("nextCursor"))
}

/// One page of a list: `{"<key>": […], "nextCursor"?: …}`. A cursor contains a digest of the list, so cursors of other or
/// changed lists are rejected.
pub(super) fn page(key: &str, items: &RawValue, params: Option<&RawMembers>) -> MethodResult {
    let cursor = params.and_then(|params| params.get("cursor")).filter(|text| text.get() != "null");
    let page_bytes = if key == "tools" { TOOLS_PAGE_BYTES } else { PAGE_BYTES };
    if cursor.is_none() && items.get().len() <= page_bytes {
        return render(&format!("{{\"{key}\":{}}}", items.get()));
    }
    let all: Vec<&RawValue> =
        serde_json::from_str(items.get()).map_err(|error| RpcError::internal(error.to_string()))?;
    let state = digest(items);
    let start = match cursor {
        None => 0,
        Some(cursor) => {
            position(cursor, key, state).filter(|start| *start < all.len()).ok_or_else(|| {
                let message = format!("{} is not a cursor of the current list", cursor.get());
                RpcError::invalid_params(format!("{message}; start without a cursor"))
            })?
        }
    };
    let mut text = format!("{{\"{key}\":[");
    let mut next = start;
    for item in all.iter().skip(start) {
        if next > start {
            text.push(',');
        }
        text.push_str(item.get());
        next += 1;
        if text.len() >= page_bytes {
            break;
        }
    }
    text.push(']');
    if next < all.len() {
        text.push_str(&format!(",\"nextCursor\":\"{key}.{state:016x}.{next}\""));
    }
    text.push('}');
    render(&text)
}

fn position(cursor: &RawValue, key: &str, state: u64) -> Option<usize> {
    let text: String = serde_json::from_str(cursor.get()).ok()?;
    let rest = text.strip_prefix(key)?.strip_prefix('.')?;
    let (seen, start) = rest.split_once('.')?;
    let is_current = u64::from_str_radix(seen, 16).ok()? == state;
    start.parse().ok().filter(|start| is_current && *start > 0)
}

fn digest(items: &RawValue) -> u64 {
    let mut hasher = DefaultHasher::new();
    items.get().hash(&mut hasher);
    hasher.finish()
}

fn render(text: &str) -> MethodResult {
    RawValue::from_string(text.to_owned()).map_err(|error| RpcError::internal(error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn list(count: usize) -> Box<RawValue> {
        let items: Vec<Value> =
            (0..count).map(|number| json!({"name": number, "x": "y".repeat(10_000)})).collect();
        serde_json::value::to_raw_value(&items).unwrap()
    }

    fn ask(items: &RawValue, cursor: Option<&Value>) -> Result<Value, RpcError> {
        let params = cursor.map(|cursor| {
            let cursor = serde_json::value::to_raw_value(cursor).unwrap();
            RawMembers::from_iter([("cursor".to_owned(), cursor)])
        });
        let answer = page("resources", items, params.as_ref())?;
        Ok(serde_json::from_str(answer.get()).unwrap())
    }

    #[test]
    fn a_small_list_is_one_page_byte_for_byte() {
        let items = list(3);
        let answer = page("resources", &items, None).unwrap();
        assert_eq!(answer.get(), format!("{{\"resources\":{}}}", items.get()));
    }

    /// Clients that read one page have all of them.
    #[test]
    fn tools_come_at_once() {
        let items = list(150);
        let answer = page("tools", &items, None).unwrap();
        assert_eq!(answer.get(), format!("{{\"tools\":{}}}", items.get()));
        let answer = page("tools", &list(500), None).unwrap();
        assert!(answer.get().contains("\"nextCursor\":\"tools."));
    }

    #[test]
    fn pages_of_a_large_list_hold_every_item_once() {
        let items = list(100);
        let (mut seen, mut cursor, mut pages) = (Vec::new(), None, 0);
        loop {
            let answer = ask(&items, cursor.as_ref()).unwrap();
            assert!(answer.to_string().len() < PAGE_BYTES + 20_000);
            seen.extend(answer["resources"].as_array().unwrap().clone());
            pages += 1;
            match answer.get("nextCursor") {
                Some(next) => cursor = Some(next.clone()),
                None => break,
            }
        }
        let whole: Vec<Value> = serde_json::from_str(items.get()).unwrap();
        assert_eq!(seen, whole);
        assert!(pages > 3);
    }

    #[test]
    fn foreign_outdated_and_malformed_cursors_are_refused() {
        let items = list(100);
        let good = ask(&items, None).unwrap()["nextCursor"].clone();
        let of_another = good.as_str().unwrap().replace("resources", "prompts");
        let beyond = good.as_str().unwrap().rsplit_once('.').unwrap().0.to_owned() + ".9999";
        for wrong in [json!(""), json!("resources.0.1"), json!(7), json!(of_another), json!(beyond)]
        {
            let error = ask(&items, Some(&wrong)).unwrap_err();
            assert_eq!(error.code, RpcError::INVALID_PARAMS, "{wrong}");
        }
        assert_eq!(ask(&list(99), Some(&good)).unwrap_err().code, RpcError::INVALID_PARAMS);
        assert_eq!(ask(&list(2), Some(&json!("x"))).unwrap_err().code, RpcError::INVALID_PARAMS);
    }
}

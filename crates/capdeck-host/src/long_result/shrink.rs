//! Shrinks a JSON value: lists keep their first items, long texts their beginning, and each cut is
//! reported.

use capdeck_catalog::RawMembers;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::partial_json::PartialJson;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ValueTruncation {
    /// A JSON pointer. It may lead into a text that is JSON itself.
    pub(crate) at: String,
    pub(crate) shown: usize,
    pub(crate) total: usize,
    pub(crate) unit: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ItemRange {
    pub(crate) from: usize,
    /// As many as possible where there is none.
    pub(crate) count: Option<usize>,
}

impl ItemRange {
    const START: Self = Self { from: 0, count: None };

    fn is_full(self, kept: usize) -> bool {
        self.count.is_some_and(|count| kept >= count)
    }
}

/// The value in about this many bytes. Adds the cuts at `at` and below.
pub(crate) fn shrink(
    text: &str,
    budget: usize,
    at: &str,
    cuts: &mut Vec<ValueTruncation>,
) -> PartialJson {
    if text.len() <= budget {
        return whole(text);
    }
    match text.trim_start().as_bytes().first() {
        Some(b'{') => shrink_object(text, budget, at, cuts),
        Some(b'[') => shrink_list(text, ItemRange::START, budget, at, cuts),
        Some(b'"') => shrink_text(text, budget, at, cuts),
        _ => None,
    }
    .unwrap_or_else(|| whole(text))
}

/// Small members remain whole; the large ones share the rest of the budget.
fn shrink_object(
    text: &str,
    budget: usize,
    at: &str,
    cuts: &mut Vec<ValueTruncation>,
) -> Option<PartialJson> {
    let members: RawMembers = serde_json::from_str(text).ok()?;
    let mut sizes: Vec<(usize, usize)> = members
        .iter()
        .enumerate()
        .map(|(index, (key, member))| (key.len() + 4 + member.get().len(), index))
        .collect();
    sizes.sort_unstable();
    let mut shares = vec![0; members.len()];
    let (mut left, mut waiting) = (budget, members.len());
    for (size, index) in sizes {
        let share = size.min(left / waiting.max(1));
        if let Some(slot) = shares.get_mut(index) {
            *slot = share;
        }
        (left, waiting) = (left - share, waiting - 1);
    }
    let shrunk = members.into_iter().zip(shares).map(|((key, member), share)| {
        let below = format!("{at}/{}", escape(&key));
        let room = share.saturating_sub(key.len() + 4);
        let kept = shrink(member.get(), room, &below, cuts);
        (key, kept)
    });
    Some(PartialJson::Object(shrunk.collect()))
}

/// The items of a range, as many as the budget allows. If the first alone exceeds it, it is shrunk.
pub(crate) fn shrink_list(
    text: &str,
    range: ItemRange,
    budget: usize,
    at: &str,
    cuts: &mut Vec<ValueTruncation>,
) -> Option<PartialJson> {
    let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    let (mut kept, mut left) = (Vec::new(), budget);
    for (index, item) in items.iter().enumerate().skip(range.from) {
        if range.is_full(kept.len()) {
            break;
        }
        let size = item.get().len() + 1;
        if size <= left {
            left -= size;
            kept.push(whole(item.get()));
            continue;
        }
        if kept.is_empty() && budget > MIN_ITEM_BYTES {
            kept.push(shrink(item.get(), budget, &format!("{at}/{index}"), cuts));
        }
        break;
    }
    let shown = range.from.saturating_add(kept.len());
    if shown < items.len() {
        cuts.push(ValueTruncation { at: at.to_owned(), shown, total: items.len(), unit: "items" });
    }
    Some(PartialJson::Array(kept))
}

/// With less room than this a large item is omitted rather than cut.
const MIN_ITEM_BYTES: usize = 64;

fn shrink_text(
    text: &str,
    budget: usize,
    at: &str,
    cuts: &mut Vec<ValueTruncation>,
) -> Option<PartialJson> {
    let inner: String = serde_json::from_str(text).ok()?;
    if is_json(&inner) {
        // Quoting it again makes it longer.
        let kept = shrink(&inner, budget / 2, at, cuts);
        let inner = serde_json::to_string(&kept).ok()?;
        return serde_json::value::to_raw_value(&inner).ok().map(PartialJson::Whole);
    }
    let (shown, kept, total) = window(&inner, ItemRange::START, budget);
    cuts.push(ValueTruncation { at: at.to_owned(), shown, total, unit: "characters" });
    serde_json::value::to_raw_value(&kept).ok().map(PartialJson::Whole)
}

/// The characters of a range, in at most this many bytes of JSON: their number, the text, and the
/// total.
pub(crate) fn window(text: &str, range: ItemRange, budget: usize) -> (usize, String, usize) {
    let (mut kept, mut bytes, mut shown) = (String::new(), 2, 0);
    for letter in text.chars().skip(range.from) {
        bytes += match letter {
            '"' | '\\' | '\n' | '\r' | '\t' => 2,
            letter if letter.is_control() => 6,
            letter => letter.len_utf8(),
        };
        if bytes > budget || range.is_full(shown) {
            break;
        }
        kept.push(letter);
        shown += 1;
    }
    (shown, kept, text.chars().count())
}

pub(crate) fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

fn whole(text: &str) -> PartialJson {
    PartialJson::Whole(RawValue::from_string(text.trim().to_owned()).unwrap_or_default())
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn shrunk(value: &Value, budget: usize) -> (Value, Vec<ValueTruncation>) {
        let mut cuts = Vec::new();
        let text = value.to_string();
        let kept = shrink(&text, budget, "", &mut cuts);
        let kept = serde_json::to_string(&kept).unwrap();
        assert!(kept.len() <= budget + 16, "{} > {budget}: {kept}", kept.len());
        (serde_json::from_str(&kept).unwrap(), cuts)
    }

    #[test]
    fn the_first_items_stay_and_small_members_are_whole() {
        let items: Vec<Value> =
            (0..1000).map(|id| json!({"id": id, "name": "some name"})).collect();
        let value = json!({"total": 1000, "page": {"items": items}, "next": "abc"});
        let (kept, cuts) = shrunk(&value, 500);
        assert_eq!((&kept["total"], &kept["next"]), (&json!(1000), &json!("abc")));
        let shown = kept["page"]["items"].as_array().unwrap();
        assert!(shown.len() > 5, "{kept}");
        assert_eq!(shown.as_slice(), &items[..shown.len()]);
        let cut = ValueTruncation {
            at: "/page/items".to_owned(),
            shown: shown.len(),
            total: 1000,
            unit: "items",
        };
        assert_eq!(cuts, [cut]);
    }

    #[test]
    fn several_large_members_share_the_room() {
        let list: Vec<u32> = (0..500).collect();
        let (kept, cuts) = shrunk(&json!({"a": list, "b/c": list, "t": "x".repeat(5000)}), 900);
        assert_eq!(cuts.len(), 3);
        for key in ["a", "b/c"] {
            assert!(kept[key].as_array().unwrap().len() > 40, "{kept}");
        }
        assert_eq!(cuts[1].at, "/b~1c");
        assert_eq!((cuts[2].unit, cuts[2].total), ("characters", 5000));
        assert_eq!(cuts[2].shown, kept["t"].as_str().unwrap().len());
    }

    #[test]
    fn a_text_that_is_json_is_cut_like_json() {
        let inner = json!({"items": (0..500).collect::<Vec<u32>>()}).to_string();
        let (kept, cuts) = shrunk(&json!({"text": inner}), 400);
        let inner: Value = serde_json::from_str(kept["text"].as_str().unwrap()).unwrap();
        assert_eq!(inner["items"].as_array().unwrap().len(), cuts[0].shown);
        assert_eq!(cuts[0].at, "/text/items");
    }

    #[test]
    fn a_large_item_is_shrunk_itself() {
        let value = json!([{"blob": "é\"".repeat(1000)}, 2]);
        let (kept, cuts) = shrunk(&value, 300);
        assert!(kept[0]["blob"].as_str().unwrap().starts_with("é\""));
        let places: Vec<&str> = cuts.iter().map(|cut| cut.at.as_str()).collect();
        assert_eq!(places, ["/0/blob", ""]);
    }

    #[test]
    fn numbers_stay_as_they_were_written() {
        let text = r#"{"n":12345678901234567890.10,"list":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18]}"#;
        let kept = serde_json::to_string(&shrink(text, 60, "", &mut Vec::new())).unwrap();
        assert!(kept.contains("12345678901234567890.10"), "{kept}");
    }
}

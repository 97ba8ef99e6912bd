//! Reads on at a place of a text or JSON artifact: the next items of a list, the next characters of
//! a text.

use std::borrow::Cow;

use capdeck_catalog::RawMembers;
use serde_json::value::RawValue;

use crate::long_result::{ItemRange, ValueTruncation, is_json, shrink, shrink_list, window};

#[derive(Debug)]
pub(crate) struct ValueExcerpt {
    pub(crate) text: String,
    pub(crate) is_json: bool,
    pub(crate) cuts: Vec<ValueTruncation>,
}

/// Returns as much as the budget allows at a JSON pointer; `None` when the pointer leads nowhere.
pub(crate) fn show(
    document: &str,
    at: &str,
    range: ItemRange,
    budget: usize,
) -> Option<ValueExcerpt> {
    let found = find(document, at)?;
    let mut cuts = Vec::new();
    if !is_json(&found) {
        let (shown, text, total) = window(&found, range, budget);
        let shown = range.from.min(total) + shown;
        if shown < total {
            cuts.push(ValueTruncation { at: at.to_owned(), shown, total, unit: "characters" });
        }
        return Some(ValueExcerpt { text, is_json: false, cuts });
    }
    let part = if found.trim_start().starts_with('[') {
        shrink_list(&found, range, budget, at, &mut cuts)?
    } else {
        shrink(&found, budget, at, &mut cuts)
    };
    Some(ValueExcerpt { text: serde_json::to_string(&part).ok()?, is_json: true, cuts })
}

/// A string counts as its content, so that a pointer may lead into JSON inside a text.
fn find<'a>(document: &'a str, at: &str) -> Option<Cow<'a, str>> {
    let mut place: Cow<'a, str> = Cow::Borrowed(document);
    if at.is_empty() {
        return Some(place);
    }
    for name in at.strip_prefix('/')?.split('/') {
        let name = name.replace("~1", "/").replace("~0", "~");
        let below: String = match place.trim_start().as_bytes().first() {
            Some(b'{') => {
                let members: RawMembers = serde_json::from_str(&place).ok()?;
                members.get(&name)?.get().to_owned()
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(&place).ok()?;
                items.get(name.parse::<usize>().ok()?)?.get().to_owned()
            }
            _ => return None,
        };
        place = Cow::Owned(match below.starts_with('"') {
            true => serde_json::from_str(&below).ok()?,
            false => below,
        });
    }
    Some(place)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn shown(document: &Value, at: &str, from: usize, budget: usize) -> Option<ValueExcerpt> {
        show(&document.to_string(), at, ItemRange { from, count: None }, budget)
    }

    #[test]
    fn a_list_is_read_on_to_its_end() {
        let inner = json!({"rows": (0..100).collect::<Vec<u32>>()}).to_string();
        let document = json!({"content": [{"text": inner}], "a/b": {"~": [1, 2]}});
        let (mut seen, mut from) = (Vec::new(), 0);
        loop {
            let shown = shown(&document, "/content/0/text/rows", from, 40).unwrap();
            seen.extend(serde_json::from_str::<Vec<u32>>(&shown.text).unwrap());
            let Some(cut) = shown.cuts.first() else { break };
            assert_eq!((cut.shown, cut.total), (seen.len(), 100));
            from = cut.shown;
        }
        assert_eq!(seen, (0..100).collect::<Vec<u32>>());
        assert_eq!(shown(&document, "/a~1b/~0", 0, 99).unwrap().text, "[1,2]");
        for nowhere in ["/nope", "/content/7", "/content/x", "content", "/a~1b/~0/0/deep"] {
            assert!(shown(&document, nowhere, 0, 99).is_none(), "{nowhere}");
        }
    }

    #[test]
    fn a_text_is_read_on_by_characters() {
        let shown = show("äöü plain", "", ItemRange { from: 2, count: Some(3) }, 100).unwrap();
        assert_eq!((shown.text.as_str(), shown.is_json), ("ü p", false));
        let cut = &shown.cuts[0];
        assert_eq!((cut.shown, cut.total, cut.unit), (5, 9, "characters"));
        let end = show("äöü plain", "", ItemRange { from: 900, count: None }, 100).unwrap();
        assert_eq!((end.text.as_str(), end.cuts.len()), ("", 0));
    }
}

//! Long lists in parts, the newest first.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;

use super::RegistryError;

/// How many items a part has when nobody says.
const DEFAULT_PAGE_SIZE: usize = 50;
/// How many items a part has at most.
const MAX_PAGE_SIZE: usize = 200;

/// Which part of a list is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// What the part before said.
    pub cursor: Option<String>,
    /// At most 200; 50 when left out.
    pub limit: Option<usize>,
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryPage<T> {
    pub items: Vec<T>,
    /// Asks for the next part; none when this was the last.
    pub next_cursor: Option<String>,
}

/// Something with a place in a list.
pub(super) trait PageItem: Clone {
    /// The place: newer first, and the id where times are the same.
    fn sort_key(&self) -> (Timestamp, &str);
}

impl PageRequest {
    /// The wanted part of these items.
    pub(super) fn cut<'a, T: PageItem + 'a>(
        &self,
        items: impl Iterator<Item = &'a T>,
    ) -> Result<RegistryPage<T>, RegistryError> {
        let after = self.cursor.as_deref().map(read).transpose()?;
        let limit = self.limit.unwrap_or(DEFAULT_PAGE_SIZE).clamp(1, MAX_PAGE_SIZE);
        let is_after = |item: &&T| {
            let (at, id) = item.sort_key();
            after.as_ref().is_none_or(|(last_at, last)| (at, id) < (*last_at, last.as_str()))
        };
        let mut items: Vec<&T> = items.filter(is_after).collect();
        items.sort_by(|one, other| other.sort_key().cmp(&one.sort_key()));
        let has_more = items.len() > limit;
        items.truncate(limit);
        let last = items.last().filter(|_| has_more);
        let next_cursor = last.map(|last| write(last.sort_key()));
        Ok(RegistryPage { items: items.into_iter().cloned().collect(), next_cursor })
    }
}

fn write((at, id): (Timestamp, &str)) -> String {
    URL_SAFE_NO_PAD.encode(format!("{} {id}", at.as_millisecond()))
}

fn read(cursor: &str) -> Result<(Timestamp, String), RegistryError> {
    let decoded = || -> Option<(Timestamp, String)> {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
        let (at, id) = text.split_once(' ')?;
        Some((Timestamp::from_millisecond(at.parse().ok()?).ok()?, id.to_owned()))
    };
    decoded().ok_or_else(|| RegistryError::invalid("cursor", "it is not one that was given here"))
}

impl<T> RegistryPage<T> {
    /// The same part with other items.
    pub fn map<U>(self, item: impl FnMut(T) -> U) -> RegistryPage<U> {
        RegistryPage {
            items: self.items.into_iter().map(item).collect(),
            next_cursor: self.next_cursor,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq, Eq)]
    struct Item(i64, &'static str);

    impl PageItem for Item {
        fn sort_key(&self) -> (Timestamp, &str) {
            (Timestamp::from_millisecond(self.0).unwrap(), self.1)
        }
    }

    #[test]
    fn parts_follow_each_other_and_miss_nothing() {
        let items = [Item(5, "a"), Item(7, "b"), Item(7, "c"), Item(9, "d"), Item(1, "e")];
        let mut seen = Vec::new();
        let mut request = PageRequest { cursor: None, limit: Some(2) };
        loop {
            let page = request.cut(items.iter()).unwrap();
            assert!(page.items.len() <= 2);
            seen.extend(page.items.iter().map(|item| item.1));
            request.cursor = page.next_cursor;
            if request.cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, ["d", "c", "b", "a", "e"]);
    }

    #[test]
    fn a_cursor_of_nobody_s_is_refused_and_limits_are_kept() {
        for cursor in ["", "x", "%", "bm9uZQ", "OSA5IDk4"] {
            let request = PageRequest { cursor: Some(cursor.to_owned()), limit: None };
            let result = request.cut([Item(1, "a")].iter());
            assert!(cursor == "OSA5IDk4" || result.is_err(), "{cursor}");
        }
        let many: Vec<Item> = (0..500).map(|number| Item(number, "x")).collect();
        for (limit, count) in [(None, 50), (Some(0), 1), (Some(9999), 200)] {
            let page = PageRequest { cursor: None, limit }.cut(many.iter()).unwrap();
            assert_eq!(page.items.len(), count);
        }
    }
}

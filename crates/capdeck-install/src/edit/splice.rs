//! Replacing parts of a text.

use std::ops::Range;

use capdeck_storage::sha256_hex;
use serde::{Deserialize, Serialize};

/// A part of a text and its former content: enough to take the change back, without the rest of the text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextSplice {
    /// Where the part begins, in bytes.
    pub start: usize,
    pub removed: String,
    pub inserted: String,
}

impl TextSplice {
    /// The smallest single change that makes `after` of `before`.
    pub fn between(before: &str, after: &str) -> Self {
        let same = |(one, other): &(char, char)| one == other;
        let start: usize = before
            .chars()
            .zip(after.chars())
            .take_while(same)
            .map(|(character, _)| character.len_utf8())
            .sum();
        let (old, new) =
            (before.get(start..).unwrap_or_default(), after.get(start..).unwrap_or_default());
        let end: usize = old
            .chars()
            .rev()
            .zip(new.chars().rev())
            .take_while(same)
            .map(|(character, _)| character.len_utf8())
            .sum();
        let kept = |text: &str| text.get(..text.len() - end).unwrap_or_default().to_owned();
        Self { start, removed: kept(old), inserted: kept(new) }
    }

    /// Takes the change back at its place, if it is still there.
    pub fn undo(&self, after: &str) -> Option<String> {
        let rest = after.get(self.start..)?.strip_prefix(&self.inserted)?;
        Some(format!("{}{}{rest}", after.get(..self.start)?, self.removed))
    }

    /// Takes the change back at its current place, if there is only one such place.
    pub fn undo_anywhere(&self, text: &str) -> Option<String> {
        if self.inserted.is_empty() {
            return None;
        }
        let (before, rest) = text.split_once(&self.inserted)?;
        let is_only = !rest.contains(&self.inserted);
        is_only.then(|| format!("{before}{}{rest}", self.removed))
    }
}

/// An edit of a file, kept so that it can be taken back: to the byte where the file is as it was left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecordedSplice {
    #[serde(flatten)]
    pub(crate) splice: TextSplice,
    /// The hash of the former text.
    before: String,
    /// The hash of the text that was written.
    after: String,
}

impl RecordedSplice {
    pub(crate) fn between(before: &str, after: &str) -> Self {
        let splice = TextSplice::between(before, after);
        Self { splice, before: sha256_hex(before), after: sha256_hex(after) }
    }

    /// The text with the edit taken back; none where the file says something else by now.
    pub(crate) fn put_back(&self, text: &str) -> Option<String> {
        if sha256_hex(text) == self.after {
            let before = self.splice.undo(text)?;
            return (sha256_hex(&before) == self.before).then_some(before);
        }
        self.splice.undo_anywhere(text)
    }
}

#[derive(Debug, Clone)]
pub(super) struct TextChange {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

impl TextChange {
    pub(super) fn insert(at: usize, text: impl Into<String>) -> Self {
        Self { range: at..at, text: text.into() }
    }

    pub(super) fn delete(range: Range<usize>) -> Self {
        Self { range, text: String::new() }
    }
}

/// Makes all changes at once; none when two of them overlap. Those at one place keep their order.
pub(super) fn apply(text: &str, mut changes: Vec<TextChange>) -> Option<String> {
    changes.sort_by_key(|change| change.range.start);
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for change in changes {
        result.push_str(text.get(done..change.range.start)?);
        result.push_str(&change.text);
        done = change.range.end;
    }
    result.push_str(text.get(done..)?);
    Some(result)
}

/// A part of a text; nothing when the range is not one.
pub(super) fn part(text: &str, range: Range<usize>) -> &str {
    text.get(range).unwrap_or_default()
}

/// The line end that the text uses.
pub(super) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if part(text, 0..at).ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Where the line that holds `at` begins.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    part(text, 0..at).rfind('\n').map_or(0, |newline| newline + 1)
}

/// Where the content of the line that holds `at` ends, before its line end.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let rest = part(text, at..text.len());
    let line = rest.split('\n').next().unwrap_or_default();
    at + line.strip_suffix('\r').unwrap_or(line).len()
}

/// Where the line after the one that holds `at` begins.
pub(super) fn next_line(text: &str, at: usize) -> usize {
    part(text, at..text.len()).find('\n').map_or(text.len(), |newline| at + newline + 1)
}

/// The blanks that the line that holds `at` begins with.
pub(super) fn indentation(text: &str, at: usize) -> &str {
    let line = part(text, line_start(text, at)..line_end(text, at));
    part(line, 0..line.len() - line.trim_start_matches([' ', '\t']).len())
}

/// Whether only blanks are before `at` on its line.
pub(super) fn starts_line(text: &str, at: usize) -> bool {
    part(text, line_start(text, at)..at).chars().all(|c| matches!(c, ' ' | '\t'))
}

/// The first place from `at` on that is no blank of the same line.
pub(super) fn skip_blanks(text: &str, at: usize) -> usize {
    let rest = part(text, at..text.len());
    at + rest.len() - rest.trim_start_matches([' ', '\t']).len()
}

/// Line and column of an offset, both from 1, the column in characters.
pub(super) fn place_of(text: &str, at: usize) -> (usize, usize) {
    let before = part(text, 0..at.min(text.len()));
    let line = before.matches('\n').count() + 1;
    let column = part(text, line_start(text, before.len())..before.len()).chars().count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_found_and_taken_back() {
        for (before, after) in
            [("", "x"), ("aé", "aèé"), ("aaa", "aa"), ("same", "same"), ("{é}", "{é, è}")]
        {
            let splice = TextSplice::between(before, after);
            assert_eq!(splice.undo(after).as_deref(), Some(before), "{splice:?}");
        }
        let splice = TextSplice::between("[1]", "[1, 2]");
        assert_eq!(splice.undo("[0]"), None);
        assert_eq!(splice.undo_anywhere("// new\n[1, 2]").as_deref(), Some("// new\n[1]"));
        assert_eq!(splice.undo_anywhere("[1, 2], [1, 2]"), None);
    }
}

//! How a text is laid out: its line ends, its indentation.

use std::ops::Range;

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

/// Whether only blanks stand before `at` on its line.
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

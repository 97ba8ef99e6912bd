//! The part of a body that shows why it was found.

use super::{query::terms_of, words::each_word};
use crate::trust::one_line;

/// Bytes of a body that are looked through.
const MAX_SCANNED_BYTES: usize = 64 * 1024;
/// Words of a snippet.
const SNIPPET_WORDS: usize = 32;
/// Words before the first one that fits.
const LEADING_WORDS: usize = 6;

/// Some words of a body around what was asked for, on one line.
pub(crate) fn snippet(body: &str, question: &str) -> String {
    let end = (0..=MAX_SCANNED_BYTES.min(body.len())).rev().find(|end| body.is_char_boundary(*end));
    let text = body.get(..end.unwrap_or_default()).unwrap_or_default();
    let terms = terms_of(question);
    let mut words: Vec<(std::ops::Range<usize>, Option<usize>)> = Vec::new();
    each_word(text, |range, term| {
        let fits =
            |want: &String| want == term || want.len() >= 3 && term.starts_with(want.as_str());
        words.push((range, terms.iter().position(fits)));
    });
    let first = best_start(&words, terms.len()).saturating_sub(LEADING_WORDS);
    let Some(shown) = words.get(first..(first + SNIPPET_WORDS).min(words.len())) else {
        return String::new();
    };
    let (Some((start, _)), Some((last, _))) = (shown.first(), shown.last()) else {
        return one_line(text);
    };
    let mut line = one_line(text.get(start.start..last.end).unwrap_or_default());
    if first > 0 {
        line.insert_str(0, "… ");
    }
    if first + SNIPPET_WORDS < words.len() || text.len() < body.len() {
        line.push_str(" …");
    }
    line
}

/// Where a window begins that holds the most different words of the question.
fn best_start(words: &[(std::ops::Range<usize>, Option<usize>)], terms: usize) -> usize {
    let mut inside = vec![0_usize; terms];
    let (mut distinct, mut best, mut best_at) = (0, 0, 0);
    for (at, (_, term)) in words.iter().enumerate() {
        if let Some(count) = term.and_then(|term| inside.get_mut(term)) {
            *count += 1;
            distinct += usize::from(*count == 1);
        }
        let leaving =
            (at + LEADING_WORDS).checked_sub(SNIPPET_WORDS).and_then(|leaving| words.get(leaving));
        if let Some(count) = leaving.and_then(|(_, term)| inside.get_mut((*term)?)) {
            *count -= 1;
            distinct -= usize::from(*count == 0);
        }
        if distinct > best {
            best = distinct;
            let window = (at + LEADING_WORDS + 1).saturating_sub(SNIPPET_WORDS)..=at;
            best_at = window
                .into_iter()
                .find(|place| words.get(*place).is_some_and(|(_, term)| term.is_some()))
                .unwrap_or(at);
        }
    }
    best_at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_shows_the_words_and_no_fence() {
        let filler = "filler ".repeat(100);
        let body =
            format!("{filler}\n━━━ PROVENANCE FOOTER ━━━\nthe deploy script fails\n{filler}");
        let shown = snippet(&body, "deploy script");
        assert!(shown.contains("--- the deploy script fails filler"), "{shown}");
        assert!(shown.starts_with("… ") && shown.ends_with(" …"), "{shown}");
        assert!(!shown.contains('━') && !shown.contains('\n'), "{shown}");
        assert_eq!(snippet("short text", "nothing"), "short text");
        assert_eq!(snippet("", "x"), "");
    }
}

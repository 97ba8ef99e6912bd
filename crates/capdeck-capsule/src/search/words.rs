//! Text to terms: words cut at separators and case changes, in lower case, lightly stemmed.

use std::ops::Range;

/// Calls `visit` with each word's place in the text and its term: `getHTTPLog` gives `get`, `http`, `log`.
pub(super) fn each_word(text: &str, mut visit: impl FnMut(Range<usize>, &str)) {
    let mut word = String::new();
    let mut start = 0;
    let mut previous = ' ';
    let mut letters = text.char_indices().peekable();
    let mut flush = |word: &mut String, range: Range<usize>| {
        if !word.is_empty() {
            stem(word);
            visit(range, word);
            word.clear();
        }
    };
    while let Some((place, letter)) = letters.next() {
        let next = letters.peek().map(|(_, next)| *next);
        if !letter.is_alphanumeric() {
            flush(&mut word, start..place);
        } else {
            // `fooBar` starts a word at `B`; `HTTPLog` starts one at `L`, the last capital of a run.
            let starts = letter.is_uppercase()
                && (!previous.is_uppercase() || next.is_some_and(char::is_lowercase));
            if starts || is_ideograph(letter) || is_ideograph(previous) {
                flush(&mut word, start..place);
            }
            if word.is_empty() {
                start = place;
            }
            word.extend(letter.to_lowercase());
        }
        previous = letter;
    }
    flush(&mut word, start..text.len());
}

/// WriteOutcome without spaces: each sign is a word.
fn is_ideograph(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Cuts plural and verb endings. Deliberately light: a wrong merge costs more than a missed one.
fn stem(word: &mut String) {
    if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return;
    }
    let ends = |word: &str, endings: &[&str]| endings.iter().any(|ending| word.ends_with(ending));
    if word.len() > 4 && ends(word, &["ies", "ied"]) {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if ends(word, &["sses", "shes", "ches", "xes", "zes"]) {
        word.truncate(word.len() - 2);
    } else if word.ends_with('s') && !ends(word, &["ss", "us", "is"]) {
        word.truncate(word.len() - 1);
    }
    for ending in ["ing", "ed"] {
        let kept = word.len().saturating_sub(ending.len());
        let has_vowel = word.bytes().take(kept).any(|byte| b"aeiouy".contains(&byte));
        if word.ends_with(ending) && !word.ends_with("eed") && kept >= 3 && has_vowel {
            word.truncate(kept);
            if let [.., before, last] = word.as_bytes()
                && before == last
                && !b"lsz".contains(last)
                && word.len() > 3
            {
                word.truncate(word.len() - 1);
            }
            break;
        }
    }
    if word.ends_with('e') && word.len() > 3 {
        word.truncate(word.len() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        each_word(text, |_, term| found.push(term.to_owned()));
        found
    }

    #[test]
    fn text_is_cut_into_stemmed_words() {
        assert_eq!(
            terms("getHTTPLog_v2 creates/created"),
            ["get", "http", "log", "v2", "creat", "creat"]
        );
        assert_eq!(terms("Übergänge 検索 x"), ["übergänge", "検", "索", "x"]);
        assert_eq!(terms("queries running status"), ["query", "run", "status"]);
    }

    #[test]
    fn places_lead_back_to_the_text() {
        let text = "a fooBar é-x";
        let mut found = Vec::new();
        each_word(text, |range, _| found.push(text.get(range).unwrap().to_owned()));
        assert_eq!(found, ["a", "foo", "Bar", "é", "x"]);
    }
}

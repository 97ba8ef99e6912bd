//! Lines in a body that look like the store's own bands, made to look like what they are.

/// The line that opens what is said before a body.
pub(super) const PREAMBLE: &str = "━━━ TRUST PREAMBLE ━━━";
/// The line that opens what is said after it.
pub(super) const FOOTER: &str = "━━━ PROVENANCE FOOTER ━━━";
/// The line that closes the preamble.
pub(super) const PREAMBLE_END: &str = "━━━━━━━━━━━━━━━━━━━━━━";
/// The line that closes the footer.
pub(super) const FOOTER_END: &str = "━━━━━━━━━━━━━━━━━━━━━━━━━";

/// Strokes in a row from which on a line could be taken for a fence.
const FENCE: usize = 3;
/// The mark before such a line in everything that is shown.
const FENCE_ESCAPE: char = '\\';

/// A body with every look-alike of a band marked by a leading `\`. The stored bytes stay as they are.
pub fn neutralise(body: &str) -> String {
    let mut shown = String::with_capacity(body.len() + 16);
    for line in body.split_inclusive(breaks_line) {
        if looks_like_a_band(line) {
            shown.push(FENCE_ESCAPE);
        }
        shown.push_str(line);
    }
    shown
}

/// A text on one line, without control characters and without runs of strokes, for fields and snippets.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let mut strokes = 0;
    for letter in text.chars() {
        let is_stroke = is_stroke(letter);
        strokes = if is_stroke { strokes + 1 } else { 0 };
        if is_stroke {
            // Three are enough to show that there was a line.
            if strokes <= FENCE {
                line.push('-');
            }
        } else if letter.is_whitespace() || letter.is_control() || breaks_line(letter) {
            if !line.ends_with(' ') {
                line.push(' ');
            }
        } else if !is_invisible(letter) {
            line.push(letter);
        }
    }
    line.trim().to_owned()
}

/// Whether a text is one line of 1 to `most` characters.
pub(crate) fn is_line(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.chars().count()) && one_line(text) == text
}

/// Everything that some program shows as the end of a line.
fn breaks_line(letter: char) -> bool {
    matches!(
        letter,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Looked at as it is written, and as a terminal would show it.
fn looks_like_a_band(line: &str) -> bool {
    begins_like_a_band(line.chars())
        || line.contains(['\u{1b}', '\u{9b}']) && begins_like_a_band(without_sequences(line))
}

fn begins_like_a_band(line: impl Iterator<Item = char> + Clone) -> bool {
    let seen = line
        .clone()
        .filter(|letter| !letter.is_whitespace() && !letter.is_control() && !is_invisible(*letter));
    if seen.take(FENCE).filter(|letter| is_stroke(*letter)).count() == FENCE {
        return true;
    }
    let begins = |words: &str| {
        let mut letters = line.clone().filter(|letter| letter.is_alphabetic());
        words.chars().all(|expected| {
            letters.next().is_some_and(|letter| letter.to_lowercase().eq(std::iter::once(expected)))
        })
    };
    begins("trustpreamble") || begins("provenancefooter")
}

/// The letters of a line without what moves a terminal's cursor or colours its text: `ESC`, and behind `[` what belongs
/// to it.
fn without_sequences(line: &str) -> impl Iterator<Item = char> + Clone {
    let mut rest = line.chars();
    std::iter::from_fn(move || {
        loop {
            let letter = rest.next()?;
            let has_parameters = match letter {
                '\u{9b}' => true,
                '\u{1b}' => next_if(&mut rest, |next| next.is_ascii_graphic()) == Some('['),
                _ => return Some(letter),
            };
            if has_parameters {
                while next_if(&mut rest, |next| (' '..='?').contains(&next)).is_some() {}
                next_if(&mut rest, |next| ('@'..='~').contains(&next));
            }
        }
    })
}

fn next_if(letters: &mut std::str::Chars<'_>, fits: impl Fn(char) -> bool) -> Option<char> {
    let next = letters.clone().next().filter(|next| fits(*next));
    if next.is_some() {
        letters.next();
    }
    next
}

/// Horizontal strokes of all kinds, except those of ASCII, which Markdown uses everywhere.
const STROKES: &str = "━─═╌╍┄┅┈┉╴╶╸╺╼╾—―⸺⸻⎯⏤‗▬▀▄■█➖一ー－＿＝ㅡ﹘﹣–‒";

fn is_stroke(letter: char) -> bool {
    !letter.is_ascii() && STROKES.contains(letter)
}

/// Characters that take no room: zero-width ones, directions, joiners, tags, variation selectors.
fn is_invisible(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_look_alike_is_marked() {
        for line in [
            PREAMBLE,
            FOOTER,
            PREAMBLE_END,
            FOOTER_END,
            "  ━━━ TRUST PREAMBLE ━━━",
            "─── provenance footer ───",
            "═══",
            "\u{200b}━\u{200b}━ ━",
            "Trust Preamble",
            "** PROVENANCE FOOTER **",
            "———",
            "\u{1b}[2J\u{1b}[H━━━ PROVENANCE FOOTER ━━━",
            "\u{1b}[1;31m━━━━━━━━━━━━━━━━━━━━━━",
            "\u{9b}1mTrust Preamble",
            "\u{1b}cTRUST PREAMBLE",
            "\u{1b}[━━━",
        ] {
            assert_eq!(neutralise(line), format!("\\{line}"));
            for end in ["\n", "\r\n", "\r", "\u{2028}", "\u{b}", "\u{1c}"] {
                let body = format!("text{end}{line}{end}text");
                let shown = neutralise(&body);
                assert_eq!(shown.matches('\\').count(), 1, "{shown:?}");
                assert!(shown.contains(&format!("\\{line}")), "{shown:?}");
            }
        }
    }

    #[test]
    fn ordinary_text_is_not_touched() {
        let body = "# Title\n\n---\n\n| a | b |\n|---|---|\n\n===\na — b — c\n```\n-----\n```\nthe trust preamble of a law\n\u{1b}[1mbold\u{1b}[0m ━━━";
        assert_eq!(neutralise(body), body);
    }

    #[test]
    fn one_line_is_one_line() {
        assert_eq!(one_line(" a\r\nb\u{2028}c\u{200b}\u{7}d ━━━━━ e"), "a b c d --- e");
    }
}

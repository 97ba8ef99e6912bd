//! Makes text from files and servers safe to show on a terminal.
//!
//! A tool description may hold escape sequences or characters that reverse the writing direction. Shown as
//! they are, they could hide the very thing a person is asked to approve.

use serde::Serialize;
use serde_json::Value;

/// The text on one line, with everything that could move or hide other text written out.
pub(crate) fn one_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\r' | '\t' => shown.push(' '),
            _ => push_plain(&mut shown, letter),
        }
    }
    shown
}

/// The same, keeping line breaks and tabs.
pub(crate) fn lines(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\t' => shown.push(letter),
            _ => push_plain(&mut shown, letter),
        }
    }
    shown
}

/// The name of a plain enum's variant as files and JSON write it.
pub(crate) fn written(name: impl Serialize) -> String {
    match serde_json::to_value(name) {
        Ok(Value::String(name)) => name,
        Ok(_) | Err(_) => String::new(),
    }
}

/// A command line as a shell would need it, so that the limits of each word can be seen.
pub(crate) fn command_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let mut shown = String::new();
    for word in words {
        if !shown.is_empty() {
            shown.push(' ');
        }
        shown.push_str(&quoted(word));
    }
    shown
}

fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:=@%+,$".contains(letter);
    let written: String = word.chars().fold(String::new(), |mut written, letter| {
        push_plain(&mut written, letter);
        written
    });
    if !word.is_empty() && word.chars().all(is_plain) {
        return written;
    }
    format!("'{}'", written.replace('\'', r"'\''"))
}

fn push_plain(shown: &mut String, letter: char) {
    if letter.is_control() || is_invisible(letter) {
        shown.extend(letter.escape_unicode());
    } else {
        shown.push(letter);
    }
}

/// `1 part`, `2 parts`.
pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Characters that take no room but change how others are read.
fn is_invisible(letter: char) -> bool {
    matches!(
        letter,
        '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_move_the_cursor_or_turn_the_text() {
        assert_eq!(one_line("a\x1b[2Kb\nc"), r"a\u{1b}[2Kb c");
        assert_eq!(one_line("run \u{202e}fdp.exe"), r"run \u{202e}fdp.exe");
        assert_eq!(lines("a\r\n\tb é"), "a\\u{d}\n\tb é");
    }

    #[test]
    fn words_of_a_command_keep_their_limits() {
        assert_eq!(
            command_line(["git", "log", "--format=%h %s", "it's", ""]),
            r"git log '--format=%h %s' 'it'\''s' ''"
        );
        assert_eq!(command_line(["rm\x1b[8m"]), r"'rm\u{1b}[8m'");
    }
}

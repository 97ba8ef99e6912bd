//! Makes text from files and servers safe to show on a terminal.
//!
//! A tool description may hold escape sequences or characters that reverse the writing direction. Shown as
//! they are, they could hide the very thing a person is asked to approve.

use std::fmt::Display;

use capdeck_catalog::is_unprintable;
use capdeck_host::DeckSize;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

/// The text on one line, with everything that could move or hide other text written out.
pub(crate) fn one_line(text: &str) -> String {
    plain_letters(text, |letter| matches!(letter, '\n' | '\r' | '\t').then_some(' '))
}

/// The same, keeping line breaks and tabs.
pub(crate) fn lines(text: &str) -> String {
    plain_letters(text, |letter| matches!(letter, '\n' | '\t').then_some(letter))
}

/// The first line of a text, which usually is its summary.
pub(crate) fn first_line(text: &str) -> String {
    one_line(text.trim().lines().next().unwrap_or_default())
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
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:=@%+,$".contains(letter);
    let written = plain_letters(word, |_| None);
    if !word.is_empty() && word.chars().all(is_plain) {
        return written;
    }
    format!("'{}'", written.replace('\'', r"'\''"))
}

/// Writes out what could move or hide other text, but for letters that are shown as something else.
fn plain_letters(text: &str, shown_as: impl Fn(char) -> Option<char>) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match shown_as(letter) {
            Some(other) => shown.push(other),
            None if is_unprintable(letter) => {
                shown.extend(letter.escape_unicode());
            }
            None => shown.push(letter),
        }
    }
    shown
}

/// `1 part`, `2 parts`.
pub(crate) fn counted<N: Display + PartialEq + From<u8>>(
    count: N,
    one: &str,
    many: &str,
) -> String {
    let noun = if count == N::from(1) { one } else { many };
    format!("{count} {noun}")
}

/// A number with a comma between thousands.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `5 servers, 50 tools`; `capabilities` where some are no servers.
pub(crate) fn deck_size(size: &DeckSize) -> String {
    let DeckSize { capabilities, only_servers, tools, unknown } = *size;
    let capabilities = match only_servers {
        true => counted(capabilities, "server", "servers"),
        false => counted(capabilities, "capability", "capabilities"),
    };
    let tools = if tools == 1 { "1 tool".to_owned() } else { format!("{} tools", grouped(tools)) };
    let asked = match unknown {
        0 => String::new(),
        count => format!(" (the tools of {count} not known yet)"),
    };
    format!("{capabilities}, {tools}{asked}")
}

/// A moment as it is shown.
pub(crate) fn time(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// An object without the members that are `null`.
pub(crate) fn without_nulls(mut object: Value) -> Value {
    if let Value::Object(members) = &mut object {
        members.retain(|_, value| !value.is_null());
    }
    object
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
    fn numbers_and_sizes_are_easy_to_read() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        let size = DeckSize { capabilities: 5, only_servers: true, tools: 50, unknown: 0 };
        assert_eq!(deck_size(&size), "5 servers, 50 tools");
        let size = DeckSize { capabilities: 1, only_servers: false, tools: 1, unknown: 1 };
        assert_eq!(deck_size(&size), "1 capability, 1 tool (the tools of 1 not known yet)");
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

//! Takes what looks like a credential out of text that is written down.

use capdeck_auth::is_secret_name;

const REDACTED: &str = "[redacted]";

/// Words after which a credential follows.
const SCHEMES: [&str; 2] = ["bearer", "basic"];

/// The text without the values of members, parameters and headers that sound like secrets, and without what follows `Bearer`.
///
/// This knows names and forms, not values; values that capabilities resolve are taken out of their answers before.
pub(crate) fn redacted(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    // The name in front of a `=` or `:`, once both were read.
    let mut name: Option<bool> = None;
    while !rest.is_empty() {
        let word_end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(word_end);
        if word.is_empty() {
            let mut letters = rest.chars();
            let Some(letter) = letters.next() else { break };
            // Quotes and blanks belong to the value that follows; anything else ends it.
            name = match (letter, name) {
                ('=' | ':', Some(false)) => Some(true),
                ('"' | '\'' | ' ', known) => known,
                _ => None,
            };
            kept.push(letter);
            rest = letters.as_str();
            continue;
        }
        let is_scheme = SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme));
        if name == Some(true) && !is_scheme {
            kept.push_str(REDACTED);
            name = None;
            rest = after;
            // The rest of an unquoted value, such as the dots and slashes of a token.
            let end = rest.find(ends_value).unwrap_or(rest.len());
            rest = rest.split_at(end).1;
            continue;
        }
        kept.push_str(word);
        rest = after;
        name = if is_scheme && rest.starts_with(' ') {
            Some(true)
        } else {
            is_secret_name(word).then_some(false)
        };
    }
    kept
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '-'
}

fn ends_value(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '"' | '\'' | '&' | ',' | ';' | '}' | ']' | ')')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secret_names_are_left_out() {
        for (text, kept) in [
            ("Authorization: Bearer abc.def/ghi= end", "Authorization: Bearer [redacted] end"),
            ("sent bearer abc", "sent bearer [redacted]"),
            (
                "{\"api_key\":\"k-1.2\",\"name\":\"x\"}",
                "{\"api_key\":\"[redacted]\",\"name\":\"x\"}",
            ),
            ("https://a.example/?token=t.1&page=2", "https://a.example/?token=[redacted]&page=2"),
            ("password = hunter2", "password = [redacted]"),
            ("plain text: nothing to hide", "plain text: nothing to hide"),
            ("the password is wrong", "the password is wrong"),
            ("größe=3, 日本: 4", "größe=3, 日本: 4"),
        ] {
            assert_eq!(redacted(text), kept);
        }
    }
}

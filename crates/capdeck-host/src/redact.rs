//! Removes credentials from text before it is stored.

use std::borrow::Cow;

use capdeck_auth::is_secret_name;

const REDACTED: &str = "[redacted]";

const SCHEMES: [&str; 2] = ["bearer", "basic"];

const KEY_PREFIXES: [&str; 17] = [
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "pk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
    "whsec_",
    "npm_",
];

const MIN_KEY_LENGTH: usize = 16;

/// The text without the values of members, parameters and headers that have names of secrets,
/// without what follows `Bearer` and without words in the form of a key.
///
/// This matches names and forms; secret values of capabilities are removed from their results
/// before.
pub(crate) fn redacted(text: &str) -> String {
    let text = without_keys(text);
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    // The name in front of a `=` or `:`, once both were read.
    let mut name: Option<bool> = None;
    while let Some(letter) = rest.chars().next() {
        if name == Some(true) && matches!(letter, '"' | '\'' | '`') {
            rest = redact_quoted(&mut kept, letter, rest);
            name = None;
            continue;
        }
        let word_end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(word_end);
        if word.is_empty() {
            // Quotes and blanks belong to the value that follows; anything else ends it.
            name = match (letter, name) {
                ('=' | ':', Some(false)) => Some(true),
                ('"' | '\'' | '`' | '\\' | ' ', known) => known,
                _ => None,
            };
            kept.push(letter);
            rest = rest.split_at(letter.len_utf8()).1;
            continue;
        }
        let is_scheme = SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme));
        if name == Some(true) && !is_scheme {
            kept.push_str(REDACTED);
            name = None;
            // The rest of an unquoted value, such as the dots and slashes of a token.
            let end = after.find(ends_value).unwrap_or(after.len());
            rest = after.split_at(end).1;
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

/// Redacts a quoted value, and returns the rest. `rest` begins with the first quote.
fn redact_quoted<'a>(kept: &mut String, quote: char, rest: &'a str) -> &'a str {
    // In JSON inside of a text every quote has a backslash in front.
    let is_nested = kept.ends_with('\\');
    kept.push(quote);
    let inner = rest.split_at(quote.len_utf8()).1;
    let mut is_escaped = false;
    let end = inner.char_indices().find(|(_, letter)| {
        let ends = if is_nested { *letter == '\\' } else { *letter == quote && !is_escaped };
        is_escaped = *letter == '\\' && !is_escaped;
        ends
    });
    let (value, after) = inner.split_at(end.map_or(inner.len(), |(end, _)| end));
    if let Some((scheme, _)) = value.split_once(' ')
        && SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known))
    {
        kept.push_str(scheme);
        kept.push(' ');
    }
    // A reference such as `${TOKEN}` is not a secret.
    kept.push_str(if value.is_empty() || value.starts_with("${") { value } else { REDACTED });
    after
}

/// The text without words in the form of a key, a signed token or a private key.
pub(crate) fn without_keys(text: &str) -> Cow<'_, str> {
    if !may_hold_key(text) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_changed = false;
    while let Some(letter) = rest.chars().next() {
        if let Some(after) = private_key(rest) {
            kept.push_str(REDACTED);
            (rest, is_changed) = (after, true);
            continue;
        }
        let end = rest.find(|letter| !is_word(letter) && letter != '.').unwrap_or(rest.len());
        let (word, after) = rest.split_at(end.max(letter.len_utf8()));
        if is_key(word) {
            kept.push_str(REDACTED);
            is_changed = true;
        } else {
            kept.push_str(word);
        }
        rest = after;
    }
    if is_changed { Cow::Owned(kept) } else { Cow::Borrowed(text) }
}

/// False for almost every text, which then need not be read word by word.
fn may_hold_key(text: &str) -> bool {
    text.contains("eyJ")
        || text.contains("PRIVATE KEY-----")
        || KEY_PREFIXES.iter().any(|prefix| text.contains(prefix))
}

fn is_key(word: &str) -> bool {
    if word.len() < MIN_KEY_LENGTH {
        return false;
    }
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    let is_prefixed = has_digit && KEY_PREFIXES.iter().any(|prefix| word.starts_with(prefix));
    // A signed token has three parts, of which the first two are JSON. Cursors of APIs often look
    // like the first alone.
    let mut parts = word.split('.');
    let is_json = |part: Option<&str>| part.is_some_and(|part| part.starts_with("eyJ"));
    is_prefixed || (is_json(parts.next()) && is_json(parts.next()) && parts.next().is_some())
}

fn private_key(text: &str) -> Option<&str> {
    const BEGIN: &str = "-----BEGIN ";
    const END: &str = "PRIVATE KEY-----";
    let (kind, inside) = text.strip_prefix(BEGIN)?.split_once(END)?;
    if kind.len() > 20 {
        return None;
    }
    Some(inside.split_once(END).map_or("", |(_, after)| after))
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
            ("const password = 'two words!'; go()", "const password = '[redacted]'; go()"),
            ("apiKey: `x-1`, page: `2`", "apiKey: `[redacted]`, page: `2`"),
            (
                r#"{"body": "{\"token\":\"t 1\",\"a\":1}"}"#,
                r#"{"body": "{\"token\":\"[redacted]\",\"a\":1}"}"#,
            ),
            (r#"{"password":"a\"b"}"#, r#"{"password":"[redacted]"}"#),
            (
                "headers: { authorization: \"Bearer a b\" }",
                "headers: { authorization: \"Bearer [redacted]\" }",
            ),
        ] {
            assert_eq!(redacted(text), kept);
        }
    }

    #[test]
    fn keys_are_known_by_their_form() {
        let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_123";
        let pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----";
        for (text, kept) in [
            ("call('sk-live-0123456789abcdef')".to_owned(), "call('[redacted]')"),
            ("x = ghp_0123456789abcdefghij;".to_owned(), "x = [redacted];"),
            (format!("f(\"{token}\")"), "f(\"[redacted]\")"),
            (format!("const pem = `{pem}`"), "const pem = `[redacted]`"),
            ("a cursor eyJwYWdlIjoyfQ stays".to_owned(), "a cursor eyJwYWdlIjoyfQ stays"),
            ("sk-learn and npm_config".to_owned(), "sk-learn and npm_config"),
            ("disk-usage-of-2024-01-02".to_owned(), "disk-usage-of-2024-01-02"),
        ] {
            assert_eq!(without_keys(&text), kept);
        }
    }
}

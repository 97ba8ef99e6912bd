//! What looks like a secret in a configuration. Guessing wrongly hides a harmless value, which costs little.

/// Parts of names that announce a secret.
const NAMES: [&str; 11] = [
    "token",
    "secret",
    "password",
    "passwd",
    "apikey",
    "api_key",
    "api-key",
    "credential",
    "authorization",
    "private",
    "access_key",
];

/// Beginnings of values that well-known services give out.
const PREFIXES: [&str; 14] = [
    "sk-",
    "sk_",
    "pk_live",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
    "eyJ",
    "Bearer ",
];

/// Whether the value under this name should not be seen or copied.
pub fn looks_secret(name: &str, value: &str) -> bool {
    // A reference is where a secret should be.
    if value.is_empty() || value.starts_with('$') {
        return false;
    }
    names_secret(name)
        || PREFIXES.iter().any(|prefix| value.starts_with(prefix))
        || looks_random(value)
        || has_login(value)
        || holds_named_secret(value)
}

/// Whether an address holds a name and a password.
pub(crate) fn has_login(value: &str) -> bool {
    value
        .split_once("://")
        .and_then(|(_, rest)| rest.split('/').next())
        .and_then(|authority| authority.rsplit_once('@'))
        .is_some_and(|(login, _)| login.contains(':'))
}

fn names_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    NAMES.iter().any(|part| lower.contains(part))
        || lower.ends_with("_key")
        || lower.ends_with("_pat")
        || lower == "key"
}

/// A header, a variable or a query in one word: `Authorization: Bearer x`, `TOKEN=x`, `https://example.com?api_key=x`.
fn holds_named_secret(value: &str) -> bool {
    let is_clear = |text: &str| !text.is_empty() && !text.starts_with('$');
    let header = value.split_once(": ").is_some_and(|(name, rest)| {
        names_secret(name) && rest.split_whitespace().last().is_some_and(is_clear)
    });
    let pairs = value.split(['?', '&', ';', ' ']).filter_map(|part| part.split_once('='));
    header || pairs.into_iter().any(|(name, value)| names_secret(name) && is_clear(value))
}

/// A configuration file with what may be a secret taken out. It keeps its lines.
pub(crate) fn mask(text: &str) -> String {
    let words = words(text);
    let mut masked = String::with_capacity(text.len());
    let mut done = 0;
    for (index, word) in words.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| words.get(before));
        let name = before.map_or("", |name| {
            let between = text.get(name.range.end..word.range.start).unwrap_or_default();
            let names_it = between.contains([':', '=']) || name.text.starts_with('-');
            if names_it { name.text.trim_start_matches('-') } else { "" }
        });
        if word.range.start < done || !looks_secret(name, word.text) {
            continue;
        }
        masked.push_str(text.get(done..word.range.start).unwrap_or_default());
        masked.push_str("[hidden]");
        done = word.range.end;
        if !word.is_quoted {
            // Without quotes the value may end anywhere on its line.
            done += text
                .get(done..)
                .unwrap_or_default()
                .find(['\r', '\n'])
                .unwrap_or(text.len() - done);
        }
    }
    masked.push_str(text.get(done..).unwrap_or_default());
    masked
}

/// A key or a value of a configuration file of any format.
struct ConfigWord<'a> {
    text: &'a str,
    range: std::ops::Range<usize>,
    is_quoted: bool,
}

fn words(text: &str) -> Vec<ConfigWord<'_>> {
    const SEPARATORS: [char; 10] = [':', '=', ',', '{', '}', '[', ']', ' ', '\t', '\r'];
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or_default();
        if first == '"' || first == '\'' {
            let mut is_escaped = false;
            let end = rest.char_indices().skip(1).find(|(_, c)| {
                let ends = *c == '\n' || *c == first && !is_escaped;
                is_escaped = *c == '\\' && first == '"' && !is_escaped;
                ends
            });
            let inner = end.map_or(rest.len(), |(length, _)| length);
            let length = end.map_or(rest.len(), |(length, c)| length + usize::from(c == first));
            let text = rest.get(1..inner).unwrap_or_default();
            found.push(ConfigWord { text, range: at..at + length, is_quoted: true });
            at += length.max(1);
        } else if SEPARATORS.contains(&first) || first == '\n' {
            at += first.len_utf8();
        } else {
            let is_end = |c: char| c == '\n' || c == '"' || SEPARATORS.contains(&c);
            let mut length = rest.find(is_end).unwrap_or(rest.len());
            // An address goes on behind its colon.
            if rest.get(length..).is_some_and(|more| more.starts_with("://")) {
                length = rest.find([' ', '\n', '\r', '"', ',']).unwrap_or(rest.len());
            }
            let text = rest.get(..length).unwrap_or_default();
            found.push(ConfigWord { text, range: at..at + length, is_quoted: false });
            at += length;
        }
    }
    found
}

/// Long, with letters and digits mixed, and nothing that words or paths have.
fn looks_random(value: &str) -> bool {
    let is_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '=');
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let letters = value.chars().filter(char::is_ascii_alphabetic).count();
    value.len() >= 24 && value.chars().all(is_token) && digits >= 4 && letters >= 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_distinguished_from_settings() {
        for (name, value, expected) in [
            ("GITHUB_TOKEN", "x", true),
            ("GITHUB_TOKEN", "${GITHUB_TOKEN}", false),
            ("GITHUB_TOKEN", "", false),
            ("HOME_DIR", "/home/me", false),
            ("MODE", "ghp_0123456789", true),
            ("DATABASE_URL", "postgres://me:hunter2@db/x", true),
            ("DATABASE_URL", "postgres://db/x", false),
            ("SOMETHING", "a8f5f167f44f4964e6c998dee827110c", true),
            ("PACKAGE", "@modelcontextprotocol/server-filesystem", false),
            ("OPENAI_API_KEY", "x1", true),
            ("KEYBOARD", "qwerty", false),
            ("header", "Authorization: Bearer x", true),
            ("header", "Authorization: Bearer ${X}", false),
            ("", "GITHUB_TOKEN=x", true),
            ("", "GITHUB_TOKEN=$TOKEN", false),
            ("", "https://example.com/mcp?page=2&api_key=x", true),
            ("", "a=b", false),
        ] {
            assert_eq!(looks_secret(name, value), expected, "{name}={value}");
        }
    }

    #[test]
    fn texts_lose_their_secrets_only() {
        for (text, masked) in [
            ("  \"TOKEN\": \"abc\",\n", "  \"TOKEN\": [hidden],\n"),
            ("token = \"abc\" # mine", "token = [hidden] # mine"),
            (
                "{\"env\":{\"A_KEY\":\"x\\\"y\",\"B\":\"c\"}}",
                "{\"env\":{\"A_KEY\":[hidden],\"B\":\"c\"}}",
            ),
            ("[\"--api-key\",\n \"abc\"]", "[\"--api-key\",\n [hidden]]"),
            ("[\"run\", \"ghp_0123456789ab\"]", "[\"run\", [hidden]]"),
            (
                "env:\r\n  password: a b: c\r\n  mode: x\r\n",
                "env:\r\n  password: [hidden]\r\n  mode: x\r\n",
            ),
            ("url: postgres://me:pw@db/x\n", "url: [hidden]\n"),
            ("\"url\": \"https://example.com/mcp\"", "\"url\": \"https://example.com/mcp\""),
            ("\"command\": \"npx\",", "\"command\": \"npx\","),
        ] {
            assert_eq!(mask(text), masked);
        }
    }
}

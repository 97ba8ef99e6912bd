//! The forms a text may have to match, as the schemas publish them and as they are checked.
//!
//! There are few, so each is checked by hand: compiling regular expressions would cost more than reading a deck.

/// The rule of [`crate::CapabilityId`], for the names in a map of capabilities or actions.
pub(crate) const ID: &str = "^[a-zA-Z0-9_-]{1,64}$";
/// A path below a base URL.
pub(crate) const PATH: &str = "^/";
pub(crate) const LABEL: &str = "^[a-z](?:[a-z0-9-]{0,30}[a-z0-9])?$";
pub(crate) const DATABASE_SCHEMA: &str = "^[a-z_][a-z0-9_]{0,62}$";
/// An origin: scheme, host and port.
pub(crate) const ORIGIN: &str = "^https?://(?![^/?#]*@)[^/?#]+/?$";

/// How a provider of sign-ins calls itself: an address over HTTPS, or on this machine, without a query.
pub(crate) const ISSUER: &str =
    r"^(https://[^/?#@\s]+|http://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?)(/[^?#\s]*)?$";
/// The part of an address after the `@`.
pub(crate) const DOMAIN: &str = r"^[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)+$";
pub(crate) const WEB_ADDRESS: &str = r"^https?://[^/?#@\s]+(/[^?#\s]*)?$";

/// A published pattern with its check and its words.
pub(crate) struct TextPattern {
    pub(crate) expression: &'static str,
    pub(crate) matches: fn(&str) -> bool,
    /// What is wrong with a text that does not match.
    pub(crate) problem: &'static str,
    pub(crate) fix: &'static str,
}

const ALL: [TextPattern; 8] = [
    TextPattern {
        expression: ID,
        matches: is_id,
        problem: "is not an id",
        fix: "use 1 to 64 letters, digits, `_` or `-`",
    },
    TextPattern {
        expression: PATH,
        matches: |text| text.starts_with('/'),
        problem: "must start with `/`",
        fix: "write the path below the base URL, such as `/v1/items`",
    },
    TextPattern {
        expression: LABEL,
        matches: is_label,
        problem: "is not a label",
        fix: "use lower-case letters, digits and `-`, at most 32 characters, starting with a letter",
    },
    TextPattern {
        expression: DATABASE_SCHEMA,
        matches: is_database_schema,
        problem: "is not the name of a database schema",
        fix: "use lower-case letters, digits and `_`, at most 63 characters",
    },
    TextPattern {
        expression: ORIGIN,
        matches: is_origin,
        problem: "must be an origin",
        fix: "use a form like `https://host.example`",
    },
    TextPattern {
        expression: ISSUER,
        matches: is_issuer,
        problem: "is not the address of a provider",
        fix: "use a form like `https://sso.example`, as the provider calls itself; `http` is for this machine alone",
    },
    TextPattern {
        expression: DOMAIN,
        matches: is_domain,
        problem: "is not a domain",
        fix: "write the part after the `@`, such as `example.com`",
    },
    TextPattern {
        expression: WEB_ADDRESS,
        matches: |text| is_address_of(text, &["https://", "http://"]),
        problem: "is not the address of a server",
        fix: "use a form like `http://127.0.0.1:4318`",
    },
];

/// The pattern a schema names.
pub(crate) fn find(expression: &str) -> Option<&'static TextPattern> {
    ALL.iter().find(|pattern| pattern.expression == expression)
}

pub(crate) fn is_id(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&text.len()) && text.bytes().all(legal)
}

/// An id made of any name: what may not be in one becomes `-`. Empty when nothing is left.
pub(crate) fn id_from(name: &str) -> String {
    let legal = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let words = name.split(|letter| !legal(letter)).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").chars().take(64).collect()
}

fn is_label(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=32).contains(&text.len())
        && text.bytes().all(legal)
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && !text.ends_with('-')
}

fn is_database_schema(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=63).contains(&text.len())
        && text.bytes().all(legal)
        && !text.starts_with(|first: char| first.is_ascii_digit())
}

fn is_origin(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = rest.map(|rest| rest.strip_suffix('/').unwrap_or(rest));
    host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '?', '#', '@']))
}

fn is_issuer(text: &str) -> bool {
    if is_address_of(text, &["https://"]) {
        return true;
    }
    let rest = text.strip_prefix("http://").unwrap_or_default();
    let host = rest.split('/').next().unwrap_or_default();
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_here = ["localhost", "127.0.0.1", "[::1]"].iter().any(|name| {
        let port = host.strip_prefix(name).map(|rest| (rest, rest.strip_prefix(':')));
        port.is_some_and(|(rest, port)| rest.is_empty() || port.is_some_and(is_port))
    });
    is_here && is_address_of(text, &["http://"])
}

fn is_domain(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    text.contains('.') && text.split('.').all(is_part)
}

/// Whether a text is an address with one of these schemes, with a host and without a query.
fn is_address_of(text: &str, schemes: &[&str]) -> bool {
    let rest = schemes.iter().find_map(|scheme| text.strip_prefix(scheme));
    let is_odd = |letter: char| letter.is_whitespace() || matches!(letter, '?' | '#');
    rest.is_some_and(|rest| {
        let host = rest.split('/').next().unwrap_or_default();
        !host.is_empty() && !host.contains('@') && !rest.contains(is_odd)
    })
}

// References are to values that are known only at connect time: `${NAME}`, `${NAME:-default}`, `$env:NAME`, `${vault:NAME}`
// and `$vault:NAME`. Parsing only recognises them; it never resolves one.

/// Whether a text holds a reference, so that it cannot be judged as a URL or a path yet.
pub(crate) fn holds_reference(text: &str) -> bool {
    text.split('$').skip(1).any(starts_reference)
}

/// Judges what follows a `$`.
fn starts_reference(rest: &str) -> bool {
    let name_ahead = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if let Some(inner) = rest.strip_prefix('{') {
        let Some((inner, _)) = inner.split_once('}') else { return false };
        let (name, _default) = inner.split_once(":-").unwrap_or((inner, ""));
        let name = name.strip_prefix("vault:").unwrap_or(name);
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
        return name_ahead(name) && name.chars().all(legal);
    }
    ["env:", "vault:"].iter().any(|prefix| rest.strip_prefix(prefix).is_some_and(name_ahead))
}

#[cfg(test)]
mod tests {
    use super::{ALL, holds_reference};

    #[test]
    fn the_checks_agree_with_the_published_expressions() {
        let long = "a".repeat(70);
        let texts = [
            "",
            "a",
            "A",
            "9",
            "_",
            "-",
            "a-b",
            "a-",
            "-a",
            "ab_9",
            "a b",
            "é",
            "/",
            "//a",
            "a/",
            "https://a",
            "https://a/",
            "https://a//",
            "https://a/b",
            "http://a:1",
            "https://",
            "https:///",
            "https://u@a",
            "https://a?x",
            "https://a#x",
            "ftp://a",
            "HTTPS://a",
            "https://sso.example/tenant/",
            "https://sso.example/a?b",
            "https://sso.example/a b",
            "https://sso.example/a@b",
            "http://sso.example",
            "http://localhost",
            "http://localhost:",
            "http://localhost:80/a",
            "http://localhost:80a",
            "http://localhost.evil.example",
            "http://127.0.0.1:4318",
            "http://127.0.0.1.evil.example",
            "http://[::1]:1/",
            "http://[::1]x",
            "example.com",
            "a.b-c.d",
            "a..b",
            ".a",
            "a@example.com",
        ];
        let cuts = [31, 32, 33, 62, 63, 64, 65].map(|length| long.get(..length).unwrap());
        for pattern in &ALL {
            let schema = serde_json::json!({ "pattern": pattern.expression });
            let published = jsonschema::validator_for(&schema).unwrap();
            for text in texts.into_iter().chain(cuts) {
                let expected = published.is_valid(&text.into());
                assert_eq!((pattern.matches)(text), expected, "{} {text}", pattern.expression);
            }
        }
    }

    #[test]
    fn tells_references_from_other_dollars() {
        for text in ["${X}", "a/${X_1:-y}/b", "$env:HOME", "${vault:KEY}", "x$vault:KEY", "$$env:A"]
        {
            assert!(holds_reference(text), "{text}");
        }
        for text in
            ["", "$", "$discovery/rest", "${}", "${1X}", "${X", "$env:", "$input.name", "US$5"]
        {
            assert!(!holds_reference(text), "{text}");
        }
    }
}

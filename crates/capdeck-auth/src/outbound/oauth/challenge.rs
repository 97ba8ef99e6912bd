//! Parses the `Bearer` challenge of `WWW-Authenticate`.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// A server's `Bearer` challenge. Its fields are untrusted.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BearerChallenge {
    pub resource_metadata: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    pub error: Option<String>,
}

impl BearerChallenge {
    /// Reads the first `Bearer` challenge of a header, which may have challenges of several schemes.
    pub fn parse(header: &str) -> Option<Self> {
        let mut found: Option<Self> = None;
        let mut rest = header;
        while let Some((word, after)) = take_word(rest) {
            let Some(value) = after.trim_start().strip_prefix('=') else {
                // A token without a value starts the next challenge.
                if found.is_some() {
                    break;
                }
                found = word.eq_ignore_ascii_case("bearer").then(Self::default);
                rest = after;
                continue;
            };
            let (value, after) = take_value(value.trim_start());
            rest = after;
            if let Some(challenge) = &mut found {
                challenge.set_parameter(word, value);
            }
        }
        found
    }

    /// Returns whether the token is valid but lacks scopes.
    pub fn needs_more_scopes(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    fn set_parameter(&mut self, name: &str, value: String) {
        if name.eq_ignore_ascii_case("resource_metadata") {
            self.resource_metadata.get_or_insert(value);
        } else if name.eq_ignore_ascii_case("scope") && self.scopes.is_empty() {
            self.scopes = value.split_whitespace().map(ToOwned::to_owned).collect();
        } else if name.eq_ignore_ascii_case("error") {
            self.error.get_or_insert(value);
        }
    }
}

fn take_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(|letter: char| !is_token(letter));
    let end = text.find(|letter: char| !is_token(letter)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

fn take_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        let (value, rest) = text.split_at(end);
        return (value.to_owned(), rest);
    };
    let mut value = String::new();
    let mut letters = quoted.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => value.extend(letters.next()),
            letter => value.push(letter),
        }
    }
    (value, letters.as_str())
}

fn is_token(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bearer_part_is_read_whatever_stands_around_it() {
        let all = BearerChallenge {
            resource_metadata: Some("https://a.example/x?y=1".to_owned()),
            scopes: vec!["a".to_owned(), "b:c".to_owned()],
            error: Some("insufficient_scope".to_owned()),
        };
        for header in [
            r#"Bearer resource_metadata="https://a.example/x?y=1", scope="a b:c", error="insufficient_scope""#,
            r#"bearer error=insufficient_scope,scope="a  b:c" , Resource_Metadata = "https://a.example/x?y=1""#,
            r#"Basic realm="Bearer scope=\"z\"", Bearer scope="a b:c", error="insufficient_scope", resource_metadata="https://a.example/x?y=1", DPoP scope="q""#,
        ] {
            assert_eq!(BearerChallenge::parse(header), Some(all.clone()), "{header}");
        }
        assert!(all.needs_more_scopes());
    }

    #[test]
    fn other_schemes_and_broken_headers_hold_nothing() {
        assert_eq!(BearerChallenge::parse("Bearer"), Some(BearerChallenge::default()));
        for header in ["", "Basic realm=\"x\"", "==,,\"\"", "Bearerx scope=a"] {
            assert_eq!(BearerChallenge::parse(header), None, "{header}");
        }
        let cut = BearerChallenge::parse("Bearer scope=\"a \\").unwrap();
        assert_eq!(cut.scopes, ["a"]);
    }
}

//! A string that hides its value in output.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use zeroize::Zeroize;

pub(crate) const REDACTED: &str = "[redacted]";

/// A secret value. Debug, Display and Serialize all give `[redacted]`; the memory is wiped on drop.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// Returns the value. Call it only where the value is sent to its destination.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// Returns whether a variable, header or parameter of this name usually holds a secret.
pub fn is_secret_name(name: &str) -> bool {
    const PARTS: [&str; 12] = [
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "KEY",
        "AUTH",
        "CREDENTIAL",
        "PRIVATE",
        "COOKIE",
        "BEARER",
        "SIGNATURE",
    ];
    // Short words must match whole: `PATH` contains `PAT` and `COMPASS` contains `PASS`.
    const WORDS: [&str; 5] = ["PAT", "PASS", "PW", "JWT", "DSN"];
    let upper = name.to_ascii_uppercase();
    PARTS.iter().any(|part| upper.contains(part))
        || upper
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .any(|word| WORDS.contains(&word))
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(REDACTED)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(REDACTED)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(REDACTED)
    }
}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_showing_a_secret_redacts_it() {
        let secret = Secret::new("canary-4711");
        let shown = format!(
            "{secret} {secret:?} {:#?} {}",
            Some(&secret),
            serde_json::to_string(&secret).unwrap()
        );
        assert!(!shown.contains("canary"), "{shown}");
        assert_eq!(secret.expose(), "canary-4711");
    }

    #[test]
    fn secret_names_are_recognized() {
        for name in ["GH_TOKEN", "api_key", "X-Api-Key", "DB_PASSWORD", "GITHUB_PAT", "SENTRY_DSN"]
        {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["PATH", "HOME", "ORG", "COMPASS_URL", "PATTERN", "LANG"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}

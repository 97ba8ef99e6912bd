//! Removes known secret values from text and byte streams.

#[cfg(test)]
mod tests;

use std::{borrow::Cow, fmt};

use crate::{ReferenceSubstitution, Secret, secret::REDACTED};

/// Shorter values are not replaced: replacing every `1` or `true` would only damage the message.
const MIN_LENGTH: usize = 6;

/// Replaces secret values by `[redacted]`. Cheap without values.
#[derive(Clone, Default)]
pub struct SecretScrubber {
    /// Longest first, so that a value that contains another is replaced as a whole.
    values: Vec<Secret>,
}

/// Scrubs a stream, also where a value spans two chunks.
pub struct ScrubStream {
    scrubber: SecretScrubber,
    pending: Vec<u8>,
}

impl SecretScrubber {
    pub fn new<'a>(values: impl IntoIterator<Item = &'a Secret>) -> Self {
        Self::default().with(values)
    }

    #[must_use]
    pub fn with<'a>(mut self, values: impl IntoIterator<Item = &'a Secret>) -> Self {
        for value in values {
            // Programs print JSON bodies and URLs, so the escaped forms are replaced as well.
            let plain = value.expose();
            for form in [plain.to_owned(), json_escaped(plain), percent_encoded(plain)] {
                let form = Secret::new(form);
                if form.expose().len() >= MIN_LENGTH && !self.values.contains(&form) {
                    self.values.push(form);
                }
            }
        }
        self.values.sort_by_key(|value| std::cmp::Reverse(value.expose().len()));
        self
    }

    /// For logs and errors: every value from outside the file.
    pub fn of_all(substitutions: &[ReferenceSubstitution]) -> Self {
        Self::new(substitutions.iter().map(|one| &one.value))
    }

    /// For results: only secrets, so that other values stay readable in data.
    pub fn of_sensitive(substitutions: &[ReferenceSubstitution]) -> Self {
        Self::new(substitutions.iter().filter(|one| one.sensitive).map(|one| &one.value))
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut scrubbed = Cow::Borrowed(text);
        for value in &self.values {
            if scrubbed.contains(value.expose()) {
                scrubbed = Cow::Owned(scrubbed.replace(value.expose(), REDACTED));
            }
        }
        scrubbed
    }

    pub fn stream(&self) -> ScrubStream {
        ScrubStream { scrubber: self.clone(), pending: Vec::new() }
    }

    /// Scrubs bytes and returns how many were consumed.
    ///
    /// With more to come, a possible start of a value is left for the next call.
    fn bytes(&self, bytes: &[u8], has_more: bool) -> (Vec<u8>, usize) {
        let mut passed = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some((first, tail)) = rest.split_first() {
            if has_more && self.is_open_beginning(rest) {
                break;
            }
            let found = self.values.iter().find(|one| rest.starts_with(one.expose().as_bytes()));
            if let Some(value) = found {
                passed.extend_from_slice(REDACTED.as_bytes());
                rest = rest.get(value.expose().len()..).unwrap_or_default();
            } else {
                passed.push(*first);
                rest = tail;
            }
        }
        (passed, bytes.len() - rest.len())
    }

    fn is_open_beginning(&self, bytes: &[u8]) -> bool {
        self.values.iter().any(|value| {
            value.expose().len() > bytes.len() && value.expose().as_bytes().starts_with(bytes)
        })
    }
}

impl ScrubStream {
    /// Takes a chunk and returns the bytes that are safe to pass on.
    pub fn push(&mut self, chunk: &[u8]) -> Vec<u8> {
        if self.scrubber.is_empty() {
            return chunk.to_vec();
        }
        self.pending.extend_from_slice(chunk);
        let (passed, used) = self.scrubber.bytes(&self.pending, true);
        self.pending.drain(..used);
        passed
    }

    pub fn finish(self) -> Vec<u8> {
        self.scrubber.bytes(&self.pending, false).0
    }
}

impl fmt::Debug for SecretScrubber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Scrubber({} values)", self.values.len())
    }
}

impl fmt::Debug for ScrubStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The pending bytes may be half a secret.
        formatter.debug_struct("ScrubStream").finish_non_exhaustive()
    }
}

fn json_escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text).to_owned()
}

fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

//! Sealed form state: encrypted, authenticated and bound to a purpose and a sender.

use std::time::Duration;

use capdeck_mcp::TextSealer;
use serde::{Serialize, de::DeserializeOwned};

/// How long a form is valid.
const FORM_LIFETIME: Duration = Duration::from_secs(600);

/// The key is lost when the process ends.
pub(crate) struct FormSeal(TextSealer);

impl FormSeal {
    pub(crate) fn new() -> Self {
        Self(TextSealer::random().scoped("form"))
    }

    /// Seals a value for a hidden field. Returns an empty text, which never opens, when there is no randomness.
    pub(crate) fn seal(&self, purpose: &str, sender: &str, value: &impl Serialize) -> String {
        let payload = serde_json::to_vec(value).unwrap_or_default();
        self.0.seal(purpose, &[sender.as_bytes()], FORM_LIFETIME, &payload).unwrap_or_default()
    }

    /// The sealed value; `None` for another purpose or sender, after expiry, or when it is not ours.
    pub(crate) fn open<T: DeserializeOwned>(
        &self,
        purpose: &str,
        sender: &str,
        sealed: &str,
    ) -> Option<T> {
        let payload = self.0.open(purpose, &[sender.as_bytes()], sealed).ok()?;
        serde_json::from_slice(&payload).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_belongs_to_one_sender_and_one_purpose() {
        let seal = FormSeal::new();
        let text = seal.seal("consent", "ada", &"value");
        assert_eq!(seal.open::<String>("consent", "ada", &text).as_deref(), Some("value"));
        assert_eq!(seal.open::<String>("consent", "eve", &text), None);
        assert_eq!(seal.open::<String>("sign-in", "ada", &text), None);
        assert_eq!(FormSeal::new().open::<String>("consent", "ada", &text), None);
        assert_eq!(seal.open::<String>("consent", "ada", ""), None);
    }
}

//! What a page of ours holds for us until its form comes back: it cannot be read, changed, or used by somebody else.

use std::time::Duration;

use capdeck_mcp::Sealer;
use serde::{Serialize, de::DeserializeOwned};

/// How long a person may look at a page before its form is worth nothing.
const LIFETIME: Duration = Duration::from_secs(600);

/// Seals the hidden part of forms. What it sealed dies with the process.
pub(crate) struct FormSeal(Sealer);

impl FormSeal {
    pub(crate) fn new() -> Self {
        Self(Sealer::random().scoped("form"))
    }

    /// A text for a hidden field, which only a form of the same purpose from the same sender opens. Empty when there is no
    /// randomness, which opens nothing.
    pub(crate) fn seal(&self, purpose: &str, sender: &str, value: &impl Serialize) -> String {
        let payload = serde_json::to_vec(value).unwrap_or_default();
        self.0.seal(purpose, &[sender.as_bytes()], LIFETIME, &payload).unwrap_or_default()
    }

    /// What was sealed; `None` for what was sealed for others, is too old, or was not sealed here.
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

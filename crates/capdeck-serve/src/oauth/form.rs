//! Parameters of a query or a form, and sealed state of forms: encrypted, authenticated and bound to a purpose and a sender.

use std::{collections::BTreeMap, time::Duration};

use capdeck_mcp::TextSealer;
use serde::{Serialize, de::DeserializeOwned};

#[derive(Debug, Clone, Default)]
pub(crate) struct OauthForm(BTreeMap<String, Vec<String>>);

/// A repeated parameter that must occur once.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{name}` is repeated")]
pub(crate) struct RepeatedParameter {
    pub(crate) name: &'static str,
}

impl OauthForm {
    pub(crate) fn parse(text: &[u8]) -> Self {
        let mut fields: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(text) {
            fields.entry(name.into_owned()).or_default().push(value.into_owned());
        }
        Self(fields)
    }

    /// The value of a parameter; an empty one counts as absent.
    pub(crate) fn single(&self, name: &'static str) -> Result<Option<&str>, RepeatedParameter> {
        match self.0.get(name).map(Vec::as_slice) {
            None | Some([]) => Ok(None),
            Some([value]) => Ok(Some(value.as_str()).filter(|value| !value.is_empty())),
            Some(_) => Err(RepeatedParameter { name }),
        }
    }

    /// The last value of a parameter with a generated name.
    pub(crate) fn last_value(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.last().map(String::as_str).filter(|value| !value.is_empty())
    }

    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.get(name).into_iter().flatten().map(String::as_str)
    }
}

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
    fn parameters_are_decoded_and_repeats_are_seen() {
        let form = OauthForm::parse(b"a=1+2%26&b=&c=x&c=y");
        assert_eq!(form.single("a"), Ok(Some("1 2&")));
        assert_eq!(form.single("b"), Ok(None));
        assert_eq!(form.single("none"), Ok(None));
        assert_eq!(form.single("c"), Err(RepeatedParameter { name: "c" }));
        assert_eq!(form.values("c").collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!(form.last_value("c"), Some("y"));
    }
}

#[cfg(test)]
mod seal_tests {
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

//! Profile claims of a person, from the identity token or the user info endpoint. Many providers send them only from
//! the endpoint.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::{OAuthError, fetch::GuardedFetcher};
use crate::Secret;

const ENDPOINT_LABEL: &str = "the user info";

/// The profile claims. Unreadable claims are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ProfileClaims {
    sub: Option<Value>,
    email: Option<Value>,
    email_verified: Option<Value>,
    name: Option<Value>,
}

impl ProfileClaims {
    pub(super) fn of_token(id_token: &str) -> Self {
        let claims = id_token.split('.').nth(1).and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
        claims.and_then(|claims| serde_json::from_slice(&claims).ok()).unwrap_or_default()
    }

    pub(super) async fn fetch(
        fetcher: &GuardedFetcher,
        place: &Url,
        access_token: &Secret,
        subject: &str,
    ) -> Result<Self, OAuthError> {
        let found = fetcher.document_for::<Self>(ENDPOINT_LABEL, place, access_token).await?;
        let Some(found) = found else { return Ok(Self::default()) };
        if found.sub.as_ref().and_then(Value::as_str) != Some(subject) {
            let (origin, reason) =
                (place.origin().ascii_serialization(), "it is about another person");
            return Err(OAuthError::BadAnswer {
                what: ENDPOINT_LABEL,
                origin,
                reason: reason.to_owned(),
            });
        }
        Ok(found)
    }

    pub(super) fn lacks_address(&self) -> bool {
        self.email.is_none()
    }

    /// Fills in missing claims. An address and its verification come from the same source.
    pub(super) fn complete(&mut self, other: Self) {
        if self.email.is_none() {
            (self.email, self.email_verified) = (other.email, other.email_verified);
        }
        self.name = self.name.take().or(other.name);
    }

    pub(super) fn into_parts(self) -> (Option<String>, Option<String>) {
        let text = |value: Option<Value>| match value {
            Some(Value::String(text)) if !text.is_empty() => Some(text),
            _ => None,
        };
        // Some providers send a string instead of a boolean.
        let is_verified = match &self.email_verified {
            Some(Value::Bool(is_verified)) => *is_verified,
            Some(Value::String(word)) => word == "true",
            _ => false,
        };
        (text(self.email).filter(|_| is_verified), text(self.name))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parts(value: Value) -> (Option<String>, Option<String>) {
        serde_json::from_value::<ProfileClaims>(value).unwrap().into_parts()
    }

    #[test]
    fn only_an_address_that_was_verified_is_one() {
        let address = || Some("a@b.c".to_owned());
        for verified in [json!(true), json!("true")] {
            assert_eq!(parts(json!({"email": "a@b.c", "email_verified": verified})).0, address());
        }
        for other in [json!(false), json!("false"), json!(1), json!(null), json!({})] {
            assert_eq!(parts(json!({"email": "a@b.c", "email_verified": other})).0, None);
        }
        let odd = json!({"email": ["a@b.c"], "email_verified": true, "name": 7});
        assert_eq!(parts(odd), (None, None));
        assert_eq!(ProfileClaims::of_token("a.b.c").into_parts(), (None, None));
    }

    #[test]
    fn a_word_about_one_address_says_nothing_about_another() {
        let read = |value: Value| serde_json::from_value::<ProfileClaims>(value).unwrap();
        let mut known = read(json!({"email_verified": true}));
        known.complete(read(json!({"email": "a@b.c", "name": "Ann"})));
        assert_eq!(known.into_parts(), (None, Some("Ann".to_owned())));
        let mut known = read(json!({"email": "a@b.c"}));
        known.complete(read(json!({"email": "d@e.f", "email_verified": true})));
        assert_eq!(known.into_parts(), (None, None));
    }
}

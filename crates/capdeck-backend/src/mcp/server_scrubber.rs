//! Removes the secrets that a server received from everything it sends.

use std::borrow::Cow;

use capdeck_auth::SecretScrubber;
use capdeck_catalog::RawMembers;
use serde_json::{Value, value::RawValue};

use crate::{scrub_json::scrub_json, sign_in::CapabilitySignIn};

/// The secrets of a server: from its definition and from its sign-in.
#[derive(Debug)]
pub(super) struct ServerScrubber {
    by_definition: SecretScrubber,
    sign_in: Option<CapabilitySignIn>,
}

impl ServerScrubber {
    pub(super) fn new(by_definition: SecretScrubber, sign_in: Option<CapabilitySignIn>) -> Self {
        Self { by_definition, sign_in }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.scrubber().is_empty()
    }

    /// Returns a server's message byte for byte, unless it contains one of its secrets.
    pub(super) fn scrub(&self, said: Box<RawValue>) -> Box<RawValue> {
        scrub(said, &self.scrubber())
    }

    /// The same for requests and notifications during a call.
    pub(super) fn scrub_params(&self, params: RawMembers) -> RawMembers {
        let scrubber = &*self.scrubber();
        if scrubber.is_empty() {
            return params;
        }
        params.into_iter().map(|(name, said)| (name, scrub(said, scrubber))).collect()
    }

    fn scrubber(&self) -> Cow<'_, SecretScrubber> {
        let base = &self.by_definition;
        self.sign_in.as_ref().map_or(Cow::Borrowed(base), |sign_in| sign_in.scrubber(base))
    }
}

fn scrub(said: Box<RawValue>, scrubber: &SecretScrubber) -> Box<RawValue> {
    if scrubber.is_empty() {
        return said;
    }
    let scrubbed = match scrubber.text(said.get()) {
        Cow::Borrowed(_) => return said,
        Cow::Owned(text) => text,
    };
    RawValue::from_string(scrubbed).unwrap_or_else(|_| {
        // The secret is outside of any string, so only a walk over the values is safe.
        let mut value: Value = serde_json::from_str(said.get()).unwrap_or_default();
        scrub_json(&mut value, scrubber);
        serde_json::value::to_raw_value(&value).unwrap_or(said)
    })
}

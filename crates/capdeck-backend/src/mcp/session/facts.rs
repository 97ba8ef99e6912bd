//! What a server said, without the secrets it was given.

use std::borrow::Cow;

use capdeck_auth::Scrubber;
use capdeck_catalog::ServerFacts;
use capdeck_mcp::client::ServerHello;
use serde_json::{Value, value::RawValue};

use super::Session;
use crate::scrub_json::scrub_json;

impl Session {
    /// A server may repeat a secret in its handshake too, and that is kept on disk.
    pub(super) fn scrubbed_facts(&self, hello: ServerHello) -> ServerFacts {
        let facts = facts(hello);
        if self.scrubber().is_empty() {
            return facts;
        }
        let text = serde_json::value::to_raw_value(&facts).map(|text| self.scrub(text));
        text.and_then(|text| serde_json::from_str(text.get())).unwrap_or_default()
    }

    /// What a server was given: by its definition, and by its sign-in.
    fn scrubber(&self) -> Cow<'_, Scrubber> {
        let base = &self.parts.result_scrubber;
        self.parts.sign_in.as_ref().map_or(Cow::Borrowed(base), |sign_in| sign_in.scrubber(base))
    }

    /// Passes a result on byte for byte, unless it repeats a secret that was given to the server.
    pub(super) fn scrub(&self, result: Box<RawValue>) -> Box<RawValue> {
        let scrubber = &*self.scrubber();
        if scrubber.is_empty() {
            return result;
        }
        let scrubbed = match scrubber.text(result.get()) {
            Cow::Borrowed(_) => return result,
            Cow::Owned(text) => text,
        };
        RawValue::from_string(scrubbed).unwrap_or_else(|_| {
            // The secret stood outside of any string, so that only a walk over the values is safe.
            let mut value: Value = serde_json::from_str(result.get()).unwrap_or_default();
            scrub_json(&mut value, scrubber);
            serde_json::value::to_raw_value(&value).unwrap_or(result)
        })
    }
}

fn facts(hello: ServerHello) -> ServerFacts {
    ServerFacts {
        protocol_version: hello.revision.as_str().to_owned(),
        capabilities: hello.capabilities,
        server_info: hello.server_info,
        instructions: hello.instructions,
    }
}

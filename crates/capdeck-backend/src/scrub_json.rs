//! Takes secrets out of every string of a JSON value.

use capdeck_auth::SecretScrubber;
use serde_json::Value;

/// Scrubs all strings at any depth; keys stay.
pub(crate) fn scrub_json(value: &mut Value, scrubber: &SecretScrubber) {
    match value {
        Value::String(text) => *text = scrubber.text(text).into_owned(),
        Value::Array(items) => items.iter_mut().for_each(|item| scrub_json(item, scrubber)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| scrub_json(member, scrubber));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

//! Arguments as a person may see them: short, without secrets, with nothing hidden.

use capdeck_auth::{
    ReferenceLookup, ReferenceSubstitution, SecretScrubber, is_secret_name, resolve_value,
};
use capdeck_backend::{project_variables, vault_holder};
use capdeck_definition::{Backend, Definition, reveal};
use serde_json::Value;

use crate::HostSettings;

/// Letters of the arguments that are shown.
const MAX_SUMMARY_LENGTH: usize = 1_000;
/// Letters of one text in them.
const MAX_TEXT_LENGTH: usize = 200;

/// The arguments on one line. Members that sound like secrets, and values the definition takes from the environment
/// or the vault, are left out.
pub(super) fn of_arguments(text: &str, definition: &Definition, settings: &HostSettings) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(text) else {
        return "(not JSON)".to_owned();
    };
    let scrubber = SecretScrubber::of_all(&substitutions(definition, settings));
    shorten(&mut value, &scrubber, MAX_TEXT_LENGTH);
    cut(&reveal(&value.to_string()), MAX_SUMMARY_LENGTH)
}

/// What a definition takes from the environment or the vault.
pub(crate) fn substitutions(
    definition: &Definition,
    settings: &HostSettings,
) -> Vec<ReferenceSubstitution> {
    let holder = vault_holder(definition);
    let lookup = ReferenceLookup::new(&settings.environment, &settings.vault, &holder);
    let variables = project_variables(definition).unwrap_or_default();
    let lookup = lookup.in_project(variables.as_ref());
    let resolved = resolve_value::<Backend>(&definition.backend, lookup);
    // What cannot be resolved has no values that could show up.
    resolved.map(|resolved| resolved.substitutions).unwrap_or_default()
}

/// Takes out members that sound like secrets and known values, and cuts longer texts.
pub(crate) fn shorten(value: &mut Value, scrubber: &SecretScrubber, longest: usize) {
    match value {
        // A secret is taken out before the cut, which could leave half of it.
        Value::String(text) => *text = cut(&scrubber.text(text), longest),
        Value::Array(items) => items.iter_mut().for_each(|item| shorten(item, scrubber, longest)),
        Value::Object(members) => {
            for (key, member) in members {
                if is_secret_name(key) && !member.is_null() {
                    *member = Value::from("[redacted]");
                } else {
                    shorten(member, scrubber, longest);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The beginning of a text, saying how much is left out.
fn cut(text: &str, shown: usize) -> String {
    let length = text.chars().count();
    if length <= shown {
        return text.to_owned();
    }
    let start: String = text.chars().take(shown).collect();
    format!("{start}… ({} more)", length - shown)
}

//! The client capabilities that servers get: those the client declares and the host can serve.

use capdeck_catalog::RawMembers;

use crate::{SessionScope, TaskForm, raw, tasks::without_extension};

const DECK_ROUTED_CAPABILITIES: [&str; 3] = ["sampling", "elicitation", "roots"];

const DECK_EXTENSIONS: [&str; 1] = ["io.modelcontextprotocol/ui"];

/// The client's capabilities that a session of this scope can forward. Nothing is added, and the
/// remaining text is unchanged.
pub(crate) fn forwarded_capabilities(
    scope: &SessionScope,
    tasks: TaskForm,
    declared: &RawMembers,
) -> RawMembers {
    match scope {
        // A handshake cannot promise what is declared with each request; the call says whether it
        // may become a task.
        SessionScope::Transparent(_) if tasks == TaskForm::Core => without_extension(declared),
        // Everything is forwarded, so all of the client's capabilities work.
        SessionScope::Transparent(_) => declared.clone(),
        SessionScope::Deck(_) | SessionScope::Operator => {
            let mut forwarded = only(declared, &DECK_ROUTED_CAPABILITIES);
            let extensions: RawMembers = raw::get(declared, "extensions").unwrap_or_default();
            let extensions = only(&extensions, &DECK_EXTENSIONS);
            if !extensions.is_empty() {
                raw::set(&mut forwarded, "extensions", &extensions);
            }
            forwarded
        }
    }
}

fn only(object: &RawMembers, keys: &[&str]) -> RawMembers {
    let members = object.iter().filter(|(key, _)| keys.contains(&key.as_str()));
    members.map(|(key, value)| (key.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use capdeck_definition::CapabilityId;

    use super::*;
    use crate::ViewPolicy;

    const DECLARED: &str = r#"{"tasks":{"requests":{}},"elicitation":{"url":{},"form":{}},"experimental":{"x":1},"sampling":{"tools":{}},"roots":{"listChanged":true},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"]},"com.example/other":{}},"unknown":2.50}"#;

    fn forwarded(scope: &SessionScope, declared: &str) -> String {
        let declared = serde_json::from_str(declared).unwrap();
        let forwarded = forwarded_capabilities(scope, TaskForm::Extension, &declared);
        serde_json::to_string(&forwarded).unwrap()
    }

    #[test]
    fn a_transparent_session_passes_everything_as_it_was_written() {
        let scope = SessionScope::Transparent(CapabilityId::new("one").unwrap());
        assert_eq!(forwarded(&scope, DECLARED), DECLARED);
        assert_eq!(forwarded(&scope, "{}"), "{}");
    }

    #[test]
    fn the_deck_passes_what_it_routes_with_its_parts() {
        let scope = SessionScope::Deck(ViewPolicy::default());
        assert_eq!(
            forwarded(&scope, DECLARED),
            r#"{"elicitation":{"url":{},"form":{}},"sampling":{"tools":{}},"roots":{"listChanged":true},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"]}}}"#
        );
    }

    #[test]
    fn nothing_is_added_and_oddities_do_no_harm() {
        let scope = SessionScope::Deck(ViewPolicy::default());
        assert_eq!(forwarded(&scope, "{}"), "{}");
        assert_eq!(forwarded(&scope, r#"{"extensions":[1],"tasks":{}}"#), "{}");
        assert_eq!(forwarded(&scope, r#"{"extensions":{"com.example/other":{}}}"#), "{}");
    }
}

//! Which of a backend's tools are offered, and how: the choice of a capability file, applied to what the backend said.

use std::sync::Arc;

use capdeck_definition::{ChosenTool, ToolChoice};
use serde_json::{
    Map, Value,
    value::{RawValue, to_raw_value},
};

use crate::{Discovery, ImportProblem, RawMembers, Tool};

/// The offer after the choice. Tools stay as the backend sent them, but for names and defaults that the file gives.
pub fn choose(choice: &ToolChoice, mut discovery: Discovery) -> Discovery {
    match choice {
        ToolChoice::Policy(policy) => discovery.tools.retain(|tool| policy.allows(tool.name())),
        ToolChoice::Chosen(chosen) => {
            let offered = std::mem::take(&mut discovery.tools);
            for choice in chosen {
                match offered.iter().find(|tool| tool.name() == choice.remote) {
                    Some(tool) => discovery.tools.extend(tailored(choice, tool)),
                    None => discovery.problems.push(ImportProblem {
                        place: format!("the tool `{}`", choice.id),
                        reason: format!("the server has no tool `{}`", choice.remote),
                    }),
                }
            }
        }
    }
    discovery
}

/// The arguments with the defaults that the caller left out. `None` when there is nothing to add.
pub fn with_defaults(
    defaults: &Map<String, Value>,
    arguments: Option<&RawValue>,
) -> Option<Box<RawValue>> {
    let mut given: RawMembers = match arguments {
        Some(text) => serde_json::from_str(text.get()).ok()?,
        None => RawMembers::new(),
    };
    let before = given.len();
    for (name, value) in defaults {
        if !given.contains_key(name) {
            given.insert(name.clone(), to_raw_value(value).ok()?);
        }
    }
    if given.len() == before { None } else { to_raw_value(&given).ok() }
}

fn tailored(choice: &ChosenTool, tool: &Tool) -> Option<Arc<Tool>> {
    let mut raw = tool.raw().clone();
    raw.insert("name".to_owned(), to_raw_value(&choice.id).ok()?);
    if !choice.defaults.is_empty()
        && let Some(schema) = tool.input_schema().and_then(|schema| eased(schema, &choice.defaults))
    {
        raw.insert("inputSchema".to_owned(), schema);
    }
    Tool::new(raw).map(Arc::new)
}

/// A schema that asks for none of the defaulted arguments and tells their defaults. `None` when it is not an object.
fn eased(schema: &RawValue, defaults: &Map<String, Value>) -> Option<Box<RawValue>> {
    let mut schema: RawMembers = serde_json::from_str(schema.get()).ok()?;
    if let Some(required) = schema.get("required")
        && let Ok(mut names) = serde_json::from_str::<Vec<String>>(required.get())
    {
        names.retain(|name| !defaults.contains_key(name));
        schema.insert("required".to_owned(), to_raw_value(&names).ok()?);
    }
    if let Some(properties) = schema.get("properties")
        && let Ok(mut properties) = serde_json::from_str::<RawMembers>(properties.get())
    {
        for (name, default) in defaults {
            // Some schemas say `true` for "anything", which has no room for a default.
            let Some(property) = properties.get(name) else { continue };
            let Ok(mut property) = serde_json::from_str::<RawMembers>(property.get()) else {
                continue;
            };
            property.insert("default".to_owned(), to_raw_value(default).ok()?);
            properties.insert(name.clone(), to_raw_value(&property).ok()?);
        }
        schema.insert("properties".to_owned(), to_raw_value(&properties).ok()?);
    }
    to_raw_value(&schema).ok()
}

#[cfg(test)]
mod tests {
    use capdeck_definition::capability_file::ServerToolFilter;
    use serde_json::json;

    use super::*;

    const SEARCH: &str = r#"{"name":"brave_web_search","title":"Search  ","_meta":{"n":12345678901234567890},"inputSchema":{"type":"object","$defs":{"x":{"const":1.0}},"properties":{"query":{"type":"string"},"count":{"type":"integer","default":10},"any":true},"required":["query","count"]},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;

    fn offered() -> Discovery {
        let other = r#"{"name":"other","inputSchema":{"type":"object"}}"#;
        let tools = [SEARCH, other].map(|text| serde_json::from_str(text).unwrap());
        Discovery { tools: tools.into_iter().map(Arc::new).collect(), ..Discovery::default() }
    }

    fn chosen(id: &str, remote: &str, defaults: Value) -> ChosenTool {
        let Value::Object(defaults) = defaults else { panic!("an object") };
        ChosenTool { id: id.to_owned(), remote: remote.to_owned(), defaults, formatter: None }
    }

    fn names(discovery: &Discovery) -> Vec<&str> {
        discovery.tools.iter().map(|tool| tool.name()).collect()
    }

    #[test]
    fn a_policy_filters_and_changes_nothing() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let table: [(ServerToolFilter, &[&str]); 4] = [
            (ServerToolFilter::All, &["brave_web_search", "other"]),
            (ServerToolFilter::Except(list(&["other"])), &["brave_web_search"]),
            (ServerToolFilter::Exactly(list(&["other", "lost"])), &["other"]),
            (ServerToolFilter::None, &[]),
        ];
        for (policy, expected) in table {
            let found = choose(&ToolChoice::Policy(policy), offered());
            assert_eq!(names(&found), expected);
        }
        let found = choose(&ToolChoice::default(), offered());
        assert_eq!(serde_json::to_string(&found.tools[0]).unwrap(), SEARCH);
    }

    #[test]
    fn a_chosen_tool_keeps_everything_but_its_name() {
        let choice = ToolChoice::Chosen(vec![chosen("search", "brave_web_search", json!({}))]);
        let found = choose(&choice, offered());
        let text = serde_json::to_string(&found.tools[0]).unwrap();
        assert_eq!(text, SEARCH.replace("brave_web_search", "search"));
    }

    #[test]
    fn defaults_ease_the_schema_and_nothing_else_of_it() {
        let defaults = json!({ "count": 5, "any": 1, "unknown": true });
        let twice = vec![
            chosen("search", "brave_web_search", defaults),
            chosen("plain", "brave_web_search", json!({})),
            chosen("lost", "nothing", json!({})),
        ];
        let found = choose(&ToolChoice::Chosen(twice), offered());
        assert_eq!(names(&found), ["search", "plain"]);
        let text = serde_json::to_string(&found.tools[0]).unwrap();
        let expected = SEARCH
            .replace("brave_web_search", "search")
            .replace(r#""default":10"#, r#""default":5"#)
            .replace(r#"["query","count"]"#, r#"["query"]"#);
        assert_eq!(text, expected);
        assert_eq!(found.problems[0].reason, "the server has no tool `nothing`");
    }

    #[test]
    fn the_callers_arguments_win_and_stay_as_they_are() {
        let Value::Object(defaults) = json!({ "count": 5, "deep": { "a": 1 } }) else { panic!() };
        let merged = |text: Option<&str>| {
            let raw = text.map(|text| RawValue::from_string(text.to_owned()).unwrap());
            with_defaults(&defaults, raw.as_deref()).map(|merged| merged.get().to_owned())
        };
        assert_eq!(merged(None).unwrap(), r#"{"count":5,"deep":{"a":1}}"#);
        let given = r#"{"q":1.50,"deep":{"b":2}}"#;
        assert_eq!(merged(Some(given)).unwrap(), r#"{"q":1.50,"deep":{"b":2},"count":5}"#);
        assert_eq!(merged(Some(r#"{"count":null,"deep":0}"#)), None);
        assert_eq!(merged(Some("[]")), None);
    }
}

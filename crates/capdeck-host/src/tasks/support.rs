//! Which sides support tasks, and the translation of what they declare.

use capdeck_backend::CallError;
use capdeck_catalog::{RawMembers, ServerDetails, Tool};
use serde_json::{Value, json, value::RawValue};

use super::{EXTENSION, TaskForm};
use crate::{Session, raw};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolTaskSupport {
    Forbidden,
    Optional,
    Required,
}

impl ToolTaskSupport {
    pub(super) fn from_tool(tool: Option<&Tool>) -> Self {
        let execution = tool.and_then(|tool| raw::value(tool.raw().get("execution")?));
        match execution.as_ref().and_then(|execution| execution["taskSupport"].as_str()) {
            Some("optional") => Self::Optional,
            Some("required") => Self::Required,
            _ => Self::Forbidden,
        }
    }
}

/// True when the client declared the extension.
pub(super) fn declares_tasks(session: &Session) -> bool {
    has_extension(&session.connections.audience().client().capabilities)
}

/// Translates a server's task capabilities into the form that the client of a session knows.
pub fn describe_server(session: &Session, facts: &mut ServerDetails) {
    match (session.tasks, facts.is_modern()) {
        (TaskForm::Extension, false) => {
            let offers = offers_core(facts);
            facts.capabilities.shift_remove("tasks");
            if offers {
                facts.capabilities = with_extension(&facts.capabilities);
            }
        }
        (TaskForm::Core, true) if has_extension(&facts.capabilities) => {
            facts.capabilities = without_extension(&facts.capabilities);
            let tasks = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
            facts.capabilities.extend(raw::object([("tasks", tasks)]));
        }
        _ => {}
    }
}

pub(super) fn offers_core(facts: &ServerDetails) -> bool {
    let tasks: Option<Value> = raw::get(&facts.capabilities, "tasks");
    tasks.is_some_and(|tasks| tasks["requests"]["tools"].get("call").is_some_and(Value::is_object))
}

pub(crate) fn has_extension(capabilities: &RawMembers) -> bool {
    // Almost no party has extensions, so almost nothing is parsed.
    capabilities.contains_key("extensions") && extensions(capabilities).contains_key(EXTENSION)
}

pub(crate) fn without_extension(capabilities: &RawMembers) -> RawMembers {
    let mut capabilities = capabilities.clone();
    let mut extensions = extensions(&capabilities);
    if extensions.shift_remove(EXTENSION).is_some() {
        match extensions.is_empty() {
            true => drop(capabilities.shift_remove("extensions")),
            false => raw::set(&mut capabilities, "extensions", &extensions),
        }
    }
    capabilities
}

pub(crate) fn with_extension(capabilities: &RawMembers) -> RawMembers {
    let mut capabilities = capabilities.clone();
    let mut extensions = extensions(&capabilities);
    raw::set(&mut extensions, EXTENSION, &json!({}));
    raw::set(&mut capabilities, "extensions", &extensions);
    capabilities
}

pub(crate) fn with_task_support(page: &RawValue) -> raw::Answer {
    let mut page: RawMembers = serde_json::from_str(page.get()).map_err(CallError::internal)?;
    let Some(tools) = page.get("tools") else { return raw::text(&page) };
    let mut tools: Vec<RawMembers> =
        serde_json::from_str(tools.get()).map_err(CallError::internal)?;
    for tool in &mut tools {
        let mut execution: RawMembers = raw::get(tool, "execution").unwrap_or_default();
        if !execution.contains_key("taskSupport") {
            raw::set(&mut execution, "taskSupport", "optional");
            raw::set(tool, "execution", &execution);
        }
    }
    raw::set(&mut page, "tools", &tools);
    raw::text(&page)
}

fn extensions(capabilities: &RawMembers) -> RawMembers {
    raw::get(capabilities, "extensions").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: &Value) -> RawMembers {
        serde_json::from_str(&value.to_string()).unwrap()
    }

    #[test]
    fn what_a_tool_says_about_tasks_is_read_and_anything_else_is_no() {
        for (execution, support) in [
            (json!({"taskSupport": "optional"}), ToolTaskSupport::Optional),
            (json!({"taskSupport": "required"}), ToolTaskSupport::Required),
            (json!({"taskSupport": "forbidden"}), ToolTaskSupport::Forbidden),
            (json!({"taskSupport": 7}), ToolTaskSupport::Forbidden),
            (json!("odd"), ToolTaskSupport::Forbidden),
        ] {
            let tool = Tool::new(object(&json!({"name": "t", "execution": execution}))).unwrap();
            assert_eq!(ToolTaskSupport::from_tool(Some(&tool)), support, "{execution}");
        }
        assert_eq!(ToolTaskSupport::from_tool(None), ToolTaskSupport::Forbidden);
    }

    #[test]
    fn the_extension_comes_and_goes_and_the_rest_stays() {
        let bare = object(&json!({"roots": {}}));
        let with = with_extension(&bare);
        assert!(has_extension(&with) && !has_extension(&bare));
        assert_eq!(
            serde_json::to_value(without_extension(&with)).unwrap(),
            json!({"roots": {}}),
            "an empty list of extensions is none"
        );
        let other = object(&json!({"extensions": {"com.example/x": {"y": 1}, EXTENSION: {}}}));
        assert_eq!(
            serde_json::to_value(without_extension(&other)).unwrap(),
            json!({"extensions": {"com.example/x": {"y": 1}}})
        );
    }

    #[test]
    fn each_tool_of_a_page_may_be_asked_for_as_a_task_unless_it_says_otherwise() {
        let page = json!({"tools": [{"name": "a"},
            {"name": "b", "execution": {"taskSupport": "required"}}], "nextCursor": "c"});
        let page = with_task_support(&raw::text(&page).unwrap()).unwrap();
        let page: Value = serde_json::from_str(page.get()).unwrap();
        let support = |number: usize| &page["tools"][number]["execution"]["taskSupport"];
        assert_eq!((support(0), support(1)), (&json!("optional"), &json!("required")));
        assert_eq!(page["nextCursor"], "c");
    }
}

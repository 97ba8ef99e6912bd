//! Which tools of a server an agent uses, as each agent writes it.

use serde_json::{Map, Value, json};

/// Keys for the only tools that are used.
const ONLY: [&str; 4] = ["enabled_tools", "includeTools", "available_tools", "tools"];

/// Keys for tools that are not used.
const NOT: [&str; 3] = ["disabled_tools", "excludeTools", "disabledTools"];

/// What the lists of one server say.
#[derive(Debug, Default)]
pub(super) struct ToolLists {
    only: Option<Vec<String>>,
    not: Vec<String>,
}

impl ToolLists {
    /// Takes a key that is such a list. False for every other key.
    pub(super) fn take(&mut self, key: &str, value: &Value) -> bool {
        let Some(names) = names(value) else { return false };
        if NOT.contains(&key) {
            self.not.extend(names);
        } else if ONLY.contains(&key) {
            // Goose writes an empty list for all of them, Copilot a star. An empty list of others is not understood here.
            if names.iter().any(|name| name == "*")
                || (key == "available_tools" && names.is_empty())
            {
                return true;
            }
            if names.is_empty() {
                return false;
            }
            self.only = Some(names);
        } else {
            return false;
        }
        true
    }

    /// The choice as a capability file has it. None where every tool is used.
    pub(super) fn choice(self) -> Option<Value> {
        let Self { only, not } = self;
        let mut choice = Map::new();
        choice.extend(only.map(|only| ("exactly".to_owned(), json!(only))));
        if !not.is_empty() {
            choice.insert("except".to_owned(), json!(not));
        }
        (!choice.is_empty()).then_some(Value::Object(choice))
    }
}

/// The names in a list of texts. Gemini CLI writes some with what they are called with, as in `shell(git)`.
fn names(value: &Value) -> Option<Vec<String>> {
    let name = |item: &Value| item.as_str()?.split('(').next().map(str::to_owned);
    value.as_array()?.iter().map(name).collect()
}

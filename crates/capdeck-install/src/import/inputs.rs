//! Values that an agent asks the person for: VS Code's `inputs`, named in entries as `${input:ID}`.

use serde_json::Value;

/// What the document says about its inputs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClientInputs(Vec<ClientInput>);

#[derive(Debug, Clone, PartialEq)]
struct ClientInput {
    id: String,
    description: String,
    /// The value where the person gives none. Secrets have none.
    default: Option<String>,
}

/// A value that has to be put into the vault before the server can start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingSecret {
    /// The entry of the vault.
    pub name: String,
    /// What the agent's file says about it.
    pub description: String,
}

impl ClientInputs {
    /// The inputs of a document, at its top or beside the servers in `mcp`.
    pub fn of_document(root: &Value) -> Self {
        let lists = [root.get("inputs"), root.pointer("/mcp/inputs")];
        let items = lists.into_iter().flatten().filter_map(Value::as_array).flatten();
        Self(items.filter_map(ClientInput::read).collect())
    }

    /// Rewrites every `${input:ID}` below a value: a default in its place, else a reference to the vault. Returns what the
    /// vault must have.
    pub(super) fn fill(
        &self,
        value: &mut Value,
        entry_name: impl Fn(&str) -> String,
    ) -> Vec<MissingSecret> {
        let mut missing = Vec::new();
        self.fill_texts(value, &entry_name, &mut missing);
        missing
    }

    fn fill_texts(
        &self,
        value: &mut Value,
        entry_name: &impl Fn(&str) -> String,
        missing: &mut Vec<MissingSecret>,
    ) {
        match value {
            Value::String(text) => *text = self.filled(text, entry_name, missing),
            Value::Array(items) => {
                items.iter_mut().for_each(|item| self.fill_texts(item, entry_name, missing));
            }
            Value::Object(entries) => {
                let values = entries.values_mut();
                values.for_each(|value| self.fill_texts(value, entry_name, missing));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn filled(
        &self,
        text: &str,
        entry_name: &impl Fn(&str) -> String,
        missing: &mut Vec<MissingSecret>,
    ) -> String {
        let mut parts = text.split("${input:");
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let Some((id, rest)) = part.split_once('}') else {
                filled.push_str("${input:");
                filled.push_str(part);
                continue;
            };
            let input = self.0.iter().find(|input| input.id == id);
            match input.and_then(|input| input.default.as_deref()) {
                Some(default) => filled.push_str(default),
                None => {
                    let name = entry_name(id);
                    filled.push_str(&format!("${{vault:{name}}}"));
                    if !missing.iter().any(|known| known.name == name) {
                        let description = input.map_or(id, |input| &input.description);
                        missing.push(MissingSecret { name, description: description.to_owned() });
                    }
                }
            }
            filled.push_str(rest);
        }
        filled
    }
}

impl ClientInput {
    fn read(input: &Value) -> Option<Self> {
        let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
        let id = text("id")?;
        let is_secret = input.get("password").and_then(Value::as_bool) == Some(true);
        let default = text("default").filter(|default| !is_secret && !default.is_empty());
        Some(Self { description: text("description").unwrap_or_else(|| id.clone()), id, default })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn inputs_become_defaults_or_entries_of_the_vault() {
        let inputs = ClientInputs::of_document(&json!({ "inputs": [
            { "id": "key", "type": "promptString", "description": "The API key", "password": true, "default": "x" },
            { "id": "region", "type": "pickString", "default": "eu" },
        ] }));
        let mut server = json!({
            "args": ["--region=${input:region}", "${input:key}", "${input:"],
            "env": { "A": "Bearer ${input:key}", "B": "${input:other}/${HOME}" },
        });
        let missing = inputs.fill(&mut server, |id| format!("S_{}", id.to_uppercase()));
        let expected = json!({
            "args": ["--region=eu", "${vault:S_KEY}", "${input:"],
            "env": { "A": "Bearer ${vault:S_KEY}", "B": "${vault:S_OTHER}/${HOME}" },
        });
        assert_eq!(server, expected);
        let secret = |name: &str, description: &str| MissingSecret {
            name: name.to_owned(),
            description: description.to_owned(),
        };
        assert_eq!(missing, [secret("S_KEY", "The API key"), secret("S_OTHER", "other")]);
    }
}

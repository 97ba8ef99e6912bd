//! References to variables, as each client writes them, in the form definitions have.

use serde_json::Value;

/// What only the client that reads the file can fill in.
const ONLY_THERE: [&str; 5] =
    ["${input:", "${command:", "${workspaceFolder", "${file", "${config:"];

/// Rewrites every text below a value; says what cannot be rewritten.
pub(super) fn translate(value: &mut Value) -> Result<(), String> {
    match value {
        Value::String(text) => {
            if let Some(found) = ONLY_THERE.iter().find(|word| text.contains(**word)) {
                let word = found.trim_start_matches("${").trim_end_matches(':');
                return Err(format!("it uses `{word}`, which only the client knows"));
            }
            if text.contains("${env:") {
                *text = text.replace("${env:", "${");
            }
            // OpenCode's form, without a dollar sign.
            while let Some(name) = between(text, "{env:", "}") {
                *text = text.replace(&format!("{{env:{name}}}"), &format!("${{{name}}}"));
            }
            if text.contains("{file:") {
                return Err("it reads a file into its configuration".to_owned());
            }
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(translate),
        Value::Object(entries) => entries.values_mut().try_for_each(translate),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

fn between(text: &str, open: &str, close: &str) -> Option<String> {
    let (_, rest) = text.split_once(open)?;
    rest.split_once(close).map(|(inside, _)| inside.to_owned())
}

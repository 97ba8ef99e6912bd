//! Keeps a caller's value from becoming an option of the program that gets it.
//!
//! A value that begins a word of a command line must not begin with `-`: which options a program has, and which of them
//! take the next word, cannot be known in general. It may after a `--` of the author, or where the definition allows it.

use capdeck_definition::{
    ALLOW_LEADING_DASH, capability_file::command_line::is_shell, first_letters,
};
use serde_json::{Map, Value};

use crate::CallError;

const MAX_SHOWN: usize = 40;

/// Follows the words of one command line.
#[derive(Debug)]
pub(crate) struct OptionGuard<'a> {
    program: &'a str,
    schema: Option<&'a Map<String, Value>>,
    /// Whether the author wrote `--`.
    options_ended: bool,
}

impl<'a> OptionGuard<'a> {
    pub(crate) fn new(program: &'a str, schema: Option<&'a Map<String, Value>>) -> Self {
        Self { program, schema, options_ended: false }
    }

    pub(crate) fn pass_word(&mut self, written: &str) {
        // A shell gives `--` and what follows to its script.
        self.options_ended |= written == "--" && !is_shell(self.program);
    }

    /// Checks a value that begins a word. `path` is the argument, with dots for values inside others.
    pub(crate) fn check(&self, path: &str, value: &Value, text: &str) -> Result<(), CallError> {
        if !text.starts_with('-') || self.options_ended || self.is_allowed(path, value) {
            return Ok(());
        }
        let shown = first_letters(text, MAX_SHOWN);
        let name = path.rsplit('.').next().unwrap_or(path);
        Err(CallError::invalid_request(format!(
                "argument `{path}` begins with `-`, and `{}` could take it for an option: `{shown}`",
                self.program
            ),
        )
        .hint(format!(
            "give a value that does not begin with `-` (a file: `./-name`); the author of the tool can put `--` before the \
             word, write it as `--{name}=…`, or set `{ALLOW_LEADING_DASH}: true` on the argument"
        )))
    }

    fn is_allowed(&self, path: &str, value: &Value) -> bool {
        let Some(property) = self.property(path) else { return false };
        property.get(ALLOW_LEADING_DASH) == Some(&Value::Bool(true))
            || is_authors_value(property, value)
            || property.get("items").is_some_and(|items| is_authors_value(items, value))
            || (value.is_number() && reaches_below_zero(property))
    }

    fn property(&self, path: &str) -> Option<&'a Value> {
        let mut steps = path.split('.');
        let mut property = self.schema?.get("properties")?.get(steps.next()?)?;
        for step in steps {
            property = property.get("properties")?.get(step)?;
        }
        Some(property)
    }
}

fn is_authors_value(property: &Value, value: &Value) -> bool {
    let choices = property.get("enum").and_then(Value::as_array);
    choices.is_some_and(|choices| choices.contains(value))
        || ["const", "default"].iter().any(|key| property.get(key) == Some(value))
}

fn reaches_below_zero(property: &Value) -> bool {
    let mut bounds = ["minimum", "exclusiveMinimum"].iter().filter_map(|key| property.get(key));
    bounds.any(|bound| bound.as_f64().is_some_and(|bound| bound < 0.0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_refused(words: &[&str], name: &str, value: Value) -> bool {
        let schema = json!({ "properties": {
            "text": { "type": "string" },
            "open": { "type": "string", "allowLeadingDash": true },
            "mode": { "enum": ["-v", "-q"] },
            "list": { "type": "array", "items": { "enum": ["-a"] } },
            "count": { "type": "integer" },
            "degrees": { "type": "number", "minimum": -90 },
            "deep": { "properties": { "er": { "const": "-x" } } },
        } });
        let (program, words) = words.split_first().unwrap();
        let mut guard = OptionGuard::new(program, schema.as_object());
        words.iter().for_each(|word| guard.pass_word(word));
        let text = crate::arguments::scalar_text(&value).unwrap();
        guard.check(name, &value, &text).is_err()
    }

    #[test]
    fn a_value_is_an_option_only_where_the_author_says_so() {
        for (name, value) in [
            ("text", json!("--help")),
            ("text", json!("-")),
            ("text", json!("-5")),
            ("unknown", json!("-x")),
            ("mode", json!("-x")),
            ("list", json!("-b")),
            ("count", json!(-5)),
            ("degrees", json!("-5")),
            ("deep.er", json!("-y")),
            ("deep.none", json!("-y")),
        ] {
            assert!(is_refused(&["ls", "-l"], name, value.clone()), "{name} {value}");
            assert!(!is_refused(&["ls", "--"], name, value.clone()), "{name} {value}");
            assert!(is_refused(&["/bin/sh", "--"], name, value.clone()), "{name} {value}");
        }
        for (name, value) in [
            ("text", json!("a -b")),
            ("text", json!("")),
            ("text", json!(" -x")),
            ("open", json!("--help")),
            ("mode", json!("-q")),
            ("list", json!("-a")),
            ("count", json!(5)),
            ("degrees", json!(-5.5)),
            ("deep.er", json!("-x")),
        ] {
            assert!(!is_refused(&["ls", "-l"], name, value.clone()), "{name} {value}");
        }
    }
}

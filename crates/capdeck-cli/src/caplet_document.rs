//! The text of a new capability file.

use serde_json::{Map, Value, json};

use crate::errors::Failure;

/// A capability file before it is text.
pub(crate) struct Document {
    frontmatter: Map<String, Value>,
    name: String,
    description: String,
}

/// The key and the fields of a backend, as a file writes them.
pub(crate) struct BackendBlock {
    pub(crate) key: &'static str,
    pub(crate) fields: Value,
    /// What it is, for a description nobody wrote.
    pub(crate) summary: String,
}

/// What people say about a capability; the rest is made up from its id and its backend.
pub(crate) struct Words<'a> {
    pub(crate) id: &'a str,
    pub(crate) name: Option<&'a str>,
    pub(crate) description: Option<&'a str>,
    pub(crate) tags: &'a [String],
}

impl Document {
    pub(crate) fn new(words: &Words<'_>, block: BackendBlock) -> Self {
        let name = words.name.map_or_else(|| title(words.id), str::to_owned);
        let description = words.description.map_or(block.summary, str::to_owned);
        let mut frontmatter = Map::new();
        frontmatter.insert("name".to_owned(), json!(name));
        frontmatter.insert("description".to_owned(), json!(description));
        if !words.tags.is_empty() {
            frontmatter.insert("tags".to_owned(), json!(words.tags));
        }
        frontmatter.insert(block.key.to_owned(), block.fields);
        Self { frontmatter, name, description }
    }

    /// Frontmatter as YAML, then a body for people.
    pub(crate) fn render(&self) -> Result<String, Failure> {
        let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
        let yaml =
            serde_saphyr::to_string_with_options(&self.frontmatter, options).map_err(|error| {
                Failure::bug(format!("the file cannot be written as YAML: {error}"))
            })?;
        let (name, description) = (&self.name, &self.description);
        Ok(format!("---\n{}\n---\n\n# {name}\n\n{description}\n", yaml.trim_end()))
    }
}

/// `my-files` becomes `My files`.
fn title(id: &str) -> String {
    let words = id.replace(['-', '_'], " ");
    let mut letters = words.trim().chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => id.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_made_from_ids() {
        for (id, name) in [("my-files", "My files"), ("gh", "Gh"), ("_", "_"), ("a_b-c", "A b c")] {
            assert_eq!(title(id), name);
        }
    }

    #[test]
    fn text_that_yaml_would_misread_comes_back_as_it_was() {
        let tricky = json!({
            "a": "yes", "b": "1.0", "c": "null", "d": "${X}: # y", "e": "- x", "f": "line\nbreak", "g": "",
            "h": "@at", "i": "*star", "j": "0x1F", "k": "a: b", "l": " padded ", "m": "'q' \"r\"", "n": "on",
            "o": "2024-01-01", "p": "%x", "q": "!t", "r": "---", "s": "é\u{202e}", "t": ["~", true, 3, {"u": "off"}],
        });
        let Value::Object(frontmatter) = tricky.clone() else { unreachable!() };
        let document = Document { frontmatter, name: String::new(), description: String::new() };
        let text = document.render().unwrap();
        let yaml = text.strip_prefix("---\n").unwrap().split("\n---\n").next().unwrap();
        let read: Value = serde_saphyr::from_str(yaml).unwrap();
        assert_eq!(read, tricky, "{text}");
    }
}

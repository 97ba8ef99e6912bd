//! The lines between `---` at the head of a Markdown file: read leniently, written so that every reader agrees.

use capdeck_definition::split_frontmatter;
use serde_json::{Map, Value};

use crate::edit::{ConfigDocument, FileFormat};

/// A Markdown file, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MarkdownFrontmatter<'a> {
    pub(crate) fields: Map<String, Value>,
    pub(crate) body: &'a str,
}

impl<'a> MarkdownFrontmatter<'a> {
    /// Reads a text. One without a header has no fields. A header that is not YAML is read line by line, as many
    /// agents do.
    pub(crate) fn parse(text: &'a str) -> Self {
        match split_frontmatter(text) {
            Ok((header, body)) => Self { fields: read(header), body },
            Err(_) => Self { fields: Map::new(), body: text },
        }
    }

    /// A field that is a text with something in it.
    pub(crate) fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
    }
}

/// Writes a header and what follows it. Without fields there is no header.
pub(crate) fn render_frontmatter(fields: &Map<String, Value>, body: &str) -> String {
    if fields.is_empty() {
        return body.to_owned();
    }
    let mut text = "---\n".to_owned();
    for (name, value) in fields {
        text.push_str(&render_field(name, value));
    }
    text.push_str("---\n\n");
    text.push_str(body.trim_start_matches(['\n', '\r']));
    text
}

/// One line, or for a list of several texts one line each.
pub(crate) fn render_field(name: &str, value: &Value) -> String {
    let name = scalar(&Value::from(name));
    match value {
        Value::Array(items) if items.len() == 1 => {
            format!("{name}: {}\n", items.iter().map(scalar).collect::<String>())
        }
        Value::Array(items) if !items.is_empty() => {
            let lines: String =
                items.iter().map(|item| format!("  - {}\n", scalar(item))).collect();
            format!("{name}:\n{lines}")
        }
        value => format!("{name}: {}\n", scalar(value)),
    }
}

/// A value in one line. JSON is YAML; only texts that can mean nothing else are written without quotes.
fn scalar(value: &Value) -> String {
    let Value::String(text) = value else { return value.to_string() };
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/' | ' ' | '.');
    let lower = text.to_ascii_lowercase();
    let means_something = matches!(
        lower.as_str(),
        "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "y" | "n"
    );
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(is_word)
        && !text.ends_with(' ')
        && !means_something;
    if is_plain { text.clone() } else { value.to_string() }
}

fn read(header: &str) -> Map<String, Value> {
    if let Ok(document) = ConfigDocument::parse(header, FileFormat::Yaml)
        && let Value::Object(fields) = document.value()
    {
        return fields.clone();
    }
    let line = |line: &str| {
        let (name, value) = line.split_once(':')?;
        let is_name = !name.is_empty() && !name.starts_with([' ', '\t', '#', '-']);
        let value = value.trim().trim_matches(['"', '\'']);
        is_name.then(|| (name.trim().to_owned(), Value::from(value)))
    };
    header.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(fields) => fields,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn headers_are_read_even_where_they_are_not_quite_yaml() {
        let good = MarkdownFrontmatter::parse("---\nname: a\nglobs: [x, y]\n---\nbody\n");
        assert_eq!(good.fields, fields(json!({"name": "a", "globs": ["x", "y"]})));
        assert_eq!(good.body, "body\n");
        let loose =
            MarkdownFrontmatter::parse("---\r\nname: a\r\ndescription: use: *.ts\r\n---\r\nbody");
        assert_eq!(loose.text("description"), Some("use: *.ts"));
        assert_eq!(loose.body, "body");
        for text in ["# no header", "---\nnever closed\n", "", "---"] {
            assert_eq!(MarkdownFrontmatter::parse(text).body, text);
        }
    }

    #[test]
    fn what_is_written_reads_back_as_it_was() {
        let values = json!({
            "description": "say \"hi\": # not a comment\n---\n$& *.ts",
            "globs": ["*.ts", "src/**/*.rs"],
            "one": ["*"],
            "plain": "web pages",
            "word": "no",
            "number": "12",
            "always": true,
            "empty": "",
            "odd: key": "é\u{200b}"
        });
        let expected = fields(values);
        let text = render_frontmatter(&expected, "\nbody\n");
        let read = MarkdownFrontmatter::parse(&text);
        let mut wanted = expected.clone();
        wanted.insert("one".to_owned(), json!("*"));
        assert_eq!(read.fields, wanted, "{text}");
        assert_eq!(read.body, "\nbody\n");
        assert!(text.contains("plain: web pages\n"), "{text}");
    }
}

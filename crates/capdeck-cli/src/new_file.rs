//! Writes a new file whole or not at all.

use std::path::Path;

use capdeck_install::OverwritePolicy;
use capdeck_storage::{FileReaders, stage_file};
use serde_json::{Value, json};

use crate::{errors::CommandFailure, plain_text::without_nulls};

/// Writes `text` to `path`, making its folder. Another process sees the old file or the new one, never a part.
pub(crate) fn write_new(
    path: &Path,
    text: &str,
    existing: OverwritePolicy,
    readers: FileReaders,
) -> Result<(), CommandFailure> {
    let failed = |error| CommandFailure::file("write", path, &error);
    let staged = stage_file(path, text.as_bytes(), readers).map_err(failed)?;
    let is_written = match existing {
        OverwritePolicy::Overwrite => staged.replace().map(|()| true),
        OverwritePolicy::Keep => staged.create(),
    };
    if is_written.map_err(failed)? { Ok(()) } else { Err(already_there(path)) }
}

/// The refusal to touch a file that is already there.
pub(crate) fn already_there(path: &Path) -> CommandFailure {
    CommandFailure::request("FILE_EXISTS", format!("`{}` is already there", path.display()))
        .hint("replace it with --force, or choose another id")
}

/// The key and the fields of a backend, as a file writes them. Fields that are `null` are left out.
pub(crate) struct BackendBlock {
    pub(crate) key: &'static str,
    pub(crate) fields: Value,
    /// The description to use when none is given.
    pub(crate) summary: String,
}

/// The text of a capability file. What is not said about it is made up from its id and its backend.
pub(crate) fn caplet_text(
    id: &str,
    name: Option<&str>,
    description: Option<&str>,
    tags: &[String],
    block: BackendBlock,
) -> Result<String, CommandFailure> {
    let name = name.map_or_else(|| title(id), str::to_owned);
    let description = description.map_or(block.summary, str::to_owned);
    let frontmatter = json!({
        "name": name,
        "description": description,
        "tags": (!tags.is_empty()).then_some(tags),
        block.key: without_nulls(block.fields),
    });
    render(&without_nulls(frontmatter), &name, &description)
}

/// Frontmatter as YAML, then a body for people.
fn render(frontmatter: &Value, name: &str, description: &str) -> Result<String, CommandFailure> {
    document_text(frontmatter, &format!("\n# {name}\n\n{description}\n"))
}

/// Frontmatter as YAML, then a body.
pub(crate) fn document_text(frontmatter: &Value, body: &str) -> Result<String, CommandFailure> {
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    let yaml = serde_saphyr::to_string_with_options(frontmatter, options).map_err(|error| {
        CommandFailure::bug(format!("the file cannot be written as YAML: {error}"))
    })?;
    Ok(format!("---\n{}\n---\n{body}", yaml.trim_end()))
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
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    #[test]
    fn an_existing_file_is_replaced_only_on_request() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/er/a.md");
        write_new(&path, "one", OverwritePolicy::Keep, FileReaders::Owner).unwrap();
        let refused =
            write_new(&path, "two", OverwritePolicy::Keep, FileReaders::Owner).unwrap_err();
        assert_eq!(refused.code, "FILE_EXISTS");
        assert_eq!(fs::read_to_string(&path).unwrap(), "one");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

        write_new(&path, "three", OverwritePolicy::Overwrite, FileReaders::Unchanged).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(left.len(), 1, "no temporary file is left behind");
    }

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
        let text = render(&tricky, "", "").unwrap();
        let yaml = text.strip_prefix("---\n").unwrap().split("\n---\n").next().unwrap();
        let read: Value = serde_saphyr::from_str(yaml).unwrap();
        assert_eq!(read, tricky, "{text}");
    }
}

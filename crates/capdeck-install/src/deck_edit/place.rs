//! The place of one definition: a file, a folder, or an entry of a file.

use std::{
    fs,
    path::{Path, PathBuf},
};

use capdeck_definition::{PLURAL_KEYS, SINGULAR_KEYS, split_frontmatter};
use serde_json::{Value, json};

use super::{DeckEditError, read};
use crate::{
    edit::{ConfigDocument, DocumentStep, FileFormat},
    import::id_of,
};

/// Where a definition is written.
#[derive(Debug, Clone, PartialEq)]
pub enum DefinitionPlace {
    /// `<id>.md`, and nothing else is in it.
    File(PathBuf),
    /// The folder of a `CAPLET.md`.
    Folder(PathBuf),
    /// One of several in a file.
    Entry { file: PathBuf, steps: Vec<DocumentStep> },
}

/// What an id is made of besides the definition's own name.
#[derive(Debug, Clone, Copy, Default)]
pub struct DefinitionOwner<'a> {
    /// The id of the file that declares several.
    pub parent: Option<&'a str>,
    /// The id of the set that it is a member of.
    pub set: Option<&'a str>,
}

/// The name of the file in a folder that is one capability.
const MAIN_FILE: &str = "CAPLET.md";

impl DefinitionPlace {
    /// Finds the definition of `id` in its file.
    pub fn find(id: &str, file: &Path, owner: DefinitionOwner<'_>) -> Result<Self, DeckEditError> {
        let is_markdown = file.extension().is_some_and(|extension| extension == "md");
        if !is_markdown {
            let name = below(owner.set, id);
            return Self::in_document(name, file);
        }
        let Some(parent) = owner.parent else { return Ok(Self::whole(file)) };
        let name = below(Some(parent), id);
        let text = read(file)?;
        let (_, document) = header(&text, file)?;
        let children = |key: &&&str| document.value().get(**key).and_then(Value::as_object);
        let places = PLURAL_KEYS.iter().filter_map(|key| Some((*key, children(&key)?)));
        let mut count = 0;
        let mut found = None;
        for (key, children) in places {
            count += children.len();
            if children.contains_key(name) {
                found = Some(vec![DocumentStep::from(key), DocumentStep::from(name)]);
            }
        }
        match found {
            // A file that declares nothing would be broken.
            Some(_) if count == 1 => Ok(Self::whole(file)),
            Some(steps) => Ok(Self::Entry { file: file.to_owned(), steps }),
            None => Err(not_found(id, file)),
        }
    }

    /// A whole Markdown file, with its folder where that is one capability.
    fn whole(file: &Path) -> Self {
        match file.parent().filter(|_| file.file_name().is_some_and(|name| name == MAIN_FILE)) {
            Some(folder) => Self::Folder(folder.to_owned()),
            None => Self::File(file.to_owned()),
        }
    }

    fn in_document(id: &str, file: &Path) -> Result<Self, DeckEditError> {
        let text = read(file)?;
        let document = parse(&text, format_of(file), file)?;
        let place = |steps| Ok(Self::Entry { file: file.to_owned(), steps });
        for key in PLURAL_KEYS {
            let Some(Value::Object(entries)) = document.value().get(key) else { continue };
            let is_it = |name: &&String| *name == id || id_of(name).as_deref() == Some(id);
            if let Some(name) = entries.keys().find(is_it) {
                return place(vec![key.into(), name.as_str().into()]);
            }
        }
        if let Some(Value::Array(servers)) = document.value().get("servers") {
            let name = |server: &Value| server["id"].as_str().map(str::to_owned);
            let is_it = |server: &Value| {
                name(server).is_some_and(|name| name == id || id_of(&name).as_deref() == Some(id))
            };
            if let Some(index) = servers.iter().position(is_it) {
                let named = servers.get(index).and_then(name).unwrap_or_default();
                let users = users(document.value(), &named);
                if !users.is_empty() {
                    let (id, file) = (named, file.to_owned());
                    return Err(DeckEditError::InUse { id, file, users });
                }
                return place(vec!["servers".into(), DocumentStep::Index(index)]);
            }
        }
        Err(not_found(id, file))
    }

    /// The file that is edited or removed; for a folder its main file.
    pub fn file(&self) -> PathBuf {
        match self {
            Self::File(file) | Self::Entry { file, .. } => file.clone(),
            Self::Folder(folder) => folder.join(MAIN_FILE),
        }
    }

    /// What goes when it is removed.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) | Self::Folder(path) | Self::Entry { file: path, .. } => path,
        }
    }

    /// The entry as people write it, such as `mcpServers.time`.
    pub fn key(&self) -> Option<String> {
        let Self::Entry { steps, .. } = self else { return None };
        let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
        Some(steps.join("."))
    }

    /// The text of the file without the entry; none where the whole file goes.
    pub(super) fn without(&self, text: &str) -> Result<Option<String>, DeckEditError> {
        let Self::Entry { file, steps } = self else { return Ok(None) };
        edited(text, file, |document| document.remove(steps).map(drop)).map(Some)
    }

    /// The text of the file with the capability on or off.
    pub(super) fn toggled(&self, text: &str, is_disabled: bool) -> Result<String, DeckEditError> {
        let file = self.file();
        let (_, document) = header(text, &file)?;
        let steps = match self {
            Self::Entry { steps, .. } => steps.clone(),
            Self::File(_) | Self::Folder(_) => {
                let value = document.value();
                let plural = |key: &str| value.get(key).and_then(Value::as_object);
                let single = SINGULAR_KEYS.iter().find(|key| {
                    // `cliTools` is a backend where it has actions, else a map of them.
                    value
                        .get(**key)
                        .is_some_and(|block| **key != "cliTools" || block.get("actions").is_some())
                });
                match single {
                    Some(key) => vec![DocumentStep::from(*key)],
                    None => PLURAL_KEYS
                        .iter()
                        .find_map(|key| {
                            let child = plural(key)?.keys().next()?;
                            Some(vec![DocumentStep::from(*key), child.as_str().into()])
                        })
                        .ok_or_else(|| not_found("", &file))?,
                }
            }
        };
        edited(text, &file, |document| {
            let key = |name: &str| steps.iter().cloned().chain([name.into()]).collect::<Vec<_>>();
            // The words of other clients' entries mean the opposite.
            for other in ["enabled", "isActive"] {
                let is_there = document.get(&key(other)).is_some();
                if is_there {
                    document.remove(&key(other))?;
                }
            }
            if is_disabled {
                document.set(&key("disabled"), json!(true)).map(drop)
            } else {
                document.remove(&key("disabled")).map(drop)
            }
        })
    }
}

/// The part of an id that the owner's file says.
fn below<'a>(owner: Option<&str>, id: &'a str) -> &'a str {
    let rest = |owner: &str| id.strip_prefix(owner)?.strip_prefix("__");
    owner.and_then(rest).unwrap_or(id)
}

/// The tools and skills of a capability file that name a server, as `@id` or in a tool's definition.
fn users(root: &Value, server: &str) -> Vec<String> {
    let reference = format!("@{server}");
    let names_it = |value: &Value| names(value, server, &reference);
    let mut users = Vec::new();
    for (section, noun) in
        [("tools", "the tool"), ("skills", "the skill"), ("subagents", "the sub-agent")]
    {
        let entries = root.get(section).and_then(Value::as_array).into_iter().flatten();
        let named = entries.filter(|entry| names_it(entry));
        users
            .extend(named.map(|entry| format!("{noun} `{}`", entry["id"].as_str().unwrap_or("?"))));
    }
    users
}

fn names(value: &Value, server: &str, reference: &str) -> bool {
    match value {
        Value::String(text) => {
            text == reference
                || text.strip_prefix(reference).is_some_and(|rest| rest.starts_with('.'))
        }
        Value::Array(items) => items.iter().any(|item| names(item, server, reference)),
        Value::Object(entries) => entries.iter().any(|(key, value)| {
            key == "server" && value == server || names(value, server, reference)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn not_found(id: &str, file: &Path) -> DeckEditError {
    DeckEditError::NotFound { id: id.to_owned(), file: file.to_owned() }
}

fn format_of(file: &Path) -> FileFormat {
    let is_json = file.extension().is_some_and(|extension| extension == "json");
    if is_json { FileFormat::Json } else { FileFormat::Yaml }
}

fn parse(text: &str, format: FileFormat, file: &Path) -> Result<ConfigDocument, DeckEditError> {
    ConfigDocument::parse(text, format)
        .map_err(|source| DeckEditError::Syntax { file: file.to_owned(), source })
}

/// The part of a file that is a document, by where it begins, and what it says: the whole of a config, the header of a
/// Markdown file.
fn header(text: &str, file: &Path) -> Result<(usize, ConfigDocument), DeckEditError> {
    if file.extension().is_none_or(|extension| extension != "md") {
        return Ok((0, parse(text, format_of(file), file)?));
    }
    let (header, _) = split_frontmatter(text).map_err(|_| not_found("", file))?;
    let start = header.as_ptr().addr().saturating_sub(text.as_ptr().addr());
    Ok((start, parse(header, FileFormat::Yaml, file)?))
}

/// The text after an edit of its document.
fn edited(
    text: &str,
    file: &Path,
    edit: impl FnOnce(&mut ConfigDocument) -> Result<(), crate::edit::EditError>,
) -> Result<String, DeckEditError> {
    let (start, mut document) = header(text, file)?;
    let end = start + document.text().len();
    edit(&mut document).map_err(|source| DeckEditError::Edit { file: file.to_owned(), source })?;
    let around = (text.get(..start), text.get(end..));
    let (before, after) = (around.0.unwrap_or_default(), around.1.unwrap_or_default());
    Ok(format!("{before}{}{after}", document.text()))
}

/// Whether something is a link, which must not be followed when it is removed.
pub(super) fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|facts| facts.is_symlink())
}

//! Edits of configuration files as texts: what is not touched keeps every byte.
//!
//! Read [`ConfigDocument`] first. The three formats only say where a value is and how a new one is written there; that an
//! edit did what was meant, and nothing else, is checked by reading the new text again.

mod commas;
mod json;
mod splice;
mod toml;
mod tree;
mod yaml;

use std::fmt;

use serde_json::{Map, Value};

pub(crate) use self::splice::RecordedSplice;
pub use self::splice::TextSplice;

/// The formats that can be edited. JSON may have comments and trailing commas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    Json,
    Toml,
    Yaml,
}

/// One step into a document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DocumentStep {
    Key(String),
    Index(usize),
}

/// A text that its format does not allow. The file it came from must not be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct SyntaxError {
    pub line: usize,
    pub column: usize,
    pub message: String,
}

/// An edit that was not made. The document is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// A step leads into something that has no such children.
    #[error("`{at}` is {found}, not {wanted}")]
    Mismatch { at: String, found: &'static str, wanted: &'static str },
    /// The text is written in a way that cannot be changed without touching more than was asked for.
    #[error("`{at}` is written in a way that cannot be edited safely")]
    Unsafe { at: String },
}

/// A configuration file: its text and what the text says.
#[derive(Debug, Clone)]
pub struct ConfigDocument {
    format: FileFormat,
    /// A byte order mark, which the parsers do not see.
    has_mark: bool,
    text: String,
    value: Value,
}

const BYTE_ORDER_MARK: char = '\u{feff}';

impl ConfigDocument {
    /// Reads a text. An empty one is a document without a value.
    pub fn parse(text: &str, format: FileFormat) -> Result<Self, SyntaxError> {
        let bare = text.strip_prefix(BYTE_ORDER_MARK);
        let has_mark = bare.is_some();
        let text = bare.unwrap_or(text).to_owned();
        let value = read(&text, format)?;
        Ok(Self { format, has_mark, text, value })
    }

    /// The whole text, byte order mark included.
    pub fn text(&self) -> String {
        let mark = if self.has_mark { BYTE_ORDER_MARK.to_string() } else { String::new() };
        mark + &self.text
    }

    /// What the document says. TOML's dates are texts here; a document without a value is null.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The value that a path leads to.
    pub fn get(&self, path: &[DocumentStep]) -> Option<&Value> {
        get(&self.value, path)
    }

    /// Puts a value there, making the maps on the way. Returns whether anything changed.
    pub fn set(&mut self, path: &[DocumentStep], value: Value) -> Result<bool, EditError> {
        if self.get(path) == Some(&value) {
            return Ok(false);
        }
        let operation = set(&self.value, path, value)?;
        self.perform(&operation).map(|()| true)
    }

    /// Adds an item at the end of a list, making the list if there is none.
    pub fn push(&mut self, path: &[DocumentStep], item: Value) -> Result<(), EditError> {
        let operation = match self.get(path) {
            Some(Value::Array(_)) => EditOperation::Append { list: path.to_vec(), item },
            Some(Value::Null) | None => set(&self.value, path, Value::Array(vec![item]))?,
            Some(other) => {
                return Err(EditError::Mismatch {
                    at: step_path(path),
                    found: kind_of(other),
                    wanted: "a list",
                });
            }
        };
        self.perform(&operation)
    }

    /// Takes a value out. What contained it stays, even when it is empty now. Returns whether it was there.
    pub fn remove(&mut self, path: &[DocumentStep]) -> Result<bool, EditError> {
        if path.is_empty() || self.get(path).is_none() {
            return Ok(false);
        }
        self.perform(&EditOperation::Remove { path: path.to_vec() }).map(|()| true)
    }

    /// Takes out every item of a list that `is_ours` knows. Returns how many there were.
    pub fn remove_items(
        &mut self,
        list: &[DocumentStep],
        is_ours: impl Fn(&Value) -> bool,
    ) -> Result<usize, EditError> {
        let Some(Value::Array(items)) = self.get(list) else { return Ok(0) };
        let ours: Vec<usize> =
            items.iter().enumerate().filter(|(_, item)| is_ours(item)).map(|(at, _)| at).collect();
        let mut edited = self.clone();
        // From the end, so that the positions before stay true.
        for index in ours.iter().rev() {
            let mut path = list.to_vec();
            path.push(DocumentStep::Index(*index));
            edited.remove(&path)?;
        }
        *self = edited;
        Ok(ours.len())
    }

    fn perform(&mut self, operation: &EditOperation) -> Result<(), EditError> {
        let refused = || EditError::Unsafe { at: step_path(operation.place()) };
        let splices = match self.format {
            FileFormat::Json => json::edit(&self.text, operation),
            FileFormat::Toml => toml::edit(&self.text, operation),
            FileFormat::Yaml => yaml::edit(&self.text, operation),
        };
        let text = splice::apply(&self.text, splices.ok_or_else(refused)?).ok_or_else(refused)?;
        let mut expected = self.value.clone();
        operation.perform_on(&mut expected);
        let value = read(&text, self.format).map_err(|_| refused())?;
        if self.format == FileFormat::Toml {
            operation.remove_empty_parents(&mut expected, &value);
        }
        if value != expected {
            return Err(refused());
        }
        self.text = text;
        self.value = value;
        Ok(())
    }
}

impl From<&str> for DocumentStep {
    fn from(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

impl fmt::Display for DocumentStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => formatter.write_str(key),
            Self::Index(index) => write!(formatter, "{index}"),
        }
    }
}

/// A path of keys.
pub fn keys(path: &[&str]) -> Vec<DocumentStep> {
    path.iter().map(|key| DocumentStep::from(*key)).collect()
}

fn read(text: &str, format: FileFormat) -> Result<Value, SyntaxError> {
    match format {
        FileFormat::Json => json::read(text),
        FileFormat::Toml => toml::read(text),
        FileFormat::Yaml => yaml::read(text),
    }
}

fn step_path(path: &[DocumentStep]) -> String {
    if path.is_empty() {
        return "the document".to_owned();
    }
    path.iter().map(ToString::to_string).collect::<Vec<_>>().join(".")
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "empty",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}

/// One change. Its places exist in the document, so a format need not make any on the way.
#[derive(Debug, Clone)]
enum EditOperation {
    /// The document has no value yet.
    Root { value: Value },
    /// Another value in the place of one that is there.
    Replace { path: Vec<DocumentStep>, value: Value },
    /// A new key in a map.
    Insert { map: Vec<DocumentStep>, key: String, value: Value },
    /// A new item at the end of a list.
    Append { list: Vec<DocumentStep>, item: Value },
    /// A value less, with its key.
    Remove { path: Vec<DocumentStep> },
}

impl EditOperation {
    /// Where it takes place, for messages.
    fn place(&self) -> &[DocumentStep] {
        match self {
            Self::Root { .. } => &[],
            Self::Replace { path, .. } | Self::Remove { path } => path,
            Self::Insert { map, .. } => map,
            Self::Append { list, .. } => list,
        }
    }

    /// The change to the value, which the change to the text must agree with.
    fn perform_on(&self, root: &mut Value) {
        match self {
            Self::Root { value } => *root = value.clone(),
            Self::Replace { path, value } => {
                if let Some(place) = get_mut(root, path) {
                    *place = value.clone();
                }
            }
            Self::Insert { map, key, value } => {
                if let Some(Value::Object(entries)) = get_mut(root, map) {
                    entries.insert(key.clone(), value.clone());
                }
            }
            Self::Append { list, item } => {
                if let Some(Value::Array(items)) = get_mut(root, list) {
                    items.push(item.clone());
                }
            }
            Self::Remove { path } => {
                let Some((last, parents)) = path.split_last() else { return };
                match (get_mut(root, parents), last) {
                    (Some(Value::Object(entries)), DocumentStep::Key(key)) => {
                        entries.shift_remove(key);
                    }
                    (Some(Value::Array(items)), DocumentStep::Index(index))
                        if *index < items.len() =>
                    {
                        items.remove(*index);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Takes out what a removal left empty, as far as it is gone: in TOML a table with nothing in it may not be there.
    fn remove_empty_parents(&self, root: &mut Value, found: &Value) {
        let Self::Remove { path } = self else { return };
        let mut parents = path.as_slice();
        while let Some((_, rest)) = parents.split_last()
            && root != found
        {
            parents = rest;
            let is_empty = match get(root, parents) {
                Some(Value::Object(entries)) => entries.is_empty(),
                Some(Value::Array(items)) => items.is_empty(),
                _ => false,
            };
            if !is_empty {
                return;
            }
            match parents {
                [] => *root = Value::Null,
                _ => Self::Remove { path: parents.to_vec() }.perform_on(root),
            }
        }
    }
}

fn get<'a>(root: &'a Value, path: &[DocumentStep]) -> Option<&'a Value> {
    path.iter().try_fold(root, |value, step| match step {
        DocumentStep::Key(key) => value.as_object()?.get(key),
        DocumentStep::Index(index) => value.as_array()?.get(*index),
    })
}

fn get_mut<'a>(root: &'a mut Value, path: &[DocumentStep]) -> Option<&'a mut Value> {
    path.iter().try_fold(root, |value, step| match step {
        DocumentStep::Key(key) => value.as_object_mut()?.get_mut(key),
        DocumentStep::Index(index) => value.as_array_mut()?.get_mut(*index),
    })
}

/// The one change that puts `value` at `path`: as deep in the document as it goes, the missing maps as part of the value.
fn set(root: &Value, path: &[DocumentStep], value: Value) -> Result<EditOperation, EditError> {
    let mut here = root;
    for (depth, step) in path.iter().enumerate() {
        let (before, rest) = path.split_at(depth);
        // A key without a value means an empty map: `extensions:` in YAML.
        if here.is_null() {
            let value = wrap(rest, value)?;
            return Ok(match before {
                [] => EditOperation::Root { value },
                _ => EditOperation::Replace { path: before.to_vec(), value },
            });
        }
        let mismatch =
            |wanted| EditError::Mismatch { at: step_path(before), found: kind_of(here), wanted };
        match step {
            DocumentStep::Key(key) => {
                let entries = here.as_object().ok_or_else(|| mismatch("a map"))?;
                let Some(next) = entries.get(key) else {
                    let value = wrap(rest.get(1..).unwrap_or_default(), value)?;
                    return Ok(EditOperation::Insert {
                        map: before.to_vec(),
                        key: key.clone(),
                        value,
                    });
                };
                here = next;
            }
            DocumentStep::Index(index) => {
                let items = here.as_array().ok_or_else(|| mismatch("a list"))?;
                here = items.get(*index).ok_or_else(|| mismatch("a list with such an item"))?;
            }
        }
    }
    Ok(match path {
        [] if root.is_null() => EditOperation::Root { value },
        _ => EditOperation::Replace { path: path.to_vec(), value },
    })
}

/// The value inside the maps that lead to it.
fn wrap(path: &[DocumentStep], value: Value) -> Result<Value, EditError> {
    path.iter().rev().try_fold(value, |inner, step| match step {
        DocumentStep::Key(key) => Ok(Value::Object(Map::from_iter([(key.clone(), inner)]))),
        DocumentStep::Index(_) => Err(EditError::Mismatch {
            at: step_path(path),
            found: "not there",
            wanted: "a list with such an item",
        }),
    })
}

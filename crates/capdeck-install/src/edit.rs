//! Edits of configuration files as texts: what is not touched keeps every byte.
//!
//! Read [`ConfigDocument`] first. The three formats only say where a value stands and how a new one is written there; that an
//! edit did what was meant, and nothing else, is checked by reading the new text again.

mod commas;
mod json;
mod operation;
mod splice;
mod toml;
mod tree;
mod yaml;

use std::fmt;

use serde_json::Value;

use self::operation::EditOperation;

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

/// A text that is not what its format asks for. The file it came from must not be written.
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
    /// A byte order mark is kept out of the way of the parsers.
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
        operation::get(&self.value, path)
    }

    /// Puts a value there, making the maps on the way. Returns whether anything changed.
    pub fn set(&mut self, path: &[DocumentStep], value: Value) -> Result<bool, EditError> {
        if self.get(path) == Some(&value) {
            return Ok(false);
        }
        let operation = operation::set(&self.value, path, value)?;
        self.perform(&operation).map(|()| true)
    }

    /// Adds an item at the end of a list, making the list if there is none.
    pub fn push(&mut self, path: &[DocumentStep], item: Value) -> Result<(), EditError> {
        let operation = match self.get(path) {
            Some(Value::Array(_)) => EditOperation::Append { list: path.to_vec(), item },
            Some(Value::Null) | None => {
                operation::set(&self.value, path, Value::Array(vec![item]))?
            }
            Some(other) => {
                return Err(EditError::Mismatch {
                    at: shown(path),
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
        let refused = || EditError::Unsafe { at: shown(operation.place()) };
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

impl From<usize> for DocumentStep {
    fn from(index: usize) -> Self {
        Self::Index(index)
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

fn shown(path: &[DocumentStep]) -> String {
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

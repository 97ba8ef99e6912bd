//! What an edit means, apart from any format.

use serde_json::{Map, Value};

use super::{DocumentStep, EditError, kind_of, shown};

/// One change. Its places exist in the document, so a format need not make any on the way.
#[derive(Debug, Clone)]
pub(super) enum EditOperation {
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
    pub(super) fn place(&self) -> &[DocumentStep] {
        match self {
            Self::Root { .. } => &[],
            Self::Replace { path, .. } | Self::Remove { path } => path,
            Self::Insert { map, .. } => map,
            Self::Append { list, .. } => list,
        }
    }

    /// The change to the value, which the change to the text must agree with.
    pub(super) fn perform_on(&self, root: &mut Value) {
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
    pub(super) fn remove_empty_parents(&self, root: &mut Value, found: &Value) {
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

/// The value a path leads to.
pub(super) fn get<'a>(root: &'a Value, path: &[DocumentStep]) -> Option<&'a Value> {
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
pub(super) fn set(
    root: &Value,
    path: &[DocumentStep],
    value: Value,
) -> Result<EditOperation, EditError> {
    let mut here = root;
    for (depth, step) in path.iter().enumerate() {
        let (before, rest) = path.split_at(depth);
        // A key without a value stands for an empty map: `extensions:` in YAML.
        if here.is_null() {
            let value = wrap(rest, value)?;
            return Ok(match before {
                [] => EditOperation::Root { value },
                _ => EditOperation::Replace { path: before.to_vec(), value },
            });
        }
        let mismatch =
            |wanted| EditError::Mismatch { at: shown(before), found: kind_of(here), wanted };
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
            at: shown(path),
            found: "not there",
            wanted: "a list with such an item",
        }),
    })
}

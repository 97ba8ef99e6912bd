//! Our values in a configuration file.

use serde_json::{Map, Value};

use super::{desired_files::DocumentPart, manifest::PartRecord};
use crate::{
    atomic_file::OverwritePolicy,
    edit::{ConfigDocument, DocumentStep, EditError, FileFormat},
};

/// Names of ours begin so. What is named otherwise is not touched.
pub(crate) const NAME_PREFIX: &str = "capdeck:";

/// The key of the hooks of a group.
const HOOKS_KEY: &str = "hooks";

/// A shared file after an edit.
#[derive(Debug)]
pub(crate) struct DocumentEdit {
    /// With our values.
    pub(crate) text: String,
    /// Without them.
    pub(crate) base: String,
    pub(crate) parts: Vec<PartRecord>,
    /// Values that were changed since, which stay.
    pub(crate) kept: Vec<String>,
}

/// Sets what is desired, removes what was recorded and is not desired any more. The error says why the file cannot be
/// edited.
pub(crate) fn edit(
    text: &str,
    format: FileFormat,
    recorded: &[PartRecord],
    desired: &[DocumentPart],
    edited: OverwritePolicy,
) -> Result<DocumentEdit, String> {
    let document = ConfigDocument::parse(text, format).map_err(|error| error.to_string())?;
    let mut editing = DocumentEditor {
        with: document.clone(),
        recorded,
        overwrites: edited == OverwritePolicy::Overwrite,
        parts: Vec::new(),
        kept: Vec::new(),
    };
    let base = editing
        .remove_undesired(desired)
        .and_then(|()| desired.iter().try_for_each(|part| editing.put(part)))
        .and_then(|()| without_ours(document, recorded, desired))
        .map_err(|error| error.to_string())?;
    let DocumentEditor { with, parts, kept, .. } = editing;
    Ok(DocumentEdit { text: with.text(), base: base.text(), parts, kept })
}

/// The document as it is, less what is ours in it. One with nothing of ours keeps every byte.
fn without_ours(
    mut document: ConfigDocument,
    recorded: &[PartRecord],
    desired: &[DocumentPart],
) -> Result<ConfigDocument, EditError> {
    for record in recorded {
        if is_there(&document, record) {
            take(&mut document, record)?;
        }
    }
    for part in desired {
        match part {
            DocumentPart::Items { keys, .. } => {
                let items = Vec::new();
                let part = PartRecord::Items { keys: keys.clone(), items };
                if is_there(&document, &part) {
                    take(&mut document, &part)?;
                }
            }
            DocumentPart::Absent { keys, value } => {
                if document.get(&steps(keys)) == Some(value) {
                    remove(&mut document, keys)?;
                }
            }
            DocumentPart::Entry { .. } | DocumentPart::Default { .. } => {}
        }
    }
    Ok(document)
}

/// Whether a text says nothing: no value, or maps and lists without one. A lone version number says nothing either.
pub(crate) fn is_empty(text: &str) -> bool {
    fn is_empty_value(value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => {
                members.iter().all(|(name, value)| name == "version" || is_empty_value(value))
            }
            _ => false,
        }
    }
    let formats = [FileFormat::Json, FileFormat::Toml];
    let mut read =
        formats.into_iter().filter_map(|format| ConfigDocument::parse(text, format).ok());
    read.any(|document| is_empty_value(document.value()))
}

struct DocumentEditor<'a> {
    with: ConfigDocument,
    recorded: &'a [PartRecord],
    overwrites: bool,
    parts: Vec<PartRecord>,
    kept: Vec<String>,
}

impl DocumentEditor<'_> {
    fn remove_undesired(&mut self, desired: &[DocumentPart]) -> Result<(), EditError> {
        for record in self.recorded {
            let is_desired = desired.iter().any(|part| match (part, record) {
                (DocumentPart::Entry { keys, .. }, PartRecord::Entry { keys: known, .. })
                | (DocumentPart::Items { keys, .. }, PartRecord::Items { keys: known, .. }) => {
                    keys == known
                }
                _ => false,
            });
            if is_desired {
                continue;
            }
            if is_as_recorded(&self.with, record) || self.overwrites {
                take(&mut self.with, record)?;
            } else if is_there(&self.with, record) {
                self.kept.push(keys_of(record).join("."));
                self.parts.push(record.clone());
            }
        }
        Ok(())
    }

    fn put(&mut self, part: &DocumentPart) -> Result<(), EditError> {
        match part {
            DocumentPart::Entry { keys, value } => {
                let path = steps(keys);
                let current = self.with.get(&path);
                let is_about_this = |record: &&PartRecord| matches!(record, PartRecord::Entry { keys: known, .. } if known == keys);
                let record = self.recorded.iter().find(is_about_this);
                let is_ours = current.is_none_or(|current| current == value)
                    || record.is_some_and(|record| is_as_recorded(&self.with, record));
                if !is_ours && !self.overwrites {
                    self.kept.push(keys.join("."));
                    self.parts.extend(record.cloned());
                    return Ok(());
                }
                // What others wrote exactly so stays theirs.
                let is_others = current == Some(value) && record.is_none();
                self.with.set(&path, value.clone())?;
                if !is_others {
                    self.parts.push(PartRecord::Entry { keys: keys.clone(), value: value.clone() });
                }
            }
            DocumentPart::Default { keys, value } => {
                let path = steps(keys);
                if self.with.get(&path).is_none() {
                    self.with.set(&path, value.clone())?;
                }
            }
            DocumentPart::Items { keys, items } => self.put_items(keys, items)?,
            DocumentPart::Absent { keys, value } => {
                if self.with.get(&steps(keys)) == Some(value) {
                    remove(&mut self.with, keys)?;
                }
            }
        }
        Ok(())
    }

    fn put_items(&mut self, keys: &[String], items: &[Value]) -> Result<(), EditError> {
        let path = steps(keys);
        let present = ours_in(self.with.get(&path));
        let recorded = self.recorded.iter().find_map(|record| match record {
            PartRecord::Items { keys: known, items } if known == keys => Some(items),
            _ => None,
        });
        let is_edited = recorded.is_some_and(|recorded| {
            !present.is_empty() && present != *recorded && present != items
        });
        if let (true, false, Some(recorded)) = (is_edited, self.overwrites, recorded) {
            self.kept.push(keys.join("."));
            self.parts.push(PartRecord::Items { keys: keys.to_vec(), items: recorded.clone() });
            return Ok(());
        }
        if present != items {
            remove_ours(&mut self.with, &path)?;
            for item in items {
                self.with.push(&path, item.clone())?;
            }
        }
        self.parts.push(PartRecord::Items { keys: keys.to_vec(), items: items.to_vec() });
        Ok(())
    }
}

fn is_there(document: &ConfigDocument, record: &PartRecord) -> bool {
    let current = document.get(&steps(keys_of(record)));
    match record {
        PartRecord::Items { .. } => !ours_in(current).is_empty(),
        PartRecord::Entry { .. } | PartRecord::Block { .. } => current.is_some(),
    }
}

fn is_as_recorded(document: &ConfigDocument, record: &PartRecord) -> bool {
    let current = document.get(&steps(keys_of(record)));
    match record {
        PartRecord::Entry { value, .. } => current == Some(value),
        PartRecord::Items { items, .. } => ours_in(current) == *items,
        PartRecord::Block { .. } => false,
    }
}

fn take(document: &mut ConfigDocument, part: &PartRecord) -> Result<(), EditError> {
    match part {
        PartRecord::Entry { keys, .. } => remove(document, keys),
        PartRecord::Items { keys, .. } => {
            let path = steps(keys);
            remove_ours(document, &path)?;
            match document.get(&path) {
                Some(Value::Array(items)) if items.is_empty() => remove(document, keys),
                _ => Ok(()),
            }
        }
        PartRecord::Block { .. } => Ok(()),
    }
}

/// Takes a key out, and the maps around it that hold nothing then.
fn remove(document: &mut ConfigDocument, keys: &[String]) -> Result<(), EditError> {
    let mut keys = keys;
    loop {
        document.remove(&steps(keys))?;
        let Some((_, above)) = keys.split_last() else { return Ok(()) };
        let is_empty =
            document.get(&steps(above)).and_then(Value::as_object).is_some_and(Map::is_empty);
        if above.is_empty() || !is_empty {
            return Ok(());
        }
        keys = above;
    }
}

/// What is ours in a list: items with a name of ours, and of groups the part that has one. Agents and people add their own
/// hooks to a group that is there, so a group need not be ours as a whole.
fn ours_in(list: Option<&Value>) -> Vec<Value> {
    let items = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(our_part).collect()
}

fn our_part(item: &Value) -> Option<Value> {
    let Some(grouped) = grouped(item) else { return is_named(item).then(|| item.clone()) };
    let ours: Vec<Value> = grouped.iter().filter(|hook| is_named(hook)).cloned().collect();
    if ours.is_empty() {
        return None;
    }
    let mut part = item.clone();
    part[HOOKS_KEY] = Value::Array(ours);
    Some(part)
}

/// Takes what is ours out of a list, and of groups that others share only our part.
fn remove_ours(document: &mut ConfigDocument, list: &[DocumentStep]) -> Result<(), EditError> {
    let is_whole = |item: &Value| our_part(item).as_ref() == Some(item);
    document.remove_items(list, is_whole)?;
    let count = document.get(list).and_then(Value::as_array).map_or(0, Vec::len);
    for index in 0..count {
        let mut path = list.to_vec();
        path.extend([DocumentStep::Index(index), DocumentStep::from(HOOKS_KEY)]);
        document.remove_items(&path, is_named)?;
    }
    Ok(())
}

/// The hooks that an item groups, if it is a group.
fn grouped(item: &Value) -> Option<&Vec<Value>> {
    item.get(HOOKS_KEY).and_then(Value::as_array).filter(|hooks| !hooks.is_empty())
}

fn is_named(item: &Value) -> bool {
    item.get("name").and_then(Value::as_str).is_some_and(|name| name.starts_with(NAME_PREFIX))
}

fn keys_of(record: &PartRecord) -> &[String] {
    match record {
        PartRecord::Entry { keys, .. } | PartRecord::Items { keys, .. } => keys,
        PartRecord::Block { .. } => &[],
    }
}

fn steps(keys: &[String]) -> Vec<DocumentStep> {
    keys.iter().map(|key| DocumentStep::Key(key.clone())).collect()
}

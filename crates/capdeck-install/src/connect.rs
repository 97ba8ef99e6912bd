//! Connecting an agent and taking that back: one entry in one file of the agent's.
//!
//! A [`ClientEntryPlan`] is made first and changes nothing; it can be shown, and applied. What was written is kept in a [`ClientEntryRecords`]
//! folder, so that taking it back restores the former bytes.

mod entry_record;
mod lost;
mod plan;

use std::{io, path::PathBuf};

use capdeck_storage::sha256_hex;
use serde_json::{Map, Value};

use self::entry_record::{ClientEntryRecord, FoundEntry, missing_folders};
use crate::{
    atomic_file::{OverwritePolicy, WriteError},
    edit::{ConfigDocument, DocumentStep, EditError, SyntaxError, TextSplice},
};

pub use self::{
    entry_record::{ClientEntryRecords, ClientEntryTarget},
    plan::{ClientEntryChange, ClientEntryPlan},
};

/// What a name holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryPresence {
    Absent,
    Ours,
    Foreign,
}

/// Whether an agent is connected.
pub fn presence(
    target: &ClientEntryTarget,
    records: &ClientEntryRecords,
) -> Result<EntryPresence, ConnectError> {
    let found = target.read()?;
    let record = records.load(target)?;
    Ok(match found.document.get(&target.path_in(&found.document)) {
        None => EntryPresence::Absent,
        Some(entry) if owns(record.as_ref(), entry) => EntryPresence::Ours,
        Some(_) => EntryPresence::Foreign,
    })
}

/// The entry as the file has it, where it leads to Capdeck.
pub fn connected_entry(
    target: &ClientEntryTarget,
    records: &ClientEntryRecords,
) -> Result<Option<Value>, ConnectError> {
    let found = target.read()?;
    let record = records.load(target)?;
    let entry = found.document.get(&target.path_in(&found.document)).cloned();
    Ok(entry.filter(|entry| owns(record.as_ref(), entry)))
}

/// Plans the entry into the file, in the place of others if any are named. [`plan_disconnect`] takes the change back whole.
pub fn plan_connect(
    target: &ClientEntryTarget,
    entry: &Value,
    replaced: &[String],
    foreign: OverwritePolicy,
    records: &ClientEntryRecords,
) -> Result<ClientEntryPlan, ConnectError> {
    let found = target.read()?;
    let record = records.load(target)?;
    let path = target.path_in(&found.document);
    let existing = found.document.get(&path).cloned();
    let is_there =
        |name: &String| found.document.get(&target.beside(name, &found.document)).is_some();
    if existing.as_ref() == Some(entry) && !replaced.iter().any(is_there) {
        return Ok(ClientEntryPlan::unchanged(target, found));
    }
    let is_ours = existing.as_ref().is_some_and(|existing| owns(record.as_ref(), existing));
    if existing.is_some() && !is_ours && foreign == OverwritePolicy::Keep {
        let (name, file) = (target.name.clone(), target.file.clone());
        return Err(ConnectError::Taken { name, file });
    }
    // The text without our entry, so that taking it back leads there however often the entry is renewed.
    let base =
        if is_ours { without_ours(target, &found, record.as_ref())? } else { found.text.clone() };
    let mut document = target.parse(base.as_deref().unwrap_or_default())?;
    // What was replaced before stays replaced when the entry is renewed.
    let earlier = record.iter().filter(|_| is_ours).flat_map(|record| record.former.keys());
    let names = earlier.chain(replaced).filter(|name| **name != target.name);
    let mut former = Map::new();
    for name in names {
        let path = target.beside(name, &document);
        if let Some(value) = document.get(&path).cloned() {
            document.remove(&path).map_err(|source| target.cannot_edit(source))?;
            former.insert(name.clone(), value);
        }
    }
    let path = target.path_in(&document);
    former.extend(document.get(&path).cloned().map(|value| (target.name.clone(), value)));
    let made_maps = missing(&document, &path);
    document.set(&path, entry.clone()).map_err(|source| target.cannot_edit(source))?;
    let after = document.text();
    let made_folders = match (&base, record) {
        (Some(_), _) => Vec::new(),
        (None, Some(earlier)) if is_ours => earlier.made_folders,
        (None, _) => missing_folders(&target.file),
    };
    let before = base.as_deref().unwrap_or_default();
    let written = ClientEntryRecord {
        client: target.client.id.to_owned(),
        scope: target.scope.as_str().to_owned(),
        file: target.file.clone(),
        name: target.name.clone(),
        entry: entry.clone(),
        former,
        made_maps,
        made_file: base.is_none(),
        made_folders,
        splice: TextSplice::between(before, &after),
        before: sha256_hex(before),
        after: sha256_hex(&after),
    };
    let change =
        if existing.is_some() { ClientEntryChange::Replace } else { ClientEntryChange::Add };
    let (after, record) = (Some(after), Some(written));
    let plan =
        ClientEntryPlan { change, after, record, ..ClientEntryPlan::unchanged(target, found) };
    let lost = existing.filter(|_| is_ours).map_or_else(Vec::new, |old| lost::lost(&old, entry));
    if !lost.is_empty() && foreign == OverwritePolicy::Keep {
        let (name, file) = (target.name.clone(), target.file.clone());
        return Err(ConnectError::WouldWiden { name, file, lost, diff: plan.diff() });
    }
    Ok(plan)
}

/// Plans the entry out of the file.
pub fn plan_disconnect(
    target: &ClientEntryTarget,
    foreign: OverwritePolicy,
    records: &ClientEntryRecords,
) -> Result<ClientEntryPlan, ConnectError> {
    let found = target.read()?;
    let record = records.load(target)?;
    let path = target.path_in(&found.document);
    let Some(existing) = found.document.get(&path) else {
        let unchanged = ClientEntryPlan::unchanged(target, found);
        return Ok(ClientEntryPlan { is_forgotten: record.is_some(), ..unchanged });
    };
    if !owns(record.as_ref(), existing) && foreign == OverwritePolicy::Keep {
        let (name, file) = (target.name.clone(), target.file.clone());
        return Err(ConnectError::NotOurs { name, file });
    }
    let after = without_ours(target, &found, record.as_ref())?;
    // What the record says was made goes again with the file.
    let folders = record.map(|record| record.made_folders).unwrap_or_default();
    let change = ClientEntryChange::Remove;
    Ok(ClientEntryPlan { change, after, folders, ..ClientEntryPlan::unchanged(target, found) })
}

/// Whether an entry looks like one that leads to Capdeck.
pub fn is_capdeck(entry: &Value) -> bool {
    let command = entry.get("command").or_else(|| entry.get("cmd"));
    let (program, words) = match command {
        Some(Value::String(program)) => {
            (Some(program.as_str()), entry.get("args").and_then(Value::as_array).map(Vec::as_slice))
        }
        Some(Value::Array(words)) => (words.first().and_then(Value::as_str), words.get(1..)),
        _ => (None, None),
    };
    let first = words.and_then(<[Value]>::first).and_then(Value::as_str);
    let name = program.and_then(|program| program.rsplit(['/', '\\']).next());
    name.is_some_and(|name| name.strip_suffix(".exe").unwrap_or(name) == "capdeck")
        && matches!(first, Some("serve" | "attach"))
}

/// Whether an entry starts a program of this name, also through a launcher such as `npx`.
pub fn starts_program(entry: &Value, program: &str) -> bool {
    let command = entry.get("command").or_else(|| entry.get("cmd"));
    let texts = |value: &Value| match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(words) => words.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let words = command.into_iter().chain(entry.get("args")).flat_map(texts);
    let is_it = |word: String| {
        let name = word.rsplit(['/', '\\']).next().unwrap_or_default();
        let name = name.split('@').next().unwrap_or_default();
        let ends = [".exe", ".cmd"];
        let bare = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        bare == program
    };
    // A path among the arguments of another program is no start of this one.
    words.take(4).any(is_it)
}

fn owns(record: Option<&ClientEntryRecord>, entry: &Value) -> bool {
    is_capdeck(entry) || record.is_some_and(|record| record.entry == *entry)
}

/// How many maps an edit makes on the way: the steps before the last that are not there yet.
fn missing(document: &ConfigDocument, path: &[DocumentStep]) -> usize {
    let is_there = |depth: &usize| {
        let value = path.get(..*depth).and_then(|parents| document.get(parents));
        value.is_some_and(|value| !value.is_null())
    };
    (1..path.len()).len() - (1..path.len()).take_while(is_there).count()
}

/// Why an entry was not written or taken out.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("`{client}` has no configuration file of {scope} scope")]
    NoSuchScope { client: &'static str, scope: &'static str },
    #[error("there is no project here for `{client}` to be connected in")]
    NoProject { client: &'static str },
    #[error("`{}` cannot be read: {source}", file.display())]
    Read {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` is a folder, not a file", file.display())]
    IsFolder { file: PathBuf },
    #[error("`{}` is not UTF-8 text", file.display())]
    NotText { file: PathBuf },
    #[error("`{}` cannot be read, so it is left as it is: {source}", file.display())]
    Unreadable {
        file: PathBuf,
        #[source]
        source: SyntaxError,
    },
    #[error("`{}` cannot be edited: {source}", file.display())]
    Uneditable {
        file: PathBuf,
        #[source]
        source: EditError,
    },
    #[error("`{}` leads out of the project", file.display())]
    LeadsOutside { file: PathBuf },
    #[error("`{}` has an entry `{name}` that is not Capdeck's", file.display())]
    Taken { name: String, file: PathBuf },
    #[error("the entry `{name}` in `{}` has what the new one would not: {}", file.display(), lost.join(", "))]
    WouldWiden { name: String, file: PathBuf, lost: Vec<String>, diff: String },
    #[error("the entry `{name}` in `{}` is not Capdeck's", file.display())]
    NotOurs { name: String, file: PathBuf },
    #[error("`{}` may not be written to", file.display())]
    ReadOnly { file: PathBuf },
    #[error("`{}` was changed in the meantime", file.display())]
    Changed { file: PathBuf },
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("`{}` cannot be removed: {source}", file.display())]
    Delete {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// The text without our entry; none when the file was ours and nothing is left in it.
fn without_ours(
    target: &ClientEntryTarget,
    found: &FoundEntry,
    record: Option<&ClientEntryRecord>,
) -> Result<Option<String>, ConnectError> {
    let text = found.text.as_deref().unwrap_or_default();
    if let Some(record) = record
        && sha256_hex(text) == record.after
        && let Some(before) = record.splice.undo(text)
        && sha256_hex(&before) == record.before
    {
        return Ok((!record.made_file).then_some(before));
    }
    // Something else changed: what the file should say is known, and what we wrote may still be there as it was.
    let removed = remove_structurally(target, &found.document, record)?;
    let exact = record.and_then(|record| record.splice.undo_anywhere(text)).filter(|text| {
        target.parse(text).is_ok_and(|document| {
            let container = target.client.container(&document);
            bare(document.value(), &container) == bare(removed.value(), &container)
        })
    });
    let text = exact.unwrap_or_else(|| removed.text());
    // A comment that was added to a file of ours makes it the person's.
    let is_leftover =
        record.is_some_and(|record| record.made_file) && matches!(text.trim(), "" | "{}");
    Ok((!is_leftover).then_some(text))
}

/// A value without the maps that lead to the servers, where nothing is in them: whether they are written is no matter
/// of what the file says.
fn bare(value: &Value, container: &[DocumentStep]) -> Value {
    let mut value = value.clone();
    if let (Some((DocumentStep::Key(key), rest)), Value::Object(entries)) =
        (container.split_first(), &mut value)
        && let Some(inner) = entries.get(key)
    {
        match bare(inner, rest) {
            Value::Null => entries.shift_remove(key),
            inner => entries.insert(key.clone(), inner),
        };
    }
    if value.as_object().is_some_and(Map::is_empty) { Value::Null } else { value }
}

fn remove_structurally(
    target: &ClientEntryTarget,
    document: &ConfigDocument,
    record: Option<&ClientEntryRecord>,
) -> Result<ConfigDocument, ConnectError> {
    let mut document = document.clone();
    let mut path = target.path_in(&document);
    let failed = |source| target.cannot_edit(source);
    if let Some(record) = record.filter(|record| !record.former.is_empty()) {
        if !record.former.contains_key(&target.name) {
            document.remove(&path).map_err(failed)?;
        }
        for (name, value) in &record.former {
            let path = target.beside(name, &document);
            // One that the person has written again since is theirs.
            if *name == target.name || document.get(&path).is_none() {
                document.set(&path, value.clone()).map_err(failed)?;
            }
        }
        return Ok(document);
    }
    let made = record.map_or(0, |record| record.made_maps);
    // The outermost map that was made for us and holds nothing else goes with what is in it.
    for _ in 0..made {
        let Some((_, parents)) = path.split_last() else { break };
        let holds_only_ours = document
            .get(parents)
            .and_then(Value::as_object)
            .is_some_and(|entries| entries.len() == 1);
        if parents.is_empty() || !holds_only_ours {
            break;
        }
        path.pop();
    }
    document.remove(&path).map_err(failed)?;
    Ok(document)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::starts_program;

    #[test]
    fn a_program_is_found_behind_its_launcher() {
        for entry in [
            json!({ "command": "caplets", "args": ["attach", "http://127.0.0.1:5387"] }),
            json!({ "command": "/usr/local/bin/caplets" }),
            json!({ "command": "C:\\bin\\caplets.cmd", "args": ["serve"] }),
            json!({ "command": "npx", "args": ["-y", "caplets@latest", "serve"] }),
            json!({ "command": ["bunx", "caplets", "serve"] }),
            json!({ "cmd": "caplets", "args": [] }),
        ] {
            assert!(starts_program(&entry, "caplets"), "{entry}");
        }
        for entry in [
            json!({ "command": "capdeck", "args": ["serve"] }),
            json!({ "command": "other", "args": ["--name", "x", "--in", "/home/me/caplets"] }),
            json!({ "url": "https://caplets.example/mcp" }),
            json!({}),
        ] {
            assert!(!starts_program(&entry, "caplets"), "{entry}");
        }
    }
}

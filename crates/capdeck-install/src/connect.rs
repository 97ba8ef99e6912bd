//! Connecting an agent and taking that back: one entry in one file of the agent's.
//!
//! A [`Plan`] is made first and changes nothing; it can be shown, and applied. What was written is kept in a [`Records`]
//! folder, so that taking it back restores the former bytes.

mod diff;
mod error;
mod plan;
mod record;
mod target;
mod without;

pub use self::error::ConnectError;
pub use self::plan::{EntryChange, Plan};
pub use self::record::{Records, RecordsHold};
pub use self::target::Target;

use serde_json::{Map, Value};

use self::record::Record;
use crate::edit::{Document, Step};

/// What may be done to an entry that is not ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreign {
    Keep,
    Replace,
}

/// What stands under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Absent,
    Ours,
    Foreign,
}

/// Whether an agent is connected.
pub fn presence(target: &Target, records: &Records) -> Result<Presence, ConnectError> {
    let found = target.read()?;
    let record = records.load(target)?;
    Ok(match found.document.get(&target.path_in(&found.document)) {
        None => Presence::Absent,
        Some(entry) if owns(record.as_ref(), entry) => Presence::Ours,
        Some(_) => Presence::Foreign,
    })
}

/// Plans the entry into the file.
pub fn plan_connect(
    target: &Target,
    entry: &Value,
    foreign: Foreign,
    records: &Records,
) -> Result<Plan, ConnectError> {
    plan_takeover(target, entry, &[], foreign, records)
}

/// Plans the entry into the file in the place of others, as one change that [`plan_disconnect`] takes back whole.
pub fn plan_takeover(
    target: &Target,
    entry: &Value,
    replaced: &[String],
    foreign: Foreign,
    records: &Records,
) -> Result<Plan, ConnectError> {
    let found = target.read()?;
    let record = records.load(target)?;
    let path = target.path_in(&found.document);
    let existing = found.document.get(&path).cloned();
    let is_there =
        |name: &String| found.document.get(&target.beside(name, &found.document)).is_some();
    if existing.as_ref() == Some(entry) && !replaced.iter().any(is_there) {
        return Ok(Plan::unchanged(target, found));
    }
    let is_ours = existing.as_ref().is_some_and(|existing| owns(record.as_ref(), existing));
    if existing.is_some() && !is_ours && foreign == Foreign::Keep {
        let (name, file) = (target.name.clone(), target.file.clone());
        return Err(ConnectError::Taken { name, file });
    }
    // What stood there before we did, so that taking it back leads there however often the entry is renewed.
    let base = if is_ours {
        without::without_ours(target, &found, record.as_ref())?
    } else {
        found.text.clone()
    };
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
    let mut written = Record::new(target, base.as_deref(), &after, entry, former, made_maps);
    if let Some(earlier) = record.filter(|_| is_ours && base.is_none()) {
        written.made_folders = earlier.made_folders;
    }
    let change = if existing.is_some() { EntryChange::Replace } else { EntryChange::Add };
    Ok(Plan::write(target, found, change, Some(after), Some(written)))
}

/// Plans the entry out of the file.
pub fn plan_disconnect(
    target: &Target,
    foreign: Foreign,
    records: &Records,
) -> Result<Plan, ConnectError> {
    let found = target.read()?;
    let record = records.load(target)?;
    let path = target.path_in(&found.document);
    let Some(existing) = found.document.get(&path) else {
        return Ok(Plan::unchanged(target, found));
    };
    if !owns(record.as_ref(), existing) && foreign == Foreign::Keep {
        let (name, file) = (target.name.clone(), target.file.clone());
        return Err(ConnectError::NotOurs { name, file });
    }
    let after = without::without_ours(target, &found, record.as_ref())?;
    Ok(Plan::write(target, found, EntryChange::Remove, after, None).after_removal(record))
}

/// Whether an entry looks like one that leads to Capdeck, whoever wrote it.
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

fn owns(record: Option<&Record>, entry: &Value) -> bool {
    is_capdeck(entry) || record.is_some_and(|record| record.entry == *entry)
}

/// How many steps of a path are there already is how many maps an edit does not make.
fn missing(document: &Document, path: &[Step]) -> usize {
    let there = (0..path.len())
        .take_while(|depth| {
            path.get(..=*depth)
                .and_then(|step| document.get(step))
                .is_some_and(|value| !value.is_null())
        })
        .count();
    path.len() - 1 - there.min(path.len() - 1)
}

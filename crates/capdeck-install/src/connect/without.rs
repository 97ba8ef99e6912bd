//! A file without our entry: its former bytes if nothing else changed, else as near to them as can be.

use serde_json::{Map, Value};

use super::{ConnectError, Record, Target, record::hash, target::Found};
use crate::edit::{Document, Step};

/// The text without our entry; none when the file was ours and nothing is left in it.
pub(super) fn without_ours(
    target: &Target,
    found: &Found,
    record: Option<&Record>,
) -> Result<Option<String>, ConnectError> {
    let text = found.text.as_deref().unwrap_or_default();
    if let Some(record) = record
        && hash(text) == record.after
        && let Some(before) = record.splice().undo(text)
        && hash(&before) == record.before
    {
        return Ok((!record.made_file).then_some(before));
    }
    // Something else changed: what the file should say is known, and what we wrote may still stand there as it was.
    let removed = remove_structurally(target, &found.document, record)?;
    let exact = record.and_then(|record| record.splice().undo_anywhere(text)).filter(|text| {
        target.parse(text).is_ok_and(|document| {
            let container = target.client.container(&document);
            bare(document.value(), &container) == bare(removed.value(), &container)
        })
    });
    let text = exact.unwrap_or_else(|| removed.text());
    // A comment that somebody wrote into a file of ours makes it theirs.
    let is_leftover =
        record.is_some_and(|record| record.made_file) && matches!(text.trim(), "" | "{}");
    Ok((!is_leftover).then_some(text))
}

/// A value without the maps that lead to the servers, where nothing is in them: whether they are written is no matter
/// of what the file says.
fn bare(value: &Value, container: &[Step]) -> Value {
    let mut value = value.clone();
    if let (Some((Step::Key(key), rest)), Value::Object(entries)) =
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
    target: &Target,
    document: &Document,
    record: Option<&Record>,
) -> Result<Document, ConnectError> {
    let mut document = document.clone();
    let mut path = target.path_in(&document);
    let failed = |source| target.cannot_edit(source);
    if let Some(record) = record.filter(|record| !record.former.is_empty()) {
        if !record.former.contains_key(&target.name) {
            document.remove(&path).map_err(failed)?;
        }
        for (name, value) in &record.former {
            let path = target.beside(name, &document);
            // One that the person has written anew since is theirs.
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

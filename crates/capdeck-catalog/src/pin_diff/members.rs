//! Which members of a schema or of annotations differ, by their paths.

use serde::Serialize;
use serde_json::{Value, value::RawValue};

use crate::canonical::canonical;

/// Differences listed per part; whoever reads more reads the whole definition.
const MAX_DIFFERENCES: usize = 100;

/// One member that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemberChange {
    /// The way to it, such as `properties.path.type`; empty for the whole part.
    pub path: String,
    pub kind: MemberChangeKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// What happened to a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MemberChangeKind {
    Added,
    Removed,
    Changed,
}

/// Compares two parts of definitions; nothing when they say the same.
pub(super) fn compare(before: Option<&RawValue>, after: Option<&RawValue>) -> Vec<MemberChange> {
    if before.map(canonical) == after.map(canonical) {
        return Vec::new();
    }
    let value = |text: Option<&RawValue>| -> Option<Value> {
        text.and_then(|text| serde_json::from_str(text.get()).ok())
    };
    let (before, after) = (value(before), value(after));
    let mut changes = Vec::new();
    walk("", before.as_ref(), after.as_ref(), &mut changes);
    if changes.is_empty() {
        // Only the spelling of a number differs, which some readers take for another number.
        changes.push(MemberChange {
            path: String::new(),
            kind: MemberChangeKind::Changed,
            before,
            after,
        });
    }
    changes
}

fn walk(
    path: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    changes: &mut Vec<MemberChange>,
) {
    if before == after || changes.len() >= MAX_DIFFERENCES {
        return;
    }
    if let (Some(Value::Object(one)), Some(Value::Object(other))) = (before, after) {
        let new = other.keys().filter(|key| !one.contains_key(*key));
        for key in one.keys().chain(new) {
            let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            walk(&below, one.get(key), other.get(key), changes);
        }
        return;
    }
    let kind = match (before, after) {
        (None, _) => MemberChangeKind::Added,
        (_, None) => MemberChangeKind::Removed,
        _ => MemberChangeKind::Changed,
    };
    changes.push(MemberChange {
        path: path.to_owned(),
        kind,
        before: before.cloned(),
        after: after.cloned(),
    });
}

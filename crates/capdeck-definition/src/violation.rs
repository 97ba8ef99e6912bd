//! What a schema says about a document, as diagnostics a person can act on.
//!
//! The schemas are our own and use few keywords, so they are walked side by side with the document. A general
//! validator takes longer to compile them than a whole deck takes to read, and knows neither places nor which
//! alternative an author meant. Tests hold that the two judge alike.

mod walk;
mod wording;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;

use crate::{
    diagnostic::{Diagnostic, FileFindings},
    document::{PathStep, ValueNode},
    schema::FileSchema,
    shape::PLURAL_KEYS,
    suggest::nearest_key,
};

/// A file with more problems than this is not used.
const MAX_VIOLATIONS: usize = 50;

/// One broken rule and the value it is about.
#[derive(Debug)]
pub(crate) struct SchemaViolation {
    /// The steps to the offending value; for a missing key, to the mapping that lacks it.
    pub(crate) steps: Vec<PathStep>,
    pub(crate) diagnostic: Diagnostic,
    about: ViolationSubject,
}

/// What ties two violations to the same mistake.
#[derive(Debug, PartialEq, Eq)]
enum ViolationSubject {
    /// An unknown key, and the known one it probably means.
    Unknown {
        meant: Option<String>,
        /// Whether that one is needed and not there.
        stands_for_missing: bool,
    },
    Missing {
        key: String,
    },
    Value,
}

impl SchemaViolation {
    /// Whether the violation is about a key that its mapping does not have.
    ///
    /// False for a typing error of a missing key: that report covers both.
    pub(crate) fn is_merely_unknown_key(&self) -> bool {
        matches!(self.about, ViolationSubject::Unknown { stands_for_missing: false, .. })
    }

    /// Whether the violation is about the value of a top-level key, or something in it.
    pub(crate) fn is_below(&self, key: &str) -> bool {
        matches!(self.steps.first(), Some(PathStep::Key(first)) if first == key)
    }
}

/// Records what is wrong with a document, after `note` has looked at each violation. `None` when there are so many that
/// what is not listed may be broken too.
pub(crate) fn report(
    violations: Vec<SchemaViolation>,
    findings: &mut FileFindings,
    mut note: impl FnMut(&mut SchemaViolation),
) -> Option<()> {
    let is_usable = violations.len() < MAX_VIOLATIONS;
    for mut violation in violations {
        note(&mut violation);
        findings.add(violation.diagnostic);
    }
    if !is_usable {
        let message = format!("the file has {MAX_VIOLATIONS} problems or more and is not used");
        let fix = "fix the ones listed and look again";
        findings.add(Diagnostic::error("too-many-problems", message, fix));
    }
    is_usable.then_some(())
}

/// Checks a document and returns what is wrong with it, in reading order.
pub(crate) fn check(schema: &FileSchema, root: &ValueNode) -> Vec<SchemaViolation> {
    let mut violations = walk::walk(schema, root);
    if violations.len() >= MAX_VIOLATIONS {
        violations.truncate(MAX_VIOLATIONS);
        return violations;
    }
    let missing: Vec<(Vec<PathStep>, String)> = violations.iter().filter_map(missing_key).collect();
    let mistyped: Vec<(Vec<PathStep>, String)> =
        violations.iter().filter_map(mistyped_key).collect();
    violations.retain(|violation| match &violation.about {
        ViolationSubject::Missing { key } => {
            !mistyped.iter().any(|(steps, meant)| *steps == violation.steps && meant == key)
        }
        ViolationSubject::Unknown { .. } | ViolationSubject::Value => true,
    });
    for violation in &mut violations {
        let stands = mistyped_key(violation).is_some_and(|meant| missing.contains(&meant));
        if let ViolationSubject::Unknown { stands_for_missing, .. } = &mut violation.about {
            *stands_for_missing = stands;
        }
    }
    violations.sort_by_key(|violation| (violation.diagnostic.line, violation.diagnostic.column));
    violations
}

/// Whether a `cliTools` value is the singular form, decided by its look so that a typo inside is reported as what it is.
pub(crate) fn is_singular_cli(value: &ValueNode) -> bool {
    let reserved_child = |actions: &ValueNode| {
        actions
            .get("actions")
            .is_some_and(|inner| inner.entries().values().any(|entry| entry.value.is_map()))
            && !actions.entries().values().any(|entry| entry.value.get("command").is_some())
    };
    match value.get("actions") {
        Some(actions) => !reserved_child(actions),
        // Children with any name have `actions` of their own.
        None => {
            value.entries().values().all(|entry| entry.value.get("actions").is_none())
                && value.entries().keys().any(|key| nearest_key(key, ["actions"]).is_some())
        }
    }
}

/// The mapping and the key it lacks only because that key is mistyped: one mistake, so one message.
fn mistyped_key(violation: &SchemaViolation) -> Option<(Vec<PathStep>, String)> {
    let ViolationSubject::Unknown { meant: Some(meant), .. } = &violation.about else {
        return None;
    };
    let (_, mapping) = violation.steps.split_last()?;
    Some((mapping.to_vec(), meant.clone()))
}

/// The mapping and the key it lacks.
fn missing_key(violation: &SchemaViolation) -> Option<(Vec<PathStep>, String)> {
    let ViolationSubject::Missing { key } = &violation.about else { return None };
    Some((violation.steps.clone(), key.clone()))
}

/// The entries of a file's maps that a violation rules out, so that the rest of the file can be used: by map and id, each
/// with its first problem.
#[derive(Debug, Default)]
pub(crate) struct BrokenEntries(IndexMap<(String, String), String>);

impl BrokenEntries {
    /// Notes the entry a violation is about. False when it is about no single entry.
    pub(crate) fn record_violation(&mut self, violation: &SchemaViolation) -> bool {
        let [PathStep::Key(map), PathStep::Key(id), ..] = violation.steps.as_slice() else {
            return false;
        };
        if !PLURAL_KEYS.contains(&map.as_str()) {
            return false;
        }
        self.add(map, id, &violation.diagnostic.message);
        true
    }

    pub(crate) fn add(&mut self, map: &str, id: &str, reason: &str) {
        self.0.entry((map.to_owned(), id.to_owned())).or_insert_with(|| reason.to_owned());
    }

    /// Takes the broken entries out of the document.
    pub(crate) fn remove_from(&self, root: &mut ValueNode) {
        let mut ids: HashMap<&str, HashSet<&str>> = HashMap::new();
        for (map, id) in self.0.keys() {
            ids.entry(map).or_default().insert(id);
        }
        for (map, ids) in ids {
            root.remove_entries(&[map], &ids);
        }
    }

    /// Each broken id once, with its first problem, in file order.
    pub(crate) fn reasons(&self) -> IndexMap<&str, &str> {
        let mut reasons = IndexMap::new();
        for ((_, id), reason) in &self.0 {
            reasons.entry(id.as_str()).or_insert(reason.as_str());
        }
        reasons
    }
}

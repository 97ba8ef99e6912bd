//! What a schema says about a document, as diagnostics a person can act on.
//!
//! The schemas are our own and use few keywords, so they are walked side by side with the document. A general
//! validator takes longer to compile them than a whole deck takes to read, and knows neither places nor which
//! alternative an author meant. Tests hold that the two judge alike.

mod walk;
mod wording;

#[cfg(test)]
mod tests;

use crate::{
    diagnostic::Diagnostic,
    document::{PathStep, ValueNode},
    schema::FileSchema,
    suggest::nearest_key,
};

/// Beyond this many, more messages about one file help nobody, and the file is given up.
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
    /// An unknown key, and the known one it probably stands for.
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
    /// One that stands for a missing key is more than that: the missing key is not told again.
    pub(crate) fn is_merely_unknown_key(&self) -> bool {
        matches!(self.about, ViolationSubject::Unknown { stands_for_missing: false, .. })
    }

    /// Whether the violation is about the value of a top-level key, or something in it.
    pub(crate) fn is_below(&self, key: &str) -> bool {
        matches!(self.steps.first(), Some(PathStep::Key(first)) if first == key)
    }
}

/// The last word about a file with more mistakes than are listed.
pub(crate) fn too_many() -> Diagnostic {
    Diagnostic::error(
        "too-many-problems",
        format!("the file has {MAX_VIOLATIONS} problems or more and is not used"),
        "fix the ones listed and look again",
    )
}

/// Whether so much is wrong that what is not listed may be broken too.
pub(crate) fn is_hopeless(violations: &[SchemaViolation]) -> bool {
    violations.len() >= MAX_VIOLATIONS
}

/// Checks a document and returns what is wrong with it, in reading order.
pub(crate) fn check(schema: &FileSchema, root: &ValueNode) -> Vec<SchemaViolation> {
    let mut violations = walk::walk(schema, root);
    if is_hopeless(&violations) {
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
            .is_some_and(|inner| inner.entries().iter().any(|entry| entry.value.is_map()))
            && !actions.entries().iter().any(|entry| entry.value.get("command").is_some())
    };
    match value.get("actions") {
        Some(actions) => !reserved_child(actions),
        // Children have `actions` of their own, whatever they are called.
        None => {
            value.entries().iter().all(|entry| entry.value.get("actions").is_none())
                && value
                    .entries()
                    .iter()
                    .any(|entry| nearest_key(&entry.key, ["actions"]).is_some())
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

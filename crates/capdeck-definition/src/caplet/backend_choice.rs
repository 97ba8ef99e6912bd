//! A file has exactly one singular backend, or one or more plural maps.

use std::collections::HashMap;

use crate::{
    diagnostic::FileFindings,
    document::ValueNode,
    shape::{PLURAL_KEYS, SINGULAR_KEYS},
    suggest::nearest_key,
    violation::is_singular_cli,
};

/// The keys of the backends that a file declares: one singular one, or plural maps.
pub(super) struct BackendKeys {
    pub(super) singular: Option<&'static str>,
    pub(super) plural: Vec<&'static str>,
}

/// Checks which backends a file declares together. `None` when the file cannot be used.
pub(super) fn check(root: &ValueNode, findings: &mut FileFindings) -> Option<BackendKeys> {
    let mark = findings.mark();
    let singular_cli = root.get("cliTools").is_some_and(is_singular_cli);
    let present = |keys: [&'static str; 7], with_cli: bool| -> Vec<&'static str> {
        let there = |key: &&str| root.get(key).is_some() && (*key != "cliTools" || with_cli);
        keys.into_iter().filter(there).collect()
    };
    let singular = present(SINGULAR_KEYS, singular_cli);
    let plural = present(PLURAL_KEYS, !singular_cli);
    match (singular.as_slice(), plural.as_slice()) {
        ([], []) => check_none(root, findings),
        ([_], []) | ([], [_, ..]) => {}
        ([_, second, ..], _) => findings.at(root.key_place(second)).error(
            "several-backends",
            format!("a file has one backend, found {}", names(&singular)),
            "split the file, or use the plural maps with a child for each",
        ),
        ([one], [first, ..]) => findings.at(root.key_place(first)).error(
            "several-backends",
            format!("`{one}` cannot stand beside {}", names(&plural)),
            format!("move `{one}` into a plural map, or remove it"),
        ),
    }
    check_auth(root, &singular, &plural, findings);
    check_children(root, &plural, findings);
    let is_sound = findings.first_error_since(mark).is_none();
    is_sound.then(|| BackendKeys { singular: singular.first().copied(), plural })
}

fn check_none(root: &ValueNode, findings: &mut FileFindings) {
    // A mistyped backend key has been reported as an unknown key, which says more.
    let all = SINGULAR_KEYS.into_iter().chain(PLURAL_KEYS);
    let mistyped =
        root.entries().iter().any(|entry| nearest_key(&entry.key, all.clone()).is_some());
    if !mistyped {
        findings.at(root.place).error(
            "missing-backend",
            "the file declares no backend",
            format!("add one of {}", names(&SINGULAR_KEYS)),
        );
    }
}

fn check_auth(root: &ValueNode, singular: &[&str], plural: &[&str], findings: &mut FileFindings) {
    if root.get("auth").is_none() {
        return;
    }
    let without_auth: Vec<&str> =
        plural.iter().copied().filter(|key| matches!(*key, "cliTools" | "capletSets")).collect();
    let problem = match (singular.first(), without_auth.first()) {
        (Some(key), _) => {
            format!("`auth` at the top is for plural files, but this one has `{key}`")
        }
        (None, Some(key)) => format!("`auth` at the top does not apply to `{key}`"),
        (None, None) => return,
    };
    findings.at(root.key_place("auth")).error(
        "misplaced-auth",
        problem,
        "move `auth` into the backends that need it",
    );
}

fn check_children(root: &ValueNode, plural: &[&str], findings: &mut FileFindings) {
    let mut owners: HashMap<&str, &str> = HashMap::new();
    for key in plural {
        for entry in root.child(key).entries() {
            if let Some(first) = owners.insert(&entry.key, key) {
                findings.at(entry.place).error(
                    "duplicate-id",
                    format!("the child `{}` stands in `{first}` and in `{key}`", entry.key),
                    "give each child an id of its own",
                );
            }
        }
    }
}

fn names(keys: &[&str]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

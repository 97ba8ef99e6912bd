//! A file has exactly one singular backend, or one or more plural maps.

use std::collections::HashMap;

use crate::{
    diagnostic::{Diagnostic, FileFindings},
    document::ValueNode,
    shape::PLURAL_KEYS,
    suggest::nearest_key,
    violation::is_singular_cli,
};

const SINGULAR_KEYS: [&str; 7] = [
    "mcpServer",
    "openapiEndpoint",
    "googleDiscoveryApi",
    "graphqlEndpoint",
    "httpApi",
    "cliTools",
    "capletSet",
];

/// Checks which backends a file declares together. False when the file cannot be used.
pub(super) fn check(root: &ValueNode, findings: &mut FileFindings) -> bool {
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
        ([_, second, ..], _) => findings.add(
            Diagnostic::error(
                "several-backends",
                format!("a file has one backend, found {}", names(&singular)),
            )
            .with_fix("split the file, or use the plural maps with a child for each")
            .at(root.key_place(second)),
        ),
        ([one], [first, ..]) => findings.add(
            Diagnostic::error(
                "several-backends",
                format!("`{one}` cannot stand beside {}", names(&plural)),
            )
            .with_fix(format!("move `{one}` into a plural map, or remove it"))
            .at(root.key_place(first)),
        ),
    }
    check_auth(root, &singular, &plural, findings);
    check_children(root, &plural, findings);
    findings.first_error_since(mark).is_none()
}

fn check_none(root: &ValueNode, findings: &mut FileFindings) {
    // A mistyped backend key has been reported as an unknown key, which says more.
    let all = SINGULAR_KEYS.into_iter().chain(PLURAL_KEYS);
    let mistyped =
        root.entries().iter().any(|entry| nearest_key(&entry.key, all.clone()).is_some());
    if !mistyped {
        findings.add(
            Diagnostic::error("missing-backend", "the file declares no backend")
                .with_fix(format!("add one of {}", names(&SINGULAR_KEYS)))
                .at(root.place),
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
    findings.add(
        Diagnostic::error("misplaced-auth", problem)
            .with_fix("move `auth` into the backends that need it")
            .at(root.key_place("auth")),
    );
}

fn check_children(root: &ValueNode, plural: &[&str], findings: &mut FileFindings) {
    let mut owners: HashMap<&str, &str> = HashMap::new();
    for key in plural {
        for entry in root.child(key).entries() {
            if let Some(first) = owners.insert(&entry.key, key) {
                findings.add(
                    Diagnostic::error(
                        "duplicate-id",
                        format!("the child `{}` stands in `{first}` and in `{key}`", entry.key),
                    )
                    .with_fix("give each child an id of its own")
                    .at(entry.place),
                );
            }
        }
    }
}

fn names(keys: &[&str]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

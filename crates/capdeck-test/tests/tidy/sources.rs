//! Sizes, names and first lines of source files.

use std::{fs, path::Path};

use super::{Problem, assert_none, files, root, shown};

const MAX_LINES: usize = 500;

/// Longer files, each with the reason why it has no seam.
const MAY_BE_LONGER: &[(&str, &str)] = &[];

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 7] = ["util", "utils", "common", "helpers", "misc", "manager", "core"];

#[test]
fn files_are_short() {
    let mut problems = Vec::new();
    for path in sources() {
        let length = fs::read_to_string(&path).unwrap().lines().count();
        let excused = MAY_BE_LONGER.iter().any(|(excused, _)| *excused == shown(&path));
        if length > MAX_LINES && !excused {
            problems.push(format!(
                "{} has {length} lines, the limit is {MAX_LINES}: find a seam, or excuse it with a reason",
                shown(&path)
            ));
        }
    }
    for (excused, _) in MAY_BE_LONGER {
        let length =
            fs::read_to_string(root().join(excused)).map_or(0, |text| text.lines().count());
        if length <= MAX_LINES {
            problems.push(format!("{excused} needs no excuse any more: remove its row"));
        }
    }
    assert_none(&problems);
}

/// Files that answer requests. They read the deck of the request's `RequestContext` and never ask for the one in force, which a reload may
/// have replaced since the request began.
const REQUEST_PATH: [&str; 25] = [
    "calls.rs",
    "calls/unlisted.rs",
    "capsules/capability.rs",
    "capsules/client_entries.rs",
    "capsules/entry_search.rs",
    "calls/resolve.rs",
    "check.rs",
    "code_mode/bridge.rs",
    "session_connections.rs",
    "consent.rs",
    "consent/question.rs",
    "flow.rs",
    "forward.rs",
    "gate.rs",
    "journal/recording.rs",
    "listing.rs",
    "meta_tools.rs",
    "operations.rs",
    "pool.rs",
    "prompts.rs",
    "request_context.rs",
    "resources.rs",
    "search.rs",
    "skills.rs",
    "tasks/calls.rs",
];

/// How the catalog in force is asked for.
const IN_FORCE: [&str; 9] = [
    "host.catalog()",
    "host().catalog()",
    "self.catalog()",
    "session.catalog()",
    "session().catalog()",
    "self.view()",
    "session().view()",
    "current_catalog(",
    "current_view(",
];

#[test]
fn requests_read_one_catalog() {
    let mut problems = Vec::new();
    for name in REQUEST_PATH {
        let path = root().join("crates/capdeck-host/src").join(name);
        let text = fs::read_to_string(&path).unwrap();
        // Elsewhere `self` is a snapshot.
        let is_of_session = text.contains("impl Session ");
        for (number, line) in text.lines().enumerate() {
            let is_in_force = |words: &&str| {
                line.contains(words) && (is_of_session || !words.starts_with("self."))
            };
            if IN_FORCE.iter().any(is_in_force) {
                problems.push(format!(
                    "{}:{}: take it from the `RequestContext`",
                    shown(&path),
                    number + 1
                ));
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn every_file_says_what_it_is() {
    // `foo/tests.rs` holds the tests of `foo`; there is nothing to add to that.
    let with_a_doc = sources().into_iter().filter(|path| !path.ends_with("tests.rs"));
    let silent = with_a_doc.filter(|path| !fs::read_to_string(path).unwrap().starts_with("//! "));
    let problems: Vec<Problem> =
        silent.map(|path| format!("{} does not start with a `//!` line", shown(&path))).collect();
    assert_none(&problems);
}

#[test]
fn modules_are_named_for_what_they_hold() {
    let mut problems = Vec::new();
    for path in sources() {
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        if stem == "mod" {
            problems.push(format!("{}: use `name.rs` beside `name/`", shown(&path)));
        }
        if EMPTY_NAMES.contains(&stem.as_str()) {
            problems.push(format!("{}: name it for what it holds", shown(&path)));
        }
    }
    assert_none(&problems);
}

/// A file that no module declares is never compiled, and its tests never run.
#[test]
fn every_file_is_part_of_its_crate() {
    let problems: Vec<Problem> = sources()
        .into_iter()
        .filter(|path| !is_crate_root(path) && !is_declared(path))
        .map(|path| format!("{} is declared by no `mod`", shown(&path)))
        .collect();
    assert_none(&problems);
}

fn sources() -> Vec<std::path::PathBuf> {
    let sources = files(&root().join("crates"), &[".rs"]);
    assert!(sources.len() > 10, "the sources were not found");
    sources
}

/// Cargo compiles these by itself.
fn is_crate_root(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let folder = path.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    ["lib.rs", "main.rs", "build.rs"].contains(&name.as_str())
        || ["bin", "tests", "examples", "benches"].contains(&folder.as_str())
            && path.ancestors().nth(2).is_some_and(|above| {
                above.join("Cargo.toml").exists()
                    || above.file_name().is_some_and(|name| name == "src")
            })
}

fn is_declared(path: &Path) -> bool {
    let folder = path.parent().unwrap();
    let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
    let beside = folder.with_extension("rs");
    let roots = [folder.join("lib.rs"), folder.join("main.rs"), beside];
    let declaration = format!("mod {stem};");
    roots.iter().filter_map(|root| fs::read_to_string(root).ok()).any(|text| {
        text.lines()
            .any(|line| line.trim_start().trim_start_matches("pub ").ends_with(&declaration))
    })
}

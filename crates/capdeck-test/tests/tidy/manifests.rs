//! Which crate may use which, and where dependencies are declared.

use std::fs;

use super::{Problem, assert_none, files, root};

/// The crates from the files inwards to the edge; each may use what its row names and nothing else.
///
/// A name must be above the row that uses it, so the table cannot hold a cycle.
const CRATES: &[(&str, &[&str])] = &[
    ("capdeck-access", &[]),
    ("capdeck-storage", &[]),
    ("capdeck-definition", &["capdeck-access", "capdeck-storage"]),
    ("capdeck-catalog", &["capdeck-access", "capdeck-storage", "capdeck-definition"]),
    ("capdeck-install", &["capdeck-storage", "capdeck-definition"]),
    ("capdeck-mcp", &[]),
    ("capdeck-auth", &["capdeck-access", "capdeck-storage"]),
    ("capdeck-capsule", &["capdeck-access", "capdeck-storage"]),
    ("capdeck-sandbox", &["capdeck-catalog"]),
    (
        "capdeck-backend",
        &[
            "capdeck-storage",
            "capdeck-definition",
            "capdeck-catalog",
            "capdeck-mcp",
            "capdeck-auth",
        ],
    ),
    (
        "capdeck-host",
        &[
            "capdeck-access",
            "capdeck-storage",
            "capdeck-definition",
            "capdeck-catalog",
            "capdeck-auth",
            "capdeck-capsule",
            "capdeck-sandbox",
            "capdeck-backend",
        ],
    ),
    (
        "capdeck-serve",
        &[
            "capdeck-access",
            "capdeck-storage",
            "capdeck-mcp",
            "capdeck-auth",
            "capdeck-host",
            "capdeck-install",
        ],
    ),
    (
        "capdeck-cli",
        &[
            "capdeck-storage",
            "capdeck-definition",
            "capdeck-install",
            "capdeck-catalog",
            "capdeck-auth",
            "capdeck-host",
            "capdeck-serve",
        ],
    ),
    // Its conformance server is made of the product's own server half, which is thereby tested alone; the store is
    // measured alone, too.
    ("capdeck-test", &["capdeck-mcp", "capdeck-capsule"]),
    // Hands bytes to every parser.
    (
        "capdeck-fuzz",
        &[
            "capdeck-definition",
            "capdeck-catalog",
            "capdeck-mcp",
            "capdeck-auth",
            "capdeck-capsule",
            "capdeck-sandbox",
            "capdeck-backend",
            "capdeck-host",
            "capdeck-install",
            "capdeck-serve",
        ],
    ),
];

/// A line of a manifest's dependency table.
struct Dependency {
    krate: String,
    section: String,
    name: String,
    line: String,
}

#[test]
fn crates_depend_only_on_those_before_them() {
    let mut problems = table_problems();
    for dependency in dependencies() {
        let Dependency { krate, section, name, .. } = &dependency;
        if !name.starts_with("capdeck-") {
            continue;
        }
        if name == "capdeck-test" {
            if section != "dev-dependencies" {
                problems.push(format!("{krate} uses capdeck-test outside dev-dependencies"));
            }
            continue;
        }
        let row = CRATES.iter().find(|(listed, _)| listed == krate);
        let allowed = row.is_some_and(|(_, allowed)| allowed.contains(&name.as_str()));
        // Tests may look at the crate's own surroundings, but never further out than the crate itself.
        let is_outward = position(name) >= position(krate);
        if section == "dev-dependencies" && !is_outward {
            continue;
        }
        if !allowed {
            problems.push(format!(
                "{krate} must not depend on {name}: move the code, or change the table in \
                 crates/capdeck-test/tests/tidy/manifests.rs with a reason"
            ));
        }
    }
    assert_none(&problems);
}

#[test]
fn dependencies_are_declared_once_in_the_workspace() {
    let problems: Vec<Problem> = dependencies()
        .into_iter()
        .filter(|dependency| !dependency.line.contains("workspace = true"))
        .map(|Dependency { krate, name, .. }| {
            format!(
                "{krate}: `{name}` needs `workspace = true` and its version in the root Cargo.toml"
            )
        })
        .collect();
    assert_none(&problems);
}

#[test]
fn workspace_dependencies_are_used() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let used: Vec<String> = dependencies().into_iter().map(|dependency| dependency.name).collect();
    let problems: Vec<Problem> = declared(&manifest, "workspace.dependencies")
        .into_iter()
        .filter(|(name, _)| !used.contains(name))
        .map(|(name, _)| format!("no crate uses `{name}`: remove it from the root Cargo.toml"))
        .collect();
    assert_none(&problems);
}

#[test]
fn crates_name_what_they_depend_on() {
    let folders = |section: &str| match section {
        "dev-dependencies" => &["src", "tests", "examples"][..],
        _ => &["src"],
    };
    let is_named = |Dependency { krate, section, name, .. }: &Dependency| {
        let word = name.replace('-', "_");
        let folders =
            folders(section).iter().map(|folder| root().join("crates").join(krate).join(folder));
        let mut sources =
            folders.filter(|folder| folder.exists()).flat_map(|folder| files(&folder, &[".rs"]));
        sources.any(|source| names(&fs::read_to_string(source).unwrap(), &word))
    };
    let problems: Vec<Problem> = dependencies()
        .into_iter()
        .filter(|dependency| !is_named(dependency))
        .map(|Dependency { krate, name, .. }| {
            format!("{krate} never names `{name}`: remove it from its Cargo.toml")
        })
        .collect();
    assert_none(&problems);
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    let missing = manifests()
        .into_iter()
        .filter(|(_, manifest)| !manifest.contains("[lints]\nworkspace = true"));
    let problems: Vec<Problem> =
        missing.map(|(krate, _)| format!("{krate}: add `[lints] workspace = true`")).collect();
    assert_none(&problems);
}

/// True when a source has this word, whole.
fn names(source: &str, word: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    source.match_indices(word).any(|(start, _)| {
        let (before, rest) = source.split_at(start);
        let after = rest.strip_prefix(word).unwrap_or_default();
        !before.ends_with(is_letter) && !after.starts_with(is_letter)
    })
}

fn position(krate: &str) -> usize {
    CRATES.iter().position(|(listed, _)| *listed == krate).unwrap_or(usize::MAX)
}

/// The table names every crate, and every row looks only upwards.
fn table_problems() -> Vec<Problem> {
    let mut problems: Vec<Problem> = manifests()
        .into_iter()
        .filter(|(krate, _)| position(krate) == usize::MAX)
        .map(|(krate, _)| format!("{krate} has no row in the table of crates"))
        .collect();
    for (krate, allowed) in CRATES {
        for name in allowed.iter().filter(|name| position(name) >= position(krate)) {
            problems.push(format!("the row of {krate} names {name}, which comes after it"));
        }
    }
    problems
}

/// Folder name and text of every crate's manifest.
fn manifests() -> Vec<(String, String)> {
    let folders = fs::read_dir(root().join("crates")).unwrap().map(Result::unwrap);
    folders
        .filter_map(|folder| {
            let manifest = fs::read_to_string(folder.path().join("Cargo.toml")).ok()?;
            Some((folder.file_name().into_string().unwrap(), manifest))
        })
        .collect()
}

fn dependencies() -> Vec<Dependency> {
    let sections = ["dependencies", "dev-dependencies", "build-dependencies"];
    let mut found = Vec::new();
    for (krate, manifest) in manifests() {
        for section in sections {
            for (name, line) in declared(&manifest, section) {
                let section = section.to_owned();
                found.push(Dependency { krate: krate.clone(), section, name, line });
            }
        }
    }
    assert!(!found.is_empty(), "no manifest was read");
    found
}

/// The names and lines of one table, platform-specific ones included.
fn declared(manifest: &str, section: &str) -> Vec<(String, String)> {
    let plain = format!("[{section}]");
    let per_target = format!(".{section}]");
    let mut found = Vec::new();
    let mut inside = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line == plain || (line.starts_with("[target.") && line.ends_with(&per_target));
        } else if inside && let Some((key, _)) = line.split_once('=') {
            let name = key.trim().trim_end_matches(".workspace");
            found.push((name.to_owned(), line.to_owned()));
        }
    }
    found
}

//! `fixtures/`: one file per case, with what is said about it beside it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use capdeck_definition::{Deck, DiagnosticSeverity, check_paths};

use crate::rendered::render;

/// The definition files of one fixture folder, sorted.
pub(crate) fn files(folder: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension != "snap"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

#[test]
fn valid_files_say_nothing() {
    for path in files("valid") {
        let deck = check_paths(std::slice::from_ref(&path));
        assert_eq!(deck.diagnostics, [], "{}", path.display());
        assert_eq!(deck.quarantined, [], "{}", path.display());
    }
}

#[test]
fn warnings_are_said_and_quarantine_nothing() {
    check_folder("warning", |deck| {
        assert!(deck.diagnostics.iter().all(|found| found.severity == DiagnosticSeverity::Warning));
        assert!(!deck.diagnostics.is_empty() && deck.quarantined.is_empty());
        assert!(!deck.definitions.is_empty());
    });
}

#[test]
fn errors_are_said_with_place_and_fix() {
    check_folder("invalid", |deck| {
        assert!(deck.diagnostics.iter().any(|found| found.severity == DiagnosticSeverity::Error));
        for found in &deck.diagnostics {
            assert!(found.fix.is_some(), "{found:?}");
            let first = found.message.chars().next().unwrap();
            assert!(!first.is_uppercase() && !found.message.ends_with('.'), "{found:?}");
        }
    });
}

fn check_folder(folder: &str, rules: impl Fn(&Deck)) {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let base = manifest.join("fixtures").join(folder);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(&base);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for path in files(folder) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let deck = check_paths(&[path]);
        settings.bind(|| insta::assert_snapshot!(name, render(&deck, &base)));
        rules(&deck);
    }
}

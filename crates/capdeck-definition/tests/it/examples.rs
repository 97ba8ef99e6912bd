//! Published Caplet files, when they are at hand.

use std::path::{Path, PathBuf};

use capdeck_definition::{Deck, DeckRoot, DiagnosticSeverity, RootOwner};

/// The folder with shared reference data, beside the repository, if it is there.
pub(crate) fn shared_data() -> Option<PathBuf> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let data = repository.join("../shared/data");
    if data.is_dir() {
        return Some(data);
    }
    eprintln!("skipped: no shared data");
    None
}

#[test]
fn every_published_file_is_read_without_errors() {
    let Some(data) = shared_data() else { return };
    let dir = data.join("caplets");
    let deck = Deck::read(&[DeckRoot { dir: dir.clone(), owner: RootOwner::User }]);
    let said: Vec<(String, DiagnosticSeverity, &str)> = deck
        .diagnostics
        .iter()
        .map(|found| {
            let file = found.file.strip_prefix(&dir).unwrap().display().to_string();
            (file, found.severity, found.code.as_str())
        })
        .collect();
    assert_eq!(
        said,
        [("npm/CAPLET.md".to_owned(), DiagnosticSeverity::Warning, "missing-base-url")]
    );
    assert_eq!(deck.quarantined, []);
    let folders = std::fs::read_dir(&dir).unwrap().filter(|e| e.as_ref().unwrap().path().is_dir());
    let mut files: Vec<_> = deck.definitions.iter().map(|found| &found.source.path).collect();
    files.dedup();
    assert_eq!(files.len(), folders.count());
}

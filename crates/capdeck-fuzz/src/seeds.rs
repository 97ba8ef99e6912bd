//! Seeds that are files of this tree, and inputs that once broke a promise.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Larger files take long and say little more.
const MAX_SEED: u64 = 16 * 1024;

/// A folder of the tree.
pub(crate) fn tree(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().join(folder)
}

/// The files below a folder of the tree with one of these endings, by name.
pub(crate) fn files(folder: &str, endings: &[&str]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    collect(&tree(folder), endings, &mut found);
    found.sort();
    assert!(!found.is_empty(), "there are no seeds in {folder}");
    found.into_iter().map(|path| fs::read(path).unwrap()).collect()
}

fn collect(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, facts) = (entry.path(), entry.metadata().unwrap());
        let name = entry.file_name().to_string_lossy().into_owned();
        if facts.is_dir() {
            collect(&path, endings, found);
        } else if facts.len() <= MAX_SEED && endings.iter().any(|ending| name.ends_with(ending)) {
            found.push(path);
        }
    }
}

/// Inputs that broke a promise of this target before.
pub(crate) fn regressions(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions").join(target);
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| fs::read(path).unwrap()).collect()
}

//! Rules about the tree itself: which crate may use which, how long a file may be, what documents name.
//!
//! A rule that matters is a test. Each failure names the file and says what to do.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "tidy/line_width.rs"]
mod line_width;
#[path = "tidy/manifests.rs"]
mod manifests;
#[path = "tidy/names.rs"]
mod names;
#[path = "tidy/paths.rs"]
mod paths;
#[path = "tidy/security_list.rs"]
mod security_list;
#[path = "tidy/sources.rs"]
mod sources;
#[path = "tidy/words.rs"]
mod words;

use std::{
    fs,
    path::{Path, PathBuf},
};

/// One thing that is not as it should be.
type Problem = String;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_path_buf()
}

fn assert_none(problems: &[Problem]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

/// Files of the tree with one of these endings, without what tools put there.
fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    const NOT_OURS: [&str; 3] = [".git", ".test-deps", "node_modules"];
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let (path, name) = (entry.path(), entry.file_name());
            let kind = entry.file_type().unwrap();
            // What cargo builds has this mark; a module may be called `target`, too.
            let is_built = || path.join("CACHEDIR.TAG").exists();
            if kind.is_dir() && !NOT_OURS.iter().any(|skipped| name == *skipped) && !is_built() {
                folders.push(path);
            } else if kind.is_file()
                && endings.iter().any(|end| path.to_string_lossy().ends_with(end))
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The code of the product: every source file of the crates that ship, without its tests.
fn product_sources() -> Vec<(PathBuf, String)> {
    let is_product = |path: &PathBuf| {
        let name = shown(path);
        name.contains("/src/")
            && !["crates/capdeck-test/", "crates/capdeck-fuzz/"]
                .iter()
                .any(|it| name.starts_with(it))
            && !name.contains("/tests/")
            && !name.ends_with("tests.rs")
    };
    let paths = files(&root().join("crates"), &[".rs"]).into_iter().filter(is_product);
    let without_tests = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default().to_owned();
        (path, code)
    };
    paths.map(without_tests).collect()
}

/// A path as a reader would name it.
fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

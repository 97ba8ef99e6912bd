//! The glossary explains each word once.

use std::{collections::HashSet, fs};

use super::{Problem, assert_none, root};

#[test]
fn a_word_is_explained_once() {
    let glossary = fs::read_to_string(root().join("docs/glossary.md")).unwrap();
    let mut seen = HashSet::new();
    let problems: Vec<Problem> = words(&glossary)
        .filter(|word| !seen.insert(*word))
        .map(|word| format!("docs/glossary.md explains `{word}` twice: make it one row"))
        .collect();
    assert_none(&problems);
    assert!(!seen.is_empty(), "the glossary has no rows");
}

/// The first cells of its tables, but for their headings.
fn words(glossary: &str) -> impl Iterator<Item = &str> {
    let rows = glossary.lines().filter_map(|line| line.strip_prefix("| "));
    rows.filter_map(|row| row.split(" | ").next()).filter(|word| *word != "word")
}

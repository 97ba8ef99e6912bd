//! Lines of documents fit beside each other: a diff of two design notes shows the sentences that changed.

use std::fs;

use super::{Problem, assert_none, files, root, shown, words::prose_lines};

const MAX_LETTERS: usize = 120;

#[test]
fn lines_of_design_notes_are_short() {
    let mut problems: Vec<Problem> = Vec::new();
    for page in files(&root().join("docs/design"), &[".md"]) {
        let text = fs::read_to_string(&page).unwrap();
        // A row of a table is one line.
        let lines = prose_lines(&text).filter(|(_, line)| !line.starts_with('|'));
        for (number, line) in lines.filter(|(_, line)| line.chars().count() > MAX_LETTERS) {
            let letters = line.chars().count();
            let place = shown(&page);
            problems.push(format!("{place}:{number} has {letters} letters, {MAX_LETTERS} at most"));
        }
    }
    assert_none(&problems);
}

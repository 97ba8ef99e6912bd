//! The texts of a package before and after, as one hunk per file.

use std::collections::BTreeMap;

use super::contents::PackageFile;

/// Lines shown around a change.
const AROUND: usize = 3;
/// More lines than this are counted and not shown.
const MOST_LINES: usize = 200;

type Files = BTreeMap<String, PackageFile>;

/// What changes from one set of files to another. Empty when nothing does.
pub(super) fn diff(before: &Files, after: &Files) -> String {
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let mut shown = String::new();
    for name in names {
        let (old, new) = (before.get(name), after.get(name));
        if old == new {
            continue;
        }
        shown.push_str(&format!("--- {}\n+++ {}\n", side(name, old), side(name, new)));
        match (text(old), text(new)) {
            (Some(old), Some(new)) if old == new => shown.push_str("the file's mode changes\n"),
            (Some(old), Some(new)) => shown.push_str(&hunk(old, new)),
            _ => shown.push_str("the file is no text\n"),
        }
    }
    shown
}

fn side(name: &str, file: Option<&PackageFile>) -> String {
    file.map_or_else(|| "(none)".to_owned(), |_| name.to_owned())
}

/// The text of a file; an empty one where there is none.
fn text(file: Option<&PackageFile>) -> Option<&str> {
    match file {
        Some(file) => std::str::from_utf8(&file.content).ok(),
        None => Some(""),
    }
}

/// The lines between the first and the last that differ, with some around them.
fn hunk(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    let most = old.len().min(new.len()) - same;
    let ends = old.iter().rev().zip(new.iter().rev());
    let same_after = ends.take_while(|(one, other)| one == other).count().min(most);
    let part = |lines: &[&str], from: usize, to: usize, mark: char| -> String {
        let chosen = lines.get(from..to).unwrap_or_default();
        let mut shown: String =
            chosen.iter().take(MOST_LINES).map(|line| format!("{mark}{line}\n")).collect();
        if chosen.len() > MOST_LINES {
            shown.push_str(&format!("{mark}… {} more lines\n", chosen.len() - MOST_LINES));
        }
        shown
    };
    let start = same.saturating_sub(AROUND);
    let (old_end, new_end) = (old.len() - same_after, new.len() - same_after);
    let after = (old_end + AROUND).min(old.len());
    format!(
        "@@ line {} @@\n{}{}{}{}",
        same + 1,
        part(&old, start, same, ' '),
        part(&old, same, old_end, '-'),
        part(&new, same, new_end, '+'),
        part(&old, old_end, after, ' ')
    )
}

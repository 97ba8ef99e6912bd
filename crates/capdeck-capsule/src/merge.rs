//! Differences between versions, and a proposal when two writers changed the same one.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffOp, TextDiff, capture_diff_slices_deadline};

use crate::EntryUri;

/// How long a comparison may take; a worse result is returned then.
const DIFF_TIMEOUT: Duration = Duration::from_millis(500);

/// Someone else wrote first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}", conflict_message(.uri, *.expected_version, *.current_version))]
pub struct WriteConflict {
    pub uri: EntryUri,
    pub expected_version: u64,
    /// 0 when there is no entry.
    pub current_version: u64,
    /// Both changes merged; absent when one of the two versions is missing, or a patch does not apply
    /// the one it was meant for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<MergeProposal>,
}

/// Both changes since their common version, put together line by line. It holds text of others: show it fenced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeProposal {
    /// With conflict markers where both changed the same lines.
    pub text: String,
    /// Places to decide; 0 means the text can be written as it is.
    pub conflicts: usize,
}

fn conflict_message(uri: &EntryUri, expected: u64, current: u64) -> String {
    match (expected, current) {
        (_, 0) => format!(
            "there is no `{uri}` any more, and version {expected} was expected; to make it again, write with `if_version`: 0"
        ),
        (0, _) => format!(
            "`{uri}` is there already, in version {current}; read it, merge, and write with `if_version`: {current}"
        ),
        _ => format!(
            "`{uri}` is in version {current}, not {expected}; read it, merge, and write with `if_version`: {current}"
        ),
    }
}

/// A unified diff of two bodies.
pub fn unified_diff(old: &str, new: &str, old_name: &str, new_name: &str) -> String {
    let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(old, new);
    diff.unified_diff().context_radius(3).header(old_name, new_name).to_string()
}

/// Merges two changes of the same base.
pub fn merge(base: &str, ours: &str, theirs: &str) -> MergeProposal {
    let [base, ours, theirs] = [base, ours, theirs].map(lines);
    let (our_changes, their_changes) = (changes(&base, &ours), changes(&base, &theirs));
    let mut merged = MergeProposal { text: String::new(), conflicts: 0 };
    let (mut at, mut next_ours, mut next_theirs) = (0, 0, 0);
    loop {
        let (one, other) = (our_changes.get(next_ours), their_changes.get(next_theirs));
        let Some(start) = one.into_iter().chain(other).map(|change| change.base.0).min() else {
            break;
        };
        merged.keep(&base, at, start);
        // A hunk grows until neither side has a change that touches it.
        let mut end = start;
        let (first_ours, first_theirs) = (next_ours, next_theirs);
        loop {
            let before = (next_ours, next_theirs);
            for (changes, next) in
                [(&our_changes, &mut next_ours), (&their_changes, &mut next_theirs)]
            {
                while let Some(change) = changes.get(*next)
                    && (change.base.0 < end
                        || change.base.0 == start
                        || (change.base.0 == end && end > start && change.base.0 == change.base.1))
                {
                    end = end.max(change.base.1);
                    *next += 1;
                }
            }
            if before == (next_ours, next_theirs) {
                break;
            }
        }
        let side = |changes: &[DiffHunk], first: usize, last: usize, lines: &[&str]| {
            let touched = changes.get(first..last).unwrap_or_default();
            (!touched.is_empty()).then(|| replaced(&base, lines, touched, start, end))
        };
        let ours_here = side(&our_changes, first_ours, next_ours, &ours);
        let theirs_here = side(&their_changes, first_theirs, next_theirs, &theirs);
        merged.hunk(ours_here, theirs_here);
        at = end;
    }
    merged.keep(&base, at, base.len());
    merged
}

impl MergeProposal {
    fn keep(&mut self, base: &[&str], from: usize, to: usize) {
        self.text.extend(base.get(from..to).unwrap_or_default().iter().copied());
    }

    fn hunk(&mut self, ours: Option<String>, theirs: Option<String>) {
        match (ours, theirs) {
            (Some(ours), Some(theirs)) if ours != theirs => {
                self.conflicts += 1;
                self.text.push_str("<<<<<<< yours\n");
                self.push_lines(&ours);
                self.text.push_str("=======\n");
                self.push_lines(&theirs);
                self.text.push_str(">>>>>>> current\n");
            }
            (Some(text), _) | (None, Some(text)) => self.text.push_str(&text),
            (None, None) => {}
        }
    }

    fn push_lines(&mut self, text: &str) {
        self.text.push_str(text);
        if !text.is_empty() && !text.ends_with('\n') {
            self.text.push('\n');
        }
    }
}

/// Lines of the base and the lines that replace them, as half-open ranges.
#[derive(Debug)]
struct DiffHunk {
    base: (usize, usize),
    side: (usize, usize),
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn changes(base: &[&str], side: &[&str]) -> Vec<DiffHunk> {
    let deadline = Some(Instant::now() + DIFF_TIMEOUT);
    capture_diff_slices_deadline(Algorithm::Myers, base, side, deadline)
        .into_iter()
        .filter(|op| !matches!(op, DiffOp::Equal { .. }))
        .map(|op| {
            let (base, side) = (op.old_range(), op.new_range());
            DiffHunk { base: (base.start, base.end), side: (side.start, side.end) }
        })
        .collect()
}

/// What one side has for the base lines `start..end`, which hold all of the given changes.
fn replaced(
    base: &[&str],
    side: &[&str],
    changes: &[DiffHunk],
    start: usize,
    end: usize,
) -> String {
    let mut text = String::new();
    let mut at = start;
    for change in changes {
        text.extend(base.get(at..change.base.0).unwrap_or_default().iter().copied());
        text.extend(side.get(change.side.0..change.side.1).unwrap_or_default().iter().copied());
        at = change.base.1;
    }
    text.extend(base.get(at..end).unwrap_or_default().iter().copied());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_in_different_places_stand_together() {
        let merged = merge("a\nb\nc\nd\ne\n", "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\nf\n");
        assert_eq!(merged, MergeProposal { text: "A\nb\nc\nd\nE\nf\n".to_owned(), conflicts: 0 });
        let both_added = merge("a\nb\nc\n", "a\nx\nb\nc\n", "a\nb\nc\ny\n");
        assert_eq!(both_added.text, "a\nx\nb\nc\ny\n");
    }

    #[test]
    fn the_same_change_twice_is_one_change() {
        let merged = merge("a\nb\n", "a\nc\n", "a\nc\n");
        assert_eq!(merged, MergeProposal { text: "a\nc\n".to_owned(), conflicts: 0 });
    }

    #[test]
    fn a_line_changed_by_both_is_a_conflict() {
        let merged = merge("a\nb\nc\n", "a\nmine\nc\n", "a\ntheirs\nc\n");
        assert_eq!(merged.conflicts, 1);
        assert_eq!(merged.text, "a\n<<<<<<< yours\nmine\n=======\ntheirs\n>>>>>>> current\nc\n");
        assert_eq!(merge("a\n", "a\nx\n", "a\ny\n").conflicts, 1);
        assert_eq!(merge("", "x", "y").conflicts, 1);
    }

    #[test]
    fn one_sided_changes_give_that_side() {
        for (base, side) in [("a\nb\n", ""), ("", "a\n"), ("a\nb\nc\n", "a\nc\n"), ("x", "x\ny")] {
            assert_eq!(merge(base, side, base).text, side);
            assert_eq!(merge(base, base, side).text, side);
            assert_eq!(merge(base, side, side).text, side);
        }
    }

    #[test]
    fn a_diff_names_both_versions() {
        let diff = unified_diff("a\nb\n", "a\nc\n", "docs://x@1", "docs://x@2");
        assert_eq!(diff, "--- docs://x@1\n+++ docs://x@2\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
    }
}

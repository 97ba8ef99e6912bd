//! A change to one file that has been thought through and not yet made.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{
    ClientEntryRecords, ClientEntryTarget, ConnectError,
    entry_record::{ClientEntryRecord, FoundEntry, read_text},
};
use crate::{atomic_file::replace_file_if, secrets::mask};

/// What becomes of the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientEntryChange {
    /// Nothing: it is as it should be.
    None,
    Add,
    Replace,
    Remove,
}

/// A change to one file.
#[derive(Debug, Clone)]
pub struct ClientEntryPlan {
    pub target: ClientEntryTarget,
    pub change: ClientEntryChange,
    /// The text that the file has now; none where there is no file.
    pub before: Option<String>,
    /// The text that the file will have; none when it goes.
    pub after: Option<String>,
    pub(super) record: Option<ClientEntryRecord>,
    /// Folders that go when they are empty, the deepest first.
    pub(super) folders: Vec<PathBuf>,
    /// Whether the record of the entry goes although nothing is written.
    pub(super) is_forgotten: bool,
}

impl ClientEntryPlan {
    pub(super) fn unchanged(target: &ClientEntryTarget, found: FoundEntry) -> Self {
        Self {
            target: target.clone(),
            change: ClientEntryChange::None,
            before: found.text.clone(),
            after: found.text,
            record: None,
            folders: Vec::new(),
            is_forgotten: false,
        }
    }

    /// The change as a unified diff, with values that look like secrets left out. Empty when nothing changes.
    pub fn diff(&self) -> String {
        unified(&self.target.file, self.before.as_deref(), self.after.as_deref())
    }

    /// Makes the change, whole or not at all. A file that is no longer what the plan was made for is left alone.
    pub fn apply(&self, records: &ClientEntryRecords) -> Result<(), ConnectError> {
        let file = &self.target.file;
        if self.change == ClientEntryChange::None {
            // A record without an entry is of one that another program took out, or whose file is gone.
            return if self.is_forgotten { records.forget(&self.target) } else { Ok(()) };
        }
        self.target.check_place()?;
        self.check_unchanged()?;
        if fs::metadata(file).is_ok_and(|facts| facts.permissions().readonly()) {
            return Err(ConnectError::ReadOnly { file: file.clone() });
        }
        // The record is first: without it the former bytes could not be found again.
        let known = records.load(&self.target)?;
        if let Some(record) = &self.record {
            records.save(&self.target, record)?;
        }
        let done = match &self.after {
            Some(after) => self.replace(after),
            None => self.delete(file),
        };
        if let Err(error) = done {
            match known {
                Some(known) => records.save(&self.target, &known)?,
                None => records.forget(&self.target)?,
            }
            return Err(error);
        }
        if self.change == ClientEntryChange::Remove {
            records.forget(&self.target)?;
        }
        Ok(())
    }

    /// The record that applying this would keep, with its place: for a change that is made together with others.
    pub(crate) fn record_file(&self, records: &ClientEntryRecords) -> Option<(PathBuf, Vec<u8>)> {
        let record = self.record.as_ref()?;
        Some((records.file(&self.target), record.to_bytes()))
    }

    fn check_unchanged(&self) -> Result<(), ConnectError> {
        let file = &self.target.file;
        if read_text(file)? == self.before {
            Ok(())
        } else {
            Err(ConnectError::Changed { file: file.clone() })
        }
    }

    /// Agents write these files whenever they like. What one wrote while ours was made ready is seen right before it would be lost.
    fn replace(&self, after: &str) -> Result<(), ConnectError> {
        let mut unchanged = Ok(());
        let may_replace = || {
            unchanged = self.check_unchanged();
            unchanged.is_ok()
        };
        replace_file_if(&self.target.file, after.as_bytes(), may_replace)?;
        unchanged
    }

    fn delete(&self, file: &Path) -> Result<(), ConnectError> {
        fs::remove_file(file)
            .map_err(|source| ConnectError::Delete { file: file.to_owned(), source })?;
        for folder in &self.folders {
            // One that others use by now is not empty and stays, with those around it.
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }
}

const CONTEXT: usize = 3;

/// The diff of two states of a file, as one hunk. Empty when they are the same.
pub(super) fn unified(file: &Path, before: Option<&str>, after: Option<&str>) -> String {
    if before == after {
        return String::new();
    }
    let old: Vec<&str> = lines(before);
    let new: Vec<&str> = lines(after);
    let same = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    let (old_rest, new_rest) = (old.iter().skip(same), new.iter().skip(same));
    let end = old_rest.rev().zip(new_rest.rev()).take_while(|(one, other)| one == other).count();
    let first = same.saturating_sub(CONTEXT);
    let shown = |all: &[&str]| (all.len() - end + CONTEXT.min(end)) - first;
    let name = |text: Option<&str>| match text {
        Some(_) => file.display().to_string(),
        None => "/dev/null".to_owned(),
    };
    let mut diff = format!("--- {}\n+++ {}\n", name(before), name(after));
    let start = |all: &[&str]| if all.is_empty() { 0 } else { first + 1 };
    diff.push_str(&format!(
        "@@ -{},{} +{},{} @@\n",
        start(&old),
        shown(&old),
        start(&new),
        shown(&new)
    ));
    let mut push = |mark: char, line: &str| {
        diff.push(mark);
        diff.push_str(line.trim_end_matches(['\n', '\r']));
        diff.push('\n');
        if !line.ends_with('\n') {
            diff.push_str("\\ No newline at end of file\n");
        }
    };
    // What is compared is the text; what is shown has lost its secrets.
    let (old_shown, new_shown) = (before.map(mask), after.map(mask));
    let (old_shown, new_shown) = (lines(old_shown.as_deref()), lines(new_shown.as_deref()));
    old_shown.iter().take(same).skip(first).for_each(|line| push(' ', line));
    old_shown.iter().take(old.len() - end).skip(same).for_each(|line| push('-', line));
    new_shown.iter().take(new.len() - end).skip(same).for_each(|line| push('+', line));
    new_shown.iter().skip(new.len() - end).take(CONTEXT).for_each(|line| push(' ', line));
    diff
}

fn lines(text: Option<&str>) -> Vec<&str> {
    text.unwrap_or_default().split_inclusive('\n').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_what_is_around_it() {
        let before = "1\n2\n3\n4\n5\n6\n";
        let after = "1\n2\n3\n4\nnew\n5\n6\n";
        let diff = unified(Path::new("a.json"), Some(before), Some(after));
        assert_eq!(diff, "--- a.json\n+++ a.json\n@@ -2,5 +2,6 @@\n 2\n 3\n 4\n+new\n 5\n 6\n");
        assert_eq!(unified(Path::new("a"), Some("x"), Some("x")), "");
        let made = unified(Path::new("a"), None, Some("x"));
        assert_eq!(
            made,
            "--- /dev/null\n+++ a\n@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n"
        );
        let gone = unified(Path::new("a"), Some("x\n"), None);
        assert_eq!(gone, "--- a\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n");
    }

    #[test]
    fn secrets_around_it_are_not_shown() {
        let before = "{\n  \"API_TOKEN\": \"abcdef123456\",\n  \"mode\": \"fast\"\n}\n";
        let after = before.replace("fast", "slow");
        let diff = unified(Path::new("a"), Some(before), Some(&after));
        assert!(!diff.contains("abcdef123456"), "{diff}");
        assert!(diff.contains("\"API_TOKEN\": [hidden]"), "{diff}");
    }
}

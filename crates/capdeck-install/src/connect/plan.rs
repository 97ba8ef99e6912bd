//! A change to one file that has been thought through and not yet made.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    ConnectError, Records, Target,
    diff::unified,
    record::Record,
    target::{Found, read_text},
};
use crate::atomic_file::replace_file_if;

/// What becomes of the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryChange {
    /// Nothing: it is as it should be.
    None,
    Add,
    Replace,
    Remove,
}

/// A change to one file.
#[derive(Debug, Clone)]
pub struct Plan {
    pub target: Target,
    pub change: EntryChange,
    before: Option<String>,
    /// No text: the file goes.
    after: Option<String>,
    record: Option<Record>,
    /// Folders that go when they are empty, the deepest first.
    folders: Vec<PathBuf>,
}

impl Plan {
    pub(super) fn unchanged(target: &Target, found: Found) -> Self {
        let after = found.text.clone();
        Self::write(target, found, EntryChange::None, after, None)
    }

    pub(super) fn write(
        target: &Target,
        found: Found,
        change: EntryChange,
        after: Option<String>,
        record: Option<Record>,
    ) -> Self {
        let target = target.clone();
        Self { target, change, before: found.text, after, record, folders: Vec::new() }
    }

    /// What the record says was made goes again with the file.
    pub(super) fn after_removal(mut self, record: Option<Record>) -> Self {
        self.folders = record.map(|record| record.made_folders).unwrap_or_default();
        self
    }

    /// The text that the file will have; none when it goes.
    pub fn after(&self) -> Option<&str> {
        self.after.as_deref()
    }

    /// The change as a unified diff, with values that look like secrets left out. Empty when nothing changes.
    pub fn diff(&self) -> String {
        unified(&self.target.file, self.before.as_deref(), self.after.as_deref())
    }

    /// Makes the change, whole or not at all. A file that is no longer what the plan was made for is left alone.
    pub fn apply(&self, records: &Records) -> Result<(), ConnectError> {
        let file = &self.target.file;
        if self.change == EntryChange::None {
            return Ok(());
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
        if self.change == EntryChange::Remove {
            records.forget(&self.target)?;
        }
        Ok(())
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

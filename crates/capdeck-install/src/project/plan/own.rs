//! Files that are ours as a whole.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use super::{Change, Edited, Planning, change, shown};
use crate::project::{
    Problem,
    desired::OwnFile,
    manifest::{OwnRecord, sha256},
};

impl Planning<'_> {
    pub(super) fn own_files(&mut self, desired: &BTreeMap<PathBuf, OwnFile>) {
        let taken = self.taken_units(desired);
        for (path, file) in desired {
            if !file.unit.as_ref().is_some_and(|unit| taken.contains(unit)) {
                self.write_own(path, file);
            }
        }
        for (path, record) in &self.recorded.own {
            if !desired.contains_key(path) {
                self.remove_own(path, record);
            }
        }
    }

    /// Folders of other people that stand where one of ours should.
    fn taken_units(&mut self, desired: &BTreeMap<PathBuf, OwnFile>) -> BTreeSet<PathBuf> {
        let units: BTreeSet<&PathBuf> =
            desired.values().filter_map(|file| file.unit.as_ref()).collect();
        let mut taken = BTreeSet::new();
        for unit in units {
            let is_ours = self.recorded.own.keys().any(|path| path.starts_with(unit));
            let is_same = |path: &Path| {
                let content = fs::read(path).ok();
                content == desired.get(path).map(|file| file.content.clone())
            };
            if is_ours
                || self.edited == Edited::Overwrite
                || files_below(unit).iter().all(|path| is_same(path))
            {
                continue;
            }
            self.problems.push(
                Problem::error(
                    "not-ours",
                    shown(unit),
                    "this folder is there already and was not written by `capdeck install`",
                )
                .with_hint(
                    "rename or remove it, or give --force; `capdeck clean` then brings it back",
                ),
            );
            taken.insert(unit.clone());
        }
        taken
    }

    fn write_own(&mut self, path: &Path, file: &OwnFile) {
        let Some(current) = self.read(path) else { return };
        let record = self.recorded.own.get(path);
        let is_wanted = current.as_deref() == Some(&file.content);
        let is_untouched = match (&current, record) {
            (None, _) => true,
            (Some(content), Some(record)) => record.sha256 == sha256(content),
            (Some(_), None) => false,
        };
        let before = match (&current, record) {
            (_, Some(record)) => self.recorded_before(path, record),
            (Some(content), None) => Some(self.keep(content)),
            (None, None) => None,
        };
        if is_wanted || is_untouched || self.edited == Edited::Overwrite {
            let record =
                OwnRecord { sha256: sha256(&file.content), part_of: file.part_of.clone(), before };
            self.manifest.own.insert(path.to_owned(), record);
            let change = change(path, &file.part_of, current, Some(file.content.clone()));
            self.change(Change { is_program: file.is_program, ..change });
        } else if let Some(record) = record {
            self.problems.push(kept_because_edited(path, &file.part_of));
            self.manifest.own.insert(path.to_owned(), record.clone());
        } else {
            self.problems.push(
                Problem::error(
                    "not-ours",
                    shown(path),
                    format!("this file is there already, so {} cannot be written", file.part_of),
                )
                .with_hint(
                    "rename or remove it, or give --force; `capdeck clean` then brings it back",
                ),
            );
        }
    }

    fn remove_own(&mut self, path: &Path, record: &OwnRecord) {
        let Some(current) = self.read(path) else { return };
        let Some(content) = current else { return };
        if sha256(&content) != record.sha256 && self.edited == Edited::Keep {
            self.problems.push(kept_because_edited(path, &record.part_of));
            self.recorded_before(path, record);
            self.manifest.own.insert(path.to_owned(), record.clone());
            return;
        }
        let before = self.kept(path, record.before.as_ref()).unwrap_or_default();
        self.change(change(path, &record.part_of, Some(content), before));
    }

    /// The hash of what stood there before, if that is still known.
    fn recorded_before(&mut self, path: &Path, record: &OwnRecord) -> Option<String> {
        let content = self.kept(path, record.before.as_ref())??;
        Some(self.keep(&content))
    }
}

fn kept_because_edited(path: &Path, part_of: &str) -> Problem {
    let message = format!("it was changed since it was written for {part_of}, and stays as it is");
    Problem::warning("edited", shown(path), message)
        .with_hint("give --force to overwrite the change")
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files.extend(files_below(&entry.path())),
            _ => files.push(entry.path()),
        }
    }
    files
}

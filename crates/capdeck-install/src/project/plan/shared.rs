//! Files that others write too: only our parts change.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use capdeck_storage::sha256_hex;

use super::{PlanBuilder, change, shown};
use crate::{
    atomic_file::OverwritePolicy,
    project::{
        InstallProblem,
        blocks::{MarkerBlock, blocks_in, put_blocks, take_blocks},
        desired_files::{DocumentPart, SharedFile, format_of},
        document::{self, DocumentEdit},
        manifest::{PartRecord, SharedRecord},
    },
};

impl PlanBuilder<'_> {
    pub(super) fn shared_files(&mut self, desired: &BTreeMap<PathBuf, SharedFile>) {
        let paths: BTreeSet<&PathBuf> = desired.keys().chain(self.recorded.shared.keys()).collect();
        for path in paths {
            self.shared_file(path, desired.get(path));
        }
    }

    fn shared_file(&mut self, path: &Path, desired: Option<&SharedFile>) {
        let Some(current) = self.read(path) else { return };
        let record = self.recorded.shared.get(path);
        let recorded: &[PartRecord] = record.map_or(&[], |record| &record.parts);
        let Ok(text) = String::from_utf8(current.clone().unwrap_or_default()) else {
            let message = "it is not UTF-8 text, so nothing can be added to it";
            self.report(InstallProblem::error("not-text", shown(path), message));
            return;
        };
        let is_text = match desired {
            Some(SharedFile::Text(_)) => true,
            Some(SharedFile::Document { .. }) => false,
            None => recorded.iter().any(|part| matches!(part, PartRecord::Block { .. })),
        };
        let outcome = if is_text {
            let blocks: &[MarkerBlock] = match desired {
                Some(SharedFile::Text(blocks)) => blocks,
                _ => &[],
            };
            Some(self.text_file(path, &text, recorded, blocks))
        } else {
            let (format, parts): (_, &[DocumentPart]) = match desired {
                Some(SharedFile::Document { format, parts }) => (*format, parts),
                _ => (format_of(&path.to_string_lossy()), &[]),
            };
            self.document(path, &text, format, recorded, parts)
        };
        let Some(DocumentEdit { text, base, parts, .. }) = outcome else { return };

        // As long as no other program wrote the file, what it was before is known to the byte.
        let untouched = record.filter(|record| {
            current.as_deref().is_some_and(|content| sha256_hex(content) == record.sha256)
        });
        let base = match untouched {
            Some(record) => {
                let hash = record.before.clone();
                self.kept(path, hash.as_ref()).unwrap_or(Some(base.into_bytes()))
            }
            None if current.is_none() => None,
            None => {
                let is_leftover = match record {
                    // A file that we made and that holds nothing else any more goes.
                    Some(record) => record.before.is_none() && is_blank(&base, is_text),
                    // One that was empty before stays.
                    None => {
                        let was_empty = current.as_deref() == Some(base.as_bytes());
                        is_text && base.trim().is_empty() && !was_empty
                    }
                };
                (!is_leftover).then(|| base.into_bytes())
            }
        };
        let after = if parts.is_empty() { base.clone() } else { Some(text.into_bytes()) };
        if !parts.is_empty() {
            let before = base.as_deref().map(|content| self.keep(content));
            let sha256 = after.as_deref().map(sha256_hex).unwrap_or_default();
            let record = SharedRecord { sha256, before, parts };
            self.plan.manifest.shared.insert(path.to_owned(), record);
        } else if current == after {
            return;
        }
        let what = if is_text { "instructions" } else { "configuration" };
        self.change(change(path, what, current, after));
    }

    fn text_file(
        &mut self,
        path: &Path,
        text: &str,
        recorded: &[PartRecord],
        desired: &[MarkerBlock],
    ) -> DocumentEdit {
        let written: BTreeMap<&str, &str> = recorded
            .iter()
            .filter_map(|part| match part {
                PartRecord::Block { id, sha256 } => Some((id.as_str(), sha256.as_str())),
                _ => None,
            })
            .collect();
        let present = blocks_in(text);
        let mut edited = BTreeSet::new();
        for block in &present {
            let is_edited = written
                .get(block.id.as_str())
                .is_some_and(|hash| *hash != sha256_hex(block.body.as_bytes()));
            let is_wanted = desired.contains(block);
            if is_edited && !is_wanted && self.edited == OverwritePolicy::Keep {
                let message = format!("the block `{}` was changed and stays as it is", block.id);
                self.report_edited(path, message);
                edited.insert(block.id.clone());
            }
        }
        let is_kept = |id: &str| edited.contains(id);
        let is_desired = |id: &str| desired.iter().any(|block| block.id == id);
        let stripped = take_blocks(text, |id| !is_kept(id) && !is_desired(id));
        let put: Vec<MarkerBlock> =
            desired.iter().filter(|block| !is_kept(&block.id)).cloned().collect();
        let text = put_blocks(&stripped, &put);
        let parts = blocks_in(&text)
            .into_iter()
            .filter(|block| is_kept(&block.id) || is_desired(&block.id))
            .map(|block| PartRecord::Block {
                sha256: match written.get(block.id.as_str()) {
                    Some(hash) if is_kept(&block.id) => (*hash).to_owned(),
                    _ => sha256_hex(block.body.as_bytes()),
                },
                id: block.id,
            })
            .collect();
        let base = take_blocks(&stripped, |_| true);
        DocumentEdit { text, base, parts, kept: Vec::new() }
    }

    fn document(
        &mut self,
        path: &Path,
        text: &str,
        format: crate::edit::FileFormat,
        recorded: &[PartRecord],
        desired: &[DocumentPart],
    ) -> Option<DocumentEdit> {
        match document::edit(text, format, recorded, desired, self.edited) {
            Ok(edit) => {
                for what in &edit.kept {
                    let message =
                        format!("`{what}` was changed or set by others and stays as it is");
                    let problem = InstallProblem::warning("edited", shown(path), message);
                    self.report(problem.with_hint("give --force to overwrite it"));
                }
                Some(edit)
            }
            Err(reason) => {
                let hint = "correct the file; nothing of it is touched until it can be read";
                let problem = InstallProblem::error("unreadable", shown(path), reason);
                self.report(problem.with_hint(hint));
                None
            }
        }
    }
}

/// Whether a file that we made holds nothing of anybody else.
fn is_blank(base: &str, is_text: bool) -> bool {
    base.trim().is_empty() || (!is_text && document::is_empty(base))
}

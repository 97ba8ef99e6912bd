//! Capsules into other forms, and other forms into capsules.
//!
//! What a writer gave survives the way out and in: bodies, titles, tags, classes, cited files, blobs, schemes. Who wrote
//! it, when, and in which version is witnessed by a host and new here, since what an archive says cannot be checked.

mod archive;
mod export;
mod import;
mod import_candidates;
mod manifest;
mod tar;
mod tar_index;

pub use export::{ExportFormat, ExportReport, SkippedEntry, export};
pub use import::{
    ExistingEntryMode, ImportMode, ImportOutcome, ImportReport, ImportedFile, SkippedFile, import,
};

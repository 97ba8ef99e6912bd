//! Capsules into other forms, and other forms into capsules.

mod export;
mod git_stream;
mod import;
mod tar;

pub use export::{ExportReport, export_folder};
pub use git_stream::export_git_stream;
pub use import::{
    ImportReport, ImportedFile, SkippedFile, import_file, import_folder, import_skills,
};
pub use tar::export_tar;

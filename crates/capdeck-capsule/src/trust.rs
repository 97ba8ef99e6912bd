//! What keeps a reader from taking a capsule's content for more than it is: classes, fences, provenance, checked anchors.

mod anchors;
mod bands;
mod classify;
mod fence;
mod git_project;

pub use anchors::{AnchorReport, AnchorState, CheckedAnchor, Project};
pub use bands::{Bands, age_in_words};
pub(crate) use classify::{Classified, classify};
pub use fence::{neutralise, one_line};
pub use git_project::GitProject;

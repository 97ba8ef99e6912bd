//! What keeps a reader from taking a capsule's content for more than it is: classes, fences, provenance, checked anchors.

mod anchors;
mod classify;
mod fence;
mod git_project;
mod provenance_frame;

pub use anchors::{AnchorProject, AnchorReport, AnchorState, CheckedAnchor};
pub(crate) use classify::{RiskAssessment, classify};
pub(crate) use fence::is_line;
pub use fence::{neutralise, one_line};
pub use git_project::GitProject;
pub use provenance_frame::{ProvenanceFrame, age_in_words};

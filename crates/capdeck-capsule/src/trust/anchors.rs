//! Checks the files an entry cites against the project the reader works in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::{CommitRef, EntryMeta};

/// The project a reader works in. The host implements it where it knows one; [`super::GitProject`] is one over a git
/// checkout. Calls may block and are made on threads meant for that.
pub trait AnchorProject: Send + Sync {
    /// Whether the working tree has the file. A path outside of it does not exist.
    fn exists(&self, anchor: &str) -> bool;

    /// Whether the file differs from that of a commit; `None` when the commit is not known.
    fn changed_since(&self, anchor: &str, commit: &str) -> Option<bool>;

    /// The commit that is checked out, as the host sees it.
    fn head(&self) -> Option<CommitRef>;
}

/// The state of a cited file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum AnchorState {
    /// The host knows no project.
    Unchecked,
    /// There, and as it was if the commit is known.
    Present,
    /// There, but not as it was when the entry was written.
    Changed,
    Missing,
}

/// A cited file and its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "EntryAnchor")]
pub struct CheckedAnchor {
    pub path: String,
    /// `unchecked`, `present`, `changed` or `missing`.
    #[schemars(with = "String")]
    pub state: AnchorState,
}

/// All cited files of an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnchorReport {
    pub anchors: Vec<CheckedAnchor>,
}

impl AnchorState {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl AnchorReport {
    /// Checks what an entry cites. Without a project nothing is checked.
    pub fn for_entry(meta: &EntryMeta, project: Option<&dyn AnchorProject>) -> Self {
        Self::of_files(&meta.file_anchors, meta.commit_at_write.as_ref(), project)
    }

    /// Checks files that were cited on a commit.
    pub(crate) fn of_files(
        file_anchors: &[String],
        commit: Option<&CommitRef>,
        project: Option<&dyn AnchorProject>,
    ) -> Self {
        let commit = commit.map(|commit| commit.hash.as_str());
        let state = |path: &str| match project {
            None => AnchorState::Unchecked,
            Some(project) if !project.exists(path) => AnchorState::Missing,
            Some(project) => match commit.and_then(|commit| project.changed_since(path, commit)) {
                Some(true) => AnchorState::Changed,
                Some(false) | None => AnchorState::Present,
            },
        };
        let anchors = file_anchors.iter();
        Self {
            anchors: anchors
                .map(|path| CheckedAnchor { path: path.clone(), state: state(path) })
                .collect(),
        }
    }

    /// Whether a cited file is gone or was changed since.
    pub fn is_stale(&self) -> bool {
        self.anchors
            .iter()
            .any(|anchor| matches!(anchor.state, AnchorState::Changed | AnchorState::Missing))
    }

    /// How much of the entry's weight in a search is left.
    pub fn weight(&self) -> f32 {
        let stale = |state: AnchorState| match state {
            AnchorState::Unchecked | AnchorState::Present => 0.0,
            AnchorState::Changed => 0.5,
            AnchorState::Missing => 1.0,
        };
        let sum: f32 = self.anchors.iter().map(|anchor| stale(anchor.state)).sum();
        1.0 - 0.6 * sum / (self.anchors.len().max(1) as f32)
    }
}

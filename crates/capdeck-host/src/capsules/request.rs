//! Who asks for what, in which capsule.

use std::path::PathBuf;

use capdeck_capsule::Author;
use serde::{Deserialize, Serialize};

use super::CapsuleOperation;
use crate::GrantedCapsule;

/// One operation for one caller.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CapsuleRequest {
    pub caller: CapsuleCaller,
    /// The id or the name of the capsule; absent: the only one that the caller reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capsule: Option<String>,
    pub operation: CapsuleOperation,
}

/// The id or name in what a capsule is called: that itself, or behind `capsol://` as in the addresses of its entries.
pub(super) fn bare_name(called: &str) -> &str {
    let name = called.strip_prefix("capsol://").unwrap_or(called);
    name.strip_suffix('/').unwrap_or(name)
}

/// Who asks, as the host knows it. Nothing of it comes from a call's arguments.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CapsuleCaller {
    pub author: Author,
    pub reach: Reach,
    /// The project whose files the anchors of entries are checked against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
}

/// Which capsules a caller reaches.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Every capsule, as its owner: the person at this machine and the agents it runs.
    All,
    /// What the share with this id opens. It is looked up with every request, so that taking it back works at once.
    Share(String),
    /// These, as they were granted at the time of the request.
    Granted(Vec<GrantedCapsule>),
}

impl CapsuleCaller {
    /// A caller who owns every capsule.
    pub fn local(author: Author) -> Self {
        Self { author, reach: Reach::All, project: None }
    }

    /// The same, working in a project.
    pub fn in_project(mut self, project: Option<PathBuf>) -> Self {
        self.project = project;
        self
    }

    /// A request of this caller.
    pub fn request(&self, capsule: Option<&str>, operation: CapsuleOperation) -> CapsuleRequest {
        CapsuleRequest { caller: self.clone(), capsule: capsule.map(str::to_owned), operation }
    }
}

//! Who asks for what, in which capsule.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use capdeck_access::CapsuleGrant;

use crate::{CapsuleAuthor, NameScope};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CapsuleRequest<C> {
    pub caller: CapsuleCaller,
    /// The id or the name of the capsule; absent: the only one that the caller reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capsule: Option<String>,
    pub operation: C,
}

/// The id or name in what a capsule is called: that itself, or behind `capsol://` as in the addresses of its entries.
pub fn bare_name(called: &str) -> &str {
    let name = called.strip_prefix("capsol://").unwrap_or(called);
    name.strip_suffix('/').unwrap_or(name)
}

/// Several capsules that a caller reaches have the name that it asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AmbiguousName {
    pub name: String,
    /// The ids of the capsules.
    pub ids: Vec<String>,
}

/// The capsule that a caller means: the one with this id, else the only one with this name. Names are not unique: the
/// caller who names a capsule may not know of all the others.
pub fn find_capsule<'a, T>(
    capsules: &'a [T],
    called: &str,
    id_and_name: impl Fn(&'a T) -> (&'a str, &'a str),
) -> Result<Option<&'a T>, AmbiguousName> {
    if let Some(found) = capsules.iter().find(|one| id_and_name(one).0 == called) {
        return Ok(Some(found));
    }
    let has_name = |one: &&'a T| id_and_name(one).1.eq_ignore_ascii_case(called);
    let named: Vec<&T> = capsules.iter().filter(has_name).collect();
    match named.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        several => Err(AmbiguousName {
            name: called.to_owned(),
            ids: several.iter().map(|one| id_and_name(one).0.to_owned()).collect(),
        }),
    }
}

/// Who asks, as the host knows it. Nothing of it comes from a call's arguments.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CapsuleCaller {
    pub author: CapsuleAuthor,
    pub reach: Reach,
    /// The project whose files the anchors of entries are checked against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// Which capsules it may learn of by a name that is taken, where the host asks for a client that may not know of all.
    #[serde(default)]
    pub names: NameScope,
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
    Granted(Vec<CapsuleGrant>),
}

impl CapsuleCaller {
    pub fn new(author: CapsuleAuthor, reach: Reach) -> Self {
        Self { author, reach, project: None, names: NameScope::All }
    }

    /// The same, who may learn of these capsules only by a name that is taken.
    pub fn knowing(mut self, names: NameScope) -> Self {
        self.names = names;
        self
    }

    /// A caller who owns every capsule.
    pub fn local(author: CapsuleAuthor) -> Self {
        Self::new(author, Reach::All)
    }

    pub fn in_project(mut self, project: Option<PathBuf>) -> Self {
        self.project = project;
        self
    }

    pub fn request<C>(&self, capsule: Option<&str>, operation: C) -> CapsuleRequest<C> {
        CapsuleRequest { caller: self.clone(), capsule: capsule.map(str::to_owned), operation }
    }
}

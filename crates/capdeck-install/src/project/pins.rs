//! What a lock pins: the commit or the hash that each thing was installed from.

use capdeck_definition::capability_file::{RepoReference, RepoTarget};
use serde_json::{Map, Value};

/// The parts of a capability file whose sources can be pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PinSection {
    Skill,
    Plugin,
    Hook,
    Rule,
    Snippet,
    /// A skill that is fetched from an address. Other readers know only those of repositories, so it has its own list.
    RemoteSkill,
}

/// The origin of one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourcePin {
    pub(crate) section: PinSection,
    pub(crate) id: String,
    pub(crate) origin: PinOrigin,
    /// What a plugin says of itself.
    pub(crate) manifest: Option<PinnedManifest>,
    /// Members that only other programs know.
    pub(crate) others: Map<String, Value>,
}

/// The name and version in a plugin's manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PinnedManifest {
    pub(crate) name: String,
    pub(crate) version: Option<String>,
}

/// Where it came from, exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PinOrigin {
    Git { repo: RepoReference, commit: String, version: Option<String>, sha256: Option<String> },
    Remote { url: String, sha256: String },
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SourcePins {
    pins: Vec<SourcePin>,
    /// Members of the lock that only other programs know.
    pub(crate) others: Map<String, Value>,
}

impl PinSection {
    pub(crate) const ALL: [Self; 6] =
        [Self::Skill, Self::Plugin, Self::Hook, Self::Rule, Self::Snippet, Self::RemoteSkill];

    /// Its name in a lock.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Skill => "skills",
            Self::Plugin => "plugins",
            Self::Hook => "hooks",
            Self::Rule => "rules",
            Self::Snippet => "snippets",
            Self::RemoteSkill => "remoteSkills",
        }
    }

    /// What problems with a thing of this section are about.
    pub(crate) fn about(self, id: &str) -> String {
        let kind = match self {
            Self::Skill | Self::RemoteSkill => "skill",
            Self::Plugin => "plugin",
            Self::Hook => "hook",
            Self::Rule => "rule",
            Self::Snippet => "instructions",
        };
        format!("{kind} `{id}`")
    }

    /// Whether other readers of a lock expect the section even when it is empty.
    pub(crate) fn is_always_written(self) -> bool {
        matches!(self, Self::Skill | Self::Plugin | Self::Hook)
    }
}

impl SourcePins {
    pub(crate) fn add(&mut self, pin: SourcePin) {
        self.pins.push(pin);
    }

    /// Takes over the earlier pins of a thing that could not be had this time, so that it is not forgotten.
    pub(crate) fn keep_pin(
        &mut self,
        earlier: &Self,
        section: PinSection,
        is_it: impl Fn(&SourcePin) -> bool,
    ) {
        let is_it = |pin: &&SourcePin| pin.section == section && is_it(pin);
        if !self.pins.iter().any(|pin| is_it(&pin)) {
            self.pins.extend(earlier.pins.iter().filter(is_it).cloned());
        }
    }

    /// Takes over what only other programs know, where the same things are still pinned.
    pub(crate) fn keep_others(&mut self, earlier: &Self) {
        self.others.clone_from(&earlier.others);
        for pin in &mut self.pins {
            let known = earlier.pins.iter().find(|known| known.is_about_same(pin));
            if let Some(known) = known {
                pin.others.clone_from(&known.others);
            }
        }
    }

    pub(crate) fn sorted(&self, section: PinSection) -> Vec<&SourcePin> {
        let mut pins: Vec<&SourcePin> =
            self.pins.iter().filter(|pin| pin.section == section).collect();
        pins.sort_by(|one, other| one.id.cmp(&other.id));
        pins
    }

    /// Whether both pin the same things to the same states.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let same = |section: PinSection| {
            let (one, other) = (self.sorted(section), other.sorted(section));
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| {
                    one.id == other.id
                        && is_same_origin(&one.origin, &other.origin)
                        && one.manifest == other.manifest
                        && one.others == other.others
                })
        };
        self.others == other.others && PinSection::ALL.into_iter().all(same)
    }

    /// The pinned commit of a thing that is still declared the same way. A plugin need not have an id of its own, so it is
    /// known by its source alone.
    pub(crate) fn commit(
        &self,
        section: PinSection,
        id: &str,
        repo: &RepoReference,
    ) -> Option<(&str, Option<&str>)> {
        let is_it = |pin: &&SourcePin| {
            pin.section == section && (pin.id == id || section == PinSection::Plugin)
        };
        self.pins.iter().filter(is_it).find_map(|pin| match &pin.origin {
            PinOrigin::Git { repo: pinned, commit, version, .. } if is_same_place(pinned, repo) => {
                Some((commit.as_str(), version.as_deref()))
            }
            _ => None,
        })
    }

    /// The pinned hash of a text from any source.
    pub(crate) fn body(&self, section: PinSection, id: &str, commit: &str) -> Option<&str> {
        self.pins_of(section, id).find_map(|pin| match &pin.origin {
            PinOrigin::Git { commit: pinned, sha256, .. } if pinned == commit => sha256.as_deref(),
            _ => None,
        })
    }

    /// The pinned hash of what an address answered.
    pub(crate) fn hash(&self, section: PinSection, id: &str, url: &str) -> Option<&str> {
        self.pins_of(section, id).find_map(|pin| match &pin.origin {
            PinOrigin::Remote { url: pinned, sha256 } if pinned == url => Some(sha256.as_str()),
            _ => None,
        })
    }

    /// Notes the hash of the text that the last pin of a thing led to, and returns the commit it is of.
    pub(crate) fn note_body(
        &mut self,
        section: PinSection,
        id: &str,
        hash: &str,
    ) -> Option<String> {
        let is_it = |pin: &&mut SourcePin| pin.section == section && pin.id == id;
        let pin = self.pins.iter_mut().rev().find(is_it)?;
        match &mut pin.origin {
            PinOrigin::Git { commit, sha256, .. } => {
                *sha256 = Some(hash.to_owned());
                Some(commit.clone())
            }
            PinOrigin::Remote { .. } => None,
        }
    }

    /// Notes what the plugin is that the last pin led to.
    pub(crate) fn note_plugin(&mut self, id: &str, manifest: PinnedManifest) {
        if let Some(pin) = self.pins.last_mut().filter(|pin| pin.section == PinSection::Plugin) {
            id.clone_into(&mut pin.id);
            pin.manifest = Some(manifest);
        }
    }

    fn pins_of(&self, section: PinSection, id: &str) -> impl Iterator<Item = &SourcePin> {
        self.pins.iter().filter(move |pin| pin.section == section && pin.id == id)
    }
}

impl SourcePin {
    pub(crate) fn new(section: PinSection, id: &str, origin: PinOrigin) -> Self {
        Self { section, id: id.to_owned(), origin, manifest: None, others: Map::new() }
    }

    /// Whether it is of this very place in a repository.
    pub(crate) fn is_from(&self, wanted: &RepoReference) -> bool {
        matches!(&self.origin, PinOrigin::Git { repo, .. } if is_same_place(repo, wanted))
    }

    /// Whether both are about the same thing, in the same or another state.
    fn is_about_same(&self, other: &Self) -> bool {
        let is_same_source = match (&self.origin, &other.origin) {
            (PinOrigin::Git { repo, .. }, PinOrigin::Git { repo: other, .. }) => {
                repo.host == other.host && repo.name == other.name
            }
            (PinOrigin::Remote { url, .. }, PinOrigin::Remote { url: other, .. }) => url == other,
            _ => false,
        };
        self.section == other.section && self.id == other.id && is_same_source
    }
}

pub(super) fn target_text(target: &RepoTarget) -> &str {
    match target {
        RepoTarget::Root => "",
        RepoTarget::Named(name) | RepoTarget::Path(name) => name,
    }
}

/// A lock does not tell a name from a path, and need not.
fn is_same_place(one: &RepoReference, other: &RepoReference) -> bool {
    one.host == other.host
        && one.name == other.name
        && target_text(&one.target) == target_text(&other.target)
        && one.version == other.version
        && one.commit == other.commit
}

fn is_same_origin(one: &PinOrigin, other: &PinOrigin) -> bool {
    match (one, other) {
        (
            PinOrigin::Git { repo, commit, version, sha256 },
            PinOrigin::Git { repo: other_repo, commit: other_commit, version: v, sha256: s },
        ) => {
            is_same_place(repo, other_repo) && commit == other_commit && version == v && sha256 == s
        }
        (one, other) => one == other,
    }
}

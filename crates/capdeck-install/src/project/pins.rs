//! What a lock pins: the commit or the hash that each thing was installed from.

use capdeck_definition::capa::Repo;

use super::lock::target_text;

/// The parts of a capability file whose sources can be pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Section {
    Skill,
    Plugin,
    Hook,
    Rule,
    Snippet,
}

/// The origin of one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pin {
    pub(crate) section: Section,
    pub(crate) id: String,
    pub(crate) origin: Origin,
}

/// Where it came from, exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    Git { repo: Repo, commit: String, version: Option<String>, sha256: Option<String> },
    Remote { url: String, sha256: String },
}

/// All pins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pins(Vec<Pin>);

impl Section {
    pub(crate) const ALL: [Self; 5] =
        [Self::Skill, Self::Plugin, Self::Hook, Self::Rule, Self::Snippet];

    /// Its name in a lock.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Skill => "skills",
            Self::Plugin => "plugins",
            Self::Hook => "hooks",
            Self::Rule => "rules",
            Self::Snippet => "snippets",
        }
    }

    /// Whether other readers of a lock expect the section even when it is empty.
    pub(crate) fn is_always_written(self) -> bool {
        matches!(self, Self::Skill | Self::Plugin | Self::Hook)
    }
}

impl Pins {
    pub(crate) fn add(&mut self, pin: Pin) {
        self.0.push(pin);
    }

    /// Those of one section, by id.
    pub(crate) fn sorted(&self, section: Section) -> Vec<&Pin> {
        let mut pins: Vec<&Pin> = self.0.iter().filter(|pin| pin.section == section).collect();
        pins.sort_by(|one, other| one.id.cmp(&other.id));
        pins
    }

    /// Whether both pin the same things to the same states.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let same = |section: Section| {
            let (one, other) = (self.sorted(section), other.sorted(section));
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| {
                    one.id == other.id && is_same_origin(&one.origin, &other.origin)
                })
        };
        Section::ALL.into_iter().all(same)
    }

    /// The pinned commit of a thing that is still declared the same way.
    pub(crate) fn commit(
        &self,
        section: Section,
        id: &str,
        repo: &Repo,
    ) -> Option<(&str, Option<&str>)> {
        self.of(section, id).find_map(|pin| match &pin.origin {
            Origin::Git { repo: pinned, commit, version, .. } if is_same_place(pinned, repo) => {
                Some((commit.as_str(), version.as_deref()))
            }
            _ => None,
        })
    }

    /// The pinned hash of a text, whatever it came from.
    pub(crate) fn body(&self, section: Section, id: &str, commit: &str) -> Option<&str> {
        self.of(section, id).find_map(|pin| match &pin.origin {
            Origin::Git { commit: pinned, sha256, .. } if pinned == commit => sha256.as_deref(),
            _ => None,
        })
    }

    /// The pinned hash of what stood at an address.
    pub(crate) fn hash(&self, section: Section, id: &str, url: &str) -> Option<&str> {
        self.of(section, id).find_map(|pin| match &pin.origin {
            Origin::Remote { url: pinned, sha256 } if pinned == url => Some(sha256.as_str()),
            _ => None,
        })
    }

    /// Notes the hash of the text that the last pin of a thing led to, and returns the commit it is of.
    pub(crate) fn note_body(&mut self, section: Section, id: &str, hash: &str) -> Option<String> {
        let is_it = |pin: &&mut Pin| pin.section == section && pin.id == id;
        let pin = self.0.iter_mut().rev().find(is_it)?;
        match &mut pin.origin {
            Origin::Git { commit, sha256, .. } => {
                *sha256 = Some(hash.to_owned());
                Some(commit.clone())
            }
            Origin::Remote { .. } => None,
        }
    }

    fn of(&self, section: Section, id: &str) -> impl Iterator<Item = &Pin> {
        self.0.iter().filter(move |pin| pin.section == section && pin.id == id)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// A lock does not tell a name from a path, and need not.
fn is_same_place(one: &Repo, other: &Repo) -> bool {
    one.host == other.host
        && one.name == other.name
        && target_text(&one.target) == target_text(&other.target)
        && one.version == other.version
        && one.commit == other.commit
}

fn is_same_origin(one: &Origin, other: &Origin) -> bool {
    match (one, other) {
        (
            Origin::Git { repo, commit, version, sha256 },
            Origin::Git { repo: other_repo, commit: other_commit, version: v, sha256: s },
        ) => {
            is_same_place(repo, other_repo) && commit == other_commit && version == v && sha256 == s
        }
        (one, other) => one == other,
    }
}

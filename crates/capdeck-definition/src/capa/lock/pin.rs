//! The entries of a lock file.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::capa::{GitHost, Repo, TextSource};

/// The state of a repository that an entry stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pin {
    /// The tag or branch the file asks for.
    pub requested_version: Option<String>,
    /// The commit the file asks for.
    pub requested_ref: Option<String>,
    /// The commit that was installed; `None` for what comes from an address.
    pub resolved_ref: Option<String>,
    /// The tag or branch that led to it.
    pub resolved_version: Option<String>,
}

/// A skill of a repository.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillPin {
    pub id: String,
    pub source: GitHost,
    pub repo: String,
    /// What the skill is called there.
    pub skill_name: String,
    #[serde(flatten)]
    pub pin: Pin,
    /// Members that only others know.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// A plugin of a repository.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginPin {
    pub id: String,
    pub source: GitHost,
    pub repo: String,
    pub subpath: Option<String>,
    pub requested_search_name: Option<String>,
    #[serde(flatten)]
    pub pin: Pin,
    pub manifest_name: String,
    pub manifest_version: Option<String>,
    /// Members that only others know.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// A text: a hook's body, a rule, a snippet of instructions, or a skill at an address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextPin {
    pub id: String,
    pub source: PinSource,
    pub repo: Option<String>,
    pub url: Option<String>,
    #[serde(flatten)]
    pub pin: Pin,
    /// Of the text, in lower-case hex.
    pub body_sha256: String,
    /// Members that only others know.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// Where a pinned text is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PinSource {
    Github,
    Gitlab,
    Remote,
}

impl From<GitHost> for PinSource {
    fn from(host: GitHost) -> Self {
        match host {
            GitHost::GitHub => Self::Github,
            GitHost::GitLab => Self::Gitlab,
        }
    }
}

impl Pin {
    fn is_asked_for(&self, repo: &Repo) -> bool {
        self.requested_version == repo.version && self.requested_ref == repo.commit
    }
}

impl SkillPin {
    /// Whether the pin is of this repository and this request.
    pub fn is_of(&self, repo: &Repo) -> bool {
        self.source == repo.host && self.repo == repo.name && self.pin.is_asked_for(repo)
    }
}

impl PluginPin {
    /// Whether the pin is of this repository and this request.
    pub fn is_of(&self, repo: &Repo) -> bool {
        self.source == repo.host && self.repo == repo.name && self.pin.is_asked_for(repo)
    }
}

impl TextPin {
    /// Whether the pin is of this very source. What stands in the file or beside it is never pinned.
    pub fn is_of(&self, source: &TextSource) -> bool {
        match source {
            TextSource::Git(repo) => {
                self.source == repo.host.into()
                    && self.repo.as_ref() == Some(&repo.name)
                    && self.pin.is_asked_for(repo)
            }
            TextSource::Remote { url } => {
                self.source == PinSource::Remote && self.url.as_ref() == Some(url)
            }
            TextSource::Inline { .. } | TextSource::Local { .. } => false,
        }
    }
}

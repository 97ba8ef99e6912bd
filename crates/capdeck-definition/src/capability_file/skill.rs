//! `skills` and `subagents`: instructions for agents, and the tools they need.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    entry::{EntryReader, SAFE_ID_FIX},
    names::is_safe_id,
    repo::{GitHost, RepoReference},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillDeclaration {
    /// Safe as the name of a folder.
    pub id: String,
    pub kind: SkillKind,
    pub description: Option<String>,
    /// References to the tools it needs, as written.
    pub requires: Vec<String>,
    /// The plugin that brought the skill, where another program wrote that down.
    pub source_plugin: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillKind {
    /// The text of its `SKILL.md`.
    Inline { content: String },
    /// A folder; a relative path starts at the project.
    Local { path: String },
    /// The address of its `SKILL.md`.
    Remote { url: String },
    /// A folder in a repository, or a file that is the whole skill.
    Git(RepoReference),
    /// It is already where the agent finds it.
    Installed,
    /// A declared plugin brings it.
    Plugin,
}

/// One entry of `subagents`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Subagent", deny_unknown_fields)]
pub struct SubagentDeclaration {
    // Safe as the name of a file and of a view.
    #[schemars(length(min = 1))]
    pub id: String,
    pub description: Option<String>,
    // Ids of skills.
    #[serde(default)]
    pub skills: Vec<String>,
    // As written. It sees no others.
    /// Tools: `@server.tool`, `server.tool` or a bare id.
    #[serde(default)]
    pub tools: Vec<String>,
    pub instructions: Option<String>,
    // The agents it is for; `None` means all.
    pub providers: Option<Vec<String>>,
}

impl SubagentDeclaration {
    pub(super) fn check(self, entry: &mut EntryReader<'_>) -> Option<Self> {
        entry.skip_unsafe_id(is_safe_id(&self.id)).map(|()| self)
    }
}

/// One entry of `skills`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Skill", deny_unknown_fields)]
pub(super) struct SkillShape {
    #[schemars(length(min = 1))]
    id: String,
    #[serde(rename = "type")]
    kind: SkillType,
    #[serde(default)]
    def: SkillDef,
    source_plugin: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SkillType {
    Inline,
    Local,
    Remote,
    Github,
    Gitlab,
    Installed,
    Plugin,
}

/// What the type needs, and what the skill needs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
struct SkillDef {
    description: Option<String>,
    /// Tools: `@server.tool`, `server.tool` or a bare id.
    #[serde(default)]
    requires: Vec<String>,
    /// The text of `SKILL.md`, for `inline`.
    content: Option<String>,
    /// A folder with `SKILL.md`, for `local`.
    path: Option<String>,
    /// The address of `SKILL.md`, for `remote`.
    url: Option<String>,
    /// `owner/repo@name` or `owner/repo::path`, for `github` and `gitlab`.
    repo: Option<String>,
    version: Option<String>,
    #[serde(default, rename = "ref")]
    commit: Option<String>,
}

impl SkillShape {
    pub(super) fn read(self, entry: &mut EntryReader<'_>) -> Option<SkillDeclaration> {
        if !is_safe_id(&self.id) {
            let message = format!("the id of {} cannot name a folder", entry.what);
            entry.at("id").error("unsafe-id", message, SAFE_ID_FIX);
        }
        let def = self.def;
        let repo = [def.repo, def.version, def.commit];
        let kind = match self.kind {
            SkillType::Inline => SkillKind::Inline {
                content: entry.below("def").needed(def.content, "inline", "def.content")?,
            },
            SkillType::Local => {
                SkillKind::Local { path: entry.below("def").needed(def.path, "local", "def.path")? }
            }
            SkillType::Remote => {
                let mut entry = entry.below("def");
                let url = entry.needed(def.url, "remote", "def.url")?;
                entry.check_url(&url, "url");
                RepoReference::from_raw_url(&url).map_or(SkillKind::Remote { url }, SkillKind::Git)
            }
            SkillType::Github => SkillKind::Git(entry.read_repo(GitHost::GitHub, repo)?),
            SkillType::Gitlab => SkillKind::Git(entry.read_repo(GitHost::GitLab, repo)?),
            SkillType::Installed => SkillKind::Installed,
            SkillType::Plugin => SkillKind::Plugin,
        };
        Some(SkillDeclaration {
            id: self.id,
            kind,
            description: def.description,
            requires: def.requires,
            source_plugin: self.source_plugin,
        })
    }
}

//! `skills` and `subagents`: instructions for agents, and the tools they need.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    names::{SAFE_ID_FIX, is_safe_id, skip_unsafe_id},
    repo::{GitHost, RepoReference},
    text_source::{RepoShape, check_url, needed, read_repo},
};
use crate::{diagnostic::FileFindings, document::ValueNode};

/// A skill of the file.
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

/// Where a skill is.
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
    pub(super) fn check(self, node: &ValueNode, findings: &mut FileFindings) -> Option<Self> {
        let what = format!("the sub-agent `{}`", self.id);
        skip_unsafe_id(is_safe_id(&self.id), &what, node, findings).map(|()| self)
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
    pub(super) fn read(
        self,
        node: &ValueNode,
        findings: &mut FileFindings,
    ) -> Option<SkillDeclaration> {
        let what = format!("the skill `{}`", self.id);
        if !is_safe_id(&self.id) {
            findings.at(node.child("id").place).error(
                "unsafe-id",
                format!("the id of {what} cannot name a folder"),
                SAFE_ID_FIX,
            );
        }
        let def_node = node.child("def");
        let def = self.def;
        let repo = RepoShape { repo: def.repo, version: def.version, commit: def.commit };
        let kind = match self.kind {
            SkillType::Inline => SkillKind::Inline {
                content: needed(def.content, "inline", "def.content", &what, def_node, findings)?,
            },
            SkillType::Local => SkillKind::Local {
                path: needed(def.path, "local", "def.path", &what, def_node, findings)?,
            },
            SkillType::Remote => {
                let url = needed(def.url, "remote", "def.url", &what, def_node, findings)?;
                check_url(&url, def_node.child("url"), findings);
                RepoReference::from_raw_url(&url).map_or(SkillKind::Remote { url }, SkillKind::Git)
            }
            SkillType::Github => {
                SkillKind::Git(read_repo(GitHost::GitHub, repo, &what, node, findings)?)
            }
            SkillType::Gitlab => {
                SkillKind::Git(read_repo(GitHost::GitLab, repo, &what, node, findings)?)
            }
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

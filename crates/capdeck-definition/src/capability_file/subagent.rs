//! `subagents`: agents with a task, skills and tools of their own.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{rule::skipped_id, safe_id::is_safe_id};
use crate::{diagnostic::FileFindings, document::ValueNode};

/// A sub-agent of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentDeclaration {
    /// Safe as the name of a file and of a view.
    pub id: String,
    pub description: Option<String>,
    /// Ids of skills.
    pub skills: Vec<String>,
    /// References to tools, as written. It sees no others.
    pub tools: Vec<String>,
    pub instructions: Option<String>,
    /// The agents it is for; `None` means all.
    pub providers: Option<Vec<String>>,
}

/// One entry of `subagents`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Subagent", deny_unknown_fields)]
pub(super) struct SubagentShape {
    #[schemars(length(min = 1))]
    id: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    skills: Vec<String>,
    /// Tools: `@server.tool`, `server.tool` or a bare id.
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    instructions: Option<String>,
    #[serde(default)]
    providers: Option<Vec<String>>,
}

impl SubagentShape {
    pub(super) fn read(
        self,
        node: &ValueNode,
        findings: &mut FileFindings,
    ) -> Option<SubagentDeclaration> {
        if !is_safe_id(&self.id) {
            let what = format!("the sub-agent `{}`", self.id);
            findings.add(skipped_id(&what).at(node.child("id").place));
            return None;
        }
        Some(SubagentDeclaration {
            id: self.id,
            description: self.description,
            skills: self.skills,
            tools: self.tools,
            instructions: self.instructions,
            providers: self.providers,
        })
    }
}

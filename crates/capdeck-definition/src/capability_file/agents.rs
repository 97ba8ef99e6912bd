//! `agents`: what the instruction files of agents hold.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    names::{is_safe_id, skip_unsafe_id},
    repo::RepoTarget,
    text_source::{ContentSource, SourceFields, SourceType},
};
use crate::{diagnostic::FileFindings, document::ValueNode};

/// The instruction files: a base, and snippets after it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentInstructions {
    pub base: Option<ContentSource>,
    pub additional: Vec<InstructionSnippet>,
}

/// One snippet of the instruction files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionSnippet {
    /// Names the snippet's block, so that it is found again.
    pub id: String,
    pub source: ContentSource,
}

/// The `agents` mapping.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Agents", deny_unknown_fields)]
pub(super) struct AgentsShape {
    base: Option<BaseShape>,
    #[serde(default)]
    additional: Vec<SnippetShape>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AgentsBase", deny_unknown_fields)]
struct BaseShape {
    #[serde(default, rename = "type")]
    kind: Option<SourceType>,
    /// The address, for `remote`.
    #[serde(default, rename = "ref")]
    address: Option<String>,
    #[serde(flatten)]
    source: SourceFields,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AgentsSnippet", deny_unknown_fields)]
struct SnippetShape {
    /// May be left out for `github` and `gitlab`, where it comes from the repository.
    id: Option<String>,
    #[serde(rename = "type")]
    kind: SourceType,
    #[serde(flatten)]
    source: SourceFields,
}

impl AgentsShape {
    pub(super) fn read(self, node: &ValueNode, findings: &mut FileFindings) -> AgentInstructions {
        let base = self.base.and_then(|base| base.read(node.child("base"), findings));
        let list = node.child("additional");
        let mut additional: Vec<InstructionSnippet> = Vec::new();
        for (index, shape) in self.additional.into_iter().enumerate() {
            let item = list.item(index);
            let Some(snippet) = shape.read(item, findings) else { continue };
            if additional.iter().any(|earlier| earlier.id == snippet.id) {
                findings.at(item.place).error(
                    "duplicate-id",
                    format!("two snippets have the id `{}`", snippet.id),
                    "give each an `id` of its own",
                );
                continue;
            }
            additional.push(snippet);
        }
        AgentInstructions { base, additional }
    }
}

impl BaseShape {
    fn read(self, node: &ValueNode, findings: &mut FileFindings) -> Option<ContentSource> {
        let mut source = self.source;
        source.url = self.address.or(source.url);
        let kind = self.kind.unwrap_or(match (&source.url, &source.path) {
            (None, Some(_)) => SourceType::Local,
            _ if source.def.is_some() => SourceType::Github,
            _ => SourceType::Remote,
        });
        source.read(kind, "`agents.base`", node, findings)
    }
}

impl SnippetShape {
    fn read(self, node: &ValueNode, findings: &mut FileFindings) -> Option<InstructionSnippet> {
        let what = match &self.id {
            Some(id) => format!("the snippet `{id}`"),
            None => "a snippet without `id`".to_owned(),
        };
        let source = self.source.read(self.kind, &what, node, findings)?;
        let derived = match &source {
            ContentSource::Git(repo) => match &repo.target {
                RepoTarget::Named(name) | RepoTarget::Path(name) => Some(marker(name)),
                RepoTarget::Root => None,
            },
            ContentSource::Inline { .. }
            | ContentSource::Remote { .. }
            | ContentSource::Local { .. } => None,
        };
        let Some(id) = self.id.or(derived) else {
            findings.at(node.place).error(
                "missing-key",
                format!("{what} cannot be distinguished from others"),
                "add `id`",
            );
            return None;
        };
        let is_safe = is_safe_id(&id) || marker(&id) == id;
        skip_unsafe_id(is_safe, &what, node, findings)?;
        Some(InstructionSnippet { id, source })
    }
}

/// A target as the id of a snippet.
fn marker(target: &str) -> String {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    target.chars().map(|c| if legal(c) { c } else { '_' }).collect()
}

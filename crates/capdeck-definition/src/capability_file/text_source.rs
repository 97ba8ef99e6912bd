//! Where a text comes from: rules, hooks and instruction snippets are declared alike. And what is made of texts alone:
//! `rules`, and `agents` with the instruction files.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    entry::EntryReader,
    names::is_safe_id,
    repo::{GitHost, RepoReference, RepoTarget},
};
use crate::{diagnostic::FileFindings, document::ValueNode};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentSource {
    Inline {
        content: String,
    },
    /// An address that answers with the text.
    Remote {
        url: String,
    },
    /// A file in a repository.
    Git(RepoReference),
    /// A file; a relative path starts at the project.
    Local {
        path: String,
    },
}

/// The kinds of sources, as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "TextType")]
pub(super) enum SourceType {
    Inline,
    Remote,
    Github,
    Gitlab,
    Local,
}

/// A place in a repository, as written.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RepoDef", deny_unknown_fields)]
struct RepoShape {
    /// `owner/repo@name` or `owner/repo::path`, then `#commit` or `:version` if one is meant.
    repo: Option<String>,
    /// A tag or branch; wins over the one in `repo`.
    version: Option<String>,
    /// A commit; wins over the one in `repo`.
    #[serde(default, rename = "ref")]
    commit: Option<String>,
}

/// The fields that say where a text comes from. The type says which one counts.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SourceFields {
    content: Option<String>,
    url: Option<String>,
    path: Option<String>,
    def: Option<RepoShape>,
}

impl SourceFields {
    /// The source of the given type, or what it lacks.
    pub(super) fn read(
        self,
        kind: SourceType,
        entry: &mut EntryReader<'_>,
    ) -> Option<ContentSource> {
        let host = match kind {
            SourceType::Inline => {
                let content = entry.needed(self.content, "inline", "content")?;
                return Some(ContentSource::Inline { content });
            }
            SourceType::Remote => {
                let url = entry.needed(self.url, "remote", "url")?;
                if !entry.check_url(&url, "url") {
                    return None;
                }
                let source = RepoReference::from_raw_url(&url).map(ContentSource::Git);
                return Some(source.unwrap_or(ContentSource::Remote { url }));
            }
            SourceType::Local => {
                let path = entry.needed(self.path, "local", "path")?;
                return Some(ContentSource::Local { path });
            }
            SourceType::Github => GitHost::GitHub,
            SourceType::Gitlab => GitHost::GitLab,
        };
        let RepoShape { repo, version, commit } = self.def.unwrap_or_default();
        entry.read_repo(host, [repo, version, commit]).map(ContentSource::Git)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleDeclaration {
    /// Safe as the name of a file.
    pub id: String,
    pub source: ContentSource,
    /// The agents it is for; `None` means all.
    pub providers: Option<Vec<String>>,
    /// Globs of the files it is about.
    pub applies_to: Vec<String>,
    pub description: Option<String>,
    pub always_apply: Option<bool>,
    /// How strictly `providers` is held where agents share a file.
    pub visibility: Option<RuleVisibility>,
}

/// How strictly a rule is kept from agents it is not for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Visibility")]
pub enum RuleVisibility {
    Strict,
    BestEffort,
}

/// One entry of `rules`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Rule", deny_unknown_fields)]
pub(super) struct RuleShape {
    #[schemars(length(min = 1))]
    id: String,
    #[serde(rename = "type")]
    kind: SourceType,
    providers: Option<Vec<String>>,
    /// Globs of the files it is about.
    #[serde(default)]
    applies_to: Vec<String>,
    description: Option<String>,
    always_apply: Option<bool>,
    visibility: Option<RuleVisibility>,
    /// Another name of `visibility`.
    scope: Option<RuleVisibility>,
    #[serde(flatten)]
    source: SourceFields,
}

impl RuleShape {
    pub(super) fn read(self, entry: &mut EntryReader<'_>) -> Option<RuleDeclaration> {
        entry.skip_unsafe_id(is_safe_id(&self.id))?;
        Some(RuleDeclaration {
            source: self.source.read(self.kind, entry)?,
            id: self.id,
            providers: self.providers,
            applies_to: self.applies_to,
            description: self.description,
            always_apply: self.always_apply,
            visibility: self.visibility.or(self.scope),
        })
    }
}

/// The instruction files: a base, and snippets after it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentInstructions {
    pub base: Option<ContentSource>,
    pub additional: Vec<InstructionSnippet>,
}

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
        let (what, base_node) = ("`agents.base`", node.child("base"));
        let mut entry = EntryReader { what, node: base_node, findings: &mut *findings };
        let base = self.base.and_then(|base| base.read(&mut entry));
        let list = node.child("additional");
        let mut additional: Vec<InstructionSnippet> = Vec::new();
        for (index, shape) in self.additional.into_iter().enumerate() {
            let item = list.item(index);
            let what = match &shape.id {
                Some(id) => format!("the snippet `{id}`"),
                None => "a snippet without `id`".to_owned(),
            };
            let mut entry = EntryReader { what: &what, node: item, findings: &mut *findings };
            let Some(snippet) = shape.read(&mut entry) else { continue };
            if additional.iter().any(|earlier| earlier.id == snippet.id) {
                let message = format!("two snippets have the id `{}`", snippet.id);
                let fix = "give each an `id` of its own";
                findings.at(item.place).error("duplicate-id", message, fix);
                continue;
            }
            additional.push(snippet);
        }
        AgentInstructions { base, additional }
    }
}

impl BaseShape {
    fn read(self, entry: &mut EntryReader<'_>) -> Option<ContentSource> {
        let mut source = self.source;
        source.url = self.address.or(source.url);
        let kind = self.kind.unwrap_or(match (&source.url, &source.path) {
            (None, Some(_)) => SourceType::Local,
            _ if source.def.is_some() => SourceType::Github,
            _ => SourceType::Remote,
        });
        source.read(kind, entry)
    }
}

impl SnippetShape {
    fn read(self, entry: &mut EntryReader<'_>) -> Option<InstructionSnippet> {
        let source = self.source.read(self.kind, entry)?;
        let target = match &source {
            ContentSource::Git(repo) => Some(&repo.target),
            _ => None,
        };
        let derived = match target {
            Some(RepoTarget::Named(name) | RepoTarget::Path(name)) => Some(marker(name)),
            Some(RepoTarget::Root) | None => None,
        };
        let Some(id) = self.id.or(derived) else {
            let message = format!("{} cannot be distinguished from others", entry.what);
            entry.here().error("missing-key", message, "add `id`");
            return None;
        };
        entry.skip_unsafe_id(is_safe_id(&id) || marker(&id) == id)?;
        Some(InstructionSnippet { id, source })
    }
}

/// A target as the id of a snippet.
fn marker(target: &str) -> String {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    target.chars().map(|c| if legal(c) { c } else { '_' }).collect()
}

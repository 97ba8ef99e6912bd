//! Where a text comes from: rules, hooks and instruction snippets are declared alike.

use schemars::JsonSchema;
use serde::Deserialize;

use super::repo::{GitHost, RepoReference};
use crate::{diagnostic::FileFindings, document::ValueNode};

/// Where a text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentSource {
    /// The text itself.
    Inline { content: String },
    /// An address that answers with the text.
    Remote { url: String },
    /// A file in a repository.
    Git(RepoReference),
    /// A file; a relative path starts at the project.
    Local { path: String },
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
pub(super) struct RepoShape {
    /// `owner/repo@name` or `owner/repo::path`, then `#commit` or `:version` if one is meant.
    pub(super) repo: Option<String>,
    /// A tag or branch; wins over the one in `repo`.
    pub(super) version: Option<String>,
    /// A commit; wins over the one in `repo`.
    #[serde(default, rename = "ref")]
    pub(super) commit: Option<String>,
}

/// The fields that say where a text comes from. Which one counts is told by the type.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SourceFields {
    content: Option<String>,
    pub(super) url: Option<String>,
    pub(super) path: Option<String>,
    pub(super) def: Option<RepoShape>,
}

impl SourceFields {
    /// The source of the given type, or what it lacks.
    pub(super) fn read(
        self,
        kind: SourceType,
        what: &str,
        node: &ValueNode,
        findings: &mut FileFindings,
    ) -> Option<ContentSource> {
        let host = match kind {
            SourceType::Inline => {
                let content = needed(self.content, "inline", "content", what, node, findings)?;
                return Some(ContentSource::Inline { content });
            }
            SourceType::Remote => {
                let url = needed(self.url, "remote", "url", what, node, findings)?;
                if !check_url(&url, node.child("url"), findings) {
                    return None;
                }
                let source = RepoReference::from_raw_url(&url).map(ContentSource::Git);
                return Some(source.unwrap_or(ContentSource::Remote { url }));
            }
            SourceType::Local => {
                let path = needed(self.path, "local", "path", what, node, findings)?;
                return Some(ContentSource::Local { path });
            }
            SourceType::Github => GitHost::GitHub,
            SourceType::Gitlab => GitHost::GitLab,
        };
        read_repo(host, self.def.unwrap_or_default(), what, node, findings).map(ContentSource::Git)
    }
}

/// Reads `def.repo` with the fields that override its end.
pub(super) fn read_repo(
    host: GitHost,
    def: RepoShape,
    what: &str,
    node: &ValueNode,
    findings: &mut FileFindings,
) -> Option<RepoReference> {
    let text = needed(def.repo, host.as_str(), "def.repo", what, node, findings)?;
    match RepoReference::parse(host, &text) {
        Ok(mut repo) => {
            repo.version = def.version.or(repo.version);
            repo.commit = def.commit.or(repo.commit);
            Some(repo)
        }
        Err(bad) => {
            findings.at(node.child("def").child("repo").place).error(
                "bad-repo",
                format!("`repo` of {what} {bad}"),
                bad.fix(),
            );
            None
        }
    }
}

/// A field that the type needs, or the complaint that it is missing.
pub(super) fn needed<T>(
    value: Option<T>,
    kind: &str,
    key: &str,
    what: &str,
    node: &ValueNode,
    findings: &mut FileFindings,
) -> Option<T> {
    if value.is_none() {
        findings.at(node.place).error(
            "missing-key",
            format!("{what} is of type `{kind}` and needs `{key}`"),
            format!("add `{key}`, or change `type`"),
        );
    }
    value
}

/// Whether an address can be fetched.
pub(super) fn check_url(address: &str, node: &ValueNode, findings: &mut FileFindings) -> bool {
    let fits = url::Url::parse(address)
        .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    if !fits {
        findings.at(node.place).error(
            "bad-url",
            "this is not an address that can be fetched",
            "write it whole, starting with `https://`",
        );
    }
    fits
}

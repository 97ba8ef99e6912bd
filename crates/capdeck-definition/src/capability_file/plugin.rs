//! `plugins`: repositories of skills, servers, hooks and more that are taken apart and installed.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    repo::{GitHost, RepoReference, RepoTarget, is_safe_path},
    rule::skipped_id,
    safe_id::is_safe_id,
    server::{ExposeType, ServerToolFilter, read_expose},
};
use crate::{
    diagnostic::{Diagnostic, FileFindings},
    document::ValueNode,
};

/// A plugin of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginDeclaration {
    /// `None` when the plugin's own manifest names it.
    pub id: Option<String>,
    /// The repository, the folder or name in it, and its state.
    pub repo: RepoReference,
    pub description: Option<String>,
    /// What is said about its servers, by the manifest's names of them.
    pub servers: IndexMap<String, PluginServer>,
}

/// What the file says about a server that a plugin brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginServer {
    /// The id it gets instead of the manifest's name.
    pub renamed: Option<String>,
    pub expose: ServerToolFilter,
}

/// One entry of `plugins`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Plugin", deny_unknown_fields)]
pub(super) struct PluginShape {
    #[serde(default)]
    #[schemars(length(min = 1))]
    id: Option<String>,
    #[serde(rename = "type")]
    kind: HostType,
    def: PluginDef,
    #[serde(default)]
    servers: IndexMap<String, PluginServerShape>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "GitHost")]
enum HostType {
    Github,
    Gitlab,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
struct PluginDef {
    /// `owner/repo`, with `@name` or `::path` if one of several plugins is meant.
    #[schemars(length(min = 1))]
    repo: String,
    /// The plugin's folder in the repository.
    #[serde(default)]
    #[schemars(length(min = 1))]
    subpath: Option<String>,
    #[serde(default)]
    version: Option<String>,
    #[serde(default, rename = "ref")]
    commit: Option<String>,
    #[serde(default)]
    description: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PluginServer", deny_unknown_fields)]
struct PluginServerShape {
    /// The id it gets instead of the manifest's name.
    #[serde(default, rename = "as")]
    #[schemars(length(min = 1))]
    renamed: Option<String>,
    #[serde(default)]
    expose: Option<ExposeType>,
    #[serde(default)]
    tools: Option<Vec<String>>,
}

impl PluginShape {
    pub(super) fn read(
        self,
        node: &ValueNode,
        findings: &mut FileFindings,
    ) -> Option<PluginDeclaration> {
        let def_node = node.child("def");
        let what = match &self.id {
            Some(id) => format!("the plugin `{id}`"),
            None => "a plugin".to_owned(),
        };
        if self.id.as_ref().is_some_and(|id| !is_safe_id(id)) {
            findings.add(skipped_id(&what).at(node.child("id").place));
            return None;
        }
        let host = match self.kind {
            HostType::Github => GitHost::GitHub,
            HostType::Gitlab => GitHost::GitLab,
        };
        let mut repo = match RepoReference::parse_whole(host, &self.def.repo) {
            Ok(repo) => repo,
            Err(bad) => {
                findings.add(
                    Diagnostic::error("bad-repo", format!("`repo` of {what} {bad}"))
                        .with_fix(
                            "write `owner/repo`; a version or commit goes into `version` or `ref`",
                        )
                        .at(def_node.child("repo").place),
                );
                return None;
            }
        };
        if let Some(subpath) = self.def.subpath {
            let place = def_node.child("subpath").place;
            let problem = if repo.target != RepoTarget::Root {
                Some((
                    "conflicting-keys",
                    "has `subpath` and a target in `repo`",
                    "keep one of the two",
                ))
            } else if !is_safe_path(&subpath) {
                let fix = "use a relative path without `..`";
                Some(("path-escapes", "has a `subpath` that leaves the repository", fix))
            } else {
                None
            };
            if let Some((code, problem, fix)) = problem {
                findings.add(
                    Diagnostic::error(code, format!("{what} {problem}")).with_fix(fix).at(place),
                );
                return None;
            }
            repo.target = RepoTarget::Path(subpath);
        }
        repo.version = self.def.version;
        repo.commit = self.def.commit;
        let servers_node = node.child("servers");
        let servers = self.servers.into_iter().map(|(key, shape)| {
            let node = servers_node.child(&key);
            let expose = read_expose(shape.expose, shape.tools, &key, node, findings);
            (key, PluginServer { renamed: shape.renamed, expose })
        });
        Some(PluginDeclaration {
            servers: servers.collect(),
            id: self.id,
            repo,
            description: self.def.description,
        })
    }
}

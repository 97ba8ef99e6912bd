//! `plugins`: repositories of skills, servers, hooks and more that are taken apart and installed.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    entry::EntryReader,
    names::is_safe_id,
    repo::{GitHost, RepoReference, RepoTarget, is_safe_path},
    server::{ExposeType, ServerToolFilter, read_expose},
};

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
    #[schemars(length(min = 1))]
    id: Option<String>,
    #[serde(rename = "type")]
    host: GitHost,
    def: PluginDef,
    #[serde(default)]
    servers: IndexMap<String, PluginServerShape>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
struct PluginDef {
    /// `owner/repo`, with `@name` or `::path` if one of several plugins is meant.
    #[schemars(length(min = 1))]
    repo: String,
    /// The plugin's folder in the repository.
    #[schemars(length(min = 1))]
    subpath: Option<String>,
    version: Option<String>,
    #[serde(default, rename = "ref")]
    commit: Option<String>,
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
    expose: Option<ExposeType>,
    tools: Option<Vec<String>>,
}

impl PluginShape {
    pub(super) fn read(self, entry: &mut EntryReader<'_>) -> Option<PluginDeclaration> {
        let what = entry.what;
        entry.skip_unsafe_id(self.id.as_ref().is_none_or(|id| is_safe_id(id)))?;
        let mut repo = match RepoReference::parse_whole(self.host, &self.def.repo) {
            Ok(repo) => repo,
            Err(bad) => {
                let message = format!("`repo` of {what} {bad}");
                let fix = "write `owner/repo`; a version or commit goes into `version` or `ref`";
                entry.below("def").at("repo").error("bad-repo", message, fix);
                return None;
            }
        };
        if let Some(subpath) = self.def.subpath {
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
                entry.below("def").at("subpath").error(code, format!("{what} {problem}"), fix);
                return None;
            }
            repo.target = RepoTarget::Path(subpath);
        }
        repo.version = self.def.version;
        repo.commit = self.def.commit;
        let mut servers_entry = entry.below("servers");
        let servers = self.servers.into_iter().map(|(key, shape)| {
            let mut server = servers_entry.below(&key);
            let expose = read_expose(shape.expose, shape.tools, &key, &mut server);
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

//! The folder of a plugin in a repository, and its manifest.

use std::{
    fs,
    path::{Path, PathBuf},
};

use capdeck_definition::capa::RepoTarget;
use serde_json::{Map, Value};

use crate::source::inside;

/// A plugin that was found.
#[derive(Debug, Clone)]
pub(super) struct PluginFolder {
    /// The id it is installed under.
    pub(super) id: String,
    pub(super) path: PathBuf,
    pub(super) name: Option<String>,
    /// Empty without a manifest; then the usual folders are looked at.
    pub(super) manifest: Map<String, Value>,
    /// The agent whose manifest it is, which its hooks are for.
    pub(super) provider: &'static str,
    /// The manifest for the other agent, if there is one: its hooks are for that agent.
    pub(super) sibling: Option<(Map<String, Value>, &'static str)>,
}

const CLAUDE: (&str, &str) = (".claude-plugin/plugin.json", "claude-code");
const CURSOR: (&str, &str) = (".cursor-plugin/plugin.json", "cursor");
/// Folders and files that make a folder a plugin without a manifest.
const PARTS: [&str; 6] = ["skills", "commands", "agents", "hooks/hooks.json", "rules", ".mcp.json"];

/// Finds the plugin that is meant. The error says why there is none.
pub(super) fn find_plugin(
    root: &Path,
    target: &RepoTarget,
    id: Option<&str>,
    is_claude_first: bool,
) -> Result<PluginFolder, String> {
    let order = if is_claude_first { [CLAUDE, CURSOR] } else { [CURSOR, CLAUDE] };
    let at = |path: PathBuf| read(path, order);
    match target {
        RepoTarget::Path(path) => {
            let folder = inside(root, path).map_err(|error| error.to_string())?;
            at(folder).ok_or_else(|| format!("`{path}` is no plugin"))
        }
        RepoTarget::Named(name) => named(root, name, order, 0)
            .ok_or_else(|| format!("there is no plugin `{name}` in the repository")),
        RepoTarget::Root => {
            let whole = at(root.to_owned());
            if let Some(plugin) = whole.clone().filter(|plugin| !plugin.manifest.is_empty()) {
                return Ok(plugin);
            }
            let folder = id.and_then(|id| inside(root, id).ok()).and_then(at);
            let listed = || id.and_then(|id| in_catalog(root, id)).and_then(at);
            folder.or_else(listed).or(whole).ok_or_else(|| "the repository is no plugin".to_owned())
        }
    }
}

fn read(path: PathBuf, order: [(&str, &'static str); 2]) -> Option<PluginFolder> {
    let mut manifests = order.into_iter().filter_map(|(file, provider)| {
        let Some(Value::Object(manifest)) = json(&path.join(file)) else { return None };
        Some((manifest, provider))
    });
    if let Some((manifest, provider)) = manifests.next() {
        let sibling = manifests.next();
        let name = manifest.get("name").and_then(Value::as_str).map(str::to_owned);
        return Some(PluginFolder { id: String::new(), path, name, manifest, provider, sibling });
    }
    let is_plugin =
        PARTS.iter().any(|part| path.join(part).exists()) || path.join("SKILL.md").is_file();
    is_plugin.then(|| PluginFolder {
        id: String::new(),
        path,
        name: None,
        manifest: Map::new(),
        provider: order[0].1,
        sibling: None,
    })
}

/// By the folder's name first, then by the manifest's.
fn named(
    folder: &Path,
    name: &str,
    order: [(&str, &'static str); 2],
    depth: usize,
) -> Option<PluginFolder> {
    let mut folders: Vec<PathBuf> = fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .filter(|path| {
            path.file_name().is_some_and(|name| name != ".git" && name != "node_modules")
        })
        .collect();
    folders.sort_unstable();
    let is_meant = |path: &&PathBuf| path.file_name().is_some_and(|own| own == name);
    let by_folder = folders.iter().find(is_meant).and_then(|path| read(path.clone(), order));
    let by_name = || {
        let plugins = folders.iter().filter_map(|path| read(path.clone(), order));
        plugins.into_iter().find(|plugin| plugin.name.as_deref() == Some(name))
    };
    let deeper = || {
        let below = folders.iter().take(500).filter(|_| depth < 5);
        below.into_iter().find_map(|path| named(path, name, order, depth + 1))
    };
    by_folder.or_else(by_name).or_else(deeper)
}

/// The folder that a marketplace's catalog gives for a plugin.
fn in_catalog(root: &Path, id: &str) -> Option<PathBuf> {
    let catalogs = [".claude-plugin/marketplace.json", ".cursor-plugin/marketplace.json"];
    catalogs.iter().find_map(|file| {
        let catalog = json(&root.join(file))?;
        let plugins = catalog.get("plugins")?.as_array()?;
        let plugin =
            plugins.iter().find(|one| one.get("name").and_then(Value::as_str) == Some(id))?;
        let source = plugin.get("source").and_then(Value::as_str)?;
        inside(root, source.strip_prefix("./").unwrap_or(source)).ok()
    })
}

pub(super) fn json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

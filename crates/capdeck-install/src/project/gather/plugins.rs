//! Plugins, taken apart: what they bring is installed like anything else that is declared.

mod parts;
mod servers;

use std::{
    fs,
    path::{Path, PathBuf},
};

use capdeck_definition::capability_file::{
    CapabilityFile, PluginDeclaration, RepoTarget, SkillKind, is_safe_id,
};
use serde_json::{Map, Value};

use super::{ContentGatherer, content_origins::ContentOrigins};
use crate::{
    project::{
        InstallProblem,
        content::{InstallContent, PluginCopy},
        pins::{PinSection, PinnedManifest},
    },
    provider::AgentProvider,
    source::{inside, read_folder},
};

/// Parts of plugins that no agent can be given.
const UNSUPPORTED_PARTS: [&str; 7] =
    ["bin", "lsp", "monitors", "output-styles", "settings.json", "themes", "workflows"];

impl ContentGatherer<'_> {
    /// Adds what all plugins bring. A plugin that cannot be had is a warning: the rest works without it.
    pub(super) fn plugins(
        &mut self,
        file: &CapabilityFile,
        providers: &[&'static AgentProvider],
        content: &mut InstallContent,
    ) {
        for plugin in &file.plugins {
            let about = PinSection::Plugin.about(plugin.id.as_deref().unwrap_or(&plugin.repo.name));
            match self.plugin(plugin, &about, providers) {
                Ok(found) => self.take_apart(plugin, &found, &about, file, content),
                Err(mut problem) => {
                    let ContentOrigins { pins, pinned, .. } = &mut self.origins;
                    pins.keep_pin(pinned, PinSection::Plugin, |pin| pin.is_from(&plugin.repo));
                    problem.severity = capdeck_definition::DiagnosticSeverity::Warning;
                    self.problems.push(problem);
                }
            }
        }
        for skill in file.skills.iter().filter(|skill| skill.kind == SkillKind::Plugin) {
            if !content.skills.iter().any(|known| known.id == skill.id) {
                let about = PinSection::Skill.about(&skill.id);
                self.problems.push(InstallProblem::warning(
                    "no-plugin",
                    about,
                    "no plugin brings it",
                ));
            }
        }
    }

    fn plugin(
        &mut self,
        plugin: &PluginDeclaration,
        about: &str,
        providers: &[&'static AgentProvider],
    ) -> Result<PluginFolder, InstallProblem> {
        let refused = |message: String| InstallProblem::bad_source(about, message);
        let pin_id = plugin.id.clone().unwrap_or_else(|| plugin.repo.name.clone());
        let root = self.origins.snapshot(PinSection::Plugin, &pin_id, &plugin.repo)?;
        let is_claude_first = providers.iter().any(|provider| provider.id == "claude-code");
        let found = find_plugin(&root, &plugin.repo.target, plugin.id.as_deref(), is_claude_first)
            .map_err(refused)?;
        let own = match (&plugin.id, &found.name, &plugin.repo.target) {
            (Some(id), ..) => id.clone(),
            (None, Some(name), _) => slug(name),
            (None, None, RepoTarget::Named(name)) => slug(name),
            (None, None, _) => slug(plugin.repo.name.rsplit('/').next().unwrap_or_default()),
        };
        if !is_safe_id(&own) {
            return Err(refused(format!("its name `{own}` cannot name a folder")));
        }
        let version = found.manifest.get("version").and_then(Value::as_str).map(str::to_owned);
        let name = found.name.clone().unwrap_or_else(|| own.clone());
        self.origins.pins.note_plugin(&own, PinnedManifest { name, version });
        Ok(PluginFolder { id: own, ..found })
    }

    fn take_apart(
        &mut self,
        plugin: &PluginDeclaration,
        found: &PluginFolder,
        about: &str,
        file: &CapabilityFile,
        content: &mut InstallContent,
    ) {
        let files = match read_folder(&found.path) {
            Ok(files) => files,
            Err(error) => {
                self.problems.push(InstallProblem::warning("bad-source", about, error.to_string()));
                return;
            }
        };
        let copy = self.plugin_dir.join(&found.id);
        let mut taken = PluginParts { about, problems: &mut self.problems };
        parts::add_skills(&mut taken, found, &files, content);
        parts::add_agents(&mut taken, &files, content);
        parts::add_rules(&mut taken, &files, content);
        let has_hooks = servers::add_hooks(&mut taken, found, &files, &copy, content);
        let has_servers =
            servers::add_servers(&mut taken, plugin, found, &files, &copy, file, content);
        let mut skipped = UNSUPPORTED_PARTS.to_vec();
        skipped.retain(|name| files.iter().any(|file| file.path.split('/').next() == Some(name)));
        if !skipped.is_empty() {
            let message = format!("agents cannot be given its {}", skipped.join(", "));
            self.problems.push(InstallProblem::warning("plugin-part", about, message));
        }
        // Only what is run needs the plugin's own folder beside it.
        if has_hooks || has_servers {
            content.plugin_copies.push(PluginCopy { id: found.id.clone(), dir: copy, files });
        }
    }
}

/// Where problems of a plugin's parts go.
struct PluginParts<'a> {
    about: &'a str,
    problems: &'a mut Vec<InstallProblem>,
}

impl PluginParts<'_> {
    fn warn(&mut self, message: impl Into<String>) {
        self.problems.push(InstallProblem::warning("plugin-part", self.about, message));
    }

    /// Whether a part may be added under an id.
    fn is_free<'a>(
        &mut self,
        kind: &str,
        id: &str,
        mut taken: impl Iterator<Item = &'a String>,
    ) -> bool {
        if !is_safe_id(id) {
            self.warn(format!(
                "the {kind} `{id}` has a name that cannot name a file; it is left out"
            ));
            return false;
        }
        let is_taken = taken.any(|known| known == id);
        if is_taken {
            self.warn(format!("there is a {kind} `{id}` already; the plugin's is left out"));
        }
        !is_taken
    }
}

fn slug(name: &str) -> String {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let slug: String =
        name.trim().chars().map(|c| if legal(c) { c.to_ascii_lowercase() } else { '-' }).collect();
    slug.trim_matches(['-', '.', '_']).to_owned()
}

/// The variables for the plugin's own folder in its files.
fn expand(text: &str, copy: &Path) -> String {
    let place = copy.to_string_lossy();
    ["${CLAUDE_PLUGIN_ROOT}", "${CURSOR_PLUGIN_ROOT}", "$CLAUDE_PLUGIN_ROOT"]
        .iter()
        .fold(text.to_owned(), |text, name| text.replace(name, &place))
}

#[derive(Debug, Clone)]
struct PluginFolder {
    id: String,
    path: PathBuf,
    name: Option<String>,
    /// Empty without a manifest; then the usual folders are looked at.
    manifest: Map<String, Value>,
    /// The agent whose manifest it is, which its hooks are for.
    provider: &'static str,
    /// The manifest for the other agent, if there is one: its hooks are for that agent.
    sibling: Option<(Map<String, Value>, &'static str)>,
}

const CLAUDE: (&str, &str) = (".claude-plugin/plugin.json", "claude-code");
const CURSOR: (&str, &str) = (".cursor-plugin/plugin.json", "cursor");
/// Folders and files that make a folder a plugin without a manifest.
const PARTS: [&str; 6] = ["skills", "commands", "agents", "hooks/hooks.json", "rules", ".mcp.json"];

/// Finds the plugin that is meant. The error says why there is none.
fn find_plugin(
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
        RepoTarget::Named(name) => find_by_name(root, name, order, 0)
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
    let manifest = manifests.next();
    let has_parts =
        || PARTS.iter().any(|part| path.join(part).exists()) || path.join("SKILL.md").is_file();
    if manifest.is_none() && !has_parts() {
        return None;
    }
    let sibling = manifests.next();
    let (manifest, provider) = manifest.unwrap_or((Map::new(), order[0].1));
    let name = manifest.get("name").and_then(Value::as_str).map(str::to_owned);
    Some(PluginFolder { id: String::new(), path, name, manifest, provider, sibling })
}

/// By the folder's name first, then by the manifest's.
fn find_by_name(
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
        below.into_iter().find_map(|path| find_by_name(path, name, order, depth + 1))
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

fn json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

//! Plugins, taken apart: what they bring is installed like anything else that is declared.

mod folder;
mod hooks;
mod parts;
mod servers;

use std::{collections::BTreeSet, path::Path};

use serde_json::Value;

use capdeck_definition::capa::{CapabilityFile, Plugin, RepoTarget, SkillKind, is_safe_id};

use super::Gathering;
use crate::{
    project::{
        Problem,
        content::{Content, PluginCopy},
        pins::{PinnedManifest, Section},
    },
    provider::Provider,
    source::read_folder,
};
use folder::{PluginFolder, find_plugin};

/// Parts of plugins that no agent can be given.
const LEFT_OUT: [&str; 7] =
    ["lsp", "monitors", "themes", "workflows", "output-styles", "bin", "settings.json"];

impl Gathering<'_> {
    /// Adds what all plugins bring. A plugin that cannot be had is a warning: the rest works without it.
    pub(super) fn plugins(
        &mut self,
        file: &CapabilityFile,
        providers: &[&'static Provider],
        content: &mut Content,
    ) {
        for plugin in &file.plugins {
            let shown = plugin.id.as_deref().unwrap_or(&plugin.repo.name);
            let about = format!("plugin `{shown}`");
            match self.plugin(plugin, &about, providers) {
                Ok(found) => self.take_apart(plugin, &found, &about, file, content),
                Err(mut problem) => {
                    self.origins.keep_pin(Section::Plugin, |pin| pin.is_from(&plugin.repo));
                    problem.severity = capdeck_definition::Severity::Warning;
                    self.problems.push(problem);
                }
            }
        }
        for skill in file.skills.iter().filter(|skill| skill.kind == SkillKind::Plugin) {
            if !content.skills.iter().any(|known| known.id == skill.id) {
                self.problems.push(Problem::warning(
                    "no-plugin",
                    format!("skill `{}`", skill.id),
                    "no plugin brings it",
                ));
            }
        }
    }

    fn plugin(
        &mut self,
        plugin: &Plugin,
        about: &str,
        providers: &[&'static Provider],
    ) -> Result<PluginFolder, Problem> {
        let refused = |message: String| Problem::error("bad-source", about, message);
        let pin_id = plugin.id.clone().unwrap_or_else(|| plugin.repo.name.clone());
        let root = self.origins.snapshot(Section::Plugin, &pin_id, about, &plugin.repo)?;
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
        self.origins.note_plugin(&own, PinnedManifest { name, version });
        Ok(PluginFolder { id: own, ..found })
    }

    fn take_apart(
        &mut self,
        plugin: &Plugin,
        found: &PluginFolder,
        about: &str,
        file: &CapabilityFile,
        content: &mut Content,
    ) {
        let files = match read_folder(&found.path) {
            Ok(files) => files,
            Err(error) => {
                self.problems.push(Problem::warning("bad-source", about, error.to_string()));
                return;
            }
        };
        let copy = self.plugin_dir.join(&found.id);
        let mut taken = Taken { about, problems: &mut self.problems };
        parts::add_skills(&mut taken, found, &files, content);
        parts::add_agents(&mut taken, &files, content);
        parts::add_rules(&mut taken, &files, content);
        let has_hooks = hooks::add_hooks(&mut taken, found, &files, &copy, content);
        let has_servers =
            servers::add_servers(&mut taken, plugin, found, &files, &copy, file, content);
        let skipped: BTreeSet<&str> = LEFT_OUT
            .into_iter()
            .filter(|name| {
                let below = format!("{name}/");
                files.iter().any(|file| file.path == *name || file.path.starts_with(&below))
            })
            .collect();
        if !skipped.is_empty() {
            let names: Vec<&str> = skipped.into_iter().collect();
            let message = format!("agents cannot be given its {}", names.join(", "));
            self.problems.push(Problem::warning("plugin-part", about, message));
        }
        // Only what is run needs the plugin's own folder beside it.
        if has_hooks || has_servers {
            content.plugin_copies.push(PluginCopy { id: found.id.clone(), dir: copy, files });
        }
    }
}

/// Where problems of a plugin's parts go.
struct Taken<'a> {
    about: &'a str,
    problems: &'a mut Vec<Problem>,
}

impl Taken<'_> {
    fn warn(&mut self, message: impl Into<String>) {
        self.problems.push(Problem::warning("plugin-part", self.about, message));
    }

    /// Whether a part may be added under an id.
    fn is_free(&mut self, kind: &str, id: &str, is_taken: bool) -> bool {
        if !is_safe_id(id) {
            self.warn(format!(
                "the {kind} `{id}` has a name that cannot name a file; it is left out"
            ));
            return false;
        }
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

/// What stands in for the plugin's own folder in its files.
fn expand(text: &str, copy: &Path) -> String {
    let place = copy.to_string_lossy();
    ["${CLAUDE_PLUGIN_ROOT}", "${CURSOR_PLUGIN_ROOT}", "$CLAUDE_PLUGIN_ROOT"]
        .iter()
        .fold(text.to_owned(), |text, name| text.replace(name, &place))
}

//! `capabilities.lock`: which state of each source was installed. Text in, text out; files are the caller's business.
//!
//! Other programs read and write the same file. What they wrote and this does not know is kept, and what only this
//! writes (`rules`, `snippets`, `remoteSkills`) stands in lists of its own, which they pass over.

mod pin;
mod write;

use std::path::Path;

pub use pin::{Pin, PinSource, PluginPin, SkillPin, TextPin};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{Repo, RepoTarget};
use crate::{
    diagnostic::{Diagnostic, Findings},
    document::{Content, Node, json, yaml},
};

/// The name of the lock file, beside the capability file.
pub const LOCK_FILE_NAME: &str = "capabilities.lock";

/// The one version there is.
const VERSION: u64 = 1;

/// The known states of everything that was installed from elsewhere.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CapabilityLock {
    /// The program that wrote it last, such as `capdeck@1.0.0`.
    pub generator: String,
    /// When anything else in it changed last.
    pub generated_at: String,
    pub skills: Vec<SkillPin>,
    pub plugins: Vec<PluginPin>,
    pub hooks: Vec<TextPin>,
    pub rules: Vec<TextPin>,
    /// Snippets of instruction files.
    pub snippets: Vec<TextPin>,
    /// Skills that are fetched from an address.
    pub remote_skills: Vec<TextPin>,
    /// Members that only others know.
    pub others: Map<String, Value>,
}

/// How a lock file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockForm {
    /// Beside `capabilities.yaml`.
    Yaml,
    /// Beside `capabilities.json`.
    Json,
}

/// The keys of the file that have a meaning here.
const KNOWN: [&str; 9] = [
    "version",
    "generator",
    "generatedAt",
    "skills",
    "plugins",
    "hooks",
    "rules",
    "snippets",
    "remoteSkills",
];

impl CapabilityLock {
    /// Reads a lock file of either form. A wrong version or shape is an error about the whole file; a broken entry is
    /// left out with a warning.
    pub fn parse(text: &str, path: &Path) -> Result<(Self, Vec<Diagnostic>), Diagnostic> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let is_json = text.trim_start().starts_with('{');
        let root = if is_json { json::parse(text) } else { yaml::parse(text, 1) };
        let root = root.map_err(|problem| problem.in_file(path))?;
        let refused = |code: &str, message: &str, node: &Node| {
            Diagnostic::error(code, message)
                .with_fix("restore the file from version control, or delete it and install again")
                .at(node.place)
                .in_file(path)
        };
        if !root.is_map() {
            return Err(refused("wrong-type", "a lock file must be a mapping", &root));
        }
        let version = root.get("version").map(Node::to_json);
        if version.as_ref().and_then(Value::as_u64) != Some(VERSION) {
            let message = "the lock file has a version that is not known here";
            return Err(refused("unknown-value", message, root.child("version")));
        }
        let mut findings = Findings::new(path);
        let section = |key: &str| {
            let node = root.child(key);
            match &node.content {
                _ if root.get(key).is_none() => Ok(&[][..]),
                Content::Null => Ok(&[][..]),
                Content::List(items) => Ok(items.as_slice()),
                _ => Err(refused("wrong-type", &format!("`{key}` must be a list"), node)),
            }
        };
        let texts = |key: &str| root.get(key).and_then(Node::text).unwrap_or_default().to_owned();
        let others = root.entries().iter().filter(|entry| !KNOWN.contains(&entry.key.as_str()));
        let lock = Self {
            generator: texts("generator"),
            generated_at: texts("generatedAt"),
            skills: pins("skills", section("skills")?, &mut findings),
            plugins: pins("plugins", section("plugins")?, &mut findings),
            hooks: pins("hooks", section("hooks")?, &mut findings),
            rules: pins("rules", section("rules")?, &mut findings),
            snippets: pins("snippets", section("snippets")?, &mut findings),
            remote_skills: pins("remoteSkills", section("remoteSkills")?, &mut findings),
            others: others.map(|entry| (entry.key.clone(), entry.value.to_json())).collect(),
        };
        Ok((lock, findings.into_diagnostics()))
    }

    /// The file's text: entries by id, lists of its own only where they hold something.
    pub fn to_text(&self, form: LockForm) -> String {
        let mut lock = self.clone();
        lock.sort();
        let value = lock.to_value();
        match form {
            LockForm::Yaml => write::yaml(&value),
            LockForm::Json => {
                format!("{}\n", serde_json::to_string_pretty(&value).unwrap_or_default())
            }
        }
    }

    /// The lock as it is to be written over `before`: who wrote it and when changes only when anything else did.
    pub fn stamped(mut self, before: Option<&Self>, generator: &str, now: &str) -> Self {
        self.sort();
        let same = before.filter(|before| {
            let mut known = (*before).clone();
            known.sort();
            known.generator.clone_from(&self.generator);
            known.generated_at.clone_from(&self.generated_at);
            known == self
        });
        let (generator, at) = match same {
            Some(before) => (before.generator.as_str(), before.generated_at.as_str()),
            None => (generator, now),
        };
        self.generator = generator.to_owned();
        self.generated_at = at.to_owned();
        self
    }

    /// True when nothing is pinned, so that there need be no file.
    pub fn is_empty(&self) -> bool {
        let texts = [&self.hooks, &self.rules, &self.snippets, &self.remote_skills];
        self.skills.is_empty() && self.plugins.is_empty() && texts.iter().all(|one| one.is_empty())
    }

    /// The pin of a skill, if it is of this very source.
    pub fn skill(&self, id: &str, repo: &Repo) -> Option<&SkillPin> {
        self.skills.iter().find(|pin| pin.id == id && pin.is_of(repo))
    }

    /// The pin of a plugin, by its source alone: a plugin may have no id of its own.
    pub fn plugin(&self, repo: &Repo) -> Option<&PluginPin> {
        let (search, subpath) = match &repo.target {
            RepoTarget::Root => (None, None),
            RepoTarget::Named(name) => (Some(name), None),
            RepoTarget::Path(path) => (None, Some(path)),
        };
        self.plugins.iter().find(|pin| {
            pin.is_of(repo)
                && pin.requested_search_name.as_ref() == search
                && pin.subpath.as_ref() == subpath
        })
    }

    fn sort(&mut self) {
        self.skills.sort_by(|left, right| left.id.cmp(&right.id));
        self.plugins.sort_by(|left, right| left.id.cmp(&right.id));
        for list in [&mut self.hooks, &mut self.rules, &mut self.snippets, &mut self.remote_skills]
        {
            list.sort_by(|left, right| left.id.cmp(&right.id));
        }
    }

    fn to_value(&self) -> Map<String, Value> {
        let mut value = Map::new();
        value.insert("version".to_owned(), VERSION.into());
        value.insert("generator".to_owned(), self.generator.as_str().into());
        value.insert("generatedAt".to_owned(), self.generated_at.as_str().into());
        value.insert("skills".to_owned(), list(&self.skills));
        value.insert("plugins".to_owned(), list(&self.plugins));
        value.insert("hooks".to_owned(), list(&self.hooks));
        let own = [
            ("rules", &self.rules),
            ("snippets", &self.snippets),
            ("remoteSkills", &self.remote_skills),
        ];
        for (key, pins) in own.into_iter().filter(|(_, pins)| !pins.is_empty()) {
            value.insert(key.to_owned(), list(pins));
        }
        value.extend(self.others.clone());
        value
    }
}

fn list<T: Serialize>(pins: &[T]) -> Value {
    serde_json::to_value(pins).unwrap_or_default()
}

fn pins<T: DeserializeOwned>(section: &str, items: &[Node], findings: &mut Findings) -> Vec<T> {
    let mut pins = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match serde_json::from_value(item.to_json()) {
            Ok(pin) => pins.push(pin),
            Err(_) => findings.add(
                Diagnostic::warning(
                    "invalid-value",
                    format!("`{section}[{index}]` is no pin and is left out"),
                )
                .with_fix("install again, and it is pinned anew")
                .at(item.place),
            ),
        }
    }
    pins
}

#[cfg(test)]
mod tests;

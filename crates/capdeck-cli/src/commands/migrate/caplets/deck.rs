//! The capabilities: files of the deck, entries of its config, and records of the database.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use capdeck_definition::{CONFIG_NAMES, Deck, PLURAL_KEYS};
use capdeck_install::{
    CapletsStore, ConfigDocument, FileFormat, LockedSource, PackageDeck, PackageSource,
    StoredCaplet, keys,
};
use serde_json::Value;

use super::places::CapletsPlaces;
use crate::{
    commands::{
        migrate::{
            staging::StagedSetup,
            system::{SetupItem, SetupItemKind},
        },
        packages::failed as package_failed,
    },
    errors::CommandFailure,
    new_file::document_text,
};

/// Options that mean the same in both. Those about the program itself stay behind.
const OPTIONS: [&str; 5] =
    ["defaultSearchLimit", "maxSearchLimit", "completion", "options", "namespaceAliases"];

const MAX_FILES: usize = 20_000;
const MAX_BYTES: u64 = 512 << 20;

const OWN_WINS: &str = "your deck has its own";

/// Copies the files of the deck: capabilities, and what lies beside them and may be named by them.
pub(super) fn take_files(
    places: &CapletsPlaces,
    staged: &StagedSetup,
    items: &mut Vec<SetupItem>,
) -> Result<(), CommandFailure> {
    let mut copying = TreeCopy { root: &places.deck, staged, files: 0, bytes: 0, open: Vec::new() };
    let listed = match fs::read_dir(&places.deck) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        listed => listed.map_err(|error| CommandFailure::file("read", &places.deck, &error))?,
    };
    let mut names: Vec<String> = Vec::new();
    for entry in listed {
        let entry = entry.map_err(|error| CommandFailure::file("read", &places.deck, &error))?;
        names.extend(entry.file_name().into_string().ok());
    }
    names.sort();
    for name in names {
        if name.starts_with('.') || name == "auth" || CONFIG_NAMES.contains(&name.as_str()) {
            continue;
        }
        let path = places.deck.join(&name);
        let id = id_of(&name, &path);
        let kind = if id.is_some() { SetupItemKind::Capability } else { SetupItemKind::File };
        let shown = id.clone().unwrap_or_else(|| name.clone());
        let is_own = match &id {
            Some(id) => staged.has_own(id) || staged.has_own(&format!("{id}.md")),
            None => staged.has_own(&name),
        };
        if is_own {
            items.push(SetupItem::leave(kind, shown, OWN_WINS));
            continue;
        }
        items.push(match copying.copy(&path, &name)? {
            None => SetupItem::take(kind, shown, None),
            Some(why) => SetupItem::leave(kind, shown, why),
        });
    }
    Ok(())
}

/// The id of a file or folder that defines a capability.
fn id_of(name: &str, path: &Path) -> Option<String> {
    if path.join("CAPLET.md").is_file() {
        return Some(name.to_owned());
    }
    let stem = name.strip_suffix(".md")?;
    let text = fs::read(path).ok()?;
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text).starts_with(b"---").then(|| stem.to_owned())
}

/// Copies files and folders; links that stay inside of the deck become what they lead to.
struct TreeCopy<'a> {
    root: &'a Path,
    staged: &'a StagedSetup,
    files: usize,
    bytes: u64,
    open: Vec<PathBuf>,
}

impl TreeCopy<'_> {
    /// Returns why something cannot be copied.
    fn copy(&mut self, path: &Path, below: &str) -> Result<Option<String>, CommandFailure> {
        let failed = |error: io::Error| CommandFailure::file("read", path, &error);
        let root = fs::canonicalize(self.root).map_err(failed)?;
        let Ok(real) = fs::canonicalize(path) else {
            return Ok(Some(format!("`{below}` is a link that leads nowhere")));
        };
        if !real.starts_with(&root) || self.open.contains(&real) {
            return Ok(Some(format!(
                "`{below}` is a link that leads out of the deck or into itself"
            )));
        }
        let facts = fs::metadata(&real).map_err(failed)?;
        if facts.is_dir() {
            self.open.push(real.clone());
            for entry in fs::read_dir(&real).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
                if name == ".git" {
                    continue;
                }
                if let Some(why) = self.copy(&entry.path(), &format!("{below}/{name}"))? {
                    return Ok(Some(why));
                }
            }
            self.open.pop();
            return Ok(None);
        }
        if !facts.is_file() {
            return Ok(Some(format!("`{below}` is no regular file")));
        }
        self.files += 1;
        self.bytes += facts.len();
        if self.files > MAX_FILES || self.bytes > MAX_BYTES {
            let message = format!("`{}` is too large to be a deck", self.root.display());
            return Err(CommandFailure::request("DECK_TOO_LARGE", message)
                .hint("move what is no capability out of it, such as installed modules"));
        }
        let content = fs::read(&real).map_err(failed)?;
        self.staged.write(below, &content, is_program(&facts))?;
        Ok(None)
    }
}

#[cfg(unix)]
fn is_program(facts: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    facts.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_program(_: &fs::Metadata) -> bool {
    false
}

/// Adds the entries of the config to the person's own.
pub(super) fn take_config(
    places: &CapletsPlaces,
    staged: &StagedSetup,
    items: &mut Vec<SetupItem>,
) -> Result<(), CommandFailure> {
    let Ok(text) = fs::read_to_string(&places.config_file) else { return Ok(()) };
    let theirs = match ConfigDocument::parse(&text, FileFormat::Json) {
        Ok(document) => document.value().clone(),
        Err(error) => {
            items.push(SetupItem::leave(SetupItemKind::File, "config.json", error.to_string()));
            return Ok(());
        }
    };
    let own = staged.own_deck();
    let name = CONFIG_NAMES.into_iter().find(|name| staged.has_own(name)).unwrap_or("config.json");
    let file = staged.deck_dir().join(name);
    let format = if name.ends_with(".json") { FileFormat::Json } else { FileFormat::Yaml };
    let before = fs::read_to_string(&file).unwrap_or_else(|_| "{}\n".to_owned());
    let unreadable = |message: String| {
        let message = format!("`{}` cannot be edited: {message}", staged.real(&file).display());
        CommandFailure::request("FILE_UNREADABLE", message).hint("correct it, then run this again")
    };
    let mut document =
        ConfigDocument::parse(&before, format).map_err(|error| unreadable(error.to_string()))?;
    let mut put = |path: &[&str], value: &Value| {
        document.set(&keys(path), value.clone()).map_err(|error| unreadable(error.to_string()))
    };
    for key in PLURAL_KEYS {
        for (id, entry) in theirs.get(key).and_then(Value::as_object).into_iter().flatten() {
            let is_own = own.definitions.iter().any(|one| one.id.as_str() == id);
            let is_own = is_own || own.quarantined.iter().any(|one| one.id == *id);
            // A file of the same id is used instead of the entry, there as here.
            let has_file = |id: &str| {
                let deck = &places.deck;
                deck.join(id).join("CAPLET.md").is_file() || deck.join(format!("{id}.md")).is_file()
            };
            items.push(if is_own {
                SetupItem::leave(SetupItemKind::Capability, id, OWN_WINS)
            } else if has_file(id) {
                continue;
            } else {
                put(&[key, id], entry)?;
                SetupItem::take(SetupItemKind::Capability, id, None)
            });
        }
    }
    for key in OPTIONS {
        let Some(value) = theirs.get(key) else { continue };
        let inner = value.as_object().filter(|_| key == "options");
        let pairs: Vec<(Vec<&str>, &Value)> = match inner {
            Some(options) => {
                options.iter().map(|(name, value)| (vec![key, name.as_str()], value)).collect()
            }
            None => vec![(vec![key], value)],
        };
        for (path, value) in pairs {
            let known = ConfigDocument::parse(&before, format).ok();
            let is_own = known.is_some_and(|known| known.get(&keys(&path)).is_some());
            let name = path.join(".");
            items.push(if is_own {
                SetupItem::leave(SetupItemKind::Option, name, "your config has its own")
            } else {
                put(&path, value)?;
                SetupItem::take(SetupItemKind::Option, name, None)
            });
        }
    }
    for (key, why) in [
        ("serve", "Capdeck listens on its own address; see: capdeck up --help"),
        ("storage", "Capdeck keeps capabilities as files"),
        ("telemetry", "Capdeck sends nothing"),
    ] {
        if theirs.get(key).is_some() {
            items.push(SetupItem::leave(SetupItemKind::Option, key, why));
        }
    }
    let after = document.text();
    if after != before {
        staged.write(name, after.as_bytes(), false)?;
    }
    Ok(())
}

/// Writes the Caplets of the database as files, and notes where they came from.
pub(super) fn take_records(
    store: &CapletsStore,
    staged: &StagedSetup,
    items: &mut Vec<SetupItem>,
) -> Result<(), CommandFailure> {
    let deck = PackageDeck::new(&staged.deck_dir());
    let own = staged.own_deck();
    for caplet in &store.caplets {
        let id = &caplet.id;
        let leave = |why: &str| SetupItem::leave(SetupItemKind::Capability, id, why);
        let is_own = staged.has_own(id) || staged.has_own(&format!("{id}.md"));
        let is_own = is_own || own.definitions.iter().any(|one| one.id.as_str() == id);
        let staged_deck = staged.staged_deck();
        if is_own {
            items.push(leave(OWN_WINS));
            continue;
        }
        let is_it = |found: &str| found == id || found.starts_with(&format!("{id}__"));
        if staged_deck.definitions.iter().any(|one| is_it(one.id.as_str()))
            || staged_deck.quarantined.iter().any(|one| one.id == *id)
        {
            items.push(leave("a file of the same id is used instead of the stored one"));
            continue;
        }
        match &caplet.files {
            Err(why) => {
                items.push(leave(why));
                continue;
            }
            Ok(files) => {
                for file in files {
                    let below = format!("{id}/{}", file.path);
                    staged.write(&below, &file.content, file.is_program)?;
                }
            }
        }
        let text = document_text(&caplet.frontmatter, &caplet.body)?;
        staged.write(&format!("{id}/CAPLET.md"), text.as_bytes(), false)?;
        let source = source_of(caplet);
        let note = source.as_ref().map(|source| format!("from {}", source.describe()));
        if let Some(source) = source {
            deck.adopt(id, source).map_err(package_failed)?;
        }
        items.push(SetupItem::take(SetupItemKind::Capability, id, note));
    }
    Ok(())
}

/// Where `capdeck update` looks for a newer one.
fn source_of(caplet: &StoredCaplet) -> Option<LockedSource> {
    let origin = caplet.origin.as_ref()?;
    if origin.is_git {
        let source = PackageSource::Git {
            repository: origin.address.clone(),
            reference: origin.reference.clone(),
            subfolder: None,
        };
        return Some(LockedSource { source, commit: origin.revision.clone() });
    }
    let source = PackageSource::Folder { path: origin.address.clone().into() };
    Some(LockedSource { source, commit: None })
}

/// Paths of capabilities that lead out of the deck, which is elsewhere now: each with the id that names it.
pub(super) fn paths_outside(deck: &Deck, staged: &StagedSetup) -> Vec<(String, String)> {
    let own = staged.deck_dir();
    let mut found = Vec::new();
    for definition in &deck.definitions {
        let backend = serde_json::to_value(&definition.backend).unwrap_or_default();
        let mut paths = Vec::new();
        collect_paths(&backend, own.parent().unwrap_or(&own), &mut paths);
        let is_outside = |path: &PathBuf| !clean(path).starts_with(&own);
        for path in paths.into_iter().filter(is_outside) {
            let below = path.strip_prefix(&own).unwrap_or(&path);
            found.push((definition.id.to_string(), below.display().to_string()));
        }
    }
    found
}

fn collect_paths(value: &Value, root: &Path, paths: &mut Vec<PathBuf>) {
    match value {
        Value::String(text) if Path::new(text).starts_with(root) => paths.push(text.into()),
        Value::Array(items) => items.iter().for_each(|item| collect_paths(item, root, paths)),
        Value::Object(entries) => {
            entries.values().for_each(|entry| collect_paths(entry, root, paths));
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A path without the steps that lead back up.
fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir => {}
            part => clean.push(part),
        }
    }
    clean
}

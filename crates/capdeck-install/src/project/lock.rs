//! The lock beside a capability file: YAML, or JSON where the capability file is JSON. Other programs read and write it
//! too, so what they need is written as they write it; what else is pinned is in sections of its own.

use std::path::{Path, PathBuf};

use capdeck_definition::capability_file::{GitHost, RepoReference, RepoTarget};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    InstallProblem,
    pins::{PinOrigin, PinSection, PinnedManifest, SourcePin, SourcePins, target_text},
};
use crate::{
    edit::{ConfigDocument, FileFormat},
    frontmatter::render_field,
};

pub(crate) const LOCK_NAME: &str = "capabilities.lock";
const VERSION: u64 = 1;
const HEAD_KEYS: [&str; 3] = ["version", "generator", "generatedAt"];
const HOOK_KEYS: [&str; 5] =
    ["repo", "requestedVersion", "requestedRef", "resolvedRef", "resolvedVersion"];

/// One entry as it is written. Which fields it has depends on where it came from.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LockRow {
    id: String,
    source: String,
    repo: Option<String>,
    skill_name: Option<String>,
    subpath: Option<String>,
    requested_search_name: Option<String>,
    url: Option<String>,
    requested_version: Option<String>,
    requested_ref: Option<String>,
    resolved_ref: Option<String>,
    resolved_version: Option<String>,
    body_sha256: Option<String>,
    manifest_name: Option<String>,
    manifest_version: Option<String>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// Reads a lock. One that cannot be read is an error; an entry that cannot, a warning.
pub(crate) fn parse_lock(text: &str, path: &Path) -> (SourcePins, Vec<InstallProblem>) {
    let about = path.display().to_string();
    let failed = |message: String| {
        let problem = InstallProblem::error("bad-lock", about.clone(), message);
        (
            SourcePins::default(),
            vec![problem.with_hint("correct it, or remove it to pin everything again")],
        )
    };
    let is_json = text.trim_start().starts_with('{');
    let format = if is_json { FileFormat::Json } else { FileFormat::Yaml };
    let document = match ConfigDocument::parse(text, format) {
        Ok(document) => document,
        Err(error) => return failed(error.to_string()),
    };
    let Value::Object(sections) = document.value() else {
        return failed("it is not a lock".to_owned());
    };
    if sections.get("version").and_then(Value::as_u64) != Some(VERSION) {
        return failed(format!("only version {VERSION} of the lock is known"));
    }
    let (mut pins, mut problems) = (SourcePins::default(), Vec::new());
    for section in PinSection::ALL {
        let rows = match sections.get(section.key()) {
            None | Some(Value::Null) => continue,
            Some(Value::Array(rows)) => rows,
            Some(_) => return failed(format!("`{}` is not a list", section.key())),
        };
        for row in rows {
            let pin = serde_json::from_value(row.clone()).ok().and_then(|row| pin(section, row));
            match pin {
                Some(pin) => pins.add(pin),
                None => problems.push(InstallProblem::warning(
                    "bad-lock",
                    about.clone(),
                    format!("an entry of `{}` cannot be used and is dropped", section.key()),
                )),
            }
        }
    }
    let is_other = |key: &str| {
        !HEAD_KEYS.contains(&key) && !PinSection::ALL.iter().any(|section| section.key() == key)
    };
    let others = sections.iter().filter(|(key, _)| is_other(key));
    pins.others = others.map(|(key, value)| (key.clone(), value.clone())).collect();
    (pins, problems)
}

/// Writes a lock. None where nothing is pinned.
pub(crate) fn render_lock(pins: &SourcePins, path: &Path, now: &str) -> Option<String> {
    let mut sections: Vec<(&str, Vec<Map<String, Value>>)> = Vec::new();
    for section in PinSection::ALL {
        let rows: Vec<_> = pins.sorted(section).into_iter().map(row).collect();
        if !rows.is_empty() || section.is_always_written() {
            sections.push((section.key(), rows));
        }
    }
    if sections.iter().all(|(_, rows)| rows.is_empty()) && pins.others.is_empty() {
        return None;
    }
    let generator = concat!("capdeck@", env!("CARGO_PKG_VERSION"));
    let mut head = Map::new();
    head.insert("version".to_owned(), json!(VERSION));
    head.insert("generator".to_owned(), json!(generator));
    head.insert("generatedAt".to_owned(), json!(now));
    if path.with_file_name("capabilities.json").exists() {
        head.extend(sections.into_iter().map(|(key, rows)| (key.to_owned(), json!(rows))));
        head.extend(pins.others.clone());
        let text = serde_json::to_string_pretty(&head).unwrap_or_default();
        return Some(text + "\n");
    }
    let mut text: String = head.iter().map(|(key, value)| field(key, value)).collect();
    for (key, rows) in sections {
        if rows.is_empty() {
            text.push_str(&format!("{key}: []\n"));
            continue;
        }
        text.push_str(&format!("{key}:\n"));
        for row in rows {
            for (index, (key, value)) in row.iter().enumerate() {
                let lead = if index == 0 { "  - " } else { "    " };
                text.push_str(&format!("{lead}{}", field(key, value)));
            }
        }
    }
    text.extend(pins.others.iter().map(|(key, value)| field(key, value)));
    Some(text)
}

/// One line. What is no plain value is written as JSON, which is YAML.
fn field(key: &str, value: &Value) -> String {
    match value {
        Value::Array(_) => {
            let empty = render_field(key, &Value::Null);
            empty.replacen("null", &value.to_string(), 1)
        }
        value => render_field(key, value),
    }
}

pub(crate) fn lock_path(project: &Path) -> PathBuf {
    project.join(LOCK_NAME)
}

fn row(pin: &SourcePin) -> Map<String, Value> {
    let mut row = Map::new();
    let mut put = |key: &str, value: Value| {
        row.insert(key.to_owned(), value);
    };
    put("id", json!(pin.id));
    match &pin.origin {
        PinOrigin::Remote { url, sha256 } => {
            put("source", json!("remote"));
            put("url", json!(url));
            if pin.section == PinSection::Hook {
                // Other readers expect every key of a hook.
                for key in HOOK_KEYS {
                    put(key, Value::Null);
                }
            }
            put("bodySha256", json!(sha256));
        }
        PinOrigin::Git { repo, commit, version, sha256 } => {
            put("source", json!(repo.host.as_str()));
            match pin.section {
                PinSection::Skill => {
                    put("repo", json!(repo.name));
                    put("skillName", json!(target_text(&repo.target)));
                }
                PinSection::Plugin => {
                    let (name, path) = match &repo.target {
                        RepoTarget::Root => (None, None),
                        RepoTarget::Named(name) => (Some(name), None),
                        RepoTarget::Path(path) => (None, Some(path)),
                    };
                    put("repo", json!(repo.name));
                    put("subpath", json!(path));
                    put("requestedSearchName", json!(name));
                }
                PinSection::Rule
                | PinSection::Snippet
                | PinSection::Hook
                | PinSection::RemoteSkill => {
                    let target = match &repo.target {
                        RepoTarget::Root => String::new(),
                        RepoTarget::Named(name) => format!("@{name}"),
                        RepoTarget::Path(path) => format!("::{path}"),
                    };
                    put("repo", json!(format!("{}{target}", repo.name)));
                    if pin.section == PinSection::Hook {
                        put("url", Value::Null);
                    }
                }
            }
            put("requestedVersion", json!(repo.version));
            put("requestedRef", json!(repo.commit));
            put("resolvedRef", json!(commit));
            put("resolvedVersion", json!(version));
            if let Some(PinnedManifest { name, version }) = &pin.manifest {
                put("manifestName", json!(name));
                put("manifestVersion", json!(version));
            }
            if let Some(sha256) = sha256 {
                put("bodySha256", json!(sha256));
            }
        }
    }
    row.extend(pin.others.clone());
    row
}

fn pin(section: PinSection, row: LockRow) -> Option<SourcePin> {
    let host = match row.source.as_str() {
        "remote" => {
            let origin = PinOrigin::Remote { url: row.url?, sha256: row.body_sha256? };
            return Some(SourcePin {
                others: row.others,
                ..SourcePin::new(section, &row.id, origin)
            });
        }
        "github" => GitHost::GitHub,
        "gitlab" => GitHost::GitLab,
        _ => return None,
    };
    let (name, target) = match section {
        // The lock of a skill does not tell a name from a path.
        PinSection::Skill => (row.repo?, RepoTarget::Named(row.skill_name.unwrap_or_default())),
        PinSection::Plugin => {
            let target = match (row.subpath, row.requested_search_name) {
                (Some(path), _) => RepoTarget::Path(path),
                (None, Some(name)) => RepoTarget::Named(name),
                (None, None) => RepoTarget::Root,
            };
            (row.repo?, target)
        }
        PinSection::Rule | PinSection::Snippet | PinSection::Hook | PinSection::RemoteSkill => {
            let repo = RepoReference::parse_whole(host, row.repo.as_deref()?).ok()?;
            (repo.name, repo.target)
        }
    };
    let commit = row.resolved_ref.filter(|commit| crate::git::is_full_hash(commit))?;
    let repo = RepoReference {
        host,
        name,
        target,
        version: row.requested_version,
        commit: row.requested_ref,
    };
    let origin =
        PinOrigin::Git { repo, commit, version: row.resolved_version, sha256: row.body_sha256 };
    let manifest = row
        .manifest_name
        .filter(|_| section == PinSection::Plugin)
        .map(|name| PinnedManifest { name, version: row.manifest_version });
    Some(SourcePin { manifest, others: row.others, ..SourcePin::new(section, &row.id, origin) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> SourcePins {
        let (pins, problems) = parse_lock(text, Path::new("capabilities.lock"));
        assert_eq!(problems, []);
        pins
    }

    /// As another program writes it.
    const FOREIGN: &str = "version: 1
generator: capa@2.0.3
generatedAt: 2026-08-05T10:00:00.000Z
skills:
  - id: web
    source: github
    repo: team/skills
    skillName: web
    requestedVersion: null
    requestedRef: null
    resolvedRef: a123456789012345678901234567890123456789
    resolvedVersion: v1.2.0
    note: [1, {a: b}]
plugins:
  - id: kit
    source: gitlab
    repo: g/s/kit
    subpath: null
    requestedSearchName: kit
    requestedVersion: v2
    requestedRef: null
    resolvedRef: a123456789012345678901234567890123456789
    resolvedVersion: v2
    manifestName: Kit
    manifestVersion: 2.0.1
hooks:
  - id: guard
    source: github
    repo: team/skills@guard.sh
    url: null
    requestedVersion: v1
    requestedRef: null
    resolvedRef: a123456789012345678901234567890123456789
    resolvedVersion: v1
    bodySha256: abc
geminiContext: {owned: [one]}
";

    #[test]
    fn what_others_wrote_is_read_and_written_back_alike() {
        let pins = read(FOREIGN);
        let repo = RepoReference {
            host: GitHost::GitHub,
            name: "team/skills".to_owned(),
            target: RepoTarget::Path("web".to_owned()),
            version: None,
            commit: None,
        };
        let (commit, version) = pins.commit(PinSection::Skill, "web", &repo).unwrap();
        assert_eq!((commit.len(), version), (40, Some("v1.2.0")));
        let moved = RepoReference { name: "other/skills".to_owned(), ..repo };
        assert_eq!(pins.commit(PinSection::Skill, "web", &moved), None);
        let written = render_lock(&pins, Path::new("none/capabilities.lock"), "now").unwrap();
        assert_eq!(read(&written), pins, "{written}");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("capabilities.json"), "{}").unwrap();
        let json = render_lock(&pins, &folder.path().join(LOCK_NAME), "now").unwrap();
        assert!(json.starts_with('{') && json.ends_with("}\n"));
        assert_eq!(read(&json), pins);
        for line in FOREIGN.lines().filter(|line| line.contains("resolvedRef")) {
            assert!(written.contains(line.trim().split_once(' ').unwrap().1), "{written}");
        }
    }

    #[test]
    fn a_lock_that_is_none_is_refused_and_a_bad_entry_dropped() {
        for bad in ["version: 2\n", "skills: []\n", "- a\n", "{", "version: 1\nskills: {}\n"] {
            let (_, problems) = parse_lock(bad, Path::new("x"));
            assert!(problems.iter().any(InstallProblem::is_error), "{bad}");
        }
        let bad_row = FOREIGN.replacen("resolvedRef: a1", "resolvedRef: main", 1);
        let (pins, problems) = parse_lock(&bad_row, Path::new("x"));
        let counts = PinSection::ALL.map(|section| pins.sorted(section).len());
        assert_eq!((counts.iter().sum::<usize>(), problems.len()), (2, 1));
    }

    #[test]
    fn a_plugin_is_known_by_its_source_and_what_others_know_is_kept() {
        let old = read(FOREIGN);
        let repo = RepoReference {
            version: Some("v2".to_owned()),
            ..RepoReference::parse_whole(GitHost::GitLab, "g/s/kit@kit").unwrap()
        };
        assert!(old.commit(PinSection::Plugin, "any", &repo).is_some());
        let elsewhere = RepoReference { target: RepoTarget::Root, ..repo };
        assert_eq!(old.commit(PinSection::Plugin, "kit", &elsewhere), None);
        let mut new = SourcePins::default();
        let web = old.sorted(PinSection::Skill)[0];
        new.add(SourcePin { others: Map::new(), ..web.clone() });
        new.keep_others(&old);
        assert_eq!(new.sorted(PinSection::Skill), [web]);
        assert_eq!(new.others["geminiContext"], json!({ "owned": ["one"] }));
    }

    #[test]
    fn nothing_pinned_is_no_lock() {
        assert_eq!(render_lock(&SourcePins::default(), Path::new("x"), "now"), None);
    }
}

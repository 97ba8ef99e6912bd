//! The deck's own skills, read from disk at each request: there are few, and they may change.

use std::{
    fs,
    path::{Path, PathBuf},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use capdeck_backend::CallError;
use capdeck_catalog::ProjectTrust;
use capdeck_definition::skill_frontmatter;
use capdeck_storage::sha256_hex;
use serde_json::{Map, Value, json};

use super::DECK_SKILL_PREFIX;
use crate::Host;

/// Limits of the extension.
const MAX_FILES: usize = 512;
const MAX_BYTES: u64 = 16 * 1024 * 1024;

const BUILT_IN: &str = include_str!("using-the-deck.md");

pub(crate) struct DeckSkill {
    frontmatter: Map<String, Value>,
    files: Vec<SkillFile>,
}

struct SkillFile {
    uri: String,
    /// `None` for the built-in one.
    path: Option<PathBuf>,
    digest: String,
    size: u64,
}

/// The built-in skill, then the person's, then the project's if it is trusted. A later one replaces
/// an earlier one.
pub(super) fn read_all(host: &Host) -> Vec<DeckSkill> {
    let mut all: Vec<DeckSkill> = built_in().into_iter().collect();
    let settings = host.settings();
    let mut folders: Vec<PathBuf> =
        settings.user_roots.iter().map(|root| root.dir.clone()).collect();
    if let Some(project) = &settings.project
        && host.trust() == ProjectTrust::Trusted
    {
        folders.extend(project.roots.iter().map(|root| root.dir.clone()));
    }
    for folder in folders {
        let Ok(entries) = fs::read_dir(folder.join("skills")) else { continue };
        let mut found: Vec<PathBuf> =
            entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        found.sort();
        for path in found.iter().filter(|path| path.join("SKILL.md").is_file()) {
            match read(path) {
                Ok(skill) => {
                    all.retain(|other| other.name() != skill.name());
                    all.push(skill);
                }
                Err(problem) => {
                    tracing::warn!(skill = %path.display(), problem, "skipping the skill");
                }
            }
        }
    }
    all
}

fn built_in() -> Option<DeckSkill> {
    let frontmatter = skill_frontmatter(BUILT_IN).ok()?;
    let name = frontmatter.get("name")?.as_str()?.to_owned();
    let file = SkillFile {
        uri: format!("{DECK_SKILL_PREFIX}{name}/SKILL.md"),
        path: None,
        digest: digest(BUILT_IN.as_bytes()),
        size: BUILT_IN.len() as u64,
    };
    Some(DeckSkill { frontmatter, files: vec![file] })
}

fn read(folder: &Path) -> Result<DeckSkill, String> {
    let text = fs::read_to_string(folder.join("SKILL.md")).map_err(|error| error.to_string())?;
    let frontmatter = skill_frontmatter(&text).map_err(|problem| problem.to_string())?;
    let name = frontmatter.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    if folder.file_name().and_then(|file| file.to_str()) != Some(name.as_str()) {
        return Err(format!("its folder is not named `{name}`, as its frontmatter says"));
    }
    let mut files = Vec::new();
    let mut bytes_left = MAX_BYTES;
    let mut waiting = vec![folder.to_owned()];
    while let Some(inside) = waiting.pop() {
        for entry in fs::read_dir(&inside).map_err(|error| error.to_string())? {
            let path = entry.map_err(|error| error.to_string())?.path();
            let about = path.symlink_metadata().map_err(|error| error.to_string())?;
            if about.is_dir() {
                waiting.push(path);
            } else if about.is_file() {
                bytes_left = bytes_left
                    .checked_sub(about.len())
                    .ok_or_else(|| format!("it is larger than {MAX_BYTES} bytes"))?;
                files.push(path);
            }
            // A link could lead anywhere, so it is not part of the skill.
            if files.len() + waiting.len() > MAX_FILES {
                return Err(format!("it has more than {MAX_FILES} files"));
            }
        }
    }
    files.sort();
    let files =
        files.into_iter().map(|path| file(folder, &name, path)).collect::<Result<_, _>>()?;
    Ok(DeckSkill { frontmatter, files })
}

fn file(folder: &Path, name: &str, path: PathBuf) -> Result<SkillFile, String> {
    let bytes = fs::read(&path).map_err(|error| error.to_string())?;
    let below = path.strip_prefix(folder).ok().and_then(Path::to_str);
    let below = below.ok_or_else(|| format!("`{}` is not a plain name", path.display()))?;
    let uri = format!("{DECK_SKILL_PREFIX}{name}/{below}");
    let (digest, size) = (digest(&bytes), bytes.len() as u64);
    Ok(SkillFile { uri, path: Some(path), digest, size })
}

impl DeckSkill {
    pub(super) fn is_built_in(&self) -> bool {
        self.files.iter().any(|file| file.path.is_none())
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.frontmatter.get("name")?.as_str()
    }

    pub(super) fn entry(&self) -> Value {
        let name = self.name().unwrap_or_default();
        let files = self.files.iter();
        let resources: Vec<Value> = files
            .map(|file| json!({ "uri": file.uri, "digest": file.digest, "size": file.size }))
            .collect();
        json!({
            "uri": format!("{DECK_SKILL_PREFIX}{name}/SKILL.md"),
            "frontmatter": self.frontmatter,
            "resources": resources,
        })
    }

    pub(super) fn read(&self, uri: &str) -> Option<Result<Value, CallError>> {
        let file = self.files.iter().find(|file| file.uri == uri)?;
        let bytes = file.path.as_ref().map_or_else(|| Ok(BUILT_IN.into()), fs::read);
        let bytes = match bytes {
            Ok(bytes) if digest(&bytes) == file.digest => bytes,
            Ok(_) | Err(_) => {
                let message = format!("`{uri}` changed while it was read; read it again");
                return Some(Err(CallError::unavailable(message)));
            }
        };
        let mut content = json!({ "uri": uri, "mimeType": media_type(uri) });
        match String::from_utf8(bytes) {
            Ok(text) => content["text"] = json!(text),
            Err(binary) => content["blob"] = json!(BASE64_STANDARD.encode(binary.as_bytes())),
        }
        Some(Ok(content))
    }
}

pub(super) fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("md") => "text/markdown",
        Some("txt") => "text/plain",
        Some("json") => "application/json",
        Some("yaml" | "yml") => "application/yaml",
        Some("html") => "text/html",
        Some("py") => "text/x-python",
        Some("sh") => "text/x-shellscript",
        Some("js" | "mjs") => "text/javascript",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("pdf") => "application/pdf",
        _ => "application/octet-stream",
    }
}

pub(super) fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", sha256_hex(bytes))
}

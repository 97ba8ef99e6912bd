//! CMP tools: two JSON files beside a program say what it is and which phrases its commands answer to.
//!
//! The format belongs to others, so unknown keys are passed over with a warning. What could make a command do
//! something else than its author and its user expect is an error.

pub(crate) mod command;
pub(crate) mod export;
pub(crate) mod intent;
pub(crate) mod matcher;
pub(crate) mod values;

use std::{collections::BTreeMap, iter, path::PathBuf};

use indexmap::IndexSet;

use crate::{
    Backend, CapabilityId, CmpTool, Definition, Diagnostic,
    diagnostic::{FileFindings, TextPosition},
    document::{ValueNode, json},
    parsed_file::{FileOrigin, LocatedDefinition, ParsedFile},
    pattern,
    schema::{CMP_MANIFEST, FileSchema},
    shape::{BlockFields, PresentationFields, SharedFields, cmp_files::ManifestFile},
    suggest::{did_you_mean, nearest_key},
    violation,
};

/// What belongs to a CMP tool besides its manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CmpFiles {
    pub dir: PathBuf,
    /// Where `capability.json` is, or should be.
    pub capability_path: PathBuf,
    /// Its text, or why there is none.
    pub capability: Result<String, Diagnostic>,
    /// The `bin` folder, when there is one.
    pub bin: Option<PathBuf>,
}

/// Parses a tool. An error in either file quarantines the tool, whole.
pub(crate) fn parse_cmp(
    manifest: &Result<String, Diagnostic>,
    files: &CmpFiles,
    origin: &FileOrigin<'_>,
) -> ParsedFile {
    let mut parsed = ParsedFile::default();
    let mut about_manifest = FileFindings::new(&origin.source.path);
    let mut about_intents = FileFindings::new(&files.capability_path);
    let text = about_manifest.readable(manifest);
    let read = text.and_then(|text| read_manifest(text, &mut about_manifest));
    let text = about_intents.readable(&files.capability);
    let intents = text.and_then(|text| intent::read_all(text, &mut about_intents));
    match (read, intents) {
        (Some(CmpManifest { file: manifest, place, text }), Some(intents)) => {
            let id = pattern::id_from(&manifest.name);
            let id = origin.qualify(&id, place, &mut about_manifest);
            parsed.definitions.extend(id.map(|id| {
                let backend = Backend::Cmp(CmpTool {
                    pass_env: Vec::new(),
                    domain: manifest.domain.clone(),
                    version: manifest.version.clone(),
                    binary: manifest.binary.clone(),
                    requires: manifest.requires.clone(),
                    wraps: manifest.wraps.clone(),
                    bin: files.bin.clone(),
                    manifest: text,
                    intents,
                });
                let definition = origin.define(id, backend, presented(&manifest), None);
                LocatedDefinition { definition, place }
            }));
        }
        (read, _) => {
            let folder = || files.dir.file_name().map(|name| name.to_string_lossy().into_owned());
            let name = read.map(|manifest| manifest.file.name).or_else(folder).unwrap_or_default();
            let id = pattern::id_from(&name);
            let first = about_manifest.first_error_since(0);
            let reason = first.or_else(|| about_intents.first_error_since(0)).unwrap_or_default();
            parsed
                .quarantined
                .push(origin.quarantine(if id.is_empty() { &name } else { &id }, reason));
        }
    }
    parsed.diagnostics = about_manifest.into_diagnostics();
    parsed.diagnostics.extend(about_intents.into_diagnostics());
    parsed
}

/// Gives tools of one name and several domains ids of their own: a name is unique within its domain only.
pub(crate) fn disambiguate_ids(definitions: &mut [LocatedDefinition]) -> Vec<Diagnostic> {
    let mut domains: BTreeMap<CapabilityId, Vec<String>> = BTreeMap::new();
    for placed in definitions.iter() {
        if let Backend::Cmp(tool) = &placed.definition.backend {
            let known = domains.entry(placed.definition.id.clone()).or_default();
            if !known.contains(&tool.domain) {
                known.push(tool.domain.clone());
            }
        }
    }
    let mut warnings = Vec::new();
    for placed in definitions {
        let definition = &mut placed.definition;
        let Backend::Cmp(tool) = &definition.backend else { continue };
        if domains.get(&definition.id).is_none_or(|domains| domains.len() < 2) {
            continue;
        }
        let longer = pattern::id_from(&format!("{} {}", tool.domain, definition.name));
        let Ok(id) = CapabilityId::new(&longer) else { continue };
        let message =
            format!("other domains have a `{}` too, so this one is `{id}`", definition.id);
        warnings.push(
            Diagnostic::warning("renamed-id", message, "rename one of them for shorter ids")
                .at(placed.place)
                .in_file(&definition.source.path),
        );
        *definition = Definition { id, ..definition.clone() }.with_fingerprint();
    }
    warnings
}

/// Reads one of the two files as far as its shape goes. `None` means it cannot be used, and the findings say why.
fn read_shape<T: serde::de::DeserializeOwned>(
    text: &str,
    schema: &FileSchema,
    findings: &mut FileFindings,
) -> Option<(T, ValueNode)> {
    let root = json::parse(text).map_err(|diagnostic| findings.add(diagnostic)).ok()?;
    let violations = violation::check(schema, &root);
    let is_sound = violations.is_empty();
    violation::report(violations, findings, |_| {})?;
    if !is_sound {
        return None;
    }
    Some((schema.read(&root, findings)?, root))
}

/// Notes keys that mean nothing. A mistyped safety flag must not pass for a comment.
fn check_keys(node: &ValueNode, known: &[&str], findings: &mut FileFindings) {
    for (key, entry) in node.entries() {
        if known.contains(&key.as_str()) || key.starts_with('$') {
            continue;
        }
        let meant = nearest_key(key, known.iter().copied());
        let fix = did_you_mean(key, known.iter().copied(), "remove it; it is passed over");
        let found = findings.at(entry.place);
        match meant {
            Some("confirm" | "destructive" | "required") => {
                found.error("unknown-key", format!("there is no key `{key}`"), fix);
            }
            _ => found.warning("unknown-key", format!("`{key}` means nothing here"), fix),
        }
    }
}

fn presented(manifest: &ManifestFile) -> SharedFields {
    let tags: IndexSet<&String> = iter::once(&manifest.domain).chain(&manifest.tags).collect();
    let tags = tags.into_iter().cloned().collect();
    SharedFields {
        name: Some(manifest.name.clone()),
        description: Some(manifest.summary.split_whitespace().collect::<Vec<_>>().join(" ")),
        presentation: PresentationFields { tags, ..PresentationFields::default() },
        block: BlockFields::default(),
    }
}

struct CmpManifest {
    file: ManifestFile,
    place: TextPosition,
    /// The text without white space.
    text: String,
}

/// The manifest. `None` means the findings say why it cannot be used.
fn read_manifest(text: &str, findings: &mut FileFindings) -> Option<CmpManifest> {
    let (manifest, root): (ManifestFile, ValueNode) = read_shape(text, &CMP_MANIFEST, findings)?;
    check_keys(&root, &CMP_MANIFEST.keys(), findings);
    // These are warnings: a tool with a long summary or a short version does what it does all the same.
    let fix = format!("say it in one line of at most {MAX_SUMMARY_LENGTH} characters");
    let summary_place = root.child("summary").place;
    if manifest.summary.contains(['\n', '\r']) {
        let message = "the summary has more than one line";
        findings.at(summary_place).warning("not-one-line", message, fix);
    } else if manifest.summary.chars().count() > MAX_SUMMARY_LENGTH {
        let length = manifest.summary.chars().count();
        let message = format!("the summary has {length} characters");
        findings.at(summary_place).warning("long-summary", message, fix);
    }
    if !is_version(&manifest.version) {
        let message = format!("`{}` is not a semantic version", manifest.version);
        let fix = "write three numbers, such as `1.0.0`";
        findings.at(root.child("version").place).warning("bad-version", message, fix);
    }
    if pattern::id_from(&manifest.name).is_empty() {
        let message = format!("no id can be made of `{}`", manifest.name);
        let fix = "name the tool with letters, digits, `_` or `-`";
        findings.at(root.child("name").place).error("bad-id", message, fix);
    }
    if manifest.adapter == Some(true) && manifest.wraps.is_none() {
        let message = "an adapter does not say which program it describes";
        let fix = "add `wraps` with the program's name";
        findings.at(root.key_place("adapter")).warning("missing-key", message, fix);
    }
    let place = root.child("name").place;
    let text = root.to_json().to_string();
    findings.first_error_since(0).is_none().then_some(CmpManifest { file: manifest, place, text })
}

/// The longest summary that the format asks for.
pub(crate) const MAX_SUMMARY_LENGTH: usize = 100;

/// Semantic versioning: three numbers, then perhaps a pre-release and build metadata.
fn is_version(text: &str) -> bool {
    let (text, build) =
        text.split_once('+').map_or((text, None), |(text, rest)| (text, Some(rest)));
    let (core, pre) = text.split_once('-').map_or((text, None), |(core, rest)| (core, Some(rest)));
    let number = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    let identifier = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let numbers: Vec<&str> = core.split('.').collect();
    numbers.len() == 3
        && numbers.into_iter().all(number)
        && pre.is_none_or(|pre| pre.split('.').all(identifier))
        && build.is_none_or(|build| build.split('.').all(identifier))
}

#[cfg(test)]
mod tests {
    use super::is_version;

    #[test]
    fn versions_are_semantic() {
        for good in ["0.0.0", "1.20.3", "1.0.0-rc.1", "1.0.0+build.5", "1.0.0-a-b+c"] {
            assert!(is_version(good), "{good}");
        }
        for bad in ["", "1", "1.0", "1.0.0.0", "v1.0.0", "01.0.0", "1.0.x", "1.0.0-", "1.0.0-a..b"]
        {
            assert!(!is_version(bad), "{bad}");
        }
    }
}

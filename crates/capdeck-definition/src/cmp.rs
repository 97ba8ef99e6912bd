//! CMP tools: two JSON files beside a program say what it is and which phrases its commands answer to.
//!
//! The format belongs to others, so keys nobody knows are passed over with a warning. What could make a command do
//! something else than its author and its user expect is an error.

pub(crate) mod command;
pub(crate) mod export;
pub(crate) mod intent;
mod manifest;
pub(crate) mod matcher;
pub(crate) mod schemas;
mod values;

use std::{collections::BTreeMap, path::PathBuf};

use crate::{
    Backend, CapabilityId, CmpTool, Definition, Diagnostic,
    diagnostic::FileFindings,
    document::{ValueNode, json},
    parsed_file::{FileOrigin, LocatedDefinition, ParsedFile},
    pattern,
    schema::FileSchema,
    shape::{BlockFields, PresentationFields, SharedFields, cmp_files::ManifestFile},
    suggest::{did_you_mean, nearest_key},
    violation,
};

/// What belongs to a CMP tool besides its manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CmpFiles {
    /// The tool's folder.
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
    let read = match manifest {
        Ok(text) => manifest::read(text, &mut about_manifest),
        Err(problem) => {
            about_manifest.add(problem.clone());
            None
        }
    };
    let intents = match &files.capability {
        Ok(text) => intent::read_all(text, &mut about_intents),
        Err(problem) => {
            about_intents.add(problem.clone());
            None
        }
    };
    match (read, intents) {
        (Some(manifest::CmpManifest { file: manifest, place, text }), Some(intents)) => {
            let id = pattern::id_from(&manifest.name);
            let id = origin.qualify(&id, place, &mut about_manifest);
            parsed.definitions.extend(id.map(|id| {
                let backend = Backend::Cmp(CmpTool {
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
    let mut told = Vec::new();
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
        told.push(
            Diagnostic::warning("renamed-id", message, "rename one of them for shorter ids")
                .at(placed.place)
                .in_file(&definition.source.path),
        );
        *definition = Definition { id, ..definition.clone() }.with_fingerprint();
    }
    told
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
    let hopeless = violation::is_hopeless(&violations);
    for violation in violations {
        findings.add(violation.diagnostic);
    }
    if hopeless {
        findings.add(violation::too_many());
    }
    if !is_sound {
        return None;
    }
    Some((schema.read(&root, findings)?, root))
}

/// Notes keys that mean nothing. A mistyped safety flag must not pass for a comment.
fn check_keys(node: &ValueNode, known: &[&str], findings: &mut FileFindings) {
    for entry in node.entries() {
        let key = entry.key.as_str();
        if known.contains(&key) || key.starts_with('$') {
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
    let mut tags = vec![manifest.domain.clone()];
    for tag in &manifest.tags {
        if !tags.contains(tag) {
            tags.push(tag.clone());
        }
    }
    SharedFields {
        name: Some(manifest.name.clone()),
        description: Some(manifest.summary.clone()),
        presentation: PresentationFields { tags, ..PresentationFields::default() },
        block: BlockFields::default(),
    }
}

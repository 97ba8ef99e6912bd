//! A config file: host options and maps of capabilities, in JSON or YAML.

mod policy;

use std::collections::{HashMap, HashSet};

use crate::{
    broken_entries::BrokenEntries,
    client_block,
    definition_draft::{DefinitionDraft, FileOrigin, SharedFields},
    diagnostic::{Diagnostic, FileFindings, TextPosition},
    document::{MapEntries, NodeValue, PathStep, ValueNode, json, yaml},
    parsed_file::{LocatedDefinition, ParsedFile},
    rules::{self, BackendDeclaration, DeclarationFile, SharedAuth},
    schema,
    shape::{
        PLURAL_KEYS,
        config_file::{ConfigFile, EntryDraft},
    },
    violation::{self, SchemaViolation},
};

/// Keys that only the user's own config decides.
const USER_ONLY_KEYS: [&str; 4] = ["serve", "telemetry", "storage", "artifacts"];

/// Parses a config file. A broken entry is quarantined, a broken option ignored; only a text that cannot be read at
/// all loses the whole file.
pub(crate) fn parse_config(
    text: &str,
    file_name: &str,
    origin: &FileOrigin<'_>,
    findings: &mut FileFindings,
) -> ParsedFile {
    let mut parsed = ParsedFile::default();
    if read(text, file_name, origin, findings, &mut parsed).is_none() {
        let reason = findings.first_error_since(0).unwrap_or("the file cannot be used");
        parsed.quarantined.push(origin.quarantine(file_name, reason));
    }
    parsed
}

fn read(
    text: &str,
    file_name: &str,
    origin: &FileOrigin<'_>,
    findings: &mut FileFindings,
    parsed: &mut ParsedFile,
) -> Option<()> {
    let mut root = parse_text(text, file_name, findings)?;
    let mut broken = BrokenEntries::default();
    client_block::adopt(&mut root, findings, &mut broken);
    if origin.source.layer.needs_trust() {
        drop_user_only_keys(&mut root, findings);
    }
    note_repeated_ids(&root, findings, &mut broken);
    // What is already known to be broken needs no second message.
    broken.remove_from(&mut root);
    let violations = violation::check(&schema::CONFIG, &root);
    let hopeless = violation::is_hopeless(&violations);
    let mut guards = policy::GuardProblems::default();
    for violation in violations {
        if !broken.record_violation(&violation) && !guards.record_violation(&violation) {
            drop_option(&mut root, &violation);
        }
        findings.add(violation.diagnostic);
    }
    if hopeless {
        findings.add(violation::too_many());
        return None;
    }
    broken.remove_from(&mut root);
    guards.clear(&mut root);
    for (id, reason) in broken.reasons() {
        parsed.quarantined.push(origin.quarantine(id, reason));
    }
    let mut file: ConfigFile = serde_json::from_value(root.to_json())
        .map_err(|_| findings.add(violation::unreadable(&schema::CONFIG)))
        .ok()?;
    guards.apply_strict_defaults(&mut file, &root, origin.source.layer, findings);
    check_options(&mut file, &root, findings);
    check_aliases(&mut file, &root, findings);
    for entry in file.take_entries() {
        define_entry(entry, &root, origin, findings, parsed);
    }
    parsed.options = Some(file);
    Some(())
}

fn parse_text(text: &str, file_name: &str, findings: &mut FileFindings) -> Option<ValueNode> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_json = file_name.to_ascii_lowercase().ends_with(".json");
    let root = if is_json { json::parse(text) } else { yaml::parse(text, 1) };
    let root = root.map_err(|diagnostic| findings.add(diagnostic)).ok()?;
    match root.content {
        NodeValue::Map(_) => Some(root),
        // An empty YAML file, or one with only comments, configures nothing.
        NodeValue::Null if !is_json => {
            Some(ValueNode { content: NodeValue::Map(MapEntries::default()), ..root })
        }
        NodeValue::Null
        | NodeValue::Bool(_)
        | NodeValue::Number(_)
        | NodeValue::Text(_)
        | NodeValue::List(_) => {
            findings.add(
                Diagnostic::error("wrong-type", "a config file must be a mapping")
                    .with_fix("write keys such as `mcpServers` at the top level")
                    .at(TextPosition { line: 1, column: 1 }),
            );
            None
        }
    }
}

fn drop_user_only_keys(root: &mut ValueNode, findings: &mut FileFindings) {
    let NodeValue::Map(entries) = &mut root.content else { return };
    entries.retain(|entry| {
        let user_only = USER_ONLY_KEYS.contains(&entry.key.as_str());
        if user_only {
            findings.add(
                Diagnostic::warning(
                    "ignored-key",
                    format!("`{}` in a project's config is ignored", entry.key),
                )
                .with_fix("set it in your own config")
                .at(entry.place),
            );
        }
        !user_only
    });
}

fn note_repeated_ids(root: &ValueNode, findings: &mut FileFindings, broken: &mut BrokenEntries) {
    let mut owners: HashMap<&str, &str> = HashMap::new();
    for key in PLURAL_KEYS {
        let Some(map) = root.get(key) else { continue };
        for entry in map.entries() {
            if let Some(first) = owners.insert(&entry.key, key) {
                let message = format!("the id `{}` stands in `{first}` and in `{key}`", entry.key);
                broken.add(first, &entry.key, &message);
                broken.add(key, &entry.key, &message);
                findings.add(
                    Diagnostic::error("duplicate-id", message)
                        .with_fix("give each capability an id of its own")
                        .at(entry.place),
                );
            }
        }
    }
}

/// Takes a broken option out of the document. Flat blocks lose one option, everything else its top-level key.
fn drop_option(root: &mut ValueNode, violation: &SchemaViolation) {
    let flat = |key: &str| matches!(key, "options" | "serve" | "completion" | "artifacts");
    match violation.steps.as_slice() {
        [PathStep::Key(block), PathStep::Key(option), ..] if flat(block) => {
            root.remove(&[block, option]);
        }
        [PathStep::Key(key), ..] => root.remove(&[key]),
        [PathStep::Index(_), ..] | [] => {}
    }
}

fn check_options(file: &mut ConfigFile, root: &ValueNode, findings: &mut FileFindings) {
    let ceiling = file.max_search_limit.unwrap_or(50);
    if file.default_search_limit.is_some_and(|limit| limit > ceiling) {
        findings.add(
            Diagnostic::error(
                "out-of-range",
                "`defaultSearchLimit` is larger than `maxSearchLimit`",
            )
            .with_fix(format!("use at most {ceiling}"))
            .at(root.child("defaultSearchLimit").place),
        );
        file.default_search_limit = None;
    }
    let assets = root.child("storage").child("assets");
    if assets.get("accessKeyId").is_some() != assets.get("secretAccessKey").is_some() {
        findings.add(
            Diagnostic::error(
                "missing-key",
                "`accessKeyId` and `secretAccessKey` are only used together",
            )
            .with_fix("add the other one, or remove both")
            .at(assets.place),
        );
    }
}

fn check_aliases(file: &mut ConfigFile, root: &ValueNode, findings: &mut FileFindings) {
    let Some(aliases) = &file.namespace_aliases else { return };
    let mark = findings.mark();
    let upstreams = root.child("namespaceAliases").child("upstreams");
    let mut seen: HashSet<&str> = aliases.local.iter().map(String::as_str).collect();
    for (origin, label) in &aliases.upstreams {
        if !seen.insert(label) {
            findings.add(
                Diagnostic::error("duplicate-item", format!("the label `{label}` is used twice"))
                    .with_fix("give each deck a label of its own")
                    .at(upstreams.child(origin).place),
            );
        }
    }
    if findings.first_error_since(mark).is_some() {
        file.namespace_aliases = None;
    }
}

fn define_entry(
    entry: EntryDraft,
    root: &ValueNode,
    origin: &FileOrigin<'_>,
    findings: &mut FileFindings,
    parsed: &mut ParsedFile,
) {
    let mark = findings.mark();
    let map = root.child(entry.key);
    let node = map.child(&entry.id);
    let declaration = BackendDeclaration {
        node,
        base_dir: &origin.base_dir,
        declared_in: DeclarationFile::Config,
        shared_auth: SharedAuth::Absent,
    };
    let mut backend = entry.declared.backend;
    rules::check_backend(&mut backend, &declaration, findings);
    let mut shared = SharedFields::from(entry.declared.fields);
    rules::check_shared(&mut shared, node, findings);
    let id = origin.qualify(&entry.id, map.key_place(&entry.id), findings);
    match (id, findings.first_error_since(mark)) {
        (Some(id), None) => {
            let draft =
                DefinitionDraft { id, parent: None, shared, icon: None, backend, tailoring: None };
            let place = map.key_place(&entry.id);
            parsed.definitions.push(LocatedDefinition { definition: origin.define(draft), place });
        }
        (_, reason) => {
            parsed.quarantined.push(origin.quarantine(&entry.id, reason.unwrap_or_default()));
        }
    }
}

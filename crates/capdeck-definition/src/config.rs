//! A config file: host options and maps of capabilities, in JSON or YAML.

mod policy;

use std::collections::{HashMap, HashSet};

use crate::{
    broken_entries::BrokenEntries,
    client_block,
    diagnostic::{FileFindings, TextPosition},
    document::{MapEntries, NodeValue, PathStep, ValueNode, json, yaml},
    parsed_file::{FileOrigin, ParsedFile},
    schema,
    shape::{PLURAL_KEYS, config_file::ConfigOptions},
    violation::{self, SchemaViolation},
};

/// Keys that only the user's own config decides.
const USER_ONLY_KEYS: [&str; 4] = ["serve", "telemetry", "storage", "artifacts"];

/// Reads a config file. A broken entry is quarantined, a broken option ignored; only a text that cannot be read at all
/// loses the whole file.
pub(crate) fn read(
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
    let mut file: ConfigOptions = schema::CONFIG.read(&root, findings)?;
    guards.apply_strict_defaults(&mut file, &root, origin.source.layer, findings);
    check_options(&mut file, &root, findings);
    check_aliases(&mut file, &root, findings);
    for key in PLURAL_KEYS {
        for entry in root.get(key).map(ValueNode::entries).unwrap_or_default() {
            origin.define_entry((key, &entry.key), &root, None, findings, parsed);
        }
    }
    parsed.options = Some(file);
    Some(())
}

fn parse_text(text: &str, file_name: &str, findings: &mut FileFindings) -> Option<ValueNode> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_json = file_name.to_ascii_lowercase().ends_with(".json");
    let root = if is_json { json::parse(text) } else { yaml::parse(text) };
    let root = root.map_err(|diagnostic| findings.add(diagnostic)).ok()?;
    match root.content {
        NodeValue::Map(_) => Some(root),
        // An empty YAML file, or one with only comments, configures nothing.
        NodeValue::Null if !is_json => {
            Some(ValueNode { content: NodeValue::Map(MapEntries::default()), ..root })
        }
        _ => {
            findings.at(TextPosition { line: 1, column: 1 }).error(
                "wrong-type",
                "a config file must be a mapping",
                "write keys such as `mcpServers` at the top level",
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
            findings.at(entry.place).warning(
                "ignored-key",
                format!("`{}` in a project's config is ignored", entry.key),
                "set it in your own config",
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
                findings.at(entry.place).error(
                    "duplicate-id",
                    message,
                    "give each capability an id of its own",
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

fn check_options(file: &mut ConfigOptions, root: &ValueNode, findings: &mut FileFindings) {
    let ceiling = file.max_search_limit.unwrap_or(50);
    if file.default_search_limit.is_some_and(|limit| limit > ceiling) {
        findings.at(root.child("defaultSearchLimit").place).error(
            "out-of-range",
            "`defaultSearchLimit` is larger than `maxSearchLimit`",
            format!("use at most {ceiling}"),
        );
        file.default_search_limit = None;
    }
    let assets = root.child("storage").child("assets");
    if assets.get("accessKeyId").is_some() != assets.get("secretAccessKey").is_some() {
        findings.at(assets.place).error(
            "missing-key",
            "`accessKeyId` and `secretAccessKey` are only used together",
            "add the other one, or remove both",
        );
    }
}

fn check_aliases(file: &mut ConfigOptions, root: &ValueNode, findings: &mut FileFindings) {
    let Some(aliases) = &file.namespace_aliases else { return };
    let mark = findings.mark();
    let upstreams = root.child("namespaceAliases").child("upstreams");
    let mut seen: HashSet<&str> = aliases.local.iter().map(String::as_str).collect();
    for (origin, label) in &aliases.upstreams {
        if !seen.insert(label) {
            findings.at(upstreams.child(origin).place).error(
                "duplicate-item",
                format!("the label `{label}` is used twice"),
                "give each deck a label of its own",
            );
        }
    }
    if findings.first_error_since(mark).is_some() {
        file.namespace_aliases = None;
    }
}

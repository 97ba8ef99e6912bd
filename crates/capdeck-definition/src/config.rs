//! A config file: host options and maps of capabilities, in JSON or YAML.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    path::Path,
};

use crate::{
    CallAuditMode, FlowMode, PinMode, PolicyEffect, PolicyRule, RunConfig, SourceLayer,
    client_block,
    diagnostic::{FileFindings, TextPosition},
    document::{MapEntries, MapEntry, NodeValue, PathStep, ValueNode, is_json, parse},
    parsed_file::{FileOrigin, ParsedFile},
    rules::exactly_one,
    schema,
    shape::{PLURAL_KEYS, config_file::ConfigOptions},
    violation::{self, BrokenEntries, SchemaViolation},
};

/// Keys that only the user's own config decides.
const USER_ONLY_KEYS: [&str; 4] = ["serve", "telemetry", "storage", "artifacts"];

/// Reads a config file. A broken entry is quarantined, a broken option ignored; only a text that cannot be read at all
/// loses the whole file.
pub(crate) fn read(
    text: &str,
    origin: &FileOrigin<'_>,
    findings: &mut FileFindings,
    parsed: &mut ParsedFile,
) -> Option<()> {
    let mut root = parse_text(text, &origin.source.path, findings)?;
    let mut broken = BrokenEntries::default();
    client_block::adopt(&mut root, findings, &mut broken);
    if origin.source.layer.needs_trust() {
        drop_user_only_keys(&mut root, findings);
    }
    note_repeated_ids(&root, findings, &mut broken);
    // What is already known to be broken needs no second message.
    broken.remove_from(&mut root);
    let violations = violation::check(&schema::CONFIG, &root);
    let mut guards = GuardProblems::default();
    violation::report(violations, findings, |violation| {
        if !broken.record_violation(violation) && !guards.record_violation(violation) {
            drop_option(&mut root, violation);
        }
    })?;
    broken.remove_from(&mut root);
    guards.clear(&mut root);
    for (id, reason) in broken.reasons() {
        parsed.quarantined.push(origin.quarantine(id, reason));
    }
    // Capabilities are read one by one, so that the options need not carry a copy of them all.
    let is_option = |(key, _): &(&String, &MapEntry)| !PLURAL_KEYS.contains(&key.as_str());
    let options = root.entries().iter().filter(is_option);
    let options = options.map(|(key, entry)| (key.clone(), entry.clone())).collect();
    let options = ValueNode { content: NodeValue::Map(options), place: root.place };
    let mut file: ConfigOptions = schema::CONFIG.read(&options, findings)?;
    guards.apply_strict_defaults(&mut file, &root, origin.source.layer, findings);
    check_options(&mut file, &root, findings);
    check_aliases(&mut file, &root, findings);
    for key in PLURAL_KEYS {
        for (id, entry) in root.get(key).into_iter().flat_map(ValueNode::entries) {
            origin.define_entry((key, id), entry, None, findings, parsed);
        }
    }
    parsed.options = Some(file);
    Some(())
}

fn parse_text(text: &str, path: &Path, findings: &mut FileFindings) -> Option<ValueNode> {
    let root = parse(text, path).map_err(|diagnostic| findings.add(diagnostic)).ok()?;
    match root.content {
        NodeValue::Map(_) => Some(root),
        // An empty YAML file, or one with only comments, configures nothing.
        NodeValue::Null if !is_json(path) => {
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
    entries.retain(|key, entry| {
        let user_only = USER_ONLY_KEYS.contains(&key.as_str());
        if user_only {
            let message = format!("`{key}` in a project's config is ignored");
            findings.at(entry.place).warning("ignored-key", message, "set it in your own config");
        }
        !user_only
    });
}

fn note_repeated_ids(root: &ValueNode, findings: &mut FileFindings, broken: &mut BrokenEntries) {
    let mut owners: HashMap<&str, &str> = HashMap::new();
    for key in PLURAL_KEYS {
        let Some(map) = root.get(key) else { continue };
        for (id, entry) in map.entries() {
            if let Some(first) = owners.insert(id, key) {
                let message = format!("the id `{id}` is defined in `{first}` and in `{key}`");
                broken.add(first, id, &message);
                broken.add(key, id, &message);
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
        let message = "`defaultSearchLimit` is larger than `maxSearchLimit`";
        let fix = format!("use at most {ceiling}");
        findings.at(root.child("defaultSearchLimit").place).error("out-of-range", message, fix);
        file.default_search_limit = None;
    }
    let assets = root.child("storage").child("assets");
    if assets.get("accessKeyId").is_some() != assets.get("secretAccessKey").is_some() {
        let message = "`accessKeyId` and `secretAccessKey` are only used together";
        let fix = "add the other one, or remove both";
        findings.at(assets.place).error("missing-key", message, fix);
    }
}

fn check_aliases(file: &mut ConfigOptions, root: &ValueNode, findings: &mut FileFindings) {
    let Some(aliases) = &file.namespace_aliases else { return };
    let mark = findings.mark();
    let upstreams = root.child("namespaceAliases").child("upstreams");
    let mut seen: HashSet<&str> = aliases.local.iter().map(String::as_str).collect();
    for (origin, label) in &aliases.upstreams {
        if !seen.insert(label) {
            let message = format!("the label `{label}` is used twice");
            let fix = "give each deck a label of its own";
            findings.at(upstreams.child(origin).place).error("duplicate-item", message, fix);
        }
    }
    if findings.first_error_since(mark).is_some() {
        file.namespace_aliases = None;
    }
}

/// What is wrong with `policy` and other settings that protect the person. Losing one of them is never the answer: what
/// cannot be read must not open anything, and a broken rule asks.
#[derive(Debug, Default)]
struct GuardProblems {
    /// Rules that the schema refuses.
    broken_rules: BTreeSet<usize>,
    /// Settings that cannot be read at all.
    broken_settings: BTreeSet<&'static str>,
}

impl GuardProblems {
    /// Notes a violation of one of these settings. False when it is about something else.
    fn record_violation(&mut self, violation: &SchemaViolation) -> bool {
        let mut settings = ["policy", "pins", "flow", "audit", "runs"].into_iter();
        let Some(setting) = settings.find(|setting| violation.is_below(setting)) else {
            return false;
        };
        match violation.steps.get(1) {
            Some(PathStep::Index(index)) if setting == "policy" => self.broken_rules.insert(*index),
            _ => self.broken_settings.insert(setting),
        };
        true
    }

    /// Makes the document readable: a broken rule becomes one that says nothing.
    fn clear(&self, root: &mut ValueNode) {
        for setting in &self.broken_settings {
            root.remove(&[setting]);
        }
        let policy = root.find_mut(&["policy"]).map(|policy| &mut policy.content);
        let Some(NodeValue::List(rules)) = policy else { return };
        for index in &self.broken_rules {
            if let Some(rule) = rules.get_mut(*index) {
                rule.content = NodeValue::Map(MapEntries::default());
            }
        }
    }

    /// Fills in the rules of the file, and the strictest settings where the file's own cannot be read.
    fn apply_strict_defaults(
        &self,
        file: &mut ConfigOptions,
        root: &ValueNode,
        layer: SourceLayer,
        findings: &mut FileFindings,
    ) {
        if self.broken_settings.contains("pins") {
            file.pins = Some(PinMode::Block);
        }
        if self.broken_settings.contains("flow") {
            file.flow = Some(FlowMode::Ask);
        }
        if self.broken_settings.contains("audit") {
            file.audit = Some(CallAuditMode::Strict);
        }
        if self.broken_settings.contains("runs") {
            file.runs = Some(RunConfig { record: Some(false), ..RunConfig::default() });
        }
        if self.broken_settings.contains("policy") {
            file.rules.push(PolicyRule::unreadable());
            file.policy_is_incomplete = true;
        }
        let written = file.policy.take().unwrap_or_default();
        for (index, fields) in written.iter().enumerate() {
            let node = root.child("policy").item(index);
            if !self.broken_rules.contains(&index) {
                let present = [
                    ("allow", fields.allow.is_some()),
                    ("ask", fields.ask.is_some()),
                    ("deny", fields.deny.is_some()),
                ];
                exactly_one(&present, node, findings);
            }
            let rule = fields.rule();
            file.policy_is_incomplete |= rule.is_none();
            let rule = rule.unwrap_or_else(PolicyRule::unreadable);
            if layer.needs_trust() && rule.effect == PolicyEffect::Allow {
                findings.at(node.place).warning(
                    "ignored-rule",
                    "`allow` in a project's policy is ignored: a project can only make it stricter",
                    "allow it in your own config",
                );
            }
            file.rules.push(rule);
        }
    }
}

//! One Caplet file: YAML frontmatter that declares a capability, or several, and a Markdown body for people.

use std::collections::HashMap;

use crate::{
    Definition,
    diagnostic::{Diagnostic, FileFindings, TextPosition},
    document::{NodeValue, ValueNode, yaml},
    frontmatter::{self, FrontmatterError},
    parsed_file::{CapletParent, FileOrigin, LocatedDefinition, ParsedFile},
    rules::{self, BackendCheck},
    schema,
    shape::{BlockFields, CapletFields, PLURAL_KEYS, SINGULAR_KEYS, SharedFields, read_block},
    suggest::{nearest_key, quoted_list},
    violation::{self, BrokenEntries, is_singular_cli},
};

/// The longest Markdown body, in characters.
const MAX_BODY: usize = 65_536;

/// Reads a Caplet file. An error outside a child quarantines the file, one inside only that child. `None` means the file as
/// a whole is unusable and the findings say why.
pub(crate) fn read(
    text: &str,
    name: &str,
    origin: &FileOrigin<'_>,
    findings: &mut FileFindings,
    parsed: &mut ParsedFile,
) -> Option<()> {
    let id = origin.qualify(name, TextPosition::default(), findings)?;
    let mut root = parse_frontmatter(text, findings)?;
    let mut broken = BrokenEntries::default();
    let mut whole_file = false;
    let singular_cli = is_singular_cli(root.child("cliTools"));
    let violations = violation::check(&schema::CAPLET, &root);
    violation::report(violations, findings, |violation| {
        let in_singular = singular_cli && violation.is_below("cliTools");
        whole_file |= in_singular || !broken.record_violation(violation);
    })?;
    let keys = check_backends(&root, findings);
    let keys = keys.filter(|_| !whole_file)?;
    broken.remove_from(&mut root);
    let file: CapletFields = schema::CAPLET.read(&root, findings)?;
    let mark = findings.mark();
    let block = BlockFields {
        project_binding: file.project_binding,
        runtime: file.runtime,
        disabled: false,
    };
    let mut shared = SharedFields {
        name: Some(file.name),
        description: Some(file.description),
        presentation: file.presentation,
        block,
    };
    rules::check_shared(&mut shared, &root, findings);
    let icon = file.catalog.and_then(|catalog| catalog.icon);
    let icon = icon.and_then(|icon| rules::check_icon(&icon, root.child("catalog"), findings));
    if let Some(auth) = &file.auth {
        rules::check_auth(auth, &root, findings);
    }
    if let Some(key) = keys.singular {
        let node = root.child(key);
        let Some((fields, mut backend)) = read_block(key, node) else {
            findings.add(schema::CAPLET.unreadable());
            return None;
        };
        let base_dir = origin.base_dir();
        BackendCheck { node, base_dir, is_config: false, has_shared_auth: false, findings }
            .check(&mut backend);
        if findings.first_error_since(mark).is_some() {
            return None;
        }
        let definition = origin.define(id, backend, shared.with_block(fields), None);
        let place = root.key_place(key);
        parsed
            .definitions
            .push(LocatedDefinition { definition: Definition { icon, ..definition }, place });
        return Some(());
    }
    if findings.first_error_since(mark).is_some() {
        return None;
    }
    for (child, reason) in broken.reasons() {
        parsed.quarantined.push(origin.quarantine(&format!("{name}__{child}"), reason));
    }
    let parent = CapletParent { name, id, shared, icon, auth: file.auth };
    for key in keys.plural {
        for (id, entry) in root.child(key).entries() {
            origin.define_entry((key, id), entry, Some(&parent), findings, parsed);
        }
    }
    Some(())
}

fn parse_frontmatter(text: &str, findings: &mut FileFindings) -> Option<ValueNode> {
    let start = TextPosition { line: 1, column: 1 };
    let (header, body) = match frontmatter::split(text) {
        Ok(halves) => halves,
        Err(FrontmatterError::Missing) => {
            let fix =
                "put the YAML that declares the capability between two `---` lines at the top";
            findings.at(start).error("no-frontmatter", "the file does not start with `---`", fix);
            return None;
        }
        Err(FrontmatterError::Unclosed) => {
            let fix = "add a line with `---` after the YAML";
            findings.at(start).error("no-frontmatter", "the frontmatter is not closed", fix);
            return None;
        }
    };
    if body.chars().nth(MAX_BODY).is_some() {
        let message = format!("the body is longer than {MAX_BODY} characters");
        let fix = "move the rest to another file beside this one";
        findings.add(Diagnostic::error("too-long", message, fix));
        return None;
    }
    let root = yaml::parse(header).map_err(|diagnostic| findings.add(diagnostic)).ok()?;
    if !root.is_map() && !matches!(root.content, NodeValue::Null) {
        let message = "the frontmatter must be a mapping";
        let fix = "write keys such as `name` and `description`";
        findings.at(root.place).error("wrong-type", message, fix);
        return None;
    }
    if root.entries().is_empty() {
        findings.at(TextPosition { line: 1, column: 1 }).error(
            "no-frontmatter",
            "the frontmatter declares nothing",
            "add `name`, `description` and a backend such as `mcpServer`",
        );
        return None;
    }
    Some(root)
}

/// The keys of the backends that a file declares: one singular one, or plural maps.
struct BackendKeys {
    singular: Option<&'static str>,
    plural: Vec<&'static str>,
}

/// Checks which backends a file declares together. `None` when the file cannot be used.
fn check_backends(root: &ValueNode, findings: &mut FileFindings) -> Option<BackendKeys> {
    let mark = findings.mark();
    let singular_cli = root.get("cliTools").is_some_and(is_singular_cli);
    let present = |keys: &[&'static str], with_cli: bool| -> Vec<&'static str> {
        let there = |key: &&str| root.get(key).is_some() && (*key != "cliTools" || with_cli);
        keys.iter().copied().filter(there).collect()
    };
    let singular = present(&SINGULAR_KEYS, singular_cli);
    let plural = present(&PLURAL_KEYS, !singular_cli);
    match (singular.as_slice(), plural.as_slice()) {
        ([], []) => check_none(root, findings),
        ([_], []) | ([], [_, ..]) => {}
        ([_, second, ..], _) => findings.at(root.key_place(second)).error(
            "several-backends",
            format!("a file has one backend, found {}", quoted_list(singular.iter().copied())),
            "split the file, or use the plural maps with a child for each",
        ),
        ([one], [first, ..]) => findings.at(root.key_place(first)).error(
            "several-backends",
            format!("`{one}` is mutually exclusive with {}", quoted_list(plural.iter().copied())),
            format!("move `{one}` into a plural map, or remove it"),
        ),
    }
    check_shared_auth(root, &singular, &plural, findings);
    check_children(root, &plural, findings);
    let is_sound = findings.first_error_since(mark).is_none();
    is_sound.then(|| BackendKeys { singular: singular.first().copied(), plural })
}

fn check_none(root: &ValueNode, findings: &mut FileFindings) {
    // A mistyped backend key has been reported as an unknown key, which says more.
    let all = SINGULAR_KEYS.into_iter().chain(PLURAL_KEYS);
    let mistyped = root.entries().keys().any(|key| nearest_key(key, all.clone()).is_some());
    if !mistyped {
        let message = "the file declares no backend";
        let fix = format!("add one of {}", quoted_list(SINGULAR_KEYS));
        findings.at(root.place).error("missing-backend", message, fix);
    }
}

fn check_shared_auth(
    root: &ValueNode,
    singular: &[&str],
    plural: &[&str],
    findings: &mut FileFindings,
) {
    if root.get("auth").is_none() {
        return;
    }
    let without_auth: Vec<&str> =
        plural.iter().copied().filter(|key| matches!(*key, "cliTools" | "capletSets")).collect();
    let problem = match (singular.first(), without_auth.first()) {
        (Some(key), _) => {
            format!("`auth` at the top is for plural files, but this one has `{key}`")
        }
        (None, Some(key)) => format!("`auth` at the top does not apply to `{key}`"),
        (None, None) => return,
    };
    findings.at(root.key_place("auth")).error(
        "misplaced-auth",
        problem,
        "move `auth` into the backends that need it",
    );
}

fn check_children(root: &ValueNode, plural: &[&str], findings: &mut FileFindings) {
    let mut owners: HashMap<&str, &str> = HashMap::new();
    for key in plural {
        for (child, entry) in root.child(key).entries() {
            if let Some(first) = owners.insert(child, key) {
                let message = format!("the child `{child}` is defined in `{first}` and in `{key}`");
                let fix = "give each child an id of its own";
                findings.at(entry.place).error("duplicate-id", message, fix);
            }
        }
    }
}

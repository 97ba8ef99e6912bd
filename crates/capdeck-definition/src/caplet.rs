//! One Caplet file: YAML frontmatter that declares a capability, or several, and a Markdown body for people.

mod backend_choice;

use crate::{
    Definition,
    broken_entries::BrokenEntries,
    diagnostic::{Diagnostic, FileFindings, TextPosition},
    document::{NodeValue, ValueNode, yaml},
    frontmatter::{self, FrontmatterError},
    parsed_file::{CapletParent, FileOrigin, LocatedDefinition, ParsedFile},
    rules::{self, BackendCheck},
    schema,
    shape::{BlockFields, SharedFields, caplet_file::CapletFields, read_block},
    violation::{self, is_singular_cli},
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
    let hopeless = violation::is_hopeless(&violations);
    for violation in violations {
        let in_singular = singular_cli && violation.is_below("cliTools");
        whole_file |= in_singular || !broken.record_violation(&violation);
        findings.add(violation.diagnostic);
    }
    if hopeless {
        findings.add(violation::too_many());
        return None;
    }
    let keys = backend_choice::check(&root, findings);
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
        for entry in root.child(key).entries() {
            origin.define_entry((key, &entry.key), &root, Some(&parent), findings, parsed);
        }
    }
    Some(())
}

fn parse_frontmatter(text: &str, findings: &mut FileFindings) -> Option<ValueNode> {
    let start = TextPosition { line: 1, column: 1 };
    let halves = match frontmatter::split(text) {
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
    if halves.body.chars().nth(MAX_BODY).is_some() {
        findings.add(Diagnostic::error(
            "too-long",
            format!("the body is longer than {MAX_BODY} characters"),
            "move the rest to another file beside this one",
        ));
        return None;
    }
    let root = yaml::parse(halves.yaml).map_err(|diagnostic| findings.add(diagnostic)).ok()?;
    if !root.is_map() && !matches!(root.content, NodeValue::Null) {
        findings.at(root.place).error(
            "wrong-type",
            "the frontmatter must be a mapping",
            "write keys such as `name` and `description`",
        );
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

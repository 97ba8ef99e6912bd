//! One Caplet file: YAML frontmatter that declares a capability, or several, and a Markdown body for people.

mod backend_choice;

use crate::{
    BackendAuth, CapabilityId,
    broken_entries::BrokenEntries,
    definition_draft::{DefinitionDraft, FileOrigin, SharedFields},
    diagnostic::{Diagnostic, FileFindings, TextPosition},
    document::{NodeValue, ValueNode, yaml},
    frontmatter::{self, FrontmatterError},
    parsed_file::{LocatedDefinition, ParsedFile},
    rules::{self, BackendDeclaration, DeclarationFile, SharedAuth},
    schema,
    shape::caplet_file::{CapletFile, ChildDraft},
    violation::{self, is_singular_cli},
};

/// The longest Markdown body, in characters.
const MAX_BODY: usize = 65_536;

/// Parses a Caplet file. An error outside a child quarantines the file, one inside only that child.
pub(crate) fn parse_caplet(
    text: &str,
    name: &str,
    origin: &FileOrigin<'_>,
    findings: &mut FileFindings,
) -> ParsedFile {
    let mut parsed = ParsedFile::default();
    if read(text, name, origin, findings, &mut parsed).is_none() {
        let reason = findings.first_error_since(0).unwrap_or("the file cannot be used");
        parsed.quarantined.push(origin.quarantine(name, reason));
    }
    parsed
}

/// `None` means the file as a whole is unusable and the findings say why.
fn read(
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
    whole_file |= !backend_choice::check(&root, findings);
    if whole_file {
        return None;
    }
    broken.remove_from(&mut root);
    let mut file: CapletFile = serde_json::from_value(root.to_json())
        .map_err(|_| findings.add(violation::unreadable(&schema::CAPLET)))
        .ok()?;
    let mark = findings.mark();
    let mut shared = SharedFields {
        name: Some(std::mem::take(&mut file.name)),
        description: Some(std::mem::take(&mut file.description)),
        presentation: file.presentation.clone(),
        project_binding: file.project_binding,
        runtime: file.runtime.take(),
        disabled: false,
    };
    rules::check_shared(&mut shared, &root, findings);
    let icon = file.catalog.take().and_then(|catalog| catalog.icon);
    let icon = icon.and_then(|icon| rules::check_icon(&icon, root.child("catalog"), findings));
    if let Some(auth) = &file.auth {
        rules::check_auth(auth, &root, findings);
    }
    let backends = file.take_backends();
    let caplet = CapletReader { id, shared, icon, auth: file.auth, root: &root, origin };
    for (key, block) in backends.singular {
        let node = root.child(key);
        let mut backend = block.backend;
        rules::check_backend(&mut backend, &caplet.declaration(node, SharedAuth::Absent), findings);
        if findings.first_error_since(mark).is_some() {
            return None;
        }
        let definition = origin.define(DefinitionDraft {
            id: caplet.id.clone(),
            parent: None,
            shared: caplet.shared.clone().with_block(block.fields),
            icon: caplet.icon.clone(),
            backend,
            tailoring: None,
        });
        parsed.definitions.push(LocatedDefinition { definition, place: root.key_place(key) });
    }
    if findings.first_error_since(mark).is_some() {
        return None;
    }
    for (child, reason) in broken.reasons() {
        parsed.quarantined.push(origin.quarantine(&format!("{name}__{child}"), reason));
    }
    for child in backends.children {
        caplet.define_child(child, name, findings, parsed);
    }
    Some(())
}

/// A readable file, while its children are defined.
struct CapletReader<'a> {
    id: CapabilityId,
    shared: SharedFields,
    icon: Option<String>,
    auth: Option<BackendAuth>,
    root: &'a ValueNode,
    origin: &'a FileOrigin<'a>,
}

impl CapletReader<'_> {
    fn declaration<'b>(
        &'b self,
        node: &'b ValueNode,
        shared_auth: SharedAuth,
    ) -> BackendDeclaration<'b> {
        BackendDeclaration {
            node,
            base_dir: &self.origin.base_dir,
            declared_in: DeclarationFile::Caplet,
            shared_auth,
        }
    }

    fn define_child(
        &self,
        child: ChildDraft,
        name: &str,
        findings: &mut FileFindings,
        parsed: &mut ParsedFile,
    ) {
        let mark = findings.mark();
        let map = self.root.child(child.key);
        let node = map.child(&child.id);
        let mut backend = child.declared.backend;
        let shared_auth = match &self.auth {
            Some(auth) => {
                if node.get("auth").is_none() {
                    backend.set_auth(auth);
                }
                SharedAuth::Present
            }
            None => SharedAuth::Absent,
        };
        rules::check_backend(&mut backend, &self.declaration(node, shared_auth), findings);
        let mut shared = SharedFields::from(child.declared.fields);
        rules::check_shared(&mut shared, node, findings);
        let id = self.id.child(&child.id).map_err(|invalid| {
            findings.add(crate::definition_draft::bad_id(&invalid.0).at(map.key_place(&child.id)));
        });
        if let (Ok(id), None) = (id, findings.first_error_since(mark)) {
            let definition = self.origin.define(DefinitionDraft {
                id,
                parent: Some(self.id.clone()),
                shared: shared.inherit(&self.shared),
                icon: self.icon.clone(),
                backend,
                tailoring: None,
            });
            parsed
                .definitions
                .push(LocatedDefinition { definition, place: map.key_place(&child.id) });
            return;
        }
        let reason = findings.first_error_since(mark).unwrap_or_default().to_owned();
        parsed.quarantined.push(self.origin.quarantine(&format!("{name}__{}", child.id), &reason));
    }
}

fn parse_frontmatter(text: &str, findings: &mut FileFindings) -> Option<ValueNode> {
    let halves = match frontmatter::split(text) {
        Ok(halves) => halves,
        Err(FrontmatterError::Missing) => {
            findings.add(
                Diagnostic::error("no-frontmatter", "the file does not start with `---`")
                    .with_fix("put the YAML that declares the capability between two `---` lines at the top")
                    .at(TextPosition { line: 1, column: 1 }),
            );
            return None;
        }
        Err(FrontmatterError::Unclosed) => {
            findings.add(
                Diagnostic::error("no-frontmatter", "the frontmatter is not closed")
                    .with_fix("add a line with `---` after the YAML")
                    .at(TextPosition { line: 1, column: 1 }),
            );
            return None;
        }
    };
    if halves.body.chars().nth(MAX_BODY).is_some() {
        findings.add(
            Diagnostic::error("too-long", format!("the body is longer than {MAX_BODY} characters"))
                .with_fix("move the rest to another file beside this one"),
        );
        return None;
    }
    let root = yaml::parse(halves.yaml, frontmatter::FIRST_LINE)
        .map_err(|diagnostic| findings.add(diagnostic))
        .ok()?;
    if !root.is_map() && !matches!(root.content, NodeValue::Null) {
        findings.add(
            Diagnostic::error("wrong-type", "the frontmatter must be a mapping")
                .with_fix("write keys such as `name` and `description`")
                .at(root.place),
        );
        return None;
    }
    if root.entries().is_empty() {
        findings.add(
            Diagnostic::error("no-frontmatter", "the frontmatter declares nothing")
                .with_fix("add `name`, `description` and a backend such as `mcpServer`")
                .at(TextPosition { line: 1, column: 1 }),
        );
        return None;
    }
    Some(root)
}

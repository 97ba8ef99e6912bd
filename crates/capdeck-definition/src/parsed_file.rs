//! What one file yields: definitions with their ids and what they inherit, and what is quarantined.

use std::{path::Path, sync::Arc};

use crate::{
    Backend, BackendAuth, CapabilityFile, CapabilityId, CapabilityTailoring, Definition,
    DefinitionSource, Diagnostic, McpServer, QuarantinedItem, RuntimeRequirements, SetupCommands,
    SourceFile, SourceFormat, ToolChoice, UsageHints, capability_file, caplet, cmp, config,
    diagnostic::{FileFindings, TextPosition},
    document::MapEntry,
    rules::{self, BackendCheck},
    schema,
    shape::{self, BlockFields, PresentationFields, SharedFields, config_file::ConfigOptions},
};

/// Everything one file yields. A broken file yields diagnostics and what is quarantined.
#[derive(Debug, Default)]
pub(crate) struct ParsedFile {
    pub(crate) definitions: Vec<LocatedDefinition>,
    pub(crate) quarantined: Vec<QuarantinedItem>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) options: Option<ConfigOptions>,
    /// A capability file, whose definitions are among the others.
    pub(crate) capability_file: Option<CapabilityFile>,
}

#[derive(Debug)]
pub(crate) struct LocatedDefinition {
    pub(crate) definition: Definition,
    pub(crate) place: TextPosition,
}

/// The file being read: where its definitions come from and which set they belong to.
#[derive(Debug)]
pub(crate) struct FileOrigin<'a> {
    pub(crate) source: DefinitionSource,
    /// The set that nests this file.
    pub(crate) member_of: Option<&'a CapabilityId>,
}

/// What the top of a plural Caplet file gives its children.
pub(crate) struct CapletParent<'a> {
    pub(crate) name: &'a str,
    pub(crate) id: CapabilityId,
    pub(crate) shared: SharedFields,
    pub(crate) icon: Option<String>,
    pub(crate) auth: Option<BackendAuth>,
}

pub(crate) fn parse(file: &SourceFile, member_of: Option<&CapabilityId>) -> ParsedFile {
    let source = DefinitionSource { layer: file.layer, path: file.path.clone() };
    let origin = FileOrigin { source, member_of };
    let mut parsed = ParsedFile::default();
    let mut findings = FileFindings::new(&file.path);
    let file_name = || file.path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = match &file.format {
        SourceFormat::Caplet { id } => id.clone(),
        SourceFormat::Config | SourceFormat::CapabilityFile => {
            file_name().unwrap_or_else(|| "config".to_owned())
        }
        // Two files, each with findings of its own.
        SourceFormat::Cmp(files) => return cmp::parse_cmp(&file.text, files, &origin),
    };
    let read = findings.readable(&file.text).and_then(|text| match &file.format {
        SourceFormat::Config => config::read(text, &origin, &mut findings, &mut parsed),
        SourceFormat::CapabilityFile => {
            capability_file::define(text, &origin, &mut findings, &mut parsed)
        }
        SourceFormat::Caplet { .. } | SourceFormat::Cmp(_) => {
            caplet::read(text, &name, &origin, &mut findings, &mut parsed)
        }
    });
    if read.is_none() {
        let reason = findings.first_error_since(0).unwrap_or("the file cannot be used");
        parsed.quarantined.push(origin.quarantine(&name, reason));
    }
    parsed.diagnostics = findings.into_diagnostics();
    parsed
}

impl FileOrigin<'_> {
    /// The folder of the file, where its relative paths start.
    pub(crate) fn base_dir(&self) -> &Path {
        self.source.path.parent().unwrap_or(Path::new(""))
    }

    /// The full id of something this file calls `name`: below its set, when there is one.
    pub(crate) fn qualify(
        &self,
        name: &str,
        place: TextPosition,
        findings: &mut FileFindings,
    ) -> Option<CapabilityId> {
        let id = CapabilityId::new(name).and_then(|id| match self.member_of {
            Some(set) => set.child(id.as_str()),
            None => Ok(id),
        });
        id.map_err(|invalid| findings.add(bad_id(&invalid.0).at(place))).ok()
    }

    /// Records that `name` is left out, and why.
    pub(crate) fn quarantine(&self, name: &str, reason: &str) -> QuarantinedItem {
        let id = match self.member_of {
            Some(set) => format!("{set}__{name}"),
            None => name.to_owned(),
        };
        QuarantinedItem { id, source: self.source.clone(), reason: reason.to_owned() }
    }

    /// Reads one entry of a map of backends: a definition, or one more quarantined id.
    pub(crate) fn define_entry(
        &self,
        (key, id): (&str, &str),
        entry: &MapEntry,
        parent: Option<&CapletParent<'_>>,
        findings: &mut FileFindings,
        parsed: &mut ParsedFile,
    ) {
        let mark = findings.mark();
        let (node, place) = (&entry.value, entry.place);
        let block: Option<(SharedFields, Backend)> = shape::read_block(key, node);
        if block.is_none() {
            let schema = if parent.is_some() { &schema::CAPLET } else { &schema::CONFIG };
            findings.add(schema.unreadable().at(node.place));
        }
        let definition = block.and_then(|(mut shared, mut backend)| {
            let auth = parent.and_then(|parent| parent.auth.as_ref());
            if let Some(auth) = auth.filter(|_| node.get("auth").is_none()) {
                backend.set_auth(auth);
            }
            let is_config = parent.is_none();
            let has_shared_auth = auth.is_some();
            let base_dir = self.base_dir();
            BackendCheck { node, base_dir, is_config, has_shared_auth, findings: &mut *findings }
                .check(&mut backend);
            rules::check_shared(&mut shared, node, findings);
            let Some(parent) = parent else {
                let id = self.qualify(id, place, findings)?;
                return Some(self.define(id, backend, shared, None));
            };
            let id = parent.id.child(id);
            let id = id.map_err(|invalid| findings.add(bad_id(&invalid.0).at(place))).ok()?;
            Some(Definition {
                parent: Some(parent.id.clone()),
                icon: parent.icon.clone(),
                ..self.define(id, backend, shared.inherit(&parent.shared), None)
            })
        });
        match (definition, findings.first_error_since(mark)) {
            (Some(definition), None) => {
                parsed.definitions.push(LocatedDefinition { definition, place });
            }
            (_, reason) => {
                let name = parent.map_or(id.to_owned(), |parent| format!("{}__{id}", parent.name));
                parsed.quarantined.push(self.quarantine(&name, reason.unwrap_or_default()));
            }
        }
    }

    pub(crate) fn define(
        &self,
        id: CapabilityId,
        backend: Backend,
        shared: SharedFields,
        tailoring: Option<Arc<CapabilityTailoring>>,
    ) -> Definition {
        let SharedFields { name, description, presentation, block } = shared;
        let definition = Definition {
            description: description.unwrap_or_default(),
            tags: presentation.tags,
            exposure: presentation.exposure,
            shadowing: presentation.shadowing.unwrap_or_default(),
            pins: presentation.pins,
            hints: UsageHints {
                use_when: presentation.use_when,
                avoid_when: presentation.avoid_when,
            },
            setup: presentation.setup,
            project_bound: block.project_binding.is_some_and(|binding| binding.required),
            runtime: block.runtime.unwrap_or_default(),
            disabled: block.disabled,
            tailoring: tailoring.or_else(|| filtered(&backend)),
            member_of: self.member_of.cloned(),
            ..Definition::new(id, backend, self.source.clone())
        };
        let name = name.unwrap_or(definition.name);
        Definition { name, ..definition }.with_fingerprint()
    }
}

impl SharedFields {
    /// A singular block: what the top of the file says wins over the block.
    pub(crate) fn with_block(mut self, block: BlockFields) -> Self {
        let own = &mut self.block;
        own.project_binding = own.project_binding.or(block.project_binding);
        own.runtime = own.runtime.take().or(block.runtime);
        own.disabled = block.disabled;
        self
    }

    /// A child of a plural file: its own value if it has one, else the parent's; lists are joined, parent first.
    fn inherit(self, parent: &Self) -> Self {
        let own = self.presentation;
        let above = parent.presentation.clone();
        let mut tags = above.tags;
        join(&mut tags, own.tags);
        let parent_block = parent.block.clone();
        Self {
            name: self.name.or_else(|| parent.name.clone()),
            description: self.description.or_else(|| parent.description.clone()),
            presentation: PresentationFields {
                tags,
                exposure: own.exposure.or(above.exposure),
                shadowing: own.shadowing.or(above.shadowing),
                pins: own.pins.or(above.pins),
                use_when: own.use_when.or(above.use_when),
                avoid_when: own.avoid_when.or(above.avoid_when),
                setup: join_setup(above.setup, own.setup),
            },
            block: BlockFields {
                project_binding: self.block.project_binding.or(parent_block.project_binding),
                runtime: join_runtime(parent_block.runtime, self.block.runtime),
                disabled: self.block.disabled,
            },
        }
    }
}

/// What a server's own block says about its tools.
fn filtered(backend: &Backend) -> Option<Arc<CapabilityTailoring>> {
    let Backend::Mcp(McpServer { tools: Some(filter), .. }) = backend else { return None };
    let tools = ToolChoice::Policy(filter.to_expose());
    Some(Arc::new(CapabilityTailoring { tools, ..CapabilityTailoring::default() }))
}

/// What is wrong with an id, its length or its letters.
fn bad_id(text: &str) -> Diagnostic {
    if text.len() > 64 && text.contains("__") {
        let message = format!("the full id `{text}` is longer than 64 characters");
        let fix = "shorten the file's name or the child's id";
        return Diagnostic::error("id-too-long", message, fix);
    }
    let shown: String = text.chars().take(80).collect();
    let message = format!("`{shown}` is not an id");
    Diagnostic::error("bad-id", message, "rename it with 1 to 64 letters, digits, `_` or `-`")
}

fn join<T: PartialEq>(above: &mut Vec<T>, own: Vec<T>) {
    for item in own {
        if !above.contains(&item) {
            above.push(item);
        }
    }
}

fn join_setup(above: Option<SetupCommands>, own: Option<SetupCommands>) -> Option<SetupCommands> {
    match (above, own) {
        (Some(mut above), Some(own)) => {
            above.commands.extend(own.commands);
            above.verify.extend(own.verify);
            Some(above)
        }
        (above, own) => above.or(own),
    }
}

fn join_runtime(
    above: Option<RuntimeRequirements>,
    own: Option<RuntimeRequirements>,
) -> Option<RuntimeRequirements> {
    match (above, own) {
        (Some(mut above), Some(own)) => {
            join(&mut above.features, own.features);
            above.resources = own.resources.filter(|own| own.class.is_some()).or(above.resources);
            Some(above)
        }
        (above, own) => above.or(own),
    }
}

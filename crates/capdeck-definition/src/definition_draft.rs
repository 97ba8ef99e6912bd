//! From what a file declares to a [`Definition`]: inheritance, ids and the fingerprint.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    Backend, CapabilityId, CapabilityTailoring, Definition, DefinitionSource, McpServer,
    QuarantinedItem, RuntimeRequirements, SetupCommands, SourceFile, ToolChoice, UsageHints,
    diagnostic::{Diagnostic, FileFindings, TextPosition},
    fingerprint::{FingerprintInput, fingerprint},
    shape::{BlockFields, ChildFields, EntryFields, PresentationFields, ProjectBinding},
};

/// The fields a capability has whatever its backend, before and after inheritance.
#[derive(Debug, Clone)]
pub(crate) struct SharedFields {
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) presentation: PresentationFields,
    pub(crate) project_binding: Option<ProjectBinding>,
    pub(crate) runtime: Option<RuntimeRequirements>,
    pub(crate) disabled: bool,
}

/// The file being read: where its definitions come from and which set they belong to.
#[derive(Debug)]
pub(crate) struct FileOrigin<'a> {
    pub(crate) source: DefinitionSource,
    pub(crate) base_dir: PathBuf,
    /// The set that nests this file.
    pub(crate) member_of: Option<&'a CapabilityId>,
}

/// A capability ready to be defined.
#[derive(Debug)]
pub(crate) struct DefinitionDraft {
    pub(crate) id: CapabilityId,
    pub(crate) parent: Option<CapabilityId>,
    pub(crate) shared: SharedFields,
    pub(crate) icon: Option<String>,
    pub(crate) backend: Backend,
    pub(crate) tailoring: Option<Arc<CapabilityTailoring>>,
}

impl SharedFields {
    /// A singular block: what the top of the file says wins over the block.
    pub(crate) fn with_block(mut self, block: BlockFields) -> Self {
        self.project_binding = self.project_binding.or(block.project_binding);
        self.runtime = self.runtime.or(block.runtime);
        self.disabled = block.disabled;
        self
    }

    /// A child of a plural file: its own value if it has one, else the parent's; lists are joined, parent first.
    pub(crate) fn inherit(self, parent: &Self) -> Self {
        let own = self.presentation;
        let above = parent.presentation.clone();
        let mut tags = above.tags;
        for tag in own.tags {
            if !tags.contains(&tag) {
                tags.push(tag);
            }
        }
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
            project_binding: self.project_binding.or(parent.project_binding),
            runtime: join_runtime(parent.runtime.clone(), self.runtime),
            disabled: self.disabled,
        }
    }
}

impl From<ChildFields> for SharedFields {
    fn from(fields: ChildFields) -> Self {
        Self {
            name: fields.name,
            description: fields.description,
            presentation: fields.presentation,
            project_binding: fields.block.project_binding,
            runtime: fields.block.runtime,
            disabled: fields.block.disabled,
        }
    }
}

impl From<EntryFields> for SharedFields {
    fn from(fields: EntryFields) -> Self {
        Self {
            name: Some(fields.name),
            description: Some(fields.description),
            presentation: fields.presentation,
            project_binding: fields.block.project_binding,
            runtime: fields.block.runtime,
            disabled: fields.block.disabled,
        }
    }
}

impl<'a> FileOrigin<'a> {
    pub(crate) fn of(file: &SourceFile, member_of: Option<&'a CapabilityId>) -> Self {
        Self {
            source: DefinitionSource { layer: file.layer, path: file.path.clone() },
            base_dir: file.path.parent().unwrap_or(Path::new("")).to_owned(),
            member_of,
        }
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

    pub(crate) fn define(&self, draft: DefinitionDraft) -> Definition {
        let DefinitionDraft { id, parent, shared, icon, backend, tailoring } = draft;
        let project_bound = shared.project_binding.is_some_and(|binding| binding.required);
        let runtime = shared.runtime.unwrap_or_default();
        let tailoring = tailoring.or_else(|| filtered(&backend));
        let presentation = shared.presentation;
        let fingerprint = fingerprint(FingerprintInput {
            id: &id,
            backend: &backend,
            setup: presentation.setup.as_ref(),
            project_bound,
            features: &runtime.features,
            tailoring: tailoring.as_deref(),
        });
        Definition {
            name: shared.name.unwrap_or_else(|| id.as_str().to_owned()),
            description: shared.description.unwrap_or_default(),
            tags: presentation.tags,
            exposure: presentation.exposure,
            shadowing: presentation.shadowing.unwrap_or_default(),
            pins: presentation.pins,
            hints: UsageHints {
                use_when: presentation.use_when,
                avoid_when: presentation.avoid_when,
            },
            setup: presentation.setup,
            project_bound,
            runtime,
            icon,
            disabled: shared.disabled,
            backend,
            tailoring,
            source: self.source.clone(),
            base_dir: self.base_dir.clone(),
            member_of: self.member_of.cloned(),
            fingerprint,
            parent,
            id,
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
pub(crate) fn bad_id(text: &str) -> Diagnostic {
    if text.len() > 64 && text.contains("__") {
        return Diagnostic::error(
            "id-too-long",
            format!("the full id `{text}` is longer than 64 characters"),
        )
        .with_fix("shorten the file's name or the child's id");
    }
    let shown: String = text.chars().take(80).collect();
    Diagnostic::error("bad-id", format!("`{shown}` is not an id"))
        .with_fix("rename it with 1 to 64 letters, digits, `_` or `-`")
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
            for feature in own.features {
                if !above.features.contains(&feature) {
                    above.features.push(feature);
                }
            }
            above.resources = own.resources.filter(|own| own.class.is_some()).or(above.resources);
            Some(above)
        }
        (above, own) => above.or(own),
    }
}

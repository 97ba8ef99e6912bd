//! One capability as an author wrote it, after inheritance, before anything is connected.

use std::{fmt, path::PathBuf, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Backend, CapabilityTailoring, PinMode, ProgramCommand, backend::number, pattern};

/// A capability as a file declares it. Plural files yield one of these per child.
///
/// Holds no secret: `${VAR}` and `$vault:NAME` are still text here and are resolved at connect time.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    pub id: CapabilityId,
    /// The file's own id when this is a child of a plural file.
    pub parent: Option<CapabilityId>,
    /// The set that nests this capability, when it came from one. Its id is then `<set>__<child>`.
    pub member_of: Option<CapabilityId>,
    pub name: String,
    pub description: String,
    pub tags: Vec<String>,
    /// `None` means the host's default.
    pub exposure: Option<Exposure>,
    pub shadowing: ShadowingMode,
    /// `None` means the deck's own choice.
    pub pins: Option<PinMode>,
    pub hints: UsageHints,
    pub setup: Option<SetupCommands>,
    /// True when the capability only makes sense inside a project.
    pub project_bound: bool,
    pub runtime: RuntimeRequirements,
    /// `catalog.icon`, presentation only.
    pub icon: Option<String>,
    pub disabled: bool,
    pub backend: Backend,
    /// What a capability file says about its tools and values; other files have none.
    pub tailoring: Option<Arc<CapabilityTailoring>>,
    pub source: DefinitionSource,
    /// The folder relative paths were resolved against: the file's own.
    pub base_dir: PathBuf,
    /// SHA-256 (hex) of everything that changes behaviour; not of the Markdown body or presentation.
    /// Keys the discovery cache and the set-up approval.
    pub fingerprint: String,
}

impl Definition {
    /// A definition that says nothing but what it must: everything else is as if its file left it out.
    pub fn new(id: CapabilityId, backend: Backend, source: DefinitionSource) -> Self {
        Self {
            parent: None,
            member_of: None,
            name: id.as_str().to_owned(),
            id,
            description: String::new(),
            tags: Vec::new(),
            exposure: None,
            shadowing: ShadowingMode::default(),
            pins: None,
            hints: UsageHints::default(),
            setup: None,
            project_bound: false,
            runtime: RuntimeRequirements::default(),
            icon: None,
            disabled: false,
            backend,
            tailoring: None,
            base_dir: source.path.parent().map(PathBuf::from).unwrap_or_default(),
            source,
            fingerprint: String::new(),
        }
    }
}

/// A capability id: 1 to 64 of `[A-Za-z0-9_-]`. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct CapabilityId(Arc<str>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an id: use 1 to 64 letters, digits, `_` or `-`")]
pub struct CapabilityIdError(pub String);

impl CapabilityId {
    pub fn new(text: &str) -> Result<Self, CapabilityIdError> {
        if pattern::is_id(text) {
            Ok(Self(text.into()))
        } else {
            Err(CapabilityIdError(text.to_owned()))
        }
    }

    /// The id of a plural file's child: `parent__child`.
    pub fn child(&self, child: &str) -> Result<Self, CapabilityIdError> {
        Self::new(&format!("{}__{child}", self.0))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CapabilityId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::borrow::Borrow<str> for CapabilityId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for CapabilityId {
    type Error = CapabilityIdError;
    fn try_from(text: String) -> Result<Self, CapabilityIdError> {
        Self::new(&text)
    }
}

/// The JSON Schema of an id, for the names in a map of capabilities or actions.
pub(crate) fn id_pattern() -> serde_json::Value {
    serde_json::json!({ "pattern": pattern::ID })
}

/// What an author tells agents about when to reach for a capability (the older file dialect).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageHints {
    pub use_when: Option<String>,
    pub avoid_when: Option<String>,
}

/// What an attached local deck may do with a remote capability of the same id.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Shadowing")]
pub enum ShadowingMode {
    #[default]
    Forbid,
    Allow,
    Namespace,
}

/// What the capability expects of the machine. Advisory: shown, never enforced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Runtime")]
pub struct RuntimeRequirements {
    /// Runtime features this capability expects from the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("uniqueItems" = true))]
    pub features: Vec<RuntimeFeature>,
    /// Resource needs of this capability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<RuntimeResources>,
}

/// A feature of the machine a capability can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuntimeFeature {
    Docker,
    Browser,
}

/// How much of the machine a capability wants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RuntimeResources {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<ResourceClass>,
}

/// A named amount of resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResourceClass {
    Standard,
    Large,
    Heavy,
}

/// How a capability is offered. The first five are the Caplets names, the rest are Capdeck's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Exposure {
    /// Every tool as `<id>__<tool>`, with resources, templates, prompts and completions.
    Direct,
    /// One wrapper tool named after the capability, with an `operation` argument.
    Progressive,
    /// Reached from sandboxed TypeScript.
    CodeMode,
    /// Both `direct` and `code_mode`.
    DirectAndCodeMode,
    /// Both `progressive` and `code_mode`.
    ProgressiveAndCodeMode,
    /// Both `code_mode` and `search`.
    CodeModeAndSearch,
    /// Reached through `search`, `describe`, `call_read_only` and `call_tool`.
    Search,
    /// Reached through `setup_tools` and `call_tool`: signatures when a skill or a capability is set up, schemas when a
    /// call was wrong.
    OnDemand,
    /// Not offered over MCP at all.
    None,
}

/// The file a definition came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Source")]
pub struct DefinitionSource {
    #[serde(rename = "kind")]
    pub layer: SourceLayer,
    pub path: PathBuf,
}

/// The layers of a deck, lowest first: a later layer replaces an earlier one, whole capabilities at a time.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Layer")]
pub enum SourceLayer {
    /// What the host itself has.
    BuiltIn,
    /// The deck built into the binary, used only when nothing else is configured.
    Starter,
    /// Tools in CMP's form, found where that format keeps them.
    Cmp,
    UserConfig,
    UserFile,
    /// A project's `capabilities.yaml` or `capabilities.json`.
    ProjectCapabilityFile,
    ProjectConfig,
    ProjectFile,
    /// Loaded by one of the user's own sets. What a project's set loads stays in the project's layers, so that it
    /// needs the same trust.
    SetConfig,
    /// Like [`SourceLayer::SetConfig`], for Caplet files.
    SetFile,
    /// Reported by a running host that this one is attached to.
    Remote,
}

impl SourceLayer {
    /// Project layers do nothing until the person trusts the folder.
    pub fn needs_trust(self) -> bool {
        matches!(self, Self::ProjectCapabilityFile | Self::ProjectConfig | Self::ProjectFile)
    }
}

// Never run by parsing or by connecting.
/// Commands that prepare the machine, then commands that verify it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Setup")]
pub struct SetupCommands {
    /// Commands to run before the capability is used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<SetupStep>,
    /// Commands that check the set-up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verify: Vec<SetupStep>,
}

/// One set-up command, run without a shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct SetupStep {
    /// What the step does, for the person who approves it.
    #[schemars(length(min = 1))]
    pub label: String,
    #[serde(flatten)]
    pub program: ProgramCommand,
    #[serde(default = "number::<120_000>")]
    #[schemars(range(min = 1))]
    pub timeout_ms: u64,
    #[serde(default = "number::<200_000>")]
    #[schemars(range(min = 1))]
    pub max_output_bytes: u64,
}

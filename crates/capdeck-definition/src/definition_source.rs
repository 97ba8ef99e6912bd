//! Where a definition came from.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Told by a running host that this one is attached to.
    Remote,
}

impl SourceLayer {
    /// Project layers do nothing until the person trusts the folder.
    pub fn needs_trust(self) -> bool {
        matches!(self, Self::ProjectCapabilityFile | Self::ProjectConfig | Self::ProjectFile)
    }
}

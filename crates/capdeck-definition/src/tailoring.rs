//! What a capability file says about a capability beside its backend: which tools are offered and how they are
//! called, and values that are taken from elsewhere.

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Map;

use crate::capability_file::{DeclaredValue, ResultFormatter, ServerToolFilter};

/// What a capability file adds to a definition.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CapabilityTailoring {
    /// Which of the backend's tools are offered.
    pub tools: ToolChoice,
    /// Variables of a started server whose values are taken from elsewhere when it is connected.
    pub env: IndexMap<String, DeclaredValue>,
    /// Headers whose values are taken from elsewhere when the server is connected.
    pub headers: IndexMap<String, DeclaredValue>,
}

/// Which of a backend's tools are offered, and under which names.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum ToolChoice {
    /// By the backend's names, unchanged.
    Policy(ServerToolFilter),
    /// These and no others.
    Chosen(Vec<ChosenTool>),
}

/// A tool under a name of its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChosenTool {
    /// The name it is offered by.
    pub id: String,
    /// The backend's own name of it.
    pub remote: String,
    /// Arguments a caller need not give.
    pub defaults: Map<String, serde_json::Value>,
    /// What results are passed through.
    pub formatter: Option<ResultFormatter>,
}

impl ToolChoice {
    /// True when every tool is offered as it is.
    pub fn is_everything(&self) -> bool {
        matches!(self, Self::Policy(ServerToolFilter::All))
    }

    /// The choice that is offered under this name.
    pub fn chosen(&self, id: &str) -> Option<&ChosenTool> {
        match self {
            Self::Policy(_) => None,
            Self::Chosen(tools) => tools.iter().find(|tool| tool.id == id),
        }
    }

    /// The backend's name of what is offered under `id`; `None` when nothing is.
    pub fn remote_name<'a>(&'a self, id: &'a str) -> Option<&'a str> {
        match self {
            Self::Policy(policy) => policy.allows(id).then_some(id),
            Self::Chosen(_) => self.chosen(id).map(|tool| tool.remote.as_str()),
        }
    }
}

impl Default for ToolChoice {
    fn default() -> Self {
        Self::Policy(ServerToolFilter::All)
    }
}

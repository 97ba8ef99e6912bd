//! The only way out of a script: calls that the host answers.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

/// Answers the calls of a script. Implemented by the host; called once per call, several at a time.
///
/// A call is cancelled by dropping its future: when the run times out, fails or is itself dropped.
#[async_trait]
pub trait CallOut: Send + Sync {
    /// Answers one call.
    async fn call(&self, call: CallRequest) -> CallAnswer;

    /// Whether a call that failed like this waits for something from outside, such as a person's word. The script is then not told; a run
    /// in which nothing else happens any more is paused.
    fn holds(&self, _failure: &CallFailure) -> bool {
        false
    }
}

/// One call of a script.
#[derive(Debug)]
pub struct CallRequest {
    /// The capability whose handle was used; none for the functions of `caplets` itself.
    pub capability: Option<String>,
    pub method: Method,
    /// A JSON object with the arguments by name, such as `{"name": "create_issue", "args": {}}`.
    pub args: Box<RawValue>,
}

/// What a script can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Method {
    Inspect,
    Check,
    Tools,
    SearchTools,
    DescribeTool,
    /// Also behind `caplets.<id>.<tool>(args)`. Arguments: `name`, `args`, `fields`.
    CallTool,
    Resources,
    SearchResources,
    ResourceTemplates,
    ReadResource,
    Prompts,
    SearchPrompts,
    GetPrompt,
    Complete,
    /// `caplets.search(query, page?)`.
    Search,
    /// `caplets.types(id, tool?)`.
    Types,
    /// `caplets.artifacts.read(ref, range?)`.
    ReadArtifact,
    /// `caplets.debug.readLogs({ logRef, cursor?, limit? })`.
    ReadLogs,
    /// `caplets.debug.readRecovery({ recoveryRef, cursor?, limit? })`.
    ReadRecovery,
}

impl Method {
    /// The methods of a handle, in the order they are documented.
    pub const OF_HANDLES: [Self; 14] = [
        Self::Inspect,
        Self::Check,
        Self::Tools,
        Self::SearchTools,
        Self::DescribeTool,
        Self::CallTool,
        Self::Resources,
        Self::SearchResources,
        Self::ResourceTemplates,
        Self::ReadResource,
        Self::Prompts,
        Self::SearchPrompts,
        Self::GetPrompt,
        Self::Complete,
    ];

    /// The name in a script.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inspect => "inspect",
            Self::Check => "check",
            Self::Tools => "tools",
            Self::SearchTools => "searchTools",
            Self::DescribeTool => "describeTool",
            Self::CallTool => "callTool",
            Self::Resources => "resources",
            Self::SearchResources => "searchResources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::ReadResource => "readResource",
            Self::Prompts => "prompts",
            Self::SearchPrompts => "searchPrompts",
            Self::GetPrompt => "getPrompt",
            Self::Complete => "complete",
            Self::Search => "search",
            Self::Types => "types",
            Self::ReadArtifact => "readArtifact",
            Self::ReadLogs => "readLogs",
            Self::ReadRecovery => "readRecovery",
        }
    }

    /// The method of this name, if there is one.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let others =
            [Self::Search, Self::Types, Self::ReadArtifact, Self::ReadLogs, Self::ReadRecovery];
        Self::OF_HANDLES.into_iter().chain(others).find(|method| method.name() == name)
    }
}

/// What came of a call.
#[derive(Debug)]
pub struct CallAnswer {
    /// JSON text, passed to the script unread; or why there is none.
    pub outcome: Result<Box<RawValue>, CallFailure>,
    /// What a result object carries beside its data, such as status and headers: a JSON object.
    pub meta: Option<Box<RawValue>>,
}

impl CallAnswer {
    /// An answer with data only.
    pub fn data(data: Box<RawValue>) -> Self {
        Self { outcome: Ok(data), meta: None }
    }

    /// A failure without further facts.
    pub fn failed(failure: CallFailure) -> Self {
        Self { outcome: Err(failure), meta: None }
    }
}

/// Why a call gave no result. Reaches the script as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallFailure {
    pub code: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

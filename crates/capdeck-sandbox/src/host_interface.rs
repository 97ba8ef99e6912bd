//! The interface of a run to the host: the capabilities that a script can see, and the calls that the host answers.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use serde_with::skip_serializing_none;
use tokio::sync::watch;

use crate::DeckOperation;

/// Answers the calls of a script, several at a time. Implemented by the host.
///
/// A call is cancelled by dropping its future: when the run times out, fails or is itself dropped.
#[async_trait]
pub trait CallHandler: Send + Sync {
    async fn call(&self, call: CallRequest) -> HandlerResponse;

    /// The number of calls that wait for a person. The timeout of the run is paused while there are some; CPU time is
    /// not.
    fn waiting_for_people(&self) -> Option<watch::Receiver<usize>> {
        None
    }

    /// Returns whether a call with this failure waits for an outside event, such as an approval. The script then gets
    /// no answer; a run with nothing else to do is paused.
    fn is_waiting(&self, _failure: &CallFailure) -> bool {
        false
    }
}

#[derive(Debug)]
pub struct CallRequest {
    /// The capability of the used handle; `None` for the functions of `caplets` itself.
    pub capability: Option<String>,
    pub method: DeckOperation,
    /// A JSON object with the arguments by name, such as `{"name": "create_issue", "args": {}}`.
    pub args: Box<RawValue>,
}

#[derive(Debug)]
pub struct HandlerResponse {
    /// JSON text, passed to the script unparsed, or the failure.
    pub outcome: Result<Box<RawValue>, CallFailure>,
    /// Additional facts of a result, such as status and headers: a JSON object.
    pub meta: Option<Box<RawValue>>,
}

impl HandlerResponse {
    pub fn data(data: Box<RawValue>) -> Self {
        Self { outcome: Ok(data), meta: None }
    }

    pub fn failed(failure: CallFailure) -> Self {
        Self { outcome: Err(failure), meta: None }
    }
}

/// The failure of a call, passed to the script unchanged.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallFailure {
    pub code: String,
    pub message: String,
    pub details: Option<Value>,
    pub hint: Option<String>,
}

/// The capabilities of one client. Implemented by the host over its catalog; used before code runs.
pub trait CapabilityDirectory: Send + Sync {
    /// Returns the ids of all capabilities that scripts may use, in a fixed order.
    fn capabilities(&self) -> Vec<String>;

    /// Returns the names of a capability's tools; `None` while they are unknown.
    fn tools(&self, capability: &str) -> Option<Vec<String>>;

    /// Returns the schemas of a tool for the type check; `None` accepts any arguments.
    fn schemas(&self, _capability: &str, _tool: &str) -> Option<ToolSchemas> {
        None
    }

    /// Returns why literal arguments are invalid for a tool; empty when they may be valid.
    fn check_arguments(&self, capability: &str, tool: &str, arguments: &Value) -> Vec<String>;
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolSchemas {
    pub input: Value,
    pub output: Option<Value>,
}

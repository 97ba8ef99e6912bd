//! The only way out of a script: calls that the host answers.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use tokio::sync::watch;

use crate::DeckOperation;

/// Answers the calls of a script. Implemented by the host; called once per call, several at a time.
///
/// A call is cancelled by dropping its future: when the run times out, fails or is itself dropped.
#[async_trait]
pub trait CallOut: Send + Sync {
    /// Answers one call.
    async fn call(&self, call: CallRequest) -> CallAnswer;

    /// How many calls wait for a person right now. The time of the run stands still while there are some; computing time does not.
    fn waiting_for_people(&self) -> Option<watch::Receiver<usize>> {
        None
    }

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
    pub method: DeckOperation,
    /// A JSON object with the arguments by name, such as `{"name": "create_issue", "args": {}}`.
    pub args: Box<RawValue>,
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

//! Tools whose work can become a task.

use std::time::Duration;

use capdeck_mcp::RpcError;
use serde_json::{Value, json};

use super::{
    definitions::{text, tool},
    nothing,
};
use crate::conformance::{
    call::{FixtureCall, FixtureResult, says},
    questions::FixtureQuestion,
};

/// Whether a tool may or must run as a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::conformance) enum JobTaskSupport {
    Optional,
    Required,
}

/// Work with what it was asked to do.
#[derive(Debug, Clone)]
pub(in crate::conformance) enum FixtureJob {
    /// Takes its time.
    SlowCompute { duration: Duration, label: String },
    /// Ends with an error of the tool.
    Failing,
    /// Ends with an error of the protocol.
    ProtocolError,
    /// Asks the person once.
    ConfirmDelete { filename: String },
    /// Asks the person two things at once.
    MultiInput,
    /// Has asked the person before it became a task.
    AfterQuestion,
}

impl FixtureJob {
    /// The work of the tool of this name, if it is one of these.
    pub(super) fn of(name: &str, call: &FixtureCall<'_>) -> Result<Option<Self>, RpcError> {
        Ok(Some(match name {
            "slow_compute" => Self::SlowCompute {
                duration: duration(call.argument("seconds"))?,
                label: call.argument("label").as_str().unwrap_or("unnamed").to_owned(),
            },
            "failing_job" => Self::Failing,
            "protocol_error_job" => Self::ProtocolError,
            "confirm_delete" => {
                Self::ConfirmDelete { filename: call.text_argument("filename")?.to_owned() }
            }
            "multi_input" => Self::MultiInput,
            "test_tool_with_task" => Self::AfterQuestion,
            _ => return Ok(None),
        }))
    }

    pub(super) fn definitions() -> Vec<Value> {
        let computation = json!({
            "type": "object",
            "properties": {
                "seconds": { "type": "number", "minimum": 0 },
                "label": { "type": "string" },
            },
            "required": ["seconds"],
        });
        let filename = text("filename", "What to delete");
        let (optional, required) = ("optional", "required");
        [
            ("slow_compute", "Computes for some seconds", computation, optional),
            ("failing_job", "Fails after a while", nothing(), required),
            ("protocol_error_job", "Breaks while it runs", nothing(), optional),
            ("confirm_delete", "Deletes what the person agrees to", filename, optional),
            ("multi_input", "Asks two things at once", nothing(), optional),
            ("test_tool_with_task", "Asks first, then works", nothing(), required),
        ]
        .into_iter()
        .map(|(name, description, schema, support)| {
            let mut tool = tool(name, description, &schema);
            tool["execution"] = json!({ "taskSupport": support });
            tool
        })
        .collect()
    }

    pub(in crate::conformance) fn task_support(&self) -> JobTaskSupport {
        match self {
            Self::Failing | Self::AfterQuestion => JobTaskSupport::Required,
            _ => JobTaskSupport::Optional,
        }
    }

    /// What has to be known before there can be a task.
    pub(in crate::conformance) fn questions_before(&self) -> Vec<FixtureQuestion> {
        match self {
            Self::AfterQuestion => {
                vec![FixtureQuestion::text("user_name", "What is your name?", "name")]
            }
            _ => Vec::new(),
        }
    }

    /// What the work itself asks.
    pub(in crate::conformance) fn questions(&self) -> Vec<FixtureQuestion> {
        match self {
            Self::ConfirmDelete { filename } => {
                let message = format!("Delete {filename}?");
                vec![FixtureQuestion::confirmation("confirm", &message, "confirm")]
            }
            Self::MultiInput => vec![
                FixtureQuestion::text("first_name", "What is the first name?", "name"),
                FixtureQuestion::text("second_name", "What is the second name?", "name"),
            ],
            _ => Vec::new(),
        }
    }

    pub(in crate::conformance) fn duration(&self) -> Duration {
        match self {
            Self::SlowCompute { duration, .. } => *duration,
            Self::Failing => Duration::from_secs(1),
            _ => Duration::ZERO,
        }
    }

    /// The end of the work, with the answers to its questions.
    pub(in crate::conformance) fn finish(&self, answers: &Value) -> FixtureResult {
        match self {
            Self::SlowCompute { label, .. } => Ok(says(format!("Computed {label}"))),
            Self::Failing => {
                let mut result = says("The job failed, as it always does");
                result["isError"] = true.into();
                Ok(result)
            }
            Self::ProtocolError => Err(RpcError::internal("the job broke, as it always does")),
            Self::ConfirmDelete { filename } if answers["confirm"]["action"] == "accept" => {
                Ok(says(format!("Deleted {filename}")))
            }
            Self::ConfirmDelete { filename } => Ok(says(format!("Kept {filename}"))),
            Self::MultiInput => Ok(says(format!("Answers: {answers}"))),
            Self::AfterQuestion => {
                let name = &answers["user_name"]["content"]["name"];
                Ok(says(format!("Worked for {}", name.as_str().unwrap_or("a stranger"))))
            }
        }
    }
}

fn duration(seconds: &Value) -> Result<Duration, RpcError> {
    seconds
        .as_f64()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| RpcError::invalid_params("`seconds` has to be a number from 0 upwards"))
}

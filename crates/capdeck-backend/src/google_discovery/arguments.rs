//! The arguments of a call, in the groups the input schema has.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{CallError, ErrorCode};

/// What a caller gave.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Arguments {
    pub(super) path: Map<String, Value>,
    pub(super) query: Map<String, Value>,
    pub(super) header: Map<String, Value>,
    pub(super) body: Option<Value>,
    pub(super) media: Option<MediaArgument>,
    pub(super) filename: Option<String>,
    pub(super) output_path: Option<String>,
}

/// What to upload, and as what.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct MediaArgument {
    pub(super) path: Option<String>,
    pub(super) artifact: Option<String>,
    pub(super) data_url: Option<String>,
    pub(super) mime_type: Option<String>,
    pub(super) filename: Option<String>,
}

impl Arguments {
    /// Takes arguments apart. A group that is null counts as left out.
    pub(super) fn read(mut given: Map<String, Value>) -> Result<Self, CallError> {
        given.retain(|_, value| !value.is_null());
        serde_json::from_value(Value::Object(given)).map_err(|error| {
            CallError::new(
                ErrorCode::RequestInvalid,
                format!("the arguments do not have the expected groups: {error}"),
            )
            .hint("put arguments into `path`, `query`, `header`, `body` and `media`")
        })
    }

    /// The name that content is to be kept under; `None` when it is not asked for.
    ///
    /// Where artifacts lie is the host's decision, so a path is refused: its caller would look for the file in the wrong place.
    pub(super) fn download_name(&self) -> Result<Option<String>, CallError> {
        match &self.output_path {
            Some(path) if path.contains(['/', '\\']) => Err(CallError::new(
                ErrorCode::RequestInvalid,
                format!("`outputPath` names a place, and content is kept as an artifact: `{path}`"),
            )
            .hint("give `filename`; the result says where the artifact is")),
            _ => Ok(self.filename.clone().or_else(|| self.output_path.clone())),
        }
    }
}

//! The operations of a wrapper tool and the fields each one takes.

use std::collections::BTreeSet;

use capdeck_backend::{CallError, ErrorCode};
use capdeck_definition::{BackendKind, CapabilityId};
use serde_json::{Map, Value, json};

/// One operation of the wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Inspect,
    Check,
    Tools,
    SearchTools,
    DescribeTool,
    CallTool,
    Resources,
    SearchResources,
    ResourceTemplates,
    ReadResource,
    Prompts,
    SearchPrompts,
    GetPrompt,
    Complete,
}

impl Operation {
    pub(super) const ALL: [Self; 14] = [
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

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Inspect => "inspect",
            Self::Check => "check",
            Self::Tools => "tools",
            Self::SearchTools => "search_tools",
            Self::DescribeTool => "describe_tool",
            Self::CallTool => "call_tool",
            Self::Resources => "resources",
            Self::SearchResources => "search_resources",
            Self::ResourceTemplates => "resource_templates",
            Self::ReadResource => "read_resource",
            Self::Prompts => "prompts",
            Self::SearchPrompts => "search_prompts",
            Self::GetPrompt => "get_prompt",
            Self::Complete => "complete",
        }
    }

    pub(super) fn is_mcp_only(self) -> bool {
        matches!(
            self,
            Self::Resources
                | Self::SearchResources
                | Self::ResourceTemplates
                | Self::ReadResource
                | Self::Prompts
                | Self::SearchPrompts
                | Self::GetPrompt
                | Self::Complete
        )
    }

    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Inspect | Self::Check => &[],
            Self::Tools | Self::Resources | Self::ResourceTemplates | Self::Prompts => {
                &["limit", "cursor"]
            }
            Self::SearchTools | Self::SearchResources | Self::SearchPrompts => {
                &["query", "limit", "cursor"]
            }
            Self::DescribeTool => &["name"],
            Self::CallTool => &["name", "args", "fields"],
            Self::ReadResource => &["uri"],
            Self::GetPrompt => &["name", "args"],
            Self::Complete => &["ref", "argument", "context"],
        }
    }
}

/// A wrapper call's arguments, checked against its operation.
pub(super) struct Request {
    pub(super) operation: Operation,
    fields: Map<String, Value>,
}

impl Request {
    pub(super) fn parse(
        id: &CapabilityId,
        kind: BackendKind,
        mut fields: Map<String, Value>,
    ) -> Result<Self, CallError> {
        let known = || {
            Operation::ALL
                .iter()
                .filter(|operation| kind == BackendKind::Mcp || !operation.is_mcp_only())
        };
        let listed = || known().map(|o| o.as_str()).collect::<Vec<_>>().join(", ");
        let Some(Value::String(asked)) = fields.remove("operation") else {
            return Err(invalid(format!("`{id}` needs a string `operation`"))
                .hint(format!("use one of: {}", listed())));
        };
        let Some(operation) = Operation::ALL.into_iter().find(|o| o.as_str() == asked) else {
            return Err(CallError::new(
                ErrorCode::UnknownOperation,
                format!("`{id}` has no operation `{asked}`"),
            )
            .hint(format!("use one of: {}", listed())));
        };
        if operation.is_mcp_only() && kind != BackendKind::Mcp {
            return Err(CallError::new(
                ErrorCode::UnsupportedOperation,
                format!("`{asked}` needs an MCP server; `{id}` is a `{}` backend", kind.as_str()),
            )
            .hint(format!("use one of: {}", listed())));
        }
        let allowed: BTreeSet<&str> = operation.fields().iter().copied().collect();
        let extra: Vec<&String> =
            fields.keys().filter(|key| !allowed.contains(key.as_str())).collect();
        if !extra.is_empty() {
            return Err(invalid(format!("`{asked}` does not take: {extra:?}"))
                .hint(format!("`{asked}` takes: {allowed:?}"))
                .data(json!({ "unexpected": extra, "allowed": allowed })));
        }
        Ok(Self { operation, fields })
    }

    pub(super) fn text(&self, field: &str) -> Result<&str, CallError> {
        match self.fields.get(field) {
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(text),
            // A tool may be called ` `.
            Some(Value::String(text)) if field == "name" && !text.is_empty() => Ok(text),
            _ => Err(invalid(format!(
                "`{}` needs a non-empty string `{field}`",
                self.operation.as_str()
            ))),
        }
    }

    pub(super) fn optional_text(&self, field: &str) -> Result<Option<&str>, CallError> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(invalid(format!("`{field}` must be a string"))),
        }
    }

    pub(super) fn limit(&self) -> Result<Option<usize>, CallError> {
        match self.fields.get("limit") {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64() {
                Some(limit @ 1..) => Ok(Some(usize::try_from(limit).unwrap_or(usize::MAX))),
                _ => Err(invalid("`limit` must be a whole number of at least 1".to_owned())),
            },
        }
    }

    pub(super) fn object(&self, field: &str) -> Result<&Map<String, Value>, CallError> {
        self.optional_object(field)?.ok_or_else(|| {
            invalid(format!("`{}` needs an object `{field}`", self.operation.as_str()))
        })
    }

    pub(super) fn optional_object(
        &self,
        field: &str,
    ) -> Result<Option<&Map<String, Value>>, CallError> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(_) => Err(invalid(format!("`{field}` must be an object"))),
        }
    }

    pub(super) fn field_paths(&self) -> Result<Vec<String>, CallError> {
        match self.fields.get("fields") {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(paths)) if !paths.is_empty() => paths
                .iter()
                .map(|path| match path {
                    Value::String(path) => Ok(path.clone()),
                    _ => Err(invalid("`fields` holds only strings".to_owned())),
                })
                .collect(),
            Some(_) => Err(invalid("`fields` must be a non-empty array of strings".to_owned())),
        }
    }
}

pub(super) fn invalid(message: String) -> CallError {
    CallError::new(ErrorCode::RequestInvalid, message)
}

//! The arguments of an operation on a capability.

use std::collections::BTreeSet;

use capdeck_backend::{CallError, ErrorCode};
use capdeck_definition::{BackendKind, CapabilityId};
use capdeck_sandbox::DeckOperation;
use serde_json::{Map, Value, json};

use crate::optional_argument::{as_number, is_absent};

pub(crate) struct OperationArguments {
    operation: DeckOperation,
    fields: Map<String, Value>,
}

impl OperationArguments {
    pub(super) fn of_wrapper(
        id: &CapabilityId,
        kind: BackendKind,
        mut fields: Map<String, Value>,
    ) -> Result<(DeckOperation, Self), CallError> {
        let Some(Value::String(asked)) = fields.remove("operation") else {
            return Err(CallError::invalid_request(format!("`{id}` needs a string `operation`"))
                .hint(usable(kind)));
        };
        let operation = DeckOperation::from_wrapper_name(&asked).ok_or_else(|| {
            let message = format!("`{id}` has no operation `{asked}`");
            CallError::new(ErrorCode::UnknownOperation, message).hint(usable(kind))
        })?;
        Ok((operation, Self::new(id, kind, operation, fields)?))
    }

    pub(crate) fn new(
        id: &CapabilityId,
        kind: BackendKind,
        operation: DeckOperation,
        fields: Map<String, Value>,
    ) -> Result<Self, CallError> {
        let mut fields = fields;
        // The server's own arguments in `args` stay as they are.
        // A tool may be named ` `.
        let is_blank_name = |key: &str, value: &Value| key == "name" && value.as_str() != Some("");
        fields.retain(|key, value| {
            !is_absent(value) || (value.is_string() && is_blank_name(key, value))
        });
        let name = operation.wrapper_name();
        if operation.needs_mcp_server() && kind != BackendKind::Mcp {
            let message =
                format!("`{name}` needs an MCP server; `{id}` is a `{}` backend", kind.as_str());
            return Err(CallError::new(ErrorCode::UnsupportedOperation, message).hint(usable(kind)));
        }
        let allowed: BTreeSet<&str> = operation.fields().iter().copied().collect();
        let extra: Vec<&String> =
            fields.keys().filter(|key| !allowed.contains(key.as_str())).collect();
        if !extra.is_empty() {
            return Err(CallError::invalid_request(format!("`{name}` does not take: {extra:?}"))
                .hint(format!("`{name}` takes: {allowed:?}"))
                .data(json!({ "unexpected": extra, "allowed": allowed })));
        }
        Ok(Self { operation, fields })
    }

    pub(super) fn text(&self, field: &str) -> Result<&str, CallError> {
        match self.fields.get(field) {
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(text),
            // A tool may be named ` `.
            Some(Value::String(text)) if field == "name" && !text.is_empty() => Ok(text),
            _ => Err(CallError::invalid_request(format!(
                "`{}` needs a non-empty string `{field}`",
                self.operation.wrapper_name()
            ))),
        }
    }

    pub(super) fn optional_text(&self, field: &str) -> Result<Option<&str>, CallError> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(CallError::invalid_request(format!("`{field}` must be a string"))),
        }
    }

    pub(super) fn limit(&self) -> Result<Option<usize>, CallError> {
        match self.fields.get("limit") {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match as_number(value) {
                Some(limit @ 1..) => Ok(Some(usize::try_from(limit).unwrap_or(usize::MAX))),
                Some(0) | None => {
                    Err(CallError::invalid_request("`limit` must be a whole number of at least 1"))
                }
            },
        }
    }

    pub(super) fn object(&self, field: &str) -> Result<&Map<String, Value>, CallError> {
        self.optional_object(field)?.ok_or_else(|| {
            CallError::invalid_request(format!(
                "`{}` needs an object `{field}`",
                self.operation.wrapper_name()
            ))
        })
    }

    pub(super) fn optional_object(
        &self,
        field: &str,
    ) -> Result<Option<&Map<String, Value>>, CallError> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(_) => Err(CallError::invalid_request(format!("`{field}` must be an object"))),
        }
    }

    pub(super) fn field_paths(&self) -> Result<Vec<String>, CallError> {
        match self.fields.get("fields") {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(paths)) if !paths.is_empty() => paths
                .iter()
                .map(|path| match path {
                    Value::String(path) => Ok(path.clone()),
                    _ => Err(CallError::invalid_request("`fields` holds only strings")),
                })
                .collect(),
            Some(_) => {
                Err(CallError::invalid_request("`fields` must be a non-empty array of strings"))
            }
        }
    }
}

pub(super) fn operations_of(kind: BackendKind) -> impl Iterator<Item = DeckOperation> {
    let has = move |one: &DeckOperation| kind == BackendKind::Mcp || !one.needs_mcp_server();
    DeckOperation::ON_CAPABILITY.into_iter().filter(has)
}

fn usable(kind: BackendKind) -> String {
    let names: Vec<&str> = operations_of(kind).map(DeckOperation::wrapper_name).collect();
    format!("use one of: {}", names.join(", "))
}

//! The arguments of an operation on a capability, and the pages of its lists.

use std::collections::BTreeSet;

use capdeck_backend::{CallError, ErrorCode};
use capdeck_definition::{BackendKind, CapabilityId};
use capdeck_sandbox::DeckOperation;
use serde_json::{Map, Value, json};

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
            return Err(invalid(format!("`{id}` needs a string `operation`")).hint(usable(kind)));
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
            return Err(invalid(format!("`{name}` does not take: {extra:?}"))
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
            _ => Err(invalid(format!(
                "`{}` needs a non-empty string `{field}`",
                self.operation.wrapper_name()
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
            invalid(format!("`{}` needs an object `{field}`", self.operation.wrapper_name()))
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

pub(super) fn operations_of(kind: BackendKind) -> impl Iterator<Item = DeckOperation> {
    let has = move |one: &DeckOperation| kind == BackendKind::Mcp || !one.needs_mcp_server();
    DeckOperation::ON_CAPABILITY.into_iter().filter(has)
}

fn usable(kind: BackendKind) -> String {
    let names: Vec<&str> = operations_of(kind).map(DeckOperation::wrapper_name).collect();
    format!("use one of: {}", names.join(", "))
}

pub(super) fn invalid(message: String) -> CallError {
    CallError::new(ErrorCode::RequestInvalid, message)
}

/// One page of `items`, as `{items, nextCursor?, truncated?}` members. Cursors are decimal offsets.
pub(super) fn paginate(
    items: Vec<Value>,
    limit: usize,
    cursor: Option<&str>,
) -> Result<Map<String, Value>, CallError> {
    let start = match cursor {
        None => 0,
        Some(cursor) => {
            cursor.parse::<usize>().ok().filter(|start| *start <= items.len()).ok_or_else(|| {
                invalid(format!("`{cursor}` is not a cursor of this list"))
                    .hint("start without a cursor")
            })?
        }
    };
    let total = items.len();
    let end = total.min(start.saturating_add(limit));
    let page: Vec<Value> = items.into_iter().skip(start).take(limit).collect();
    let mut answer = Map::new();
    answer.insert("items".to_owned(), Value::Array(page));
    if end < total {
        answer.insert("nextCursor".to_owned(), json!(end.to_string()));
        answer.insert("truncated".to_owned(), json!(true));
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_reach_the_end_without_gap_or_repeat() {
        let items: Vec<Value> = (0..7).map(|n| json!(n)).collect();
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let page = paginate(items.clone(), 3, cursor.as_deref()).unwrap();
            seen.extend(page["items"].as_array().unwrap().clone());
            let Some(next) = page.get("nextCursor") else { break };
            cursor = next.as_str().map(str::to_owned);
        }
        assert_eq!(seen, items);
    }

    #[test]
    fn a_foreign_cursor_is_refused() {
        assert!(paginate(vec![json!(1)], 3, Some("9")).is_err());
        assert!(paginate(vec![json!(1)], 3, Some("x")).is_err());
    }
}

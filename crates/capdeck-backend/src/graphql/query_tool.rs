//! The tool for free documents, validated before they are sent.

use apollo_compiler::ast::OperationType;
use capdeck_definition::GraphQlQueryRights;
use serde_json::{Map, Value, json};
use url::Url;

use super::{
    document::{GraphQlDocumentError, check_document},
    nearest::nearest_names,
    operation::choose,
    output_schema::open_output_schema,
    request::GraphQlRequest,
    schema::ApiSchema,
};
use crate::{CallError, ErrorCode, declared_tool::DeclaredTool, http::EndpointRequest};

/// Longer documents are rejected without parsing.
const MAX_DOCUMENT_LENGTH: usize = 200_000;

#[derive(Debug)]
pub(super) struct QueryTool {
    schema: ApiSchema,
    rights: GraphQlQueryRights,
    input_schema: Map<String, Value>,
    output_schema: Map<String, Value>,
}

impl QueryTool {
    pub(super) const NAME: &'static str = "query";

    pub(super) fn new(schema: ApiSchema, rights: GraphQlQueryRights) -> Self {
        let input_schema = json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "The GraphQL document", "minLength": 1},
                "variables": {
                    "type": "object", "additionalProperties": true,
                    "description": "A value for each variable of the operation",
                },
                "operationName": {
                    "type": "string",
                    "description": "Which operation to run when the document has several",
                },
            },
            "required": ["query"],
            "additionalProperties": false,
        });
        let input_schema =
            if let Value::Object(members) = input_schema { members } else { Map::new() };
        Self { schema, rights, input_schema, output_schema: open_output_schema() }
    }

    /// Declares the tool. Its annotations cover the worst effect of any permitted document.
    pub(super) fn declare(&self) -> DeclaredTool<'_> {
        let mutations = self.rights.mutations;
        let what = if mutations { "queries and mutations" } else { "queries" };
        DeclaredTool {
            name: Self::NAME,
            description: format!(
                "Runs a GraphQL document of your own ({what}). It is checked against the schema first; ask `__type(name: …)` or `__schema` for what there is."
            ),
            input_schema: Some(&self.input_schema),
            output_schema: Some(&self.output_schema),
            annotations: json!({"readOnlyHint": !mutations, "destructiveHint": mutations}),
            ..DeclaredTool::default()
        }
    }

    pub(super) fn request(
        &self,
        url: &Url,
        mut arguments: Map<String, Value>,
    ) -> Result<EndpointRequest, CallError> {
        let refuse = |message: &str| CallError::new(ErrorCode::RequestInvalid, message);
        let Some(Value::String(text)) = arguments.remove("query") else {
            return Err(refuse("`query` must be the text of a GraphQL document"));
        };
        let variables = match arguments.remove("variables") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(variables)) => variables,
            Some(_) => return Err(refuse("`variables` must be an object")),
        };
        let operation = match arguments.remove("operationName") {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name),
            Some(_) => return Err(refuse("`operationName` must be a string")),
        };
        let is_mutation = self.check(&text, operation.as_deref())?;
        let operation_name = operation.as_deref();
        GraphQlRequest { query: &text, variables: &variables, operation_name, is_mutation }
            .request(url)
    }

    /// Checks a document against the schema and the permissions. Returns true for a mutation.
    fn check(&self, text: &str, operation: Option<&str>) -> Result<bool, CallError> {
        if text.len() > MAX_DOCUMENT_LENGTH {
            let message = format!("the document is longer than {MAX_DOCUMENT_LENGTH} bytes");
            return Err(
                CallError::new(ErrorCode::RequestInvalid, message).hint("ask for less at once")
            );
        }
        let document =
            check_document(&self.schema, text).map_err(|error| self.bad(&error, text))?;
        let chosen = choose(&document, operation).map_err(|error| self.bad(&error, text))?;
        for one in document.operations.iter() {
            match one.operation_type {
                OperationType::Query => {}
                OperationType::Mutation if self.rights.mutations => {}
                OperationType::Mutation => {
                    return Err(CallError::new(
                        ErrorCode::Denied,
                        "the document holds a mutation, and `query` takes queries only",
                    )
                    .hint("call the tool of that mutation, or set `queryTool: {mutations: true}` in the definition"));
                }
                OperationType::Subscription => {
                    return Err(CallError::new(
                        ErrorCode::RequestInvalid,
                        "the document holds a subscription, which cannot be called as a tool",
                    ));
                }
            }
        }
        Ok(chosen.operation_type == OperationType::Mutation)
    }

    fn bad(&self, error: &GraphQlDocumentError, text: &str) -> CallError {
        let findings: Vec<Value> = error
            .findings
            .iter()
            .map(|finding| match finding.place {
                Some((line, column)) => {
                    json!({"line": line, "column": column, "message": finding.message})
                }
                None => json!({"message": finding.message}),
            })
            .collect();
        let nearest = nearest_names(&self.schema, text);
        let message = format!("the document does not match the schema: {error}");
        let call_error = CallError::new(ErrorCode::RequestInvalid, message)
            .data(json!({"problems": findings, "nearest": nearest}));
        let hints: Vec<String> = nearest
            .iter()
            .map(|(wrong, right)| format!("`{wrong}`: did you mean {right}?"))
            .collect();
        if hints.is_empty() { call_error } else { call_error.hint(hints.join("; ")) }
    }
}

//! One validated operation of a document: its input, output and effect.

use apollo_compiler::{
    ExecutableDocument, Node, ast::OperationType, executable, validation::Valid,
};
use serde_json::{Map, Value};

use super::{
    document::{GraphQlDocumentError, check_document},
    input_schema::input_schema,
    output_schema::output_schema,
    schema::ApiSchema,
};

#[derive(Debug)]
pub(super) struct CompiledOperation {
    pub(super) document: String,
    pub(super) name: Option<String>,
    pub(super) is_mutation: bool,
    pub(super) input_schema: Map<String, Value>,
    pub(super) output_schema: Map<String, Value>,
}

impl CompiledOperation {
    pub(super) fn compile(
        schema: &ApiSchema,
        document: String,
        name: Option<&str>,
    ) -> Result<Self, GraphQlDocumentError> {
        let checked = check_document(schema, &document)?;
        let operation = choose(&checked, name)?;
        if operation.operation_type == OperationType::Subscription {
            return Err(GraphQlDocumentError::from_message(
                "subscriptions cannot be called as tools",
            ));
        }
        Ok(Self {
            name: operation.name.as_ref().map(ToString::to_string),
            is_mutation: operation.operation_type == OperationType::Mutation,
            input_schema: input_schema(schema, operation, &checked),
            output_schema: output_schema(schema, operation, &checked),
            document,
        })
    }
}

pub(super) fn choose<'a>(
    document: &'a Valid<ExecutableDocument>,
    name: Option<&str>,
) -> Result<&'a Node<executable::Operation>, GraphQlDocumentError> {
    document.operations.get(name).map_err(|_error| {
        let names: Vec<String> =
            document.operations.named.keys().map(|name| format!("`{name}`")).collect();
        let names = names.join(", ");
        GraphQlDocumentError::from_message(match (name, names.is_empty()) {
            (Some(name), true) => {
                format!("the document has no operation `{name}`; its one has no name")
            }
            (Some(name), false) => format!("the document has no operation `{name}`, only {names}"),
            (None, true) => "the document has no operation".to_owned(),
            (None, false) => format!(
                "the document has several operations: name one of {names} in `operationName`"
            ),
        })
    })
}

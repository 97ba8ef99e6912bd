//! A loaded GraphQL API: its tools and their calls.

use std::{borrow::Cow, collections::HashMap};

use apollo_compiler::ast::OperationType;
use async_trait::async_trait;
use capdeck_auth::SecretScrubber;
use capdeck_catalog::{Discovery, ImportProblem};
use capdeck_definition::{GraphQlEndpoint, GraphQlOperation, GraphQlQueryRights};
use serde_json::{Map, Value, json};
use url::Url;

use super::{
    GraphQlRequest,
    document::{CompiledOperation, GraphQlDocumentError, check_document, choose, nearest_names},
    output::{mark_errors, open_output_schema},
    schema::{ApiSchema, SchemaError},
    selection::{SelectionRules, automatic_operations},
};
use crate::{
    CallError, CallResult, ErrorCode,
    api_connection::{CallableApi, ImportProblems, members},
    arguments::no_such_tool,
    declared_tool::{DeclaredTool, declared_discovery},
    http::{ApiEndpoint, DEFAULT_MAX_INLINE_BYTES, EndpointRequest, ResponseDelivery},
};

#[derive(Debug)]
pub(super) struct GraphQlApi {
    url: Url,
    discovery: Discovery,
    documents: HashMap<String, CallableDocument>,
    query_tool: Option<QueryTool>,
}

#[derive(Debug)]
struct CallableDocument {
    text: String,
    operation: Option<String>,
    is_mutation: bool,
}

struct GraphQlTool<'a> {
    name: String,
    description: String,
    operation: CompiledOperation,
    configured: Option<&'a ConfiguredDocument>,
}

impl GraphQlApi {
    #[cfg(test)]
    pub(super) fn documents(&self) -> impl Iterator<Item = (&str, &str)> {
        self.documents.iter().map(|(name, document)| (name.as_str(), document.text.as_str()))
    }

    /// Parses a schema and creates the tools. Slow for a large schema.
    pub(super) fn build(
        schema: &[u8],
        block: &GraphQlEndpoint,
        configured: &[ConfiguredDocument],
        url: Url,
        scrubber: &SecretScrubber,
    ) -> Result<Result<Self, SchemaError>, CallError> {
        let mut problems = ImportProblems::default();
        let schema = match ApiSchema::read(schema, &mut problems) {
            Ok(schema) => schema,
            Err(error) => return Ok(Err(error)),
        };
        let offers = if configured.is_empty() {
            automatic(&schema, block, &mut problems)
        } else {
            of_configuration(&schema, configured, &mut problems)
        };
        let query_tool = block.query_rights().map(|rights| QueryTool::new(schema, rights));
        let mut declared: Vec<DeclaredTool<'_>> = offers.iter().map(GraphQlTool::declare).collect();
        if let Some(query_tool) = &query_tool {
            if offers.iter().any(|offer| offer.name == QueryTool::NAME) {
                problems.add(
                    QueryTool::NAME,
                    "an operation has the name of the query tool; the operation is offered",
                );
            } else {
                declared.push(query_tool.declare());
            }
        }
        let mut discovery = declared_discovery(declared, scrubber)?;
        // A document may contain a resolved variable, and its findings quote the document.
        let scrubbed = |problem: ImportProblem| ImportProblem {
            place: scrubber.text(&problem.place).into_owned(),
            reason: scrubber.text(&problem.reason).into_owned(),
        };
        discovery.problems = problems.finish("schema").into_iter().map(scrubbed).collect();
        let documents = offers.into_iter().map(|offer| {
            let CompiledOperation { document, name, is_mutation, .. } = offer.operation;
            (offer.name, CallableDocument { text: document, operation: name, is_mutation })
        });
        Ok(Ok(Self { url, discovery, documents: documents.collect(), query_tool }))
    }
}

#[async_trait]
impl CallableApi for GraphQlApi {
    fn discovery(&self) -> Discovery {
        self.discovery.clone()
    }

    async fn call(
        &self,
        endpoint: &ApiEndpoint,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> CallResult {
        let request = match (self.documents.get(tool), &self.query_tool) {
            (Some(document), _) => GraphQlRequest {
                query: &document.text,
                variables: &arguments,
                operation_name: document.operation.as_deref(),
                is_mutation: document.is_mutation,
            }
            .request(&self.url)?,
            (None, Some(query_tool)) if tool == QueryTool::NAME => {
                query_tool.request(&self.url, arguments)?
            }
            (None, _) => return Err(no_such_tool(tool, self.documents.keys())),
        };
        let delivery = ResponseDelivery::Inline { limit: DEFAULT_MAX_INLINE_BYTES };
        let result = endpoint.exchange(request, delivery).await?;
        mark_errors(result, &endpoint.surroundings.artifacts).await
    }
}

impl GraphQlTool<'_> {
    fn declare(&self) -> DeclaredTool<'_> {
        DeclaredTool {
            name: &self.name,
            description: self.description.clone(),
            hints: self.configured.map(|configured| &configured.settings.text),
            input_schema: Some(&self.operation.input_schema),
            output_schema: Some(Cow::Borrowed(&self.operation.output_schema)),
            annotations: json!({
                "readOnlyHint": !self.operation.is_mutation,
                "destructiveHint": self.operation.is_mutation,
            }),
            ..DeclaredTool::default()
        }
    }
}

fn automatic<'a>(
    schema: &ApiSchema,
    block: &GraphQlEndpoint,
    problems: &mut ImportProblems,
) -> Vec<GraphQlTool<'a>> {
    let rules = SelectionRules {
        depth: block.selection_depth,
        include_deprecated: block.include_deprecated,
    };
    let mut offers = Vec::new();
    for made in automatic_operations(schema, rules, problems) {
        match CompiledOperation::compile(schema, made.document, None) {
            Ok(operation) => offers.push(GraphQlTool {
                name: made.name,
                description: made.description,
                operation,
                configured: None,
            }),
            Err(error) => problems.add(made.place, error),
        }
    }
    offers
}

fn of_configuration<'a>(
    schema: &ApiSchema,
    configured: &'a [ConfiguredDocument],
    problems: &mut ImportProblems,
) -> Vec<GraphQlTool<'a>> {
    let mut offers = Vec::new();
    for one in configured {
        if let Some(operation) = one.compile(schema, problems) {
            let description = one.description(&operation);
            let name = one.name.clone();
            offers.push(GraphQlTool { name, description, operation, configured: Some(one) });
        }
    }
    offers
}

#[derive(Debug)]
pub(super) struct ConfiguredDocument {
    pub(super) name: String,
    pub(super) settings: GraphQlOperation,
    text: Result<String, String>,
}

impl ConfiguredDocument {
    pub(super) async fn load_all(block: &GraphQlEndpoint, limit: u64) -> Vec<Self> {
        let mut documents = Vec::with_capacity(block.operations.len());
        for (name, settings) in &block.operations {
            let text = match (&settings.document, &settings.document_path) {
                (Some(text), _) => Ok(text.clone()),
                (None, Some(path)) => load(path, limit).await,
                (None, None) => Err("it has neither `document` nor `documentPath`".to_owned()),
            };
            documents.push(Self { name: name.clone(), settings: settings.clone(), text });
        }
        documents
    }

    pub(super) fn compile(
        &self,
        schema: &ApiSchema,
        problems: &mut ImportProblems,
    ) -> Option<CompiledOperation> {
        let name = self.settings.operation_name.as_deref();
        let compiled = self.text.clone().and_then(|text| {
            CompiledOperation::compile(schema, text, name).map_err(|error| error.to_string())
        });
        compiled.map_err(|reason| problems.add(&self.name, reason)).ok()
    }

    pub(super) fn description(&self, operation: &CompiledOperation) -> String {
        self.settings.text.description.clone().unwrap_or_else(|| {
            let kind = if operation.is_mutation { "mutation" } else { "query" };
            let name = operation.name.as_ref().unwrap_or(&self.name);
            format!("The GraphQL {kind} `{name}`")
        })
    }
}

async fn load(path: &str, limit: u64) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("`{path}` cannot be read: {error}");
    let facts = tokio::fs::metadata(path).await.map_err(unreadable)?;
    if !facts.is_file() {
        return Err(unreadable(std::io::Error::other("it is no file")));
    }
    if facts.len() > limit {
        return Err(format!("`{path}` is larger than {limit} bytes"));
    }
    tokio::fs::read_to_string(path).await.map_err(unreadable)
}

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
        let input_schema = members(json!({
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
        }));
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
            output_schema: Some(Cow::Borrowed(&self.output_schema)),
            annotations: json!({"readOnlyHint": !mutations, "destructiveHint": mutations}),
            ..DeclaredTool::default()
        }
    }

    pub(super) fn request(
        &self,
        url: &Url,
        mut arguments: Map<String, Value>,
    ) -> Result<EndpointRequest, CallError> {
        let refuse = |message: &str| CallError::invalid_request(message);
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
            return Err(CallError::invalid_request(message).hint("ask for less at once"));
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
                    return Err(CallError::invalid_request(
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
        let call_error = CallError::invalid_request(message)
            .data(json!({"problems": findings, "nearest": nearest}));
        let hints: Vec<String> = nearest
            .iter()
            .map(|(wrong, right)| format!("`{wrong}`: did you mean {right}?"))
            .collect();
        if hints.is_empty() { call_error } else { call_error.hint(hints.join("; ")) }
    }
}

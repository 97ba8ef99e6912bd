//! A loaded GraphQL API: its tools and their calls.

use std::collections::HashMap;

use async_trait::async_trait;
use capdeck_auth::SecretScrubber;
use capdeck_catalog::{Discovery, ImportProblem};
use capdeck_definition::GraphQlEndpoint;
use serde_json::{Map, Value, json, value::RawValue};
use url::Url;

use super::{
    automatic::automatic_operations,
    configured::ConfiguredDocument,
    operation::CompiledOperation,
    outcome::mark_errors,
    problems::GraphQlProblems,
    query_tool::QueryTool,
    request::GraphQlRequest,
    schema::{ApiSchema, SchemaError},
    selection::SelectionRules,
};
use crate::{
    CallError,
    api_connection::CallableApi,
    arguments::no_such_tool,
    declared_tool::{DeclaredTool, declared_discovery},
    http::{ApiEndpoint, DEFAULT_MAX_INLINE_BYTES, ProgressDeadline, ResponseDelivery},
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
        let mut problems = GraphQlProblems::default();
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
                problems.push(
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
        discovery.problems = problems.into_list().into_iter().map(scrubbed).collect();
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
        _pace: &ProgressDeadline,
    ) -> Result<Box<RawValue>, CallError> {
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
        mark_errors(result, endpoint.artifacts()).await
    }
}

impl GraphQlTool<'_> {
    fn declare(&self) -> DeclaredTool<'_> {
        let settings = self.configured.map(|configured| &configured.settings);
        DeclaredTool {
            name: &self.name,
            description: self.description.clone(),
            use_when: settings.and_then(|settings| settings.use_when.as_ref()),
            avoid_when: settings.and_then(|settings| settings.avoid_when.as_ref()),
            input_schema: Some(&self.operation.input_schema),
            output_schema: Some(&self.operation.output_schema),
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
    problems: &mut GraphQlProblems,
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
            Err(error) => problems.push(made.place, error),
        }
    }
    offers
}

fn of_configuration<'a>(
    schema: &ApiSchema,
    configured: &'a [ConfiguredDocument],
    problems: &mut GraphQlProblems,
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

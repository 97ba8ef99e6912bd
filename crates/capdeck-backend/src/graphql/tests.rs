//! Tests with small schemas, and property tests with generated ones.

mod generated;
mod hostile;
mod operations;
mod schemas;

use capdeck_auth::SecretScrubber;
use capdeck_catalog::Discovery;
use capdeck_definition::GraphQlEndpoint;
use serde_json::{Value, json};
use url::Url;

use super::{
    api::{ConfiguredDocument, GraphQlApi},
    schema::SchemaError,
};
use crate::api_connection::CallableApi as _;

fn try_api(schema: &str, settings: Value) -> Result<GraphQlApi, SchemaError> {
    let mut block = json!({
        "endpointUrl": "https://api.example/graphql", "introspection": true, "auth": {"type": "none"},
    });
    let settings = settings.as_object().unwrap().clone();
    block.as_object_mut().unwrap().extend(settings);
    let block: GraphQlEndpoint = serde_json::from_value(block).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let documents = runtime.block_on(ConfiguredDocument::load_all(&block, 1_000));
    let url = Url::parse(&block.endpoint_url).unwrap();
    let scrubber = SecretScrubber::default();
    GraphQlApi::build(schema.as_bytes(), &block, &documents, url, &scrubber).unwrap()
}

fn api(schema: &str, settings: Value) -> GraphQlApi {
    try_api(schema, settings).unwrap()
}

fn document(schema: &str, tool: &str, depth: u8) -> String {
    let api = api(schema, json!({"selectionDepth": depth}));
    let found = api.documents().find(|(name, _)| *name == tool);
    found.unwrap_or_else(|| panic!("no {tool}: {:?}", api.discovery().problems)).1.to_owned()
}

fn tool(discovery: &Discovery, name: &str) -> Value {
    let tool = discovery.tools.iter().find(|tool| tool.name() == name).unwrap();
    serde_json::to_value(tool).unwrap()
}

fn input_schema(schema: &str, name: &str) -> Value {
    tool(&api(schema, json!({})).discovery(), name)["inputSchema"].clone()
}

fn problems(api: &GraphQlApi) -> Vec<(String, String)> {
    let problems = api.discovery().problems;
    problems.into_iter().map(|problem| (problem.place, problem.reason)).collect()
}

fn names(api: &GraphQlApi) -> Vec<String> {
    api.discovery().tools.iter().map(|tool| tool.name().to_owned()).collect()
}

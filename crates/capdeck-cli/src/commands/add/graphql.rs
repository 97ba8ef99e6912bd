//! `add graphql`: a GraphQL endpoint.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{
    BackendBlock, CommonArgs,
    place::{Place, auth, variable},
};
use crate::errors::Failure;

#[derive(Debug, clap::Args)]
pub(super) struct GraphqlArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    /// The endpoint's address.
    #[arg(long, value_name = "URL")]
    endpoint_url: String,
    /// The schema: a file or a URL. Without it the endpoint is asked.
    #[arg(long, value_name = "FILE|URL", conflicts_with = "introspection")]
    schema: Option<String>,
    /// Ask the endpoint for its schema; what happens without --schema anyway.
    #[arg(long)]
    introspection: bool,
    /// Send the token in this environment variable.
    #[arg(long, value_name = "NAME", value_parser = variable)]
    token_env: Option<String>,
}

impl GraphqlArgs {
    pub(super) fn block(&self, here: &Path, folder: &Path) -> Result<BackendBlock, Failure> {
        let Self { common: _, endpoint_url, schema, introspection: _, token_env } = self;
        let mut fields = Map::new();
        fields.insert("endpointUrl".to_owned(), json!(endpoint_url));
        match schema {
            None => fields.insert("introspection".to_owned(), json!(true)),
            Some(schema) => match Place::parse(schema, here, folder)? {
                Place::Url(url) => fields.insert("schemaUrl".to_owned(), json!(url)),
                Place::File(path) => fields.insert("schemaPath".to_owned(), json!(path)),
            },
        };
        fields.insert("auth".to_owned(), auth(token_env.as_deref()));
        let summary = format!("Queries and mutations of the GraphQL endpoint {endpoint_url}.");
        Ok(BackendBlock { key: "graphqlEndpoint", fields: Value::Object(fields), summary })
    }
}

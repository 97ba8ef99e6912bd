//! GraphQL APIs: a schema, and configured or generated operations.
//!
//! [`ApiSchema`](schema::ApiSchema) is the schema without its broken parts. Every operation is a document that passed
//! validation against it ([`operation`]). [`GraphQlApi`](api::GraphQlApi) offers and calls them.

mod api;
mod document;
mod input_schema;
mod introspection;
mod output;
mod schema;
mod selection;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use capdeck_definition::GraphQlEndpoint;
use reqwest::{
    Method,
    header::{ACCEPT, CONTENT_TYPE, HeaderValue},
};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use url::Url;

use self::{
    api::{ConfiguredDocument, GraphQlApi},
    schema::SchemaError,
};
use crate::{
    CallError, ErrorCode,
    api_connection::{
        ApiConnection, ApiReader, CallableApi, DocumentLocation, read_body, read_document,
    },
    connect::ResolvedBackend,
    http::{ApiEndpoint, EndpointRequest, HttpRequestBody, parse_address},
};

/// The largest known schemas are a tenth of it.
const MAX_SCHEMA_BYTES: u64 = 64 * 1024 * 1024;

const MAX_DOCUMENT_BYTES: u64 = 1024 * 1024;

#[derive(Debug)]
pub(crate) struct GraphQlReader {
    block: Arc<GraphQlEndpoint>,
    url: Url,
    /// `None` when the server itself is asked.
    schema: Option<DocumentLocation>,
}

impl GraphQlReader {
    pub(crate) fn connect(
        mut prepared: ResolvedBackend<GraphQlEndpoint>,
        cancel: &CancellationToken,
    ) -> Result<ApiConnection<Self>, CallError> {
        let block = Arc::new(prepared.block.clone());
        let scrubbed = |error: CallError| error.scrubbed(&prepared.log_scrubber);
        let url = endpoint_url(&block.endpoint_url, "endpointUrl").map_err(scrubbed)?;
        let (path, address) = (block.schema_path.as_ref(), block.schema_url.as_ref());
        let schema = DocumentLocation::new(path, address, |text| endpoint_url(text, "schemaUrl"));
        let schema = schema.map_err(scrubbed)?;
        let server = Some(url.clone());
        let endpoint = ApiEndpoint::new(&mut prepared, server, cancel);
        let time_to_live = block.operation_cache_ttl_ms;
        Ok(ApiConnection::new(Self { block, url, schema }, endpoint, time_to_live))
    }

    /// Parses on a blocking thread: a large schema takes long.
    async fn build(
        &self,
        endpoint: &ApiEndpoint,
        schema: Bytes,
        documents: Arc<[ConfiguredDocument]>,
    ) -> Result<Result<GraphQlApi, SchemaError>, CallError> {
        let (block, url) = (Arc::clone(&self.block), self.url.clone());
        let scrubber = endpoint.result_scrubber.clone();
        let build = move || GraphQlApi::build(&schema, &block, &documents, url, &scrubber);
        tokio::task::spawn_blocking(build)
            .await
            .map_err(|error| CallError::internal("the schema could not be read").detail(error))?
    }

    async fn introspect(&self, endpoint: &ApiEndpoint, query: &str) -> Result<Bytes, CallError> {
        let payload = GraphQlRequest {
            query,
            variables: &Map::new(),
            operation_name: None,
            is_mutation: false,
        };
        let mut response = endpoint.send(payload.request(&self.url)?).await?;
        let status = response.status();
        // Newer servers reject an unknown document with 400 and a reason.
        if !status.is_success() && status.as_u16() != 400 {
            return Err(CallError::new(
                match status.as_u16() {
                    401 => ErrorCode::AuthRequired,
                    403 => ErrorCode::AuthFailed,
                    _ => ErrorCode::ServerUnavailable,
                },
                format!("the schema was not given: HTTP {status}"),
            )
            .hint("check `endpointUrl` and `auth`; a schema can also come from `schemaPath`"));
        }
        let answer = read_body(&mut response, &self.url, MAX_SCHEMA_BYTES).await?;
        // Other content would be parsed as SDL and reported as a syntax error.
        if answer.trim_ascii_start().first() != Some(&b'{') {
            let message = "the server answered the question for its schema with something that is no JSON object";
            return Err(CallError::protocol_error(message)
                .hint("check `endpointUrl`; this may be a web page"));
        }
        Ok(answer)
    }
}

#[async_trait]
impl ApiReader for GraphQlReader {
    async fn read(&self, endpoint: &ApiEndpoint) -> Result<Arc<dyn CallableApi>, CallError> {
        let documents = ConfiguredDocument::load_all(&self.block, MAX_DOCUMENT_BYTES).await;
        let documents: Arc<[ConfiguredDocument]> = documents.into();
        let built = match &self.schema {
            Some(place) => {
                let is_trusted = place.url().is_some_and(|url| url.origin() == self.url.origin());
                let schema = read_document(endpoint, place, is_trusted, MAX_SCHEMA_BYTES).await?;
                self.build(endpoint, schema, documents).await?
            }
            None => {
                let answer = self.introspect(endpoint, introspection::INTROSPECTION_QUERY).await?;
                let built = self.build(endpoint, answer, Arc::clone(&documents)).await?;
                match built {
                    Err(SchemaError::Refused { .. }) => {
                        let answer = self
                            .introspect(endpoint, introspection::LEGACY_INTROSPECTION_QUERY)
                            .await?;
                        self.build(endpoint, answer, documents).await?
                    }
                    built => built,
                }
            }
        };
        Ok(Arc::new(built?))
    }
}

impl From<SchemaError> for CallError {
    fn from(error: SchemaError) -> Self {
        let (code, hint) = match &error {
            SchemaError::Refused { .. } => (
                ErrorCode::ServerUnavailable,
                "many servers allow it only with credentials; a schema can also come from `schemaPath` or `schemaUrl`",
            ),
            SchemaError::NotText | SchemaError::Empty | SchemaError::NotIntrospection { .. } => (
                ErrorCode::ConfigInvalid,
                "a schema is a file in the GraphQL schema language, or the JSON answer to an introspection query",
            ),
            SchemaError::NoRoot { .. } => {
                (ErrorCode::ConfigInvalid, "check that it is the whole schema of a server")
            }
        };
        Self::new(code, error.to_string()).hint(hint)
    }
}

/// Parses a resolved URL with the same rules as in a file.
pub(super) fn endpoint_url(text: &str, field: &str) -> Result<Url, CallError> {
    parse_address(text).map_err(|reason| {
        CallError::invalid_config(format!("`{field}` cannot be used: {reason}"))
            .hint("give an https URL")
    })
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GraphQlRequest<'a> {
    pub(super) query: &'a str,
    pub(super) variables: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation_name: Option<&'a str>,
    /// Queries may be sent again regardless of the method; mutations never.
    #[serde(skip)]
    is_mutation: bool,
}

impl GraphQlRequest<'_> {
    pub(super) fn request(&self, url: &Url) -> Result<EndpointRequest, CallError> {
        let body = serde_json::to_vec(self)
            .map_err(|error| CallError::internal("the request cannot be written").detail(error))?;
        let mut request = EndpointRequest::new(Method::POST, url.clone());
        let accept = "application/graphql-response+json, application/json;q=0.9, */*;q=0.1";
        request.headers.insert(ACCEPT, HeaderValue::from_static(accept));
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.is_idempotent = !self.is_mutation;
        request.body = Some(HttpRequestBody::bytes(body));
        Ok(request)
    }
}

/// Returns invalid addresses and missing files. Nothing is sent.
pub(crate) fn check(prepared: &ResolvedBackend<GraphQlEndpoint>) -> Vec<CallError> {
    let block = &prepared.block;
    let addresses =
        [("endpointUrl", Some(&block.endpoint_url)), ("schemaUrl", block.schema_url.as_ref())];
    let addresses =
        addresses.into_iter().filter_map(|(field, address)| endpoint_url(address?, field).err());
    let documents = block.operations.iter().filter_map(|(name, operation)| {
        Some((format!("the document of `{name}`"), operation.document_path.as_ref()?))
    });
    let schema = block.schema_path.as_ref().map(|path| ("the schema".to_owned(), path));
    let files = schema.into_iter().chain(documents).filter_map(|(what, path)| {
        let error = std::fs::metadata(path).err()?;
        let message = format!("{what}, `{path}`, cannot be read: {error}");
        let hint = "check the path; it is relative to the file that names it";
        Some(CallError::invalid_config(message).hint(hint))
    });
    addresses.chain(files).map(|problem| problem.scrubbed(&prepared.log_scrubber)).collect()
}

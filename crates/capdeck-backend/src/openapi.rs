//! APIs that an OpenAPI or Swagger document describes.
//!
//! `import` walks the document once and makes each operation a tool and a plan; the document is dropped then. A call
//! only looks at its plan (`request`). Nothing here is strict about a document: one operation, reference or schema that
//! makes no sense is reported as a problem, and the rest works.

mod body;
mod description;
mod document;
mod file_input;
mod import;
mod operation;
mod parameter;
mod request;
mod schemas;
mod server;
mod style;
#[cfg(test)]
mod tests;
mod tool_schema;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use bytes::Bytes;
use capdeck_catalog::Discovery;
use capdeck_definition::{BackendAuth, OpenApiEndpoint};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;
use url::Url;

pub use self::description::{ApiDescription, SecurityKind, SecurityScheme};
pub(crate) use self::{
    document::read_description,
    file_input::FileInputSources,
    import::{OpenApiImport, OperationFilter},
    operation::OpenApiOperation,
    parameter::PathTemplate,
    request::build as build_request,
};
use self::{
    document::{DocumentFolder, OpenApiDocument, on_large_stack},
    import::{OpenApiImportRules, import},
    server::{AvailableAuth, ServerRules},
};
use crate::{
    CallError, CallResult,
    api_connection::{ApiConnection, ApiReader, CallableApi, DocumentLocation, read_document},
    arguments::no_such_tool,
    connect::ResolvedBackend,
    http::{
        ApiEndpoint, DEFAULT_MAX_INLINE_BYTES, ResponseDelivery, parse_bare_address, parse_base,
    },
};

const MAX_DOCUMENT_BYTES: u64 = 64 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct OpenApiReader {
    place: DocumentLocation,
    /// Where references to other files may lead; only for a description that is a file itself.
    surrounding: Option<DocumentFolder>,
    rules: OpenApiImportRules,
    project: Option<PathBuf>,
    /// The last text and what it was read as. Most of the time nothing has changed.
    last: Mutex<Option<([u8; 32], Arc<OpenApi>)>>,
}

#[derive(Debug)]
struct OpenApi {
    imported: OpenApiImport,
    project: Option<PathBuf>,
}

/// Opens the connection of an OpenAPI capability. Nothing is read yet, unless a sign-in needs to know its server.
pub(crate) async fn connect(
    mut prepared: ResolvedBackend<OpenApiEndpoint>,
    base_dir: &Path,
    cancel: &CancellationToken,
) -> Result<ApiConnection<OpenApiReader>, CallError> {
    let scrubber = prepared.log_scrubber.clone();
    let block = prepared.block.clone();
    let reader = OpenApiReader::new(&prepared, base_dir);
    let reader = reader.map_err(|error| error.scrubbed(&scrubber))?;
    let server = match block.import.requests.auth {
        BackendAuth::OAuth2(_) | BackendAuth::Oidc(_) => {
            let of_block = block.clone();
            let server = tokio::task::spawn_blocking(move || resource(&of_block));
            server.await.ok().flatten()
        }
        BackendAuth::None {} | BackendAuth::Bearer { .. } | BackendAuth::Headers { .. } => None,
    };
    let endpoint = ApiEndpoint::new(&mut prepared, server, cancel);
    Ok(ApiConnection::new(reader, endpoint, block.import.operation_cache_ttl_ms))
}

/// Whether the addresses and the file of a definition can be used, without reading anything.
pub(crate) fn check(prepared: &ResolvedBackend<OpenApiEndpoint>) -> Result<(), CallError> {
    let reader = OpenApiReader::new(prepared, Path::new(""))?;
    match &reader.place {
        DocumentLocation::File(path) if !path.is_file() => {
            let message = format!("the description `{}` is not there", path.display());
            Err(CallError::invalid_config(message)
                .hint("check `specPath`; it is relative to the file that names it"))
        }
        DocumentLocation::File(_) | DocumentLocation::Url(_) => Ok(()),
    }
}

/// Reads the description of an API without importing its operations.
pub(crate) async fn describe(
    mut prepared: ResolvedBackend<OpenApiEndpoint>,
    base_dir: &Path,
) -> Result<ApiDescription, CallError> {
    let reader = OpenApiReader::new(&prepared, base_dir)?;
    let endpoint = ApiEndpoint::new(&mut prepared, None, &CancellationToken::new());
    let bytes = read_document(&endpoint, &reader.place, false, MAX_DOCUMENT_BYTES).await?;
    let (servers, surrounding) = (reader.rules.servers.clone(), reader.surrounding.clone());
    let reading = move || {
        let document = OpenApiDocument::read(&bytes, surrounding.as_ref())?;
        Ok(description::describe(&document, &servers))
    };
    let described: Result<ApiDescription, String> = read_description(reading).await?;
    described.map_err(|reason| unusable(&reader.place, &reason))
}

/// What a sign-in is for: the base URL, else the server that a description on this machine names, else the place of
/// the description.
pub(crate) fn resource(block: &OpenApiEndpoint) -> Option<Url> {
    if let Some(base) = &block.import.base_url {
        return Url::parse(base).ok();
    }
    if let Some(spec_url) = &block.spec_url {
        return Url::parse(spec_url).ok();
    }
    let bytes = std::fs::read(block.spec_path.as_ref()?).ok()?;
    let rules = ServerRules { base: None, spec_url: None, has_credentials: true };
    let root = || OpenApiDocument::read(&bytes, None).and_then(|document| rules.root(&document));
    on_large_stack(root).ok()?.ok()
}

impl OpenApiReader {
    fn new(
        prepared: &ResolvedBackend<OpenApiEndpoint>,
        base_dir: &Path,
    ) -> Result<Self, CallError> {
        let block = &prepared.block;
        let base = block.import.base_url.as_deref().map(parse_base).transpose()?;
        let (path, url) = (block.spec_path.as_ref(), block.spec_url.as_ref());
        let place = DocumentLocation::new(path, url, parse_spec_url)?.ok_or_else(|| {
            CallError::invalid_config("there is neither `specPath` nor `specUrl`")
        })?;
        let surrounding =
            path.map(|path| DocumentFolder { file: path.into(), folder: base_dir.to_path_buf() });
        let spec_url = place.url().cloned();
        let offer = AvailableAuth::new(&block.import.requests.auth);
        let has_credentials = offer != AvailableAuth::Nothing;
        Ok(Self {
            place,
            surrounding,
            rules: OpenApiImportRules {
                servers: ServerRules { base, spec_url, has_credentials },
                filter: OperationFilter {
                    include: block.import.include_operations.clone(),
                    exclude: block.import.exclude_operations.clone(),
                    ..OperationFilter::default()
                },
                offer,
            },
            project: prepared.surroundings.settings.project.clone(),
            last: Mutex::new(None),
        })
    }

    /// Credentials go along when the description is on the API's own server.
    fn is_trusted(&self) -> bool {
        let ServerRules { base, spec_url, .. } = &self.rules.servers;
        match (base, spec_url) {
            (Some(base), Some(spec_url)) => base.origin() == spec_url.origin(),
            // Without a base URL only the description's own origin is called with credentials.
            (None, Some(_)) => true,
            (_, None) => false,
        }
    }
}

#[async_trait]
impl ApiReader for OpenApiReader {
    async fn read(&self, endpoint: &ApiEndpoint) -> Result<Arc<dyn CallableApi>, CallError> {
        let bytes =
            read_document(endpoint, &self.place, self.is_trusted(), MAX_DOCUMENT_BYTES).await?;
        let digest: [u8; 32] = Sha256::digest(&bytes).into();
        if let Some((known, api)) = &*self.last.lock()
            && *known == digest
        {
            return Ok(Arc::<OpenApi>::clone(api));
        }
        let (rules, surrounding) = (self.rules.clone(), self.surrounding.clone());
        let reading = read_description(move || read(&bytes, surrounding.as_ref(), &rules)).await?;
        let (imported, is_alone) = reading.map_err(|reason| unusable(&self.place, &reason))?;
        let api = Arc::new(OpenApi { imported, project: self.project.clone() });
        // Other files may change without this one.
        *self.last.lock() = is_alone.then(|| (digest, Arc::clone(&api)));
        Ok(api)
    }
}

#[async_trait]
impl CallableApi for OpenApi {
    fn discovery(&self) -> Discovery {
        Discovery {
            tools: self.imported.tools.clone(),
            problems: self.imported.problems.clone(),
            ..Discovery::default()
        }
    }

    async fn call(
        &self,
        endpoint: &ApiEndpoint,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> CallResult {
        let operations = &self.imported.operations;
        let operation =
            operations.get(tool).ok_or_else(|| no_such_tool(tool, operations.keys()))?;
        let files = FileInputSources {
            artifacts: &endpoint.surroundings.artifacts,
            project: self.project.as_deref(),
        };
        let request = request::build(operation, &arguments, files)?;
        endpoint
            .exchange(request, ResponseDelivery::Inline { limit: DEFAULT_MAX_INLINE_BYTES })
            .await
    }
}

/// Imports a description that was made from another format, for an API at this address.
pub(crate) fn import_value(
    root: Value,
    base: Url,
    auth: &BackendAuth,
) -> Result<OpenApiImport, String> {
    let offer = AvailableAuth::new(auth);
    let has_credentials = offer != AvailableAuth::Nothing;
    let servers = ServerRules { base: Some(base), spec_url: None, has_credentials };
    import(
        &OpenApiDocument::new(root)?,
        &OpenApiImportRules { servers, filter: OperationFilter::default(), offer },
    )
}

/// Reads and imports; also tells whether the description is one file.
fn read(
    bytes: &Bytes,
    surrounding: Option<&DocumentFolder>,
    rules: &OpenApiImportRules,
) -> Result<(OpenApiImport, bool), String> {
    let document = OpenApiDocument::read(bytes, surrounding)?;
    Ok((import(&document, rules)?, document.is_alone()))
}

fn unusable(place: &DocumentLocation, reason: &str) -> CallError {
    let place = match place {
        DocumentLocation::File(path) => path.display().to_string(),
        DocumentLocation::Url(url) => {
            format!("{}{}", url.origin().ascii_serialization(), url.path())
        }
    };
    let hint = if reason.contains("server") || reason.contains("`host`") {
        "set `baseUrl` to the address of the API"
    } else {
        "check the document; it has to be OpenAPI 3.x or Swagger 2.0, in JSON or YAML"
    };
    CallError::invalid_config(format!("the description `{place}` cannot be used: {reason}"))
        .hint(hint)
}

/// A description may come from where an API may be, and its address may have a query.
fn parse_spec_url(text: &str) -> Result<Url, CallError> {
    let address = text.split(['?', '#']).next().unwrap_or_default();
    let parsed = parse_bare_address(address)
        .and_then(|_address| Url::parse(text).map_err(|error| error.to_string()));
    parsed.map_err(|reason| {
        CallError::invalid_config(format!("`specUrl` cannot be used: {reason}"))
            .hint("give an https URL without user name")
    })
}

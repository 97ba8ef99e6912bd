//! APIs described by Google Discovery documents.
//!
//! [`GoogleApiReader`] fetches the document, `translate` makes it an OpenAPI document, the OpenAPI import makes that into
//! tools, and [`GoogleApi`] calls them. Uploads and downloads are part of a call: `media` goes up, `filename` brings
//! the content down as an artifact.

mod schema;
#[cfg(test)]
mod tests;
mod translate;
mod upload;

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use capdeck_catalog::Discovery;
use capdeck_definition::{BackendAuth, CapabilityId, Glob, GoogleDiscoveryApi};
use reqwest::Method as Verb;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;
use url::Url;

use self::{
    translate::{DiscoveryDocument, GoogleBaseUrls, MethodExtensions},
    upload::{MediaArgument, UploadCall, UploadMedia},
};
use crate::{
    CallError, CallResult,
    api_connection::{ApiConnection, ApiReader, CallableApi, DocumentLocation, read_document},
    arguments::{no_such_tool, scalar_text},
    connect::ResolvedBackend,
    http::{
        ApiEndpoint, DEFAULT_MAX_INLINE_BYTES, EndpointRequest, HttpRequestBody, ResponseDelivery,
        parse_base,
    },
    openapi::{
        FileInputSources, OpenApiImport, OpenApiOperation, OperationFilter, build_request,
        import_value, read_description,
    },
};

const MAX_DOCUMENT_BYTES: u64 = 20 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct GoogleApiReader {
    place: DocumentLocation,
    base_url: Option<String>,
    filter: OperationFilter,
    /// Where callers may name files to upload.
    project: Option<PathBuf>,
    auth: BackendAuth,
    /// True when the document is fetched with the credentials of the API.
    is_trusted: bool,
}

#[derive(Debug)]
struct GoogleApi {
    bases: GoogleBaseUrls,
    project: Option<PathBuf>,
    operations: HashMap<String, OpenApiOperation>,
    extras: BTreeMap<String, MethodExtensions>,
    discovery: Discovery,
}

pub(crate) fn connect(
    mut prepared: ResolvedBackend<GoogleDiscoveryApi>,
    cancel: &CancellationToken,
) -> Result<ApiConnection<GoogleApiReader>, CallError> {
    let block = prepared.block.clone();
    let scrub = |error: CallError| error.scrubbed(&prepared.log_scrubber);
    let reader = GoogleApiReader::new(&block, prepared.surroundings.settings.project.as_deref())
        .map_err(scrub)?;
    let server = server(&block).map_err(scrub)?;
    let endpoint = ApiEndpoint::new(&mut prepared, server, cancel);
    Ok(ApiConnection::new(reader, endpoint, block.import.operation_cache_ttl_ms))
}

/// What a sign-in is for: the API where the definition says where it is, else where its document is, else what that says.
pub(crate) fn server(block: &GoogleDiscoveryApi) -> Result<Option<Url>, CallError> {
    if !is_sign_in(&block.import.requests.auth) {
        return Ok(None);
    }
    if let Some(base) = &block.import.base_url {
        return parse_base(base).map(Some);
    }
    match place(block)? {
        DocumentLocation::Url(url) => Ok(Some(url)),
        DocumentLocation::File(path) => {
            let text = std::fs::read(&path).map_err(|error| {
                CallError::invalid_config(format!(
                    "the description `{}` cannot be read: {error}",
                    path.display()
                ))
            })?;
            Ok(Some(DiscoveryDocument::read(&text)?.bases(None)?.service))
        }
    }
}

fn is_sign_in(auth: &BackendAuth) -> bool {
    matches!(auth, BackendAuth::OAuth2(_) | BackendAuth::Oidc(_))
}

fn place(block: &GoogleDiscoveryApi) -> Result<DocumentLocation, CallError> {
    let (path, url) = (block.discovery_path.as_ref(), block.discovery_url.as_ref());
    let parse = |text: &str| {
        Url::parse(text).map_err(|error| {
            CallError::invalid_config(format!("`discoveryUrl` cannot be used: {error}"))
                .hint("write it as `https://host/path`")
        })
    };
    DocumentLocation::new(path, url, parse)?.ok_or_else(|| {
        let message = "the definition names neither `discoveryPath` nor `discoveryUrl`";
        CallError::invalid_config(message)
    })
}

impl GoogleApiReader {
    fn new(block: &GoogleDiscoveryApi, project: Option<&Path>) -> Result<Self, CallError> {
        let place = place(block)?;
        let base = block.import.base_url.as_deref().map(parse_base).transpose()?;
        let is_same_server =
            base.zip(place.url()).is_some_and(|(base, url)| base.origin() == url.origin());
        Ok(Self {
            place,
            base_url: block.import.base_url.clone(),
            filter: OperationFilter {
                include: block.import.include_operations.clone(),
                exclude: block.import.exclude_operations.clone(),
                matches: matches_method,
            },
            project: project.map(Path::to_path_buf),
            auth: block.import.requests.auth.clone(),
            // Tools are listed before anybody has signed in.
            is_trusted: is_same_server && !is_sign_in(&block.import.requests.auth),
        })
    }

    /// Refuses to send credentials where only a fetched document says they belong.
    fn check_bases(&self, bases: &GoogleBaseUrls) -> Result<(), CallError> {
        let DocumentLocation::Url(url) = &self.place else { return Ok(()) };
        let service = &bases.service;
        let is_vouched_for = matches!(self.auth, BackendAuth::None {})
            || self.base_url.is_some()
            || service.origin() == url.origin()
            || (is_google(service) && is_google(url));
        if is_vouched_for {
            return Ok(());
        }
        let origin = service.origin().ascii_serialization();
        Err(CallError::invalid_config(format!(
            "the description says that the API is elsewhere: `{origin}`"
        ))
        .hint(format!("if credentials may go there, set `baseUrl: {service}`")))
    }
}

/// Refuses a call that the sign-in does not allow before anything is sent, and says which right would do.
fn check_rights(endpoint: &ApiEndpoint, scopes: &[String]) -> Result<(), CallError> {
    let Some(sign_in) = &endpoint.sign_in else { return Ok(()) };
    match (sign_in.granted_scopes(), narrowest(scopes)) {
        (Some(granted), Some(wanted)) if !suffices(&granted, scopes) => {
            Err(sign_in.missing_scope_error(wanted))
        }
        _ => Ok(()),
    }
}

/// Google's own hosts trust each other.
fn is_google(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    url.scheme() == "https" && (host == "googleapis.com" || host.ends_with(".googleapis.com"))
}

#[async_trait]
impl ApiReader for GoogleApiReader {
    async fn read(&self, endpoint: &ApiEndpoint) -> Result<Arc<dyn CallableApi>, CallError> {
        let text =
            read_document(endpoint, &self.place, self.is_trusted, MAX_DOCUMENT_BYTES).await?;
        let (base_url, filter) = (self.base_url.clone(), self.filter.clone());
        let (id, auth) = (endpoint.id.clone(), self.auth.clone());
        let reading = read_description(move || {
            let document = DiscoveryDocument::read(&text)?;
            let bases = document.bases(base_url.as_deref())?;
            GoogleApi::import(&document, bases, &id, &filter, &auth)
        });
        let mut api = reading.await??;
        api.project = self.project.clone();
        self.check_bases(&api.bases)?;
        Ok(Arc::new(api))
    }
}

#[async_trait]
impl CallableApi for GoogleApi {
    fn discovery(&self) -> Discovery {
        self.discovery.clone()
    }

    async fn call(
        &self,
        endpoint: &ApiEndpoint,
        tool: &str,
        mut arguments: Map<String, Value>,
    ) -> CallResult {
        let unknown = || no_such_tool(tool, self.extras.keys());
        let operation = self.operations.get(tool).ok_or_else(unknown)?;
        let extras = self.extras.get(tool).ok_or_else(unknown)?;
        let (media, download) = (take_media(&mut arguments)?, take_download_name(&mut arguments)?);
        check_arguments(&arguments)?;
        operation.check_names(&arguments)?;
        check_rights(endpoint, &extras.scopes)?;
        if let Some(media) = media {
            let upload = extras
                .upload
                .as_ref()
                .ok_or_else(|| CallError::invalid_request(format!("`{tool}` takes no media")))?;
            let media = UploadMedia::open(
                media,
                upload,
                self.project.as_deref(),
                &endpoint.surroundings.artifacts,
            )
            .await?;
            let (bases, arguments, media) = (&self.bases, &arguments, &media);
            let call = UploadCall { endpoint, bases, operation, upload, arguments, media };
            return call.run().await;
        }
        let alt = download.is_some().then_some(("alt", "media"));
        let request = request(endpoint, operation, &arguments, alt)?;
        let delivery = match download {
            Some(name) => {
                ResponseDelivery::Artifact { filename: Some(name).filter(|it| !it.is_empty()) }
            }
            None => ResponseDelivery::Inline { limit: DEFAULT_MAX_INLINE_BYTES },
        };
        endpoint.exchange(request, delivery).await
    }
}

impl GoogleApi {
    fn import(
        document: &DiscoveryDocument,
        bases: GoogleBaseUrls,
        id: &CapabilityId,
        filter: &OperationFilter,
        auth: &BackendAuth,
    ) -> Result<Self, CallError> {
        let translation = document.translate(id, filter);
        let imported = if translation.extras.is_empty() {
            OpenApiImport::default()
        } else {
            import_value(translation.document, bases.service.clone(), auth)
                .map_err(CallError::invalid_config)?
        };
        let (mut extras, mut problems) = (translation.extras, translation.problems);
        extras.retain(|name, _| imported.operations.contains_key(name));
        problems.extend(imported.problems);
        let mut scopes: Vec<String> =
            extras.values().filter_map(|method| narrowest(&method.scopes)).cloned().collect();
        scopes.sort_unstable();
        scopes.dedup();
        let discovery =
            Discovery { tools: imported.tools, problems, scopes, ..Discovery::default() };
        Ok(Self { bases, project: None, operations: imported.operations, extras, discovery })
    }
}

/// The request of a call. `extra` goes into the query.
fn request(
    endpoint: &ApiEndpoint,
    operation: &OpenApiOperation,
    arguments: &Map<String, Value>,
    extra: Option<(&str, &str)>,
) -> Result<EndpointRequest, CallError> {
    let files = FileInputSources { artifacts: &endpoint.surroundings.artifacts, project: None };
    let mut arguments = arguments.clone();
    let query = arguments.entry("query").or_insert_with(|| Map::new().into());
    if let (Some((name, _)), Value::Object(query)) = (extra, &mut *query) {
        query.remove(name);
    }
    let indents = operation.has_query("prettyPrint") && query.get("prettyPrint").is_none();
    let mut request = build_request(operation, &arguments, files)?;
    if let Some((name, value)) = extra {
        request.url.query_pairs_mut().append_pair(name, value);
    }
    if indents {
        // Indentation would be a third of what the model reads.
        request.url.query_pairs_mut().append_pair("prettyPrint", "false");
    }
    // A request that could have a body and does not says that it is empty.
    if request.body.is_none() && matches!(request.method, Verb::POST | Verb::PUT | Verb::PATCH) {
        request.body = Some(HttpRequestBody::bytes(""));
    }
    Ok(request)
}

fn take_media(arguments: &mut Map<String, Value>) -> Result<Option<MediaArgument>, CallError> {
    let media = arguments.remove("media").filter(|media| !media.is_null());
    media
        .map(serde_json::from_value)
        .transpose()
        .map_err(|error| CallError::invalid_request(format!("`media` cannot be used: {error}")))
}

/// The name that content is to be kept under; `None` when it is not asked for.
///
/// Where artifacts lie is the host's decision, so a path is refused: its caller would look for the file in the wrong place.
fn take_download_name(arguments: &mut Map<String, Value>) -> Result<Option<String>, CallError> {
    let mut text = |name: &str| match arguments.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(CallError::invalid_request(format!("`{name}` must be a string"))),
    };
    let (filename, output_path) = (text("filename")?, text("outputPath")?);
    match output_path {
        Some(path) if path.contains(['/', '\\']) => Err(CallError::invalid_request(format!(
            "`outputPath` names a place, and content is kept as an artifact: `{path}`"
        ))
        .hint("give `filename`; the result says where the artifact is")),
        path => Ok(filename.or(path)),
    }
}

/// Discovery knows no other arguments, and no query parameters that are objects.
fn check_arguments(arguments: &Map<String, Value>) -> Result<(), CallError> {
    let refuse = |message: String| CallError::invalid_request(message);
    if let Some(name) =
        arguments.keys().find(|name| !["path", "query", "header", "body"].contains(&name.as_str()))
    {
        return Err(refuse(format!("unknown field `{name}`"))
            .hint("put arguments into `path`, `query`, `header`, `body` and `media`"));
    }
    let is_scalar = |value: &Value| value.is_null() || scalar_text(value).is_some();
    let query = arguments.get("query").and_then(Value::as_object);
    match query.into_iter().flatten().find(|(_, value)| match value {
        Value::Array(items) => !items.iter().all(is_scalar),
        single => !is_scalar(single),
    }) {
        Some((name, _)) => Err(refuse(format!(
            "`query.{name}` must be a string, a number or a boolean, or a list of those"
        ))),
        None => Ok(()),
    }
}

const SCOPE_PREFIX: &str = "https://www.googleapis.com/auth/";

/// The scope to ask for when there is none yet: the narrowest, as far as its name tells.
fn narrowest(scopes: &[String]) -> Option<&String> {
    // Of equals the longest, which says most about what it is for, and of those the first.
    scopes.iter().min_by_key(|scope| (rank(scope), std::cmp::Reverse(scope.len())))
}

fn rank(scope: &str) -> u8 {
    let name = scope.strip_prefix(SCOPE_PREFIX).unwrap_or(scope);
    let has = |word: &str| name.split(['.', '-', '_', '/']).any(|part| part == word);
    if has("readonly") || name.ends_with("read-only") {
        0
    } else if has("file") {
        1
    } else if has("metadata") || has("appdata") {
        2
    } else if has("read") {
        3
    } else if name == "cloud-platform" {
        5
    } else {
        4
    }
}

/// True when what was granted allows what any of these scopes allows. Nothing known, or nothing asked, is enough.
fn suffices(granted: &[String], any_of: &[String]) -> bool {
    granted.is_empty()
        || any_of.is_empty()
        || any_of.iter().any(|wanted| granted.iter().any(|scope| includes(scope, wanted)))
}

/// `…/auth/drive` includes `…/auth/drive.file`.
fn includes(granted: &str, wanted: &str) -> bool {
    let is_part = || {
        granted.starts_with(SCOPE_PREFIX)
            && wanted.strip_prefix(granted).is_some_and(|rest| rest.starts_with('.'))
    };
    granted == wanted || is_part()
}

/// `*` matches one part of a dotted name, or some of its letters. At the start of a pattern that is shorter than
/// the name it matches all the parts before.
fn matches_method(pattern: &str, method: &str) -> bool {
    let pattern: Vec<&str> = pattern.trim().split('.').collect();
    let method: Vec<&str> = method.split('.').collect();
    let Some(surplus) = method.len().checked_sub(pattern.len()) else { return false };
    if surplus > 0 && pattern.first() != Some(&"*") {
        return false;
    }
    let mut pairs = pattern.iter().zip(method.iter().skip(surplus));
    pairs.all(|(pattern, part)| Glob::new(*pattern).matches(part))
}

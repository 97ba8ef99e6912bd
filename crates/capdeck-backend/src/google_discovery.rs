//! APIs described by Google Discovery documents.
//!
//! [`DiscoveryReader`] fetches the document, `import` turns it into tools, and [`DiscoveryApi`] calls them. Uploads and
//! downloads are part of a call: `media` goes up, `filename` brings the content down as an artifact.

mod arguments;
mod document;
mod filter;
mod import;
mod media;
mod method;
mod path;
mod request;
mod schema;
mod scopes;
#[cfg(test)]
mod tests;
mod tool;
mod upload;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use capdeck_catalog::Discovery;
use capdeck_definition::{Auth, GoogleDiscoveryApi};
use serde_json::{Map, Value, value::RawValue};
use tokio_util::sync::CancellationToken;
use url::Url;

use self::{
    arguments::Arguments,
    document::{Bases, Document},
    filter::Filter,
    import::import,
    media::Media,
    method::Method,
    scopes::{narrowest, suffices},
    upload::UploadCall,
};
use crate::{
    CallError, ErrorCode,
    arguments::no_such_tool,
    connect::Prepared,
    described::{Api, DescribedApi, DocumentPlace, Reader, read_document},
    http::{DEFAULT_INLINE, Delivery, Endpoint, Pace, parse_base},
};

/// The largest document that is read.
const LARGEST_DOCUMENT: u64 = 20 * 1024 * 1024;

/// Fetches and reads the document of one capability.
#[derive(Debug)]
pub(crate) struct DiscoveryReader {
    place: DocumentPlace,
    base_url: Option<String>,
    filter: Filter,
    /// Where callers may name files to upload.
    project: Option<PathBuf>,
    has_credentials: bool,
    /// True when the document is fetched with the credentials of the API.
    is_trusted: bool,
}

/// A document that has been read.
#[derive(Debug)]
struct DiscoveryApi {
    bases: Bases,
    project: Option<PathBuf>,
    methods: BTreeMap<String, Method>,
    discovery: Discovery,
}

/// A connection for a prepared block; nothing is fetched yet.
pub(crate) fn connect(
    mut prepared: Prepared<GoogleDiscoveryApi>,
    cancel: &CancellationToken,
) -> Result<DescribedApi<DiscoveryReader>, CallError> {
    let block = prepared.block.clone();
    let scrub = |error: CallError| error.scrubbed(&prepared.log_scrubber);
    let reader =
        DiscoveryReader::new(&block, prepared.surroundings.project.as_deref()).map_err(scrub)?;
    let server = server(&block).map_err(scrub)?;
    let endpoint =
        Endpoint::new(&mut prepared, &block.auth, server, block.request_timeout_ms, cancel);
    Ok(DescribedApi::new(reader, endpoint, block.operation_cache_ttl_ms))
}

/// What a sign-in is for: the API where the definition says where it is, else where its document is, else what that says.
pub(crate) fn server(block: &GoogleDiscoveryApi) -> Result<Option<Url>, CallError> {
    if !is_sign_in(&block.auth) {
        return Ok(None);
    }
    if let Some(base) = &block.base_url {
        return parse_base(base).map(Some);
    }
    match place(block)? {
        DocumentPlace::Url(url) => Ok(Some(url)),
        DocumentPlace::File(path) => {
            let text = std::fs::read(&path).map_err(|error| {
                CallError::new(
                    ErrorCode::ConfigInvalid,
                    format!("the description `{}` cannot be read: {error}", path.display()),
                )
            })?;
            Ok(Some(Document::read(&text)?.bases(None)?.service))
        }
    }
}

fn is_sign_in(auth: &Auth) -> bool {
    matches!(auth, Auth::OAuth2(_) | Auth::Oidc(_))
}

fn place(block: &GoogleDiscoveryApi) -> Result<DocumentPlace, CallError> {
    match (&block.discovery_path, &block.discovery_url) {
        (Some(path), _) => Ok(DocumentPlace::File(PathBuf::from(path))),
        (None, Some(text)) => {
            let url = Url::parse(text).map_err(|error| {
                CallError::new(
                    ErrorCode::ConfigInvalid,
                    format!("`discoveryUrl` cannot be used: {error}"),
                )
                .hint("write it as `https://host/path`")
            })?;
            Ok(DocumentPlace::Url(url))
        }
        (None, None) => Err(CallError::new(
            ErrorCode::ConfigInvalid,
            "the definition names neither `discoveryPath` nor `discoveryUrl`",
        )),
    }
}

impl DiscoveryReader {
    fn new(block: &GoogleDiscoveryApi, project: Option<&Path>) -> Result<Self, CallError> {
        let place = place(block)?;
        let base = block.base_url.as_deref().map(parse_base).transpose()?;
        let is_same_server = match (&base, &place) {
            (Some(base), DocumentPlace::Url(url)) => base.origin() == url.origin(),
            _ => false,
        };
        Ok(Self {
            place,
            base_url: block.base_url.clone(),
            filter: Filter {
                include: block.include_operations.clone(),
                exclude: block.exclude_operations.clone(),
            },
            project: project.map(Path::to_path_buf),
            has_credentials: !matches!(block.auth, Auth::None {}),
            // Tools are listed before anybody has signed in.
            is_trusted: is_same_server && !is_sign_in(&block.auth),
        })
    }

    /// Refuses to send credentials where only a fetched document says they belong.
    fn check_bases(&self, bases: &Bases) -> Result<(), CallError> {
        let DocumentPlace::Url(url) = &self.place else { return Ok(()) };
        let service = &bases.service;
        let is_vouched_for = !self.has_credentials
            || self.base_url.is_some()
            || service.origin() == url.origin()
            || (is_google(service) && is_google(url));
        if is_vouched_for {
            return Ok(());
        }
        let origin = service.origin().ascii_serialization();
        Err(CallError::new(
            ErrorCode::ConfigInvalid,
            format!("the description says that the API is elsewhere: `{origin}`"),
        )
        .hint(format!("if credentials may go there, set `baseUrl: {service}`")))
    }
}

/// Refuses a call that the sign-in does not allow before anything is sent, and says which right would do.
fn check_rights(endpoint: &Endpoint, scopes: &[String]) -> Result<(), CallError> {
    let Some(sign_in) = endpoint.sign_in() else { return Ok(()) };
    match (sign_in.granted_scopes(), narrowest(scopes)) {
        (Some(granted), Some(wanted)) if !suffices(&granted, scopes) => Err(sign_in.lacks(wanted)),
        _ => Ok(()),
    }
}

/// Google's own hosts trust each other.
fn is_google(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    url.scheme() == "https" && (host == "googleapis.com" || host.ends_with(".googleapis.com"))
}

#[async_trait]
impl Reader for DiscoveryReader {
    async fn read(&self, endpoint: &Endpoint) -> Result<Arc<dyn Api>, CallError> {
        let text = read_document(endpoint, &self.place, self.is_trusted, LARGEST_DOCUMENT).await?;
        let (base_url, filter, id) =
            (self.base_url.clone(), self.filter.clone(), endpoint.id().clone());
        let project = self.project.clone();
        // Large documents take long enough to hold others up.
        let reading = tokio::task::spawn_blocking(move || {
            let document = Document::read(&text)?;
            let bases = document.bases(base_url.as_deref())?;
            let imported = import(&document, &id, &filter);
            let (methods, discovery) = (imported.methods, imported.discovery);
            Ok(DiscoveryApi { bases, project, methods, discovery })
        });
        let api = reading.await.unwrap_or_else(|error| {
            Err(CallError::new(ErrorCode::InternalError, "the description could not be read")
                .detail(error))
        })?;
        self.check_bases(&api.bases)?;
        Ok(Arc::new(api))
    }
}

#[async_trait]
impl Api for DiscoveryApi {
    fn discovery(&self) -> Discovery {
        self.discovery.clone()
    }

    async fn call(
        &self,
        endpoint: &Endpoint,
        tool: &str,
        arguments: Map<String, Value>,
        pace: &Pace,
    ) -> Result<Box<RawValue>, CallError> {
        let method =
            self.methods.get(tool).ok_or_else(|| no_such_tool(tool, self.methods.keys()))?;
        let mut arguments = Arguments::read(arguments)?;
        if arguments.body.is_some() && !method.takes_body {
            return Err(CallError::new(
                ErrorCode::RequestInvalid,
                format!("`{tool}` takes no body"),
            ));
        }
        check_rights(endpoint, &method.scopes)?;
        if let Some(media) = arguments.media.take() {
            let upload = method.upload.as_ref().ok_or_else(|| {
                CallError::new(ErrorCode::RequestInvalid, format!("`{tool}` takes no media"))
            })?;
            let media =
                Media::open(media, upload, self.project.as_deref(), endpoint.artifacts()).await?;
            let (bases, arguments, media) = (&self.bases, &arguments, &media);
            let call = UploadCall { endpoint, bases, method, upload, arguments, media, pace };
            return call.run().await;
        }
        let auth = endpoint.auth_headers()?;
        let filename = arguments.download_name()?;
        let download = filename.is_some();
        let alt = download.then_some(("alt", "media"));
        let request =
            request::build(method, &self.bases.service, &method.path, &arguments, &auth, alt)?;
        let request = request::with_json(request, arguments.body.as_ref());
        let delivery = if download {
            Delivery::Artifact { filename: filename.filter(|name| !name.is_empty()) }
        } else {
            Delivery::Inline { limit: DEFAULT_INLINE }
        };
        endpoint.exchange(request, delivery).await
    }
}

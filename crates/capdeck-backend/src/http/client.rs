//! Builds all HTTP clients.
//!
//! They never follow redirects: each caller decides. Certificates are checked against the system's roots, so that a
//! company's internal authority works.

use std::{sync::Arc, time::Duration};

use capdeck_auth::{GuardedResolver, NameResolver, NetworkReach, SystemResolver};
use reqwest::{
    ClientBuilder,
    header::{CONTENT_TYPE, LOCATION},
    redirect,
};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_platform_verifier::Verifier;
use url::Url;

use crate::{CallError, api_connection::read_body};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Builds a client for MCP servers, whose addresses the user configured. Callers set deadlines.
pub(crate) fn build(client_version: &str) -> Result<reqwest::Client, CallError> {
    let internal = |error: &dyn std::fmt::Display| {
        CallError::internal("the HTTP client cannot be built").detail(error)
    };
    let builder = settings(client_version).map_err(|error| internal(&error))?;
    builder.build().map_err(|error| internal(&error))
}

/// Builds a client that connects only within this reach. `names` resolves host names.
pub(crate) fn build_guarded(
    client_version: &str,
    reach: NetworkReach,
    names: Arc<dyn NameResolver>,
) -> Result<reqwest::Client, String> {
    let builder = settings(client_version).map_err(|error| error.to_string())?;
    let resolver = GuardedResolver::new(reach, names);
    builder.dns_resolver(resolver).build().map_err(|error| error.to_string())
}

fn settings(client_version: &str) -> Result<ClientBuilder, rustls::Error> {
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(tls_settings()?)
        .user_agent(format!("capdeck/{client_version}"))
        .connect_timeout(CONNECT_TIMEOUT)
        // Without it small messages wait for the peer's delayed acknowledgement, 40 ms at a time.
        .tcp_nodelay(true)
        .redirect(redirect::Policy::none())
        .no_proxy()
        .referer(false))
}

fn tls_settings() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let mut settings = match Verifier::new(provider) {
        Ok(verifier) => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth(),
        Err(error) => {
            // A minimal container has no certificates; plain HTTP to the local machine must still work.
            tracing::warn!(%error, "no system certificates were found; HTTPS requests will fail");
            builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth()
        }
    };
    settings.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(settings)
}

const FETCH_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_REDIRECTS: usize = 5;

/// Fetches at most `limit` bytes.
pub async fn fetch_text(
    url: &str,
    reach: NetworkReach,
    limit: u64,
    client_version: &str,
) -> Result<Vec<u8>, CallError> {
    let fetching = fetch(url, reach, limit, client_version);
    tokio::time::timeout(FETCH_TIMEOUT, fetching).await.unwrap_or_else(|_elapsed| {
        let message = format!("no answer within {} s", FETCH_TIMEOUT.as_secs());
        Err(CallError::unavailable(message))
    })
}

async fn fetch(
    url: &str,
    reach: NetworkReach,
    limit: u64,
    client_version: &str,
) -> Result<Vec<u8>, CallError> {
    let refused = |message: String| CallError::invalid_request(message);
    let mut url = Url::parse(url).map_err(|_| refused("this is no address".to_owned()))?;
    let http = build_guarded(client_version, reach, Arc::new(SystemResolver))
        .map_err(CallError::internal)?;
    for _redirect in 0..=MAX_REDIRECTS {
        reach.check(&url).map_err(|reason| refused(reason.to_string()))?;
        let sent = http.get(url.clone()).send().await;
        let mut response = sent.map_err(|error| super::no_response_error(&url, error))?;
        let status = response.status();
        if status.is_redirection() {
            let next = response.headers().get(LOCATION).and_then(|place| place.to_str().ok());
            let next = next.and_then(|place| url.join(place).ok());
            url = next.ok_or_else(|| refused("it redirects to nowhere".to_owned()))?;
        } else if status.is_success() {
            return read_body(&mut response, &url, limit).await.map(Vec::from);
        } else {
            let message = format!("HTTP {status}");
            return Err(CallError::unavailable(message));
        }
    }
    Err(refused(format!("it redirects more than {MAX_REDIRECTS} times")))
}

const SEND_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub struct JsonSender {
    http: reqwest::Client,
    url: String,
    headers: Vec<(String, String)>,
}

impl JsonSender {
    pub fn new(
        url: String,
        headers: Vec<(String, String)>,
        client_version: &str,
    ) -> Result<Self, CallError> {
        Ok(Self { http: build(client_version)?, url, headers })
    }

    /// Sends one body. A status other than success is an error.
    pub async fn send(&self, body: String) -> Result<(), CallError> {
        let mut request = self
            .http
            .post(&self.url)
            .timeout(SEND_TIMEOUT)
            .header(CONTENT_TYPE, "application/json");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let unavailable = |reason: String| CallError::unavailable(reason);
        // Neither the address nor the headers are shown: both may contain a key.
        let answer = request.body(body).send().await;
        let answer = answer.map_err(|error| unavailable(error.without_url().to_string()))?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            status => Err(unavailable(format!("HTTP {status}"))),
        }
    }
}

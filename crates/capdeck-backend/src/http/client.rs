//! Builds all HTTP clients.
//!
//! They never follow redirects: each caller decides. Certificates are checked against the system's roots, so that a
//! company's internal authority works.

use std::{sync::Arc, time::Duration};

use capdeck_auth::{GuardedResolver, NameResolver, NetworkReach};
use reqwest::{ClientBuilder, redirect};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_platform_verifier::Verifier;

use crate::{CallError, ErrorCode};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Builds a client for MCP servers, whose addresses the user configured. Callers set deadlines.
pub(crate) fn build(client_version: &str) -> Result<reqwest::Client, CallError> {
    let internal = |error: &dyn std::fmt::Display| {
        CallError::new(ErrorCode::InternalError, "the HTTP client cannot be built").detail(error)
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

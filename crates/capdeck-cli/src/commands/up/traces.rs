//! Where spans of calls go: the variables that every program with OpenTelemetry knows, else `serve.otlp` of the config.

use std::sync::Arc;

use capdeck_auth::Unresolved;
use capdeck_definition::OtlpConfig;
use capdeck_host::Host;
use capdeck_serve::{OtlpExporter, OtlpSettings};

use super::provider::resolve_own;
use crate::{env_vars::TraceVars, settings::Settings};

/// Begins to send spans, if anything says where to. What cannot be sent never stops the host.
pub(super) fn start(
    host: &Host,
    variables: &TraceVars,
    config: Option<&OtlpConfig>,
    places: &Settings,
) -> Option<Arc<OtlpExporter>> {
    let configured = config.cloned().unwrap_or_default();
    let (endpoint, headers) = match (&variables.endpoint, &configured.endpoint) {
        // What the file sends along is for the collector that the file names, and for no other.
        (Some(endpoint), _) => (endpoint.clone(), Vec::new()),
        (None, Some(endpoint)) => match configured_headers(&configured, places) {
            Ok(headers) => (endpoint.clone(), headers),
            Err(missing) => {
                tracing::warn!(hint = missing.hint(), "calls are not traced: {missing}");
                return None;
            }
        },
        (None, None) => return None,
    };
    let service = variables.service.clone().or(configured.service);
    let settings = OtlpSettings {
        endpoint,
        headers: variables.headers.as_deref().map_or(headers, pairs),
        service: service.unwrap_or_else(|| "capdeck".to_owned()),
        version: host.settings().version.clone(),
    };
    match OtlpExporter::start(settings) {
        Ok(exporter) => {
            host.trace_to(exporter.clone());
            Some(exporter)
        }
        Err(error) => {
            tracing::warn!(%error, "calls are not traced");
            None
        }
    }
}

/// The headers of the config with their references replaced.
pub(crate) fn configured_headers(
    config: &OtlpConfig,
    places: &Settings,
) -> Result<Vec<(String, String)>, Unresolved> {
    let resolved = config.headers.iter().map(|(name, value)| {
        resolve_own(value, places).map(|value| (name.clone(), value.expose().to_owned()))
    });
    resolved.collect()
}

/// `name=value` between commas.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_pairs_between_commas() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(pairs("x-key=a=b, other = c,,none"), [pair("x-key", "a=b"), pair("other", "c")]);
        assert!(pairs("").is_empty());
    }
}

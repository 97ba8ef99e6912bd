//! Where spans of calls go: the variables that every program with OpenTelemetry knows.

use std::sync::Arc;

use capdeck_host::Host;
use capdeck_serve::{OtlpExporter, OtlpSettings};

use crate::env_vars::TraceVars;

/// Begins to send spans, if the environment says where to. What cannot be sent never stops the host.
pub(super) fn start(host: &Host, variables: &TraceVars) -> Option<Arc<OtlpExporter>> {
    let settings = OtlpSettings {
        endpoint: variables.endpoint.clone()?,
        headers: headers(variables.headers.as_deref().unwrap_or_default()),
        service: variables.service.clone().unwrap_or_else(|| "capdeck".to_owned()),
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

/// `name=value` between commas.
fn headers(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_pairs_between_commas() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            headers("x-key=a=b, other = c,,none"),
            [pair("x-key", "a=b"), pair("other", "c")]
        );
        assert!(headers("").is_empty());
    }
}

//! How long a backend's answers are waited for, and how long they count as new, by its own definition.

use std::time::Duration;

use capdeck_definition::Backend;

/// For backends whose definition names no time.
const DEFAULT_ANSWER_TIME: Duration = Duration::from_secs(30);

/// How long an offer counts as new. `None` for backends whose tools stand in the definition itself.
pub(crate) fn time_to_live(backend: &Backend) -> Option<Duration> {
    let milliseconds = match backend {
        Backend::Mcp(server) => server.tool_cache_ttl_ms,
        Backend::OpenApi(api) => api.operation_cache_ttl_ms,
        Backend::GoogleDiscovery(api) => api.operation_cache_ttl_ms,
        Backend::GraphQl(api) => api.operation_cache_ttl_ms,
        Backend::Http(_)
        | Backend::Cli(_)
        | Backend::Cmp(_)
        | Backend::Caplets(_)
        | Backend::Capsules => return None,
    };
    Some(Duration::from_millis(milliseconds))
}

/// How long a backend may take for one answer, by its own definition.
pub(crate) fn answer_time(backend: &Backend) -> Duration {
    let milliseconds = match backend {
        Backend::Mcp(server) => server.call_timeout_ms,
        Backend::OpenApi(api) => api.request_timeout_ms,
        Backend::GoogleDiscovery(api) => api.request_timeout_ms,
        Backend::GraphQl(api) => api.request_timeout_ms,
        Backend::Http(api) => api.request_timeout_ms,
        Backend::Cli(_) | Backend::Cmp(_) | Backend::Caplets(_) | Backend::Capsules => {
            return DEFAULT_ANSWER_TIME;
        }
    };
    Duration::from_millis(milliseconds)
}

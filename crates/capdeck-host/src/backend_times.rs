//! How long a backend's answers are waited for, and how long they count as new, by its own definition.

use std::time::Duration;

use capdeck_definition::Backend;

/// How old the list of a backend that is in use may become, unless its definition counts lists as new for longer.
const MAX_LIST_AGE: Duration = Duration::from_hours(1);

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

/// After what time a list is asked for again because the backend is used. At every use, where the definition says
/// that no list stays new. `None` for backends whose tools are part of the definition itself.
pub(crate) fn max_list_age(backend: &Backend) -> Option<Duration> {
    let new = time_to_live(backend)?;
    Some(if new.is_zero() { new } else { new.max(MAX_LIST_AGE) })
}

/// How long a backend may take for one answer, by its own definition.
pub(crate) fn answer_time(backend: &Backend) -> Duration {
    let milliseconds = match backend {
        Backend::Mcp(server) => server.call_timeout_ms,
        Backend::OpenApi(api) => api.requests.request_timeout_ms,
        Backend::GoogleDiscovery(api) => api.requests.request_timeout_ms,
        Backend::GraphQl(api) => api.requests.request_timeout_ms,
        Backend::Http(api) => api.requests.request_timeout_ms,
        Backend::Cli(_) | Backend::Cmp(_) | Backend::Caplets(_) | Backend::Capsules => {
            return DEFAULT_ANSWER_TIME;
        }
    };
    Duration::from_millis(milliseconds)
}

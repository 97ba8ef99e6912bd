//! Timeouts and list lifetimes of a backend, by its definition.

use std::time::Duration;

use capdeck_definition::Backend;

/// Max age of the list of a backend in use, unless its definition sets a longer one.
const MAX_LIST_AGE: Duration = Duration::from_hours(1);

const DEFAULT_ANSWER_TIME: Duration = Duration::from_secs(30);

/// How long a list counts as new. `None` for backends whose tools are part of the definition.
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

/// The age at which the list of a backend in use is read again; zero reads it at every use. `None`
/// for backends whose tools are part of the definition.
pub(crate) fn max_list_age(backend: &Backend) -> Option<Duration> {
    let new = time_to_live(backend)?;
    Some(if new.is_zero() { new } else { new.max(MAX_LIST_AGE) })
}

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

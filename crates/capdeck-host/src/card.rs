//! The card of a capability: its description and backend, without connecting.

use capdeck_catalog::Capability;
use capdeck_definition::{Backend, Definition};
use serde_json::{Value, json};

use crate::raw;

/// `{id, name, description, tags?, hints?, backend: {type, …}, importProblems?}`.
pub fn card(capability: &Capability) -> Value {
    let definition = capability.definition.as_ref();
    let mut card = json!({
        "id": definition.id,
        "name": definition.name,
        "description": definition.description,
    });
    let tags = Some(&definition.tags).filter(|tags| !tags.is_empty());
    raw::put_some(&mut card, "tags", tags);
    raw::put_some(&mut card, "useWhen", definition.hints.use_when.as_ref());
    raw::put_some(&mut card, "avoidWhen", definition.hints.avoid_when.as_ref());
    card["backend"] = backend_facts(definition);
    let left_out = capability.discovery.as_ref().map(|known| known.problems.len());
    raw::put_some(&mut card, "importProblems", left_out.filter(|count| *count > 0));
    card
}

fn backend_facts(definition: &Definition) -> Value {
    let mut facts = json!({
        "type": definition.backend.kind().as_str(),
        "disabled": definition.disabled,
    });
    let more = match &definition.backend {
        Backend::Mcp(server) => json!({
            "transport": server.effective_transport(),
            "startupTimeoutMs": server.startup_timeout_ms,
            "callTimeoutMs": server.call_timeout_ms,
            "toolCacheTtlMs": server.tool_cache_ttl_ms,
        }),
        Backend::OpenApi(api) => json!({
            "requestTimeoutMs": api.requests.request_timeout_ms,
            "operationCacheTtlMs": api.operation_cache_ttl_ms,
            "source": if api.spec_path.is_some() { "specPath" } else { "specUrl" },
        }),
        Backend::GoogleDiscovery(api) => json!({
            "requestTimeoutMs": api.requests.request_timeout_ms,
            "operationCacheTtlMs": api.operation_cache_ttl_ms,
            "source": if api.discovery_path.is_some() { "discoveryPath" } else { "discoveryUrl" },
        }),
        Backend::GraphQl(api) => json!({
            "requestTimeoutMs": api.requests.request_timeout_ms,
            "operationCacheTtlMs": api.operation_cache_ttl_ms,
            "source": match (&api.schema_path, &api.schema_url) {
                (Some(_), _) => "schemaPath",
                (None, Some(_)) => "schemaUrl",
                (None, None) => "introspection",
            },
            "configuredOperations": !api.operations.is_empty(),
        }),
        Backend::Http(api) => json!({
            "requestTimeoutMs": api.requests.request_timeout_ms,
            "configuredActions": api.actions.len(),
        }),
        Backend::Cli(tools) => json!({
            "timeoutMs": tools.timeout_ms,
            "maxOutputBytes": tools.max_output_bytes,
            "configuredActions": tools.actions.len(),
        }),
        Backend::Cmp(tool) => json!({
            "domain": tool.domain,
            "version": tool.version,
            "configuredActions": tool.intents.len(),
        }),
        Backend::Caplets(set) => json!({
            "source": match (&set.config_path, &set.caplets_root) {
                (Some(_), Some(_)) => "both",
                (Some(_), None) => "configPath",
                (None, _) => "capletsRoot",
            },
            "toolCacheTtlMs": set.tool_cache_ttl_ms,
        }),
        Backend::Capsules => json!({}),
    };
    if let (Some(facts), Value::Object(more)) = (facts.as_object_mut(), more) {
        facts.extend(more);
    }
    facts
}

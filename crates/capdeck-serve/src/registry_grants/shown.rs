//! Requests and grants as a program is told of them.

use capdeck_auth::inbound::{Grant, GrantRequest, GrantTarget, Registry, capsule_id_of};
use serde_json::{Map, Value, json};

/// What became of a request, with what was granted.
pub(super) fn outcome(registry: &Registry, request: &GrantRequest) -> Value {
    let mut shown = json!({ "request_id": request.id, "status": request.status });
    if let Some(note) = &request.decision_note {
        shown["note"] = json!(note);
    }
    match request.grant.as_deref().and_then(|id| registry.grants().get(id)) {
        Some(grant) => {
            shown["connection_id"] = json!(grant.id);
            shown["granted"] = granted(&grant);
        }
        None => shown["expires_at"] = json!(request.expires_at),
    }
    shown
}

/// A request that waits.
pub(super) fn request(request: &GrantRequest, may_decide: bool) -> Value {
    let mut shown = target(&request.target);
    shown.extend([
        ("request_id".to_owned(), json!(request.id)),
        ("may_decide".to_owned(), json!(may_decide)),
        ("client_name".to_owned(), json!(request.client_name)),
        ("client_id".to_owned(), json!(request.client_id)),
        ("principal".to_owned(), json!(request.principal)),
        ("requested_by".to_owned(), json!(request.requested_by)),
        ("scopes".to_owned(), json!(request.scopes)),
        ("reason".to_owned(), json!(request.reason)),
        ("expires_at".to_owned(), json!(request.expires_at)),
    ]);
    without_empty_members(shown)
}

/// Somebody who uses a capsule.
pub(super) fn connection(registry: &Registry, grant: &Grant) -> Value {
    let holder = registry.clients().principal(&grant.principal);
    let client_id = holder.as_ref().and_then(|holder| holder.client_id.clone());
    let Value::Object(mut shown) = granted(grant) else { return Value::Null };
    shown.extend([
        ("connection_id".to_owned(), json!(grant.id)),
        ("client_name".to_owned(), json!(holder.map(|holder| holder.name))),
        ("client_id".to_owned(), json!(client_id)),
        ("principal".to_owned(), json!(grant.principal)),
    ]);
    without_empty_members(shown)
}

fn granted(grant: &Grant) -> Value {
    let mut shown = target(&grant.target);
    shown.insert("scopes".to_owned(), json!(grant.scopes));
    shown.insert("expires_at".to_owned(), json!(grant.expires_at));
    without_empty_members(shown)
}

fn target(target: &GrantTarget) -> Map<String, Value> {
    match json!(target) {
        Value::Object(mut target) => {
            target.remove("type");
            if let Some(Value::String(capsule)) = target.get_mut("capsule") {
                *capsule = capsule_id_of(capsule).to_owned();
            }
            target
        }
        _ => Map::new(),
    }
}

/// Without members that say nothing, which every reader pays for.
fn without_empty_members(mut shown: Map<String, Value>) -> Value {
    shown.retain(|_, value| {
        !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty())
    });
    Value::Object(shown)
}

//! `capsol_manage`: who gets access to which capsule, for clients that may ask and decide.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{ToolAnswer, ToolRun, needed, parse};
use crate::{AccessRequest, GrantOverrides, RequestedGrant, Role, capsules::CapsuleError};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ManageToolArguments {
    action: ManageToolAction,
    capsule: Option<String>,
    client_id: Option<String>,
    role: Option<Role>,
    scopes: Option<Vec<String>>,
    uri_prefixes: Option<Vec<String>>,
    denied_prefixes: Option<Vec<String>>,
    request_id: Option<String>,
    connection_id: Option<String>,
    name: Option<String>,
    description: Option<String>,
    reason: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ManageToolAction {
    RequestGrantFor,
    CreateCapsule,
    UpdateCapsule,
    ListGrantRequests,
    ApproveGrant,
    DenyGrant,
    RevokeConnection,
    ListConnections,
}

pub(super) async fn call(
    run: &ToolRun<'_>,
    arguments: Option<&RawValue>,
) -> Result<ToolAnswer, CapsuleError> {
    let request = access_request(parse(arguments)?)?;
    let facts = run.ask_access(request, "grants are not decided here").await?;
    Ok(ToolAnswer::new(text(&facts), &facts))
}

fn access_request(arguments: ManageToolArguments) -> Result<AccessRequest, CapsuleError> {
    let ManageToolArguments {
        action, capsule, role, scopes, uri_prefixes, denied_prefixes, ..
    } = arguments;
    let (name, description, reason) = (arguments.name, arguments.description, arguments.reason);
    let (client_id, request_id) = (arguments.client_id, arguments.request_id);
    Ok(match action {
        ManageToolAction::RequestGrantFor => {
            let terms = RequestedGrant {
                capsule: needed(capsule, "capsule", "request_grant_for")?,
                role: role.unwrap_or(Role::Reader),
                scopes: scopes.unwrap_or_default(),
                uri_prefixes: uri_prefixes.unwrap_or_default(),
                denied_prefixes: denied_prefixes.unwrap_or_default(),
            };
            AccessRequest::RequestGrantFor { client_id, terms, reason }
        }
        ManageToolAction::CreateCapsule => AccessRequest::CreateCapsule {
            name: needed(name, "name", "create_capsule")?,
            description,
        },
        ManageToolAction::UpdateCapsule => {
            let capsule = needed(capsule, "capsule", "update_capsule")?;
            AccessRequest::UpdateCapsule { capsule, name, description }
        }
        ManageToolAction::ListGrantRequests => AccessRequest::ListGrantRequests,
        ManageToolAction::ApproveGrant => {
            let request = needed(request_id, "request_id", "approve_grant")?;
            let terms = GrantOverrides { role, scopes, uri_prefixes, denied_prefixes };
            AccessRequest::ApproveGrant { request, terms, note: reason }
        }
        ManageToolAction::DenyGrant => {
            let request = needed(request_id, "request_id", "deny_grant")?;
            AccessRequest::DenyGrant { request, note: reason }
        }
        ManageToolAction::RevokeConnection => {
            let connection = needed(arguments.connection_id, "connection_id", "revoke_connection")?;
            AccessRequest::RevokeConnection { connection }
        }
        ManageToolAction::ListConnections => AccessRequest::ListConnections,
    })
}

/// The facts as lines: one for each item of a list, else one for all of them.
pub(super) fn text(facts: &Value) -> String {
    let lists = facts.as_object().into_iter().flat_map(|facts| facts.values());
    let mut lists = lists.filter_map(Value::as_array).peekable();
    if lists.peek().is_none() {
        return format!("{facts}\n");
    }
    let lines: String = lists.flatten().map(|item| format!("- {item}\n")).collect();
    if lines.is_empty() { "there is none\n".to_owned() } else { lines }
}

//! Access requests and their decisions.

use std::time::Duration;

use capdeck_auth::inbound::{
    ApprovalTerms, BulkDenial, CredentialClass, DecisionMaker, GrantRequest, NewCredential,
    RequestDecision, RequestQuery, RequestSource, RequestStatus,
};
use http::StatusCode;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    GrantNarrowing, GrantRequestResponse, check_backoff, convert, count_failure, page_request,
    scopes, shown_page,
};
use crate::rest::{
    ApiError, ApiResult, EmptyBody, JsonBody, ListPage, OptionalJsonBody, PageQuery,
    RequiredAccess::{Manager, Operator},
    RestCall, RestOperation, get, post,
};

const DEFAULT_LIFETIME: Duration = Duration::from_secs(90 * 24 * 3600);

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get(Manager, "/v1/grants", "listGrants", "List access requests, the newest first")
            .about("The requests that you can decide; with `mine`, those you made. Enrollments have `source=enrollment`; `code` finds the pending one with this user code.")
            .handled_with_query(list),
        get(Manager, "/v1/grants/{id}", "getGrant", "Get one access request")
            .handled_by(show),
        post(Manager, "/v1/grants/{id}/approve", "approveGrant", "Approve a request, unchanged or narrower")
            .about("Omitted members stay as requested. An approval cannot exceed the request (409 `widens`) or your own access (403 `forbidden`). A request from yourself, your browser, your address or your program must be approved by others (403 `self_approval`); an admin can approve it, and the grant then has `self_approved`.")
            .problems(&[507])
            .handled_with_body(approve),
        post(Manager, "/v1/grants/{id}/deny", "denyGrant", "Deny a request")
            .handled_with_body(deny),
        post(Manager, "/v1/grants/deny", "denyGrants", "Deny many pending requests at once")
            .about("Denies every pending request that matches all given members and that you can decide. For example `{\"source\": \"enrollment\", \"address\": \"192.0.2.7\"}` denies all enrollments from one address; for IPv6, from its /64 network. Each denied request is one audit event.")
            .handled_with_body(deny_many),
        post(Manager, "/v1/grants/{id}/revoke", "revokeGrant", "Revoke the grant of a request")
            .about("The access ends with the next request.")
            .handled_with_body(revoke),
        post(Operator, "/v1/grants/{id}/connection", "openConnection", "Create a token for the grant of a request")
            .about("For the requester and admins. The token is only in this response; it is valid at `/mcp`.")
            .success(&[201])
            .problems(&[507])
            .handled_with_body(connect),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct GrantListQuery {
    /// Only requests with this status.
    status: Option<RequestStatus>,
    /// Only requests from this source.
    source: Option<RequestSource>,
    /// Only the pending enrollment with this code. Case, spaces and dashes are ignored.
    #[schemars(length(min = 1, max = 100))]
    code: Option<String>,
    /// Only requests for this capsule, by its id.
    capsule: Option<String>,
    /// Only requests for this principal.
    principal: Option<String>,
    /// Only requests that you made.
    mine: Option<bool>,
    #[serde(flatten)]
    paging: PageQuery,
}

/// The terms of an approval.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
struct GrantApproval {
    #[serde(flatten)]
    narrowing: GrantNarrowing,
    scopes: Option<Vec<String>>,
    expires_at: Option<Timestamp>,
    /// The id of an access profile, which narrows the request first.
    profile: Option<String>,
    #[schemars(length(max = 1000))]
    note: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GrantDenial {
    #[schemars(length(max = 1000))]
    note: Option<String>,
}

/// Which pending requests to deny. Requires at least one member besides `note`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DenialSelection {
    /// Ids of requests.
    #[schemars(length(max = 1000))]
    ids: Option<Vec<String>>,
    source: Option<RequestSource>,
    /// Only enrollments from this address.
    #[schemars(length(max = 100))]
    address: Option<String>,
    /// Only requests of this client.
    #[schemars(length(max = 1000))]
    client_id: Option<String>,
    #[schemars(length(max = 1000))]
    note: Option<String>,
}

/// The denied requests.
#[derive(Debug, Serialize, JsonSchema)]
struct DeniedRequests {
    /// Their ids.
    denied: Vec<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewConnectionToken {
    /// The expiry of the token; default: 90 days.
    expires_at: Option<Timestamp>,
}

/// A token, shown once.
#[derive(Debug, Serialize, JsonSchema)]
struct ConnectionToken {
    /// The id of the connection.
    id: String,
    principal: String,
    scopes: Vec<String>,
    expires_at: Option<Timestamp>,
    /// Send it as `Authorization: Bearer <token>`. It is only in this response.
    token: String,
}

async fn list(call: RestCall, query: GrantListQuery) -> ApiResult<ListPage<GrantRequestResponse>> {
    let GrantListQuery { status, source, code, capsule, principal, mine, paging } = query;
    let is_mine = mine.unwrap_or(false);
    let has_code = code.is_some();
    if has_code {
        // Codes can be guessed, so wrong ones are rate limited, and the limit then applies to the right one, too.
        check_backoff(&call, CredentialClass::UserCode)?;
    }
    let wanted = RequestQuery {
        status,
        source,
        user_code: code,
        capsule,
        principal,
        requested_by: is_mine.then(|| call.id()),
        decidable_by: (!is_mine).then(|| call.decider()).transpose()?,
    };
    let page = call.registry()?.grants().requests(&wanted, &page_request(&call, &paging)?)?;
    if has_code && page.items.is_empty() {
        count_failure(&call, CredentialClass::UserCode).await?;
    }
    shown_page(&call, page, |request| GrantRequestResponse::from_request(&call, request))
}

/// The request of the path, if the sender can see it.
fn request(call: &RestCall) -> ApiResult<GrantRequest> {
    let (registry, id) = (call.registry()?, call.path_parameter("id"));
    let me = call.id();
    let may_know = |request: &GrantRequest| {
        let may_decide =
            call.decider().is_ok_and(|decider| registry.grants().may_decide(&decider, request));
        may_decide || call.is_admin() || request.requested_by == me || request.principal == me
    };
    registry.grants().request(id).filter(may_know).ok_or_else(|| ApiError::not_found("request", id))
}

async fn show(call: RestCall) -> ApiResult<GrantRequestResponse> {
    GrantRequestResponse::from_request(&call, &request(&call)?)
}

async fn approve(
    call: RestCall,
    body: OptionalJsonBody<GrantApproval>,
) -> ApiResult<GrantRequestResponse> {
    let JsonBody(GrantApproval { narrowing, scopes: names, expires_at, profile, note }) = body;
    let request = request(&call)?;
    let terms = ApprovalTerms {
        target: narrowing.apply_to(&request.target)?,
        scopes: names.as_deref().map(scopes).transpose()?,
        expires_at,
        profile,
        note,
    };
    decide(&call, &request, RequestDecision::Approve(terms)).await
}

async fn deny(
    call: RestCall,
    body: OptionalJsonBody<GrantDenial>,
) -> ApiResult<GrantRequestResponse> {
    let request = request(&call)?;
    decide(&call, &request, RequestDecision::Deny { note: body.0.note }).await
}

async fn deny_many(call: RestCall, body: JsonBody<DenialSelection>) -> ApiResult<DeniedRequests> {
    let JsonBody(DenialSelection { ids, source, address, client_id, note }) = body;
    let parsed = |text: String| {
        text.parse()
            .map_err(|_| ApiError::invalid(format!("`address` is not an IP address: `{text}`")))
    };
    let denial =
        BulkDenial { ids, source, address: address.map(parsed).transpose()?, client_id, note };
    let (registry, caller, decider) = (call.registry()?, call.registry_caller(), call.decider()?);
    let denied = registry.grants().deny_matching(&caller, &decider, denial).await?;
    Ok(DeniedRequests { denied })
}

async fn decide(
    call: &RestCall,
    request: &GrantRequest,
    decision: RequestDecision,
) -> ApiResult<GrantRequestResponse> {
    let (registry, caller) = (call.registry()?, call.registry_caller());
    let decider = decider_for(call, request).await?;
    let decided = registry.grants().decide(&caller, &decider, &request.id, decision).await?;
    GrantRequestResponse::from_request(call, &decided)
}

/// The decider, with whether they can read the capsule as an operator.
async fn decider_for(call: &RestCall, request: &GrantRequest) -> ApiResult<DecisionMaker> {
    let decider = call.decider()?;
    let (DecisionMaker::Operator { id, role, .. }, Some(capsule)) =
        (decider.clone(), request.target.capsule_id())
    else {
        return Ok(decider);
    };
    let reached = call.capsules(false).await?;
    let readable = reached.into_iter().map(|one| one.key()).filter(|key| key == capsule).collect();
    Ok(DecisionMaker::Operator { id, role, readable })
}

async fn revoke(call: RestCall, _: OptionalJsonBody<EmptyBody>) -> ApiResult<GrantRequestResponse> {
    let request = request(&call)?;
    let grant = granted(&request)?;
    let (caller, decider) = (call.registry_caller(), call.decider()?);
    call.registry()?.grants().revoke(&caller, &decider, grant).await?;
    GrantRequestResponse::from_request(&call, &request)
}

async fn connect(
    call: RestCall,
    body: OptionalJsonBody<NewConnectionToken>,
) -> ApiResult<ConnectionToken> {
    let request = request(&call)?;
    if request.requested_by != call.id() && !call.is_admin() {
        return Err(ApiError::forbidden("only the requester and admins can create its token"));
    }
    let grant = call.registry()?.grants().get(granted(&request)?);
    let usual = || Timestamp::now().checked_add(DEFAULT_LIFETIME).unwrap_or(Timestamp::MAX);
    let new = NewCredential {
        principal: request.principal.clone(),
        scopes: grant.map_or_else(|| request.scopes.clone(), |grant| grant.scopes),
        audience: None,
        expires_at: body.0.expires_at.unwrap_or_else(usual),
    };
    let opened = call.registry()?.tokens().open_connection(&call.registry_caller(), new).await?;
    let credential = opened.credential;
    Ok(ConnectionToken {
        id: credential.id,
        principal: credential.principal,
        scopes: convert(&credential.scopes)?,
        expires_at: credential.expires_at,
        token: opened.token.expose().to_owned(),
    })
}

fn granted(request: &GrantRequest) -> ApiResult<&str> {
    request.grant.as_deref().ok_or_else(|| {
        let detail = format!("the request `{}` has no grant", request.id);
        ApiError::new(StatusCode::CONFLICT, "wrong_state", detail)
    })
}

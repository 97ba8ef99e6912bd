//! Requests for access and what became of them.

use std::time::Duration;

use capdeck_auth::inbound::{
    BulkDenial, CredentialClass, Decider, Decision, GrantRequest, NewConnection, RequestQuery,
    RequestSource, RequestStatus, Terms,
};
use http::StatusCode;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shapes::{Narrowing, RequestShown, page_request, scopes, shown_page, translated};
use crate::rest::{
    call::Call,
    input::{Json, MaybeJson, NoBody, NoQuery},
    operation::{Operation, get, post},
    page::{Page, Paging},
    problem::ApiError,
    reply::Reply,
    shapes::EmptyBody,
    who::Who,
};

/// How long a connection lasts when nobody says.
const USUAL_LIFE: Duration = Duration::from_secs(90 * 24 * 3600);

pub(super) fn operations() -> Vec<Operation> {
    vec![
        get("/v1/grants", "listGrants", "List requests for access, the newest first")
            .about("Those that you may decide; with `mine`, those that you made. Sign-ups of agents are among them, with `source=enrollment`; the one that waits with the code that an agent shows is found with `code`.")
            .who(Who::Manager)
            .done_by(list),
        get("/v1/grants/{id}", "getGrant", "Look at one request for access")
            .who(Who::Manager)
            .done_by(show),
        post("/v1/grants/{id}/approve", "approveGrant", "Approve a request, as it was made or narrower")
            .about("What is left out is as it was asked for. An approval never goes beyond the request (409 `widens`), nor beyond what you hold yourself (403 `forbidden`). A request of your own, from your browser, your address or a program of yours, is for others to approve (403 `self_approval`); an admin may, and the grant says so in `self_approved`.")
            .who(Who::Manager)
            .problems(&[507])
            .done_by(approve),
        post("/v1/grants/{id}/deny", "denyGrant", "Turn a request down")
            .who(Who::Manager)
            .done_by(deny),
        post("/v1/grants/deny", "denyGrants", "Deny many pending requests at once")
            .about("Denies every pending request that fits everything that is given and that you may decide. For example `{\"source\": \"enrollment\", \"address\": \"192.0.2.7\"}` denies all sign-ups from one address; of IPv6, all from its /64 network. Each denied request is one line in the audit.")
            .who(Who::Manager)
            .done_by(deny_many),
        post("/v1/grants/{id}/revoke", "revokeGrant", "Take back what a request was granted")
            .about("It opens nothing from the next request on.")
            .who(Who::Manager)
            .done_by(revoke),
        post("/v1/grants/{id}/connection", "openConnection", "Get a token for what a request was granted")
            .about("For whoever made the request, and for admins. The token is in this answer and nowhere else; it works at `/mcp`.")
            .who(Who::Operator)
            .success(&[201])
            .problems(&[507])
            .done_by(connect),
    ]
}

/// How requests stand.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "RequestStatus")]
enum Status {
    Pending,
    Approved,
    Denied,
    Expired,
    Cancelled,
}

/// Where requests come from.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "RequestSource")]
pub(super) enum Source {
    Oauth,
    Dashboard,
    Enrollment,
    Library,
    Manage,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ListGrants {
    /// Only requests that stand like this.
    status: Option<Status>,
    /// Only requests that came from there.
    source: Option<Source>,
    /// Only the sign-up that waits with this code. Case, spaces and dashes do not matter.
    #[schemars(length(min = 1, max = 100))]
    code: Option<String>,
    /// Only requests about this capsule, by its id.
    capsule: Option<String>,
    /// Only requests for this principal.
    principal: Option<String>,
    /// Only requests that you made.
    mine: Option<bool>,
    #[serde(flatten)]
    paging: Paging,
}

/// On what terms to approve.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
#[schemars(rename = "GrantApproval")]
struct Approval {
    #[serde(flatten)]
    narrowing: Narrowing,
    scopes: Option<Vec<String>>,
    expires_at: Option<Timestamp>,
    /// The id of an access profile; the request is narrowed to it first.
    profile: Option<String>,
    #[schemars(length(max = 1000))]
    note: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GrantDenial")]
struct Denial {
    #[schemars(length(max = 1000))]
    note: Option<String>,
}

/// Which pending requests to deny. Give at least one of them besides `note`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DenialSelection {
    /// Ids of requests.
    #[schemars(length(max = 1000))]
    ids: Option<Vec<String>>,
    source: Option<Source>,
    /// Only sign-ups from this address.
    #[schemars(length(max = 100))]
    address: Option<String>,
    /// Only requests of this client.
    #[schemars(length(max = 1000))]
    client_id: Option<String>,
    #[schemars(length(max = 1000))]
    note: Option<String>,
}

/// Requests that were denied.
#[derive(Debug, Serialize, JsonSchema)]
struct DeniedRequests {
    /// Their ids.
    denied: Vec<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewConnectionToken")]
struct Connect {
    /// When the token ends; 90 days when nobody says.
    expires_at: Option<Timestamp>,
}

/// A token, told once.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ConnectionToken")]
struct Token {
    /// The id of the connection.
    id: String,
    principal: String,
    scopes: Vec<String>,
    expires_at: Option<Timestamp>,
    /// Send it as `Authorization: Bearer <token>`. It is shown here and nowhere else.
    token: String,
}

async fn list(
    call: Call,
    query: ListGrants,
    _: NoBody,
) -> Result<Reply<Page<RequestShown>>, ApiError> {
    let ListGrants { status, source, code, capsule, principal, mine, paging } = query;
    let is_mine = mine.unwrap_or(false);
    let has_code = code.is_some();
    if has_code {
        // A code is short enough to be guessed, so a sender who guesses has to wait, also with the right one.
        call.check_backoff(CredentialClass::UserCode)?;
    }
    let wanted = RequestQuery {
        status: status.as_ref().map(translated::<RequestStatus>).transpose()?,
        source: source.as_ref().map(translated::<RequestSource>).transpose()?,
        user_code: code,
        capsule,
        principal,
        requested_by: is_mine.then(|| call.id()),
        decidable_by: (!is_mine).then(|| call.decider()).transpose()?,
    };
    let page = call.registry()?.requests(&wanted, &page_request(&call, &paging)?)?;
    if has_code && page.items.is_empty() {
        call.count_failure(CredentialClass::UserCode).await?;
    }
    Ok(Reply::new(shown_page(&call, page, |request| RequestShown::of(&call, request))?))
}

/// The request that the path names, if whoever asks may know of it.
fn request(call: &Call) -> Result<GrantRequest, ApiError> {
    let (registry, id) = (call.registry()?, call.place("id"));
    let me = call.id();
    let may_know = |request: &GrantRequest| {
        let may_decide = call.decider().is_ok_and(|decider| registry.may_decide(&decider, request));
        may_decide || call.is_admin() || request.requested_by == me || request.principal == me
    };
    registry.request(id).filter(may_know).ok_or_else(|| ApiError::not_found("request", id))
}

async fn show(call: Call, _: NoQuery, _: NoBody) -> Result<Reply<RequestShown>, ApiError> {
    Ok(Reply::new(RequestShown::of(&call, &request(&call)?)?))
}

async fn approve(
    call: Call,
    _: NoQuery,
    body: MaybeJson<Approval>,
) -> Result<Reply<RequestShown>, ApiError> {
    let MaybeJson(Approval { narrowing, scopes: names, expires_at, profile, note }) = body;
    let request = request(&call)?;
    let terms = Terms {
        target: narrowing.of(&request.target)?,
        scopes: names.as_deref().map(scopes).transpose()?,
        expires_at,
        profile,
        note,
    };
    decide(&call, &request, Decision::Approve(terms)).await
}

async fn deny(
    call: Call,
    _: NoQuery,
    body: MaybeJson<Denial>,
) -> Result<Reply<RequestShown>, ApiError> {
    let request = request(&call)?;
    decide(&call, &request, Decision::Deny { note: body.0.note }).await
}

async fn deny_many(
    call: Call,
    _: NoQuery,
    body: Json<DenialSelection>,
) -> Result<Reply<DeniedRequests>, ApiError> {
    let Json(DenialSelection { ids, source, address, client_id, note }) = body;
    let parsed = |text: String| {
        text.parse().map_err(|_| ApiError::invalid(format!("`address` is no IP address: `{text}`")))
    };
    let denial = BulkDenial {
        ids,
        source: source.as_ref().map(translated::<RequestSource>).transpose()?,
        address: address.map(parsed).transpose()?,
        client_id,
        note,
    };
    let (registry, caller, decider) = (call.registry()?, call.registry_caller(), call.decider()?);
    let denied = registry.deny_matching(&caller, &decider, denial).await?;
    Ok(Reply::new(DeniedRequests { denied }))
}

async fn decide(
    call: &Call,
    request: &GrantRequest,
    decision: Decision,
) -> Result<Reply<RequestShown>, ApiError> {
    let (registry, caller) = (call.registry()?, call.registry_caller());
    let decider = decider_for(call, request).await?;
    let decided = registry.decide(&caller, &decider, &request.id, decision).await?;
    Ok(Reply::new(RequestShown::of(call, &decided)?))
}

/// Who decides, with whether they can read the capsule like every operator.
async fn decider_for(call: &Call, request: &GrantRequest) -> Result<Decider, ApiError> {
    let decider = call.decider()?;
    let (Decider::Operator { id, role, .. }, Some(capsule)) =
        (decider.clone(), request.target.capsule_id())
    else {
        return Ok(decider);
    };
    let reached = call.capsules(false).await?;
    let readable = reached.into_iter().map(|one| one.key()).filter(|key| key == capsule).collect();
    Ok(Decider::Operator { id, role, readable })
}

async fn revoke(
    call: Call,
    _: NoQuery,
    _: MaybeJson<EmptyBody>,
) -> Result<Reply<RequestShown>, ApiError> {
    let request = request(&call)?;
    let grant = granted(&request)?;
    let (caller, decider) = (call.registry_caller(), call.decider()?);
    call.registry()?.revoke_grant(&caller, &decider, grant).await?;
    Ok(Reply::new(RequestShown::of(&call, &request)?))
}

async fn connect(
    call: Call,
    _: NoQuery,
    body: MaybeJson<Connect>,
) -> Result<Reply<Token>, ApiError> {
    let request = request(&call)?;
    if request.requested_by != call.id() && !call.is_admin() {
        return Err(ApiError::forbidden("only whoever made the request gets its token"));
    }
    let grant = call.registry()?.grant(granted(&request)?);
    let usual = || Timestamp::now().checked_add(USUAL_LIFE).unwrap_or(Timestamp::MAX);
    let new = NewConnection {
        principal: request.principal.clone(),
        scopes: grant.map_or_else(|| request.scopes.clone(), |grant| grant.scopes),
        audience: None,
        expires_at: body.0.expires_at.unwrap_or_else(usual),
    };
    let opened = call.registry()?.open_connection(&call.registry_caller(), new).await?;
    let credential = opened.credential;
    Ok(Reply::created(Token {
        id: credential.id,
        principal: credential.principal,
        scopes: translated(&credential.scopes)?,
        expires_at: credential.expires_at,
        token: opened.token.expose().to_owned(),
    }))
}

/// The grant that a request became.
fn granted(request: &GrantRequest) -> Result<&str, ApiError> {
    request.grant.as_deref().ok_or_else(|| {
        let detail = format!("the request `{}` was not granted", request.id);
        ApiError::new(StatusCode::CONFLICT, "wrong_state", detail)
    })
}

//! Who else may use a capsule: its shares, and what was granted through requests.

use capdeck_auth::inbound::{Grant, GrantQuery, GrantTarget, PageRequest};
use capdeck_host::{
    AddShareRequest, AddShareResponse, RevokeShareRequest, Role, Share, SharesRequest,
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_with::skip_serializing_none;

use crate::rest::{
    ApiError, ApiResult, JsonBody, ListPage, NoContent, PageQuery, RequiredAccess::Operator,
    RestCall, RestOperation, delete, get, post,
};

const PATH: &str = "/v1/capsules/{capsule}/connections";

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get(Operator, PATH, "listConnections", "List who else may use a capsule")
            .about("For the capsule's owner. Tokens are never shown.")
            .handled_with_query(list),
        post(Operator, PATH, "addConnection", "Give a client access to a part of a capsule")
            .about("Makes a share. Its `token` is in this answer and nowhere else; it opens this capsule at `/mcp` and at `/mcp/<capsule>`. It ends after 90 days, at `expires_at`, or when you may no longer share the capsule: when you are removed, or when it is no longer yours and you are no admin.")
            .success(&[201])
            .handled_with_body(add),
        delete(Operator, "/v1/capsules/{capsule}/connections/{id}", "removeConnection", "Take an access back")
            .about("It opens nothing from the next request on.")
            .handled_by(remove),
    ]
}

/// An access that another client has.
#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Connection")]
struct ConnectionResponse {
    id: String,
    /// How it came to be: `share` or `grant`.
    kind: &'static str,
    /// What it is for, or the name of the client.
    name: String,
    role: Role,
    uri_prefixes: Vec<String>,
    denied_prefixes: Vec<String>,
    principal: String,
    created_at: Timestamp,
    /// Who made it; absent where that was not written down.
    created_by: Option<String>,
    /// Absent: it lasts until it is revoked.
    expires_at: Option<Timestamp>,
    /// When it was last used, where that is known.
    last_used_at: Option<Timestamp>,
    /// Whether it opens nothing any more, because its time is over or its maker may no longer share the capsule.
    is_over: bool,
    /// The first letters of the token.
    hint: Option<String>,
}

impl ConnectionResponse {
    fn of_share(share: Share, is_over: bool) -> Self {
        let Share { id, name, access, principal, created_at, created_by, .. } = share;
        Self {
            id,
            kind: "share",
            name,
            role: access.role,
            uri_prefixes: access.scope.allow.into_iter().map(String::from).collect(),
            denied_prefixes: access.scope.deny.into_iter().map(String::from).collect(),
            principal,
            created_at,
            created_by,
            expires_at: share.expires_at,
            last_used_at: share.last_used_at,
            is_over,
            hint: Some(share.hint),
        }
    }
}

/// A share with its token, which is in this response only.
#[derive(Debug, Serialize, JsonSchema)]
struct ConnectionWithToken {
    #[serde(flatten)]
    connection: ConnectionResponse,
    /// Send it as `Authorization: Bearer <token>`. It is shown here and nowhere else.
    token: String,
}

async fn list(call: RestCall, paging: PageQuery) -> ApiResult<ListPage<ConnectionResponse>> {
    let mut all = shares(&call).await?;
    all.extend(granted(&call).await?);
    paging.page_of(&call, all, |one| one.id.clone())
}

async fn shares(call: &RestCall) -> ApiResult<Vec<ConnectionResponse>> {
    let key = call.owned_capsule("see who else uses").await?.key();
    let shares = call.ask_as_host(Some(&key), SharesRequest).await?.shares;
    let now = Timestamp::now();
    let shown = |share: Share| {
        let is_expired = share.expires_at.is_some_and(|end| end <= now);
        let maker = share.created_by_principal.as_deref();
        let is_over = is_expired || !call.rest.http_state.may_share(maker, &key);
        ConnectionResponse::of_share(share, is_over)
    };
    Ok(shares.into_iter().map(shown).collect())
}

/// What was granted through requests.
async fn granted(call: &RestCall) -> ApiResult<Vec<ConnectionResponse>> {
    let Some(registry) = call.rest.http_state.registry() else { return Ok(Vec::new()) };
    let capsule = call.capsule().await?.key();
    let query = GrantQuery { capsule: Some(capsule), principal: None, live_only: true };
    let page = PageRequest { cursor: None, limit: Some(200) };
    let shown = |grant: &Grant| {
        let GrantTarget::Capsule { role, uri_prefixes, denied_prefixes, .. } = &grant.target else {
            return None;
        };
        let name = registry.clients().principal(&grant.principal).map(|principal| principal.name);
        let decided_by =
            registry.grants().request(&grant.request_id).and_then(|request| request.decided_by);
        Some(ConnectionResponse {
            id: grant.id.clone(),
            kind: "grant",
            name: name.unwrap_or_default(),
            role: *role,
            uri_prefixes: uri_prefixes.clone(),
            denied_prefixes: denied_prefixes.clone(),
            principal: grant.principal.clone(),
            created_at: grant.created_at,
            created_by: decided_by,
            expires_at: grant.expires_at,
            last_used_at: None,
            is_over: false,
            hint: None,
        })
    };
    Ok(registry.grants().list(&query, &page)?.items.iter().filter_map(shown).collect())
}

async fn add(
    call: RestCall,
    JsonBody(add): JsonBody<AddShareRequest>,
) -> ApiResult<ConnectionWithToken> {
    let capsule = call.owned_capsule("share").await?;
    let AddShareResponse { share, token } = call.ask_as_host(Some(&capsule.key()), add).await?;
    Ok(ConnectionWithToken { connection: ConnectionResponse::of_share(share, false), token })
}

async fn remove(call: RestCall) -> ApiResult<NoContent> {
    let id = call.path_parameter("id").to_owned();
    if granted(&call).await?.iter().any(|grant| grant.id == id) {
        let (caller, decider) = (call.registry_caller(), call.decider()?);
        call.registry()?.grants().revoke(&caller, &decider, &id).await?;
        return Ok(NoContent);
    }
    // A share of another capsule is none of this one's.
    if !shares(&call).await?.iter().any(|share| share.id == id) {
        return Err(ApiError::not_found("connection", &id));
    }
    call.ask_as_host(None, RevokeShareRequest { id }).await?;
    Ok(NoContent)
}

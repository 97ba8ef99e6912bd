//! Operators of the dashboard, OAuth clients and principals.

use capdeck_auth::inbound::{
    GrantQuery, IssuedOperatorKey, NewOperator, OAuthClient, Operator, OperatorAccount,
    OperatorRole, OperatorSubject, OperatorUpdate, PageRequest, PrincipalRecord,
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{GrantResponse, convert, page_request, shown_page};
use crate::rest::{
    ApiError, ApiResult, EmptyBody, JsonBody, ListPage, NoContent, OptionalJsonBody, PageQuery,
    RequiredAccess::Admin, RestCall, RestOperation, delete, get, patch, post,
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get(Admin, "/v1/operators", "listOperators", "List operators").handled_with_query(list),
        post(Admin, "/v1/operators", "createOperator", "Create an operator")
            .about(
                "The `key` is only in this response; the operator signs in with it. An operator with a `subject` \
                 signs in at the provider instead and gets a key only on request.",
            )
            .success(&[201])
            .problems(&[507])
            .handled_with_body(create),
        patch(
            Admin,
            "/v1/operators/{id}",
            "updateOperator",
            "Change the name, role or account of an operator",
        )
        .about("A changed `subject`, or `null` for none, ends all their sessions.")
        .problems(&[409])
        .handled_with_body(update),
        post(Admin, "/v1/operators/{id}/key", "rotateOperatorKey", "Rotate the key of an operator")
            .about("The old key is revoked.")
            .handled_with_body(rotate),
        delete(Admin, "/v1/operators/{id}", "deleteOperator", "Delete an operator")
            .problems(&[409])
            .handled_by(remove),
        get(Admin, "/v1/oauth-clients", "listClients", "List OAuth clients, the newest first")
            .handled_with_query(list_clients),
        delete(Admin, "/v1/oauth-clients/{id}", "deleteClient", "Delete an OAuth client")
            .about("Its tokens are revoked.")
            .handled_by(remove_client),
        get(Admin, "/v1/principals", "listPrincipals", "List principals, the newest first")
            .handled_with_query(list_principals),
    ]
}

/// The account of an operator.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewOperatorSubject {
    /// The issuer of the provider; default: the one of this host.
    #[schemars(length(min = 1, max = 2048))]
    issuer: Option<String>,
    account: OperatorAccount,
}

/// An operator.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Operator")]
struct OperatorResponse {
    id: String,
    name: String,
    role: OperatorRole,
    /// The account for sign-ins, if any.
    subject: Option<OperatorSubject>,
    created_at: Timestamp,
    last_used_at: Option<Timestamp>,
    /// The first letters of the key.
    key_hint: Option<String>,
}

/// An operator with their key, shown once.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OperatorWithKey")]
struct OperatorKeyResponse {
    #[serde(flatten)]
    operator: OperatorResponse,
    /// Only in this response.
    key: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewOperator")]
struct NewOperatorBody {
    #[schemars(length(min = 1, max = 100))]
    name: String,
    role: OperatorRole,
    /// The account for sign-ins, instead of a key.
    subject: Option<NewOperatorSubject>,
    /// Whether to create a key. Default: only for operators without an account.
    key: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OperatorChange {
    #[schemars(length(min = 1, max = 100))]
    name: Option<String>,
    role: Option<OperatorRole>,
    /// The account for sign-ins; `null` for none.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Option<NewOperatorSubject>")]
    subject: Option<Option<NewOperatorSubject>>,
}

/// Distinguishes `null` from an absent member.
fn present<'de, D: Deserializer<'de>>(
    input: D,
) -> Result<Option<Option<NewOperatorSubject>>, D::Error> {
    Option::deserialize(input).map(Some)
}

impl NewOperatorSubject {
    /// The account, by default at the provider of this host.
    fn resolve(self, call: &RestCall) -> ApiResult<OperatorSubject> {
        let known =
            || call.rest.http_state.provider.as_ref().map(|provider| provider.issuer().to_owned());
        let issuer = self.issuer.or_else(known).ok_or_else(|| {
            ApiError::invalid("`subject.issuer` is missing, and this host has no OpenID provider")
                .hint("set `subject.issuer`, or configure `serve.oidc` and restart the host")
        })?;
        Ok(OperatorSubject { issuer, account: self.account })
    }
}

impl From<Operator> for OperatorResponse {
    fn from(operator: Operator) -> Self {
        let last_used_at = operator.last_used_at.get();
        let Operator { id, name, role, subject, created_at, key_hint, .. } = operator;
        Self { id, name, role, subject, created_at, last_used_at, key_hint }
    }
}

impl From<IssuedOperatorKey> for OperatorKeyResponse {
    fn from(IssuedOperatorKey { operator, key }: IssuedOperatorKey) -> Self {
        Self { operator: operator.into(), key: key.map(|key| key.expose().to_owned()) }
    }
}

async fn list(call: RestCall, paging: PageQuery) -> ApiResult<ListPage<OperatorResponse>> {
    let all = call.registry()?.operators().list().into_iter().map(OperatorResponse::from).collect();
    paging.page_of(&call, all, |operator| operator.id.clone())
}

async fn create(call: RestCall, body: JsonBody<NewOperatorBody>) -> ApiResult<OperatorKeyResponse> {
    let JsonBody(NewOperatorBody { name, role, subject, key }) = body;
    let subject = subject.map(|binding| binding.resolve(&call)).transpose()?;
    let new = NewOperator { name, role, with_key: key.unwrap_or(subject.is_none()), subject };
    let made = call.registry()?.operators().create(&call.registry_caller(), new).await?;
    Ok(made.into())
}

async fn update(call: RestCall, body: JsonBody<OperatorChange>) -> ApiResult<OperatorResponse> {
    let JsonBody(OperatorChange { name, role, subject }) = body;
    let subject = match subject {
        None => None,
        Some(binding) => Some(binding.map(|binding| binding.resolve(&call)).transpose()?),
    };
    let update = OperatorUpdate { name, role, subject };
    let (registry, caller) = (call.registry()?, call.registry_caller());
    let changed = registry.operators().update(&caller, call.path_parameter("id"), update).await?;
    call.rest.http_state.end_orphaned_shares().await;
    Ok(changed.into())
}

async fn rotate(call: RestCall, _: OptionalJsonBody<EmptyBody>) -> ApiResult<OperatorKeyResponse> {
    let (registry, caller) = (call.registry()?, call.registry_caller());
    let rotated = registry.operators().rotate_key(&caller, call.path_parameter("id")).await?;
    Ok(rotated.into())
}

async fn remove(call: RestCall) -> ApiResult<NoContent> {
    call.registry()?.operators().remove(&call.registry_caller(), call.path_parameter("id")).await?;
    call.rest.http_state.end_orphaned_shares().await;
    Ok(NoContent)
}

/// An OAuth client.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OAuthClient")]
struct ClientResponse {
    id: String,
    /// `registered` or `document`.
    kind: String,
    name: String,
    redirect_uris: Vec<String>,
    client_uri: Option<String>,
    created_at: Timestamp,
    last_used_at: Option<Timestamp>,
}

/// A holder of grants.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Principal")]
struct PrincipalResponse {
    id: String,
    name: String,
    client_id: Option<String>,
    /// The operator that it acts for.
    operator: Option<String>,
    created_at: Timestamp,
    /// Its current grants.
    grants: Vec<GrantResponse>,
}

async fn list_clients(call: RestCall, paging: PageQuery) -> ApiResult<ListPage<ClientResponse>> {
    let page = call.registry()?.clients().list(&page_request(&call, &paging)?)?;
    let shown = |client: &OAuthClient| {
        Ok(ClientResponse {
            id: client.id.clone(),
            kind: convert(&client.kind)?,
            name: client.name.clone(),
            redirect_uris: client.redirect_uris.clone(),
            client_uri: client.client_uri.clone(),
            created_at: client.created_at,
            last_used_at: client.last_used_at.get(),
        })
    };
    shown_page(&call, page, shown)
}

async fn remove_client(call: RestCall) -> ApiResult<NoContent> {
    call.registry()?.clients().remove(&call.registry_caller(), call.path_parameter("id")).await?;
    Ok(NoContent)
}

async fn list_principals(
    call: RestCall,
    paging: PageQuery,
) -> ApiResult<ListPage<PrincipalResponse>> {
    let registry = call.registry()?;
    let page = registry.clients().principals(&page_request(&call, &paging)?)?;
    let shown = |principal: &PrincipalRecord| {
        let held = GrantQuery {
            principal: Some(principal.id.clone()),
            live_only: true,
            ..GrantQuery::default()
        };
        let grants =
            registry.grants().list(&held, &PageRequest { cursor: None, limit: Some(200) })?;
        Ok(PrincipalResponse {
            id: principal.id.clone(),
            name: principal.name.clone(),
            client_id: principal.client_id.clone(),
            operator: principal.operator.clone(),
            created_at: principal.created_at,
            grants: grants.items.iter().map(GrantResponse::from_grant).collect::<Result<_, _>>()?,
        })
    };
    shown_page(&call, page, shown)
}

//! Operators of the dashboard.

use capdeck_auth::inbound::{
    self, IssuedOperatorKey, NewOperator, OperatorAccount, OperatorRole, OperatorSubject,
    OperatorUpdate,
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::rest::{
    call::RestCall,
    input::{JsonBody, NoBody, NoQuery, OptionalJsonBody},
    operation::{RestOperation, delete, get, patch, post},
    page::{ListPage, PageQuery},
    problem::ApiError,
    response::{NoContent, RestResponse},
    shapes::EmptyBody,
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get("/v1/operators", "listOperators", "List operators").handled_by(list),
        post("/v1/operators", "createOperator", "Create an operator")
            .about(
                "The `key` is only in this response; the operator signs in with it. An operator with a `subject` \
                 signs in at the provider instead and gets a key only on request.",
            )
            .success(&[201])
            .problems(&[507])
            .handled_by(create),
        patch(
            "/v1/operators/{id}",
            "updateOperator",
            "Change the name, role or account of an operator",
        )
        .about("A changed `subject`, or `null` for none, ends all their sessions.")
        .problems(&[409])
        .handled_by(update),
        post("/v1/operators/{id}/key", "rotateOperatorKey", "Rotate the key of an operator")
            .about("The old key is revoked.")
            .handled_by(rotate),
        delete("/v1/operators/{id}", "deleteOperator", "Delete an operator")
            .problems(&[409])
            .handled_by(remove),
    ]
}

/// How an account is identified.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "OperatorAccount")]
enum SubjectAccount {
    /// By the subject of the provider.
    Subject(#[schemars(length(min = 1, max = 255))] String),
    /// By a verified address; the first sign-in replaces it with the subject.
    Email(#[schemars(length(min = 3, max = 100))] String),
}

/// An account at an OpenID provider.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OperatorSubject")]
struct OperatorSubjectResponse {
    /// The issuer of the provider.
    issuer: String,
    account: SubjectAccount,
}

/// The account of an operator.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewOperatorSubject")]
struct NewOperatorSubject {
    /// The issuer of the provider; default: the one of this host.
    #[schemars(length(min = 1, max = 2048))]
    issuer: Option<String>,
    account: SubjectAccount,
}

/// An operator.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Operator")]
struct OperatorResponse {
    id: String,
    name: String,
    role: OperatorRole,
    /// The account for sign-ins, if any.
    subject: Option<OperatorSubjectResponse>,
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
#[schemars(rename = "Pages")]
struct OperatorListQuery {
    #[serde(flatten)]
    paging: PageQuery,
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
#[schemars(rename = "OperatorChange")]
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
    fn resolve(self, call: &RestCall) -> Result<OperatorSubject, ApiError> {
        let known = || call.rest.http_state.provider().map(|provider| provider.issuer().to_owned());
        let issuer = self.issuer.or_else(known).ok_or_else(|| {
            ApiError::invalid("`subject.issuer` is missing, and this host has no OpenID provider")
                .hint("set `subject.issuer`, or configure `serve.oidc` and restart the host")
        })?;
        let account = match self.account {
            SubjectAccount::Subject(name) => OperatorAccount::Subject(name),
            SubjectAccount::Email(address) => OperatorAccount::Email(address),
        };
        Ok(OperatorSubject { issuer, account })
    }
}

fn shown_subject(subject: &OperatorSubject) -> OperatorSubjectResponse {
    let account = match &subject.account {
        OperatorAccount::Subject(name) => SubjectAccount::Subject(name.clone()),
        OperatorAccount::Email(address) => SubjectAccount::Email(address.clone()),
    };
    OperatorSubjectResponse { issuer: subject.issuer.clone(), account }
}

fn shown(operator: &inbound::Operator) -> OperatorResponse {
    OperatorResponse {
        id: operator.id.clone(),
        name: operator.name.clone(),
        role: operator.role,
        subject: operator.subject.as_ref().map(shown_subject),
        created_at: operator.created_at,
        last_used_at: operator.last_used_at.get(),
        key_hint: operator.key_hint.clone(),
    }
}

fn with_key(made: &IssuedOperatorKey) -> OperatorKeyResponse {
    let key = made.key.as_ref().map(|key| key.expose().to_owned());
    OperatorKeyResponse { operator: shown(&made.operator), key }
}

async fn list(
    call: RestCall,
    query: OperatorListQuery,
    _: NoBody,
) -> Result<RestResponse<ListPage<OperatorResponse>>, ApiError> {
    let all = call.registry()?.operators().list().iter().map(shown).collect();
    Ok(RestResponse::new(query.paging.page_of(&call, all, |operator| operator.id.clone())?))
}

async fn create(
    call: RestCall,
    _: NoQuery,
    body: JsonBody<NewOperatorBody>,
) -> Result<RestResponse<OperatorKeyResponse>, ApiError> {
    let JsonBody(NewOperatorBody { name, role, subject, key }) = body;
    let subject = subject.map(|binding| binding.resolve(&call)).transpose()?;
    let new = NewOperator { name, role, with_key: key.unwrap_or(subject.is_none()), subject };
    let made = call.registry()?.operators().create(&call.registry_caller(), new).await?;
    Ok(RestResponse::created(with_key(&made)))
}

async fn update(
    call: RestCall,
    _: NoQuery,
    body: JsonBody<OperatorChange>,
) -> Result<RestResponse<OperatorResponse>, ApiError> {
    let JsonBody(OperatorChange { name, role, subject }) = body;
    let subject = match subject {
        None => None,
        Some(binding) => Some(binding.map(|binding| binding.resolve(&call)).transpose()?),
    };
    let update = OperatorUpdate { name, role, subject };
    let (registry, caller) = (call.registry()?, call.registry_caller());
    let changed = registry.operators().update(&caller, call.path_parameter("id"), update).await?;
    call.rest.http_state.end_orphaned_shares().await;
    Ok(RestResponse::new(shown(&changed)))
}

async fn rotate(
    call: RestCall,
    _: NoQuery,
    _: OptionalJsonBody<EmptyBody>,
) -> Result<RestResponse<OperatorKeyResponse>, ApiError> {
    let (registry, caller) = (call.registry()?, call.registry_caller());
    let rotated = registry.operators().rotate_key(&caller, call.path_parameter("id")).await?;
    Ok(RestResponse::new(with_key(&rotated)))
}

async fn remove(
    call: RestCall,
    _: NoQuery,
    _: NoBody,
) -> Result<RestResponse<NoContent>, ApiError> {
    call.registry()?.operators().remove(&call.registry_caller(), call.path_parameter("id")).await?;
    call.rest.http_state.end_orphaned_shares().await;
    Ok(RestResponse::new(NoContent))
}

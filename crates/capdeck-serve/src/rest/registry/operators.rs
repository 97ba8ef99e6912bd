//! Operators of the dashboard.

use capdeck_auth::inbound::{
    self, NewOperator, OperatorAccount, OperatorRole, OperatorSubject, OperatorUpdate,
    OperatorWithKey,
};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::rest::{
    call::Call,
    input::{Json, MaybeJson, NoBody, NoQuery},
    operation::{Operation, delete, get, patch, post},
    page::{Page, Paging},
    problem::ApiError,
    reply::{NoContent, Reply},
    shapes::EmptyBody,
};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        get("/v1/operators", "listOperators", "List operators").done_by(list),
        post("/v1/operators", "createOperator", "Create an operator")
            .about(
                "The `key` is only in this response; the operator signs in with it. An operator with a `subject` \
                 signs in at the provider instead and gets a key only on request.",
            )
            .success(&[201])
            .problems(&[507])
            .done_by(create),
        patch(
            "/v1/operators/{id}",
            "updateOperator",
            "Change the name, role or account of an operator",
        )
        .about("A changed `subject`, or `null` for none, ends all their sessions.")
        .problems(&[409])
        .done_by(update),
        post("/v1/operators/{id}/key", "rotateOperatorKey", "Rotate the key of an operator")
            .about("The old key is revoked.")
            .done_by(rotate),
        delete("/v1/operators/{id}", "deleteOperator", "Delete an operator")
            .problems(&[409])
            .done_by(remove),
    ]
}

/// How an account is identified.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "OperatorAccount")]
enum Account {
    /// By the subject of the provider.
    Subject(#[schemars(length(min = 1, max = 255))] String),
    /// By a verified address; the first sign-in replaces it with the subject.
    Email(#[schemars(length(min = 3, max = 100))] String),
}

/// An account at an OpenID provider.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OperatorSubject")]
struct Subject {
    /// The issuer of the provider.
    issuer: String,
    account: Account,
}

/// The account of an operator.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewOperatorSubject")]
struct Binding {
    /// The issuer of the provider; default: the one of this host.
    #[schemars(length(min = 1, max = 2048))]
    issuer: Option<String>,
    account: Account,
}

/// An operator.
#[derive(Debug, Serialize, JsonSchema)]
struct Operator {
    id: String,
    name: String,
    role: OperatorRole,
    /// The account for sign-ins, if any.
    subject: Option<Subject>,
    created_at: Timestamp,
    last_used_at: Option<Timestamp>,
    /// The first letters of the key.
    key_hint: Option<String>,
}

/// An operator with their key, shown once.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OperatorWithKey")]
struct WithKey {
    #[serde(flatten)]
    operator: Operator,
    /// Only in this response.
    key: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Pages {
    #[serde(flatten)]
    paging: Paging,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewOperator")]
struct AddOperator {
    #[schemars(length(min = 1, max = 100))]
    name: String,
    role: OperatorRole,
    /// The account for sign-ins, instead of a key.
    subject: Option<Binding>,
    /// Whether to create a key. Default: only for operators without an account.
    key: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OperatorChange")]
struct ChangeOperator {
    #[schemars(length(min = 1, max = 100))]
    name: Option<String>,
    role: Option<OperatorRole>,
    /// The account for sign-ins; `null` for none.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Option<Binding>")]
    subject: Option<Option<Binding>>,
}

/// Distinguishes `null` from an absent member.
fn present<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Option<Binding>>, D::Error> {
    Option::deserialize(input).map(Some)
}

impl Binding {
    /// The account, by default at the provider of this host.
    fn resolve(self, call: &Call) -> Result<OperatorSubject, ApiError> {
        let known = || call.rest.http_state.provider().map(|provider| provider.issuer().to_owned());
        let issuer = self.issuer.or_else(known).ok_or_else(|| {
            ApiError::invalid("`subject.issuer` is missing, and this host has no OpenID provider")
                .hint("set `subject.issuer`, or configure `serve.oidc` and restart the host")
        })?;
        let account = match self.account {
            Account::Subject(name) => OperatorAccount::Subject(name),
            Account::Email(address) => OperatorAccount::Email(address),
        };
        Ok(OperatorSubject { issuer, account })
    }
}

fn shown_subject(subject: &OperatorSubject) -> Subject {
    let account = match &subject.account {
        OperatorAccount::Subject(name) => Account::Subject(name.clone()),
        OperatorAccount::Email(address) => Account::Email(address.clone()),
    };
    Subject { issuer: subject.issuer.clone(), account }
}

fn shown(operator: &inbound::Operator) -> Operator {
    Operator {
        id: operator.id.clone(),
        name: operator.name.clone(),
        role: operator.role,
        subject: operator.subject.as_ref().map(shown_subject),
        created_at: operator.created_at,
        last_used_at: operator.last_used_at.get(),
        key_hint: operator.key_hint.clone(),
    }
}

fn with_key(made: &OperatorWithKey) -> WithKey {
    let key = made.key.as_ref().map(|key| key.expose().to_owned());
    WithKey { operator: shown(&made.operator), key }
}

async fn list(call: Call, query: Pages, _: NoBody) -> Result<Reply<Page<Operator>>, ApiError> {
    let all = call.registry()?.operators().iter().map(shown).collect();
    Ok(Reply::new(query.paging.cut(&call, all, |operator| operator.id.clone())?))
}

async fn create(
    call: Call,
    _: NoQuery,
    body: Json<AddOperator>,
) -> Result<Reply<WithKey>, ApiError> {
    let Json(AddOperator { name, role, subject, key }) = body;
    let subject = subject.map(|binding| binding.resolve(&call)).transpose()?;
    let new = NewOperator { name, role, with_key: key.unwrap_or(subject.is_none()), subject };
    let made = call.registry()?.create_operator(&call.registry_caller(), new).await?;
    Ok(Reply::created(with_key(&made)))
}

async fn update(
    call: Call,
    _: NoQuery,
    body: Json<ChangeOperator>,
) -> Result<Reply<Operator>, ApiError> {
    let Json(ChangeOperator { name, role, subject }) = body;
    let subject = match subject {
        None => None,
        Some(binding) => Some(binding.map(|binding| binding.resolve(&call)).transpose()?),
    };
    let update = OperatorUpdate { name, role, subject };
    let (registry, caller) = (call.registry()?, call.registry_caller());
    let changed = registry.update_operator(&caller, call.place("id"), update).await?;
    call.rest.http_state.end_orphaned_shares().await;
    Ok(Reply::new(shown(&changed)))
}

async fn rotate(
    call: Call,
    _: NoQuery,
    _: MaybeJson<EmptyBody>,
) -> Result<Reply<WithKey>, ApiError> {
    let (registry, caller) = (call.registry()?, call.registry_caller());
    let rotated = registry.rotate_operator_key(&caller, call.place("id")).await?;
    Ok(Reply::new(with_key(&rotated)))
}

async fn remove(call: Call, _: NoQuery, _: NoBody) -> Result<Reply<NoContent>, ApiError> {
    call.registry()?.remove_operator(&call.registry_caller(), call.place("id")).await?;
    call.rest.http_state.end_orphaned_shares().await;
    Ok(Reply::new(NoContent))
}

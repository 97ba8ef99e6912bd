//! The people with the dashboard.

use capdeck_auth::inbound::{self, NewOperator, OperatorUpdate, OperatorWithKey};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shapes::translated;
use crate::rest::{
    call::Call,
    input::{Json, MaybeJson, NoBody, NoQuery},
    operation::{Operation, delete, get, patch, post},
    page::{Page, Paging},
    problem::ApiError,
    reply::{NoContent, Reply},
};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        get("/v1/operators", "listOperators", "List the people with the dashboard").done_by(list),
        post("/v1/operators", "createOperator", "Let a person use the dashboard")
            .about("The `key` is in this answer and nowhere else; the person signs in with it.")
            .success(&[201])
            .problems(&[507])
            .done_by(create),
        patch(
            "/v1/operators/{id}",
            "updateOperator",
            "Rename a person, or change what they may do",
        )
        .problems(&[409])
        .done_by(update),
        post("/v1/operators/{id}/key", "rotateOperatorKey", "Give a person a new key")
            .about("The one before opens nothing any more.")
            .done_by(rotate),
        delete("/v1/operators/{id}", "deleteOperator", "Take the dashboard away from a person")
            .problems(&[409])
            .done_by(remove),
    ]
}

/// What a person may do.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Role {
    /// Has capsules of their own, reads those of the team, decides about their own.
    Member,
    /// Decides about every capsule and the deck.
    Approver,
    /// Everything.
    Admin,
}

/// A person with the dashboard.
#[derive(Debug, Serialize, JsonSchema)]
struct Operator {
    id: String,
    name: String,
    role: Role,
    created_at: Timestamp,
    last_used_at: Option<Timestamp>,
    /// The first letters of their key.
    key_hint: Option<String>,
}

/// A person with their key, told once.
#[derive(Debug, Serialize, JsonSchema)]
struct WithKey {
    #[serde(flatten)]
    operator: Operator,
    /// It is shown here and nowhere else.
    key: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Pages {
    #[serde(flatten)]
    paging: Paging,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AddOperator {
    #[schemars(length(min = 1, max = 100))]
    name: String,
    role: Role,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChangeOperator {
    #[schemars(length(min = 1, max = 100))]
    name: Option<String>,
    role: Option<Role>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

fn shown(operator: &inbound::Operator) -> Result<Operator, ApiError> {
    Ok(Operator {
        id: operator.id.clone(),
        name: operator.name.clone(),
        role: translated(&operator.role)?,
        created_at: operator.created_at,
        last_used_at: operator.last_used_at.get(),
        key_hint: operator.key_hint.clone(),
    })
}

fn with_key(made: &OperatorWithKey) -> Result<WithKey, ApiError> {
    let key = made.key.as_ref().map(|key| key.expose().to_owned());
    Ok(WithKey { operator: shown(&made.operator)?, key })
}

async fn list(call: Call, query: Pages, _: NoBody) -> Result<Reply<Page<Operator>>, ApiError> {
    let all = call.registry()?.operators();
    let all = all.iter().map(shown).collect::<Result<Vec<_>, _>>()?;
    Ok(Reply::new(query.paging.cut(&call, all, |operator| operator.id.clone())?))
}

async fn create(
    call: Call,
    _: NoQuery,
    body: Json<AddOperator>,
) -> Result<Reply<WithKey>, ApiError> {
    let Json(AddOperator { name, role }) = body;
    let new = NewOperator { name, role: translated(&role)?, subject: None, with_key: true };
    let made = call.registry()?.create_operator(&call.registry_caller(), new).await?;
    Ok(Reply::created(with_key(&made)?))
}

async fn update(
    call: Call,
    _: NoQuery,
    body: Json<ChangeOperator>,
) -> Result<Reply<Operator>, ApiError> {
    let Json(ChangeOperator { name, role }) = body;
    let role = role.as_ref().map(translated).transpose()?;
    let update = OperatorUpdate { name, role, subject: None };
    let (registry, caller) = (call.registry()?, call.registry_caller());
    let changed = registry.update_operator(&caller, call.place("id"), update).await?;
    Ok(Reply::new(shown(&changed)?))
}

async fn rotate(call: Call, _: NoQuery, _: MaybeJson<Nothing>) -> Result<Reply<WithKey>, ApiError> {
    let (registry, caller) = (call.registry()?, call.registry_caller());
    let rotated = registry.rotate_operator_key(&caller, call.place("id")).await?;
    Ok(Reply::new(with_key(&rotated)?))
}

async fn remove(call: Call, _: NoQuery, _: NoBody) -> Result<Reply<NoContent>, ApiError> {
    call.registry()?.remove_operator(&call.registry_caller(), call.place("id")).await?;
    Ok(Reply::new(NoContent))
}

//! The schemes of a capsule.

use capdeck_host::{
    AddSchemeRequest, Format, Origin, RemoveSchemeRequest, RiskClass, Scheme, SchemesRequest,
};
use http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::shapes::SchemeDetails;
use crate::rest::{
    call::Call,
    input::{Json, NoBody, NoQuery},
    operation::{Operation, delete, get, post},
    page::Page,
    problem::ApiError,
    reply::{NoContent, Reply},
    who::Who,
};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        get("/v1/capsules/{capsule}/schemes", "listSchemes", "List the schemes of a capsule")
            .who(Who::Anyone)
            .done_by(list),
        post("/v1/capsules/{capsule}/schemes", "addScheme", "Declare a scheme")
            .who(Who::Anyone)
            .success(&[201])
            .done_by(add),
        delete(
            "/v1/capsules/{capsule}/schemes/{name}",
            "removeScheme",
            "Remove a scheme that has no entries",
        )
        .who(Who::Anyone)
        .problems(&[409])
        .done_by(remove),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewScheme {
    /// A lower-case letter, then lower-case letters, digits or `-`.
    #[schemars(length(min = 1, max = 32))]
    name: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    format: Format,
    /// Whether its entries are offered as prompts.
    #[serde(default)]
    prompt_source: bool,
    /// The class of entries whose writer names none.
    default_risk_class: Option<RiskClass>,
}

async fn list(call: Call, _: NoQuery, _: NoBody) -> Result<Reply<Page<SchemeDetails>>, ApiError> {
    let schemes = call.ask_for(SchemesRequest).await?.schemes;
    Ok(Reply::new(Page::whole(schemes.into_iter().map(SchemeDetails::from).collect())))
}

async fn add(
    call: Call,
    _: NoQuery,
    body: Json<NewScheme>,
) -> Result<Reply<SchemeDetails>, ApiError> {
    let Json(NewScheme { name, title, description, format, prompt_source, default_risk_class }) =
        body;
    let added = name.clone();
    let origin = Origin::Capsule;
    let scheme =
        Scheme { name, title, description, format, prompt_source, default_risk_class, origin };
    call.ask_for(AddSchemeRequest { scheme }).await?;
    let mut schemes = call.ask_for(SchemesRequest).await?.schemes.into_iter();
    let shown = schemes.find(|scheme| scheme.name == added).map(SchemeDetails::from);
    shown.map(|shown| Reply::new(shown).status(StatusCode::CREATED)).ok_or_else(|| {
        let detail = "the scheme was added and removed at once";
        ApiError::new(StatusCode::CONFLICT, "conflict", detail)
    })
}

async fn remove(call: Call, _: NoQuery, _: NoBody) -> Result<Reply<NoContent>, ApiError> {
    let name = call.place("name").to_owned();
    call.ask_for(RemoveSchemeRequest { name }).await?;
    Ok(Reply::new(NoContent))
}

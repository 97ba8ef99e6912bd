//! The schemes of a capsule.

use capdeck_host::{
    AddSchemeRequest, BodyFormat, RemoveSchemeRequest, RiskClass, Scheme, SchemeOrigin,
    SchemesRequest,
};
use http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::SchemeDetails;
use crate::rest::{
    ApiError, ApiResult, JsonBody, ListPage, NoContent, RequiredAccess::Anyone, RestCall,
    RestOperation, RestResponse, delete, get, post,
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get(
            Anyone,
            "/v1/capsules/{capsule}/schemes",
            "listSchemes",
            "List the schemes of a capsule",
        )
        .handled_by(list),
        post(Anyone, "/v1/capsules/{capsule}/schemes", "addScheme", "Declare a scheme")
            .success(&[201])
            .handled_with_body(add),
        delete(
            Anyone,
            "/v1/capsules/{capsule}/schemes/{name}",
            "removeScheme",
            "Remove a scheme that has no entries",
        )
        .problems(&[409])
        .handled_by(remove),
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
    format: BodyFormat,
    /// Whether its entries are offered as prompts.
    #[serde(default)]
    prompt_source: bool,
    /// The class of entries whose writer names none.
    default_risk_class: Option<RiskClass>,
}

async fn list(call: RestCall) -> ApiResult<ListPage<SchemeDetails>> {
    let schemes = call.ask_for(SchemesRequest).await?.schemes;
    Ok(ListPage::whole(schemes.into_iter().map(SchemeDetails::from).collect()))
}

async fn add(call: RestCall, body: JsonBody<NewScheme>) -> ApiResult<RestResponse<SchemeDetails>> {
    let JsonBody(NewScheme { name, title, description, format, prompt_source, default_risk_class }) =
        body;
    let added = name.clone();
    let origin = SchemeOrigin::Capsule;
    let scheme =
        Scheme { name, title, description, format, prompt_source, default_risk_class, origin };
    call.ask_for(AddSchemeRequest { scheme }).await?;
    let mut schemes = call.ask_for(SchemesRequest).await?.schemes.into_iter();
    let shown = schemes.find(|scheme| scheme.name == added).map(SchemeDetails::from);
    shown.map(|shown| RestResponse::new(shown).status(StatusCode::CREATED)).ok_or_else(|| {
        let detail = "the scheme was added and removed at once";
        ApiError::new(StatusCode::CONFLICT, "conflict", detail)
    })
}

async fn remove(call: RestCall) -> ApiResult<NoContent> {
    let name = call.path_parameter("name").to_owned();
    call.ask_for(RemoveSchemeRequest { name }).await?;
    Ok(NoContent)
}

//! OAuth clients and principals.

use capdeck_auth::inbound::{GrantQuery, OAuthClient, PageRequest, PrincipalRecord};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shapes::{GrantResponse, convert, page_request, shown_page};
use crate::rest::{
    call::RestCall,
    input::{NoBody, NoQuery},
    operation::{RestOperation, delete, get},
    page::{ListPage, PageQuery},
    problem::ApiError,
    response::{NoContent, RestResponse},
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get("/v1/oauth-clients", "listClients", "List OAuth clients, the newest first")
            .handled_by(list_clients),
        delete("/v1/oauth-clients/{id}", "deleteClient", "Delete an OAuth client")
            .about("Its tokens are revoked.")
            .handled_by(remove_client),
        get("/v1/principals", "listPrincipals", "List principals, the newest first")
            .handled_by(list_principals),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Pages")]
struct ClientListQuery {
    #[serde(flatten)]
    paging: PageQuery,
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

async fn list_clients(
    call: RestCall,
    query: ClientListQuery,
    _: NoBody,
) -> Result<RestResponse<ListPage<ClientResponse>>, ApiError> {
    let page = call.registry()?.clients().list(&page_request(&call, &query.paging)?)?;
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
    Ok(RestResponse::new(shown_page(&call, page, shown)?))
}

async fn remove_client(
    call: RestCall,
    _: NoQuery,
    _: NoBody,
) -> Result<RestResponse<NoContent>, ApiError> {
    call.registry()?.clients().remove(&call.registry_caller(), call.path_parameter("id")).await?;
    Ok(RestResponse::new(NoContent))
}

async fn list_principals(
    call: RestCall,
    query: ClientListQuery,
    _: NoBody,
) -> Result<RestResponse<ListPage<PrincipalResponse>>, ApiError> {
    let registry = call.registry()?;
    let page = registry.clients().principals(&page_request(&call, &query.paging)?)?;
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
            grants: grants.items.iter().map(GrantResponse::of).collect::<Result<_, _>>()?,
        })
    };
    Ok(RestResponse::new(shown_page(&call, page, shown)?))
}

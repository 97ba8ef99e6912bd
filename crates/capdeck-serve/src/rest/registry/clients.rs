//! OAuth clients and principals.

use capdeck_auth::inbound::{Client, GrantQuery, PageRequest, PrincipalRecord};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shapes::{GrantShown, page_request, shown_page, translated};
use crate::rest::{
    call::Call,
    input::{NoBody, NoQuery},
    operation::{Operation, delete, get},
    page::{Page, Paging},
    problem::ApiError,
    reply::{NoContent, Reply},
};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        get("/v1/oauth-clients", "listClients", "List OAuth clients, the newest first")
            .done_by(list_clients),
        delete("/v1/oauth-clients/{id}", "deleteClient", "Delete an OAuth client")
            .about("Its tokens are revoked.")
            .done_by(remove_client),
        get("/v1/principals", "listPrincipals", "List principals, the newest first")
            .done_by(list_principals),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Pages {
    #[serde(flatten)]
    paging: Paging,
}

/// An OAuth client.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OAuthClient")]
struct ClientShown {
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
struct PrincipalShown {
    id: String,
    name: String,
    client_id: Option<String>,
    /// The operator that it acts for.
    operator: Option<String>,
    created_at: Timestamp,
    /// Its current grants.
    grants: Vec<GrantShown>,
}

async fn list_clients(
    call: Call,
    query: Pages,
    _: NoBody,
) -> Result<Reply<Page<ClientShown>>, ApiError> {
    let page = call.registry()?.clients(&page_request(&call, &query.paging)?)?;
    let shown = |client: &Client| {
        Ok(ClientShown {
            id: client.id.clone(),
            kind: translated(&client.kind)?,
            name: client.name.clone(),
            redirect_uris: client.redirect_uris.clone(),
            client_uri: client.client_uri.clone(),
            created_at: client.created_at,
            last_used_at: client.last_used_at.get(),
        })
    };
    Ok(Reply::new(shown_page(&call, page, shown)?))
}

async fn remove_client(call: Call, _: NoQuery, _: NoBody) -> Result<Reply<NoContent>, ApiError> {
    call.registry()?.remove_client(&call.registry_caller(), call.place("id")).await?;
    Ok(Reply::new(NoContent))
}

async fn list_principals(
    call: Call,
    query: Pages,
    _: NoBody,
) -> Result<Reply<Page<PrincipalShown>>, ApiError> {
    let registry = call.registry()?;
    let page = registry.principals(&page_request(&call, &query.paging)?)?;
    let shown = |principal: &PrincipalRecord| {
        let held = GrantQuery {
            principal: Some(principal.id.clone()),
            live_only: true,
            ..GrantQuery::default()
        };
        let grants = registry.grants(&held, &PageRequest { cursor: None, limit: Some(200) })?;
        Ok(PrincipalShown {
            id: principal.id.clone(),
            name: principal.name.clone(),
            client_id: principal.client_id.clone(),
            operator: principal.operator.clone(),
            created_at: principal.created_at,
            grants: grants.items.iter().map(GrantShown::of).collect::<Result<_, _>>()?,
        })
    };
    Ok(Reply::new(shown_page(&call, page, shown)?))
}

//! Configuration snippets that connect an agent to this host.

use capdeck_host::ServeAuthMode;
use capdeck_install::{AgentClient, ConfigDocument, FileFormat, LaunchTarget};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ApiError, ApiResult, ListPage, RequiredAccess::Anyone, RestCall, RestOperation, get};

/// The server name in agents' configurations.
const NAME: &str = "capdeck";

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get(Anyone, "/v1/connect", "listConnectable", "List supported agents")
            .handled_by(list),
        get(Anyone, "/v1/connect/{client}", "getConnectSnippet", "Get the configuration for an agent")
            .about("The entry that `capdeck connect --url` writes. It has no token: for agents that cannot sign in, add one by hand.")
            .handled_with_query(show),
    ]
}

/// A supported agent.
#[derive(Debug, Serialize, JsonSchema)]
struct ConnectableAgent {
    client: &'static str,
    name: &'static str,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ConnectQuery {
    /// The endpoint of this capsule instead of the deck.
    #[schemars(length(min = 1, max = 100))]
    capsule: Option<String>,
}

/// The configuration for an agent.
#[derive(Debug, Serialize, JsonSchema)]
struct ConnectSnippet {
    client: &'static str,
    name: &'static str,
    /// The endpoint for the agent.
    url: String,
    /// `json`, `yaml` or `toml`.
    format: &'static str,
    /// The path of keys to the map of servers, joined by dots.
    key: String,
    /// A complete file with only this entry; in an existing file, add the entry under the key.
    text: String,
    notes: Vec<&'static str>,
}

async fn list(_: RestCall) -> ApiResult<ListPage<ConnectableAgent>> {
    let all = AgentClient::all()
        .iter()
        .map(|client| ConnectableAgent { client: client.id, name: client.name });
    Ok(ListPage::whole(all.collect()))
}

async fn show(call: RestCall, query: ConnectQuery) -> ApiResult<ConnectSnippet> {
    let id = call.path_parameter("client");
    let client = AgentClient::find(id).ok_or_else(|| ApiError::not_found("agent", id))?;
    let issuer = call.rest.http_state.issuer(&call.headers, call.address);
    let url = match &query.capsule {
        None => format!("{issuer}/mcp"),
        Some(name) => {
            let mut all = call.capsules(false).await?.into_iter();
            let found = all.find(|one| one.id == *name || one.name.eq_ignore_ascii_case(name));
            let found = found.ok_or_else(|| ApiError::not_found("capsule", name))?;
            format!("{issuer}{}", found.mcp_path)
        }
    };
    let launch = LaunchTarget::Url { url: url.clone(), command: "capdeck".to_owned() };
    let text = text(client, &launch)
        .map_err(|error| ApiError::internal("cannot render the entry", &error))?;
    let mut notes = Vec::new();
    if call.rest.http_state.mode == ServeAuthMode::Required {
        notes.push("the agent opens a browser, where you choose its access");
        notes.push("an agent without a browser enrolls at `/v1/agent-enrollments`, or uses a token from *Access*, *My requests*, as the header `Authorization: Bearer <token>`; never give it the admin key or your own key");
    }
    Ok(ConnectSnippet {
        client: client.id,
        name: client.name,
        url,
        format: match client.format {
            FileFormat::Json => "json",
            FileFormat::Yaml => "yaml",
            FileFormat::Toml => "toml",
        },
        key: client.key(),
        text,
        notes,
    })
}

fn text(client: &AgentClient, launch: &LaunchTarget) -> Result<String, Box<dyn std::error::Error>> {
    let mut document = ConfigDocument::parse("", client.format)?;
    let path = client.server_path(&document, NAME);
    document.set(&path, client.entry(NAME, launch))?;
    Ok(document.text())
}

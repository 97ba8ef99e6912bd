//! What to put into an agent's configuration to connect it with this host.

use capdeck_install::{Client, Document, FileFormat, Launch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    call::Call,
    input::{NoBody, NoQuery},
    operation::{Operation, get},
    page::Page,
    problem::ApiError,
    reply::Reply,
    who::Who,
};
use crate::transport::http::AuthMode;

/// What this host is called in the files of agents.
const NAME: &str = "capdeck";

pub(super) fn operations() -> Vec<Operation> {
    vec![
        get("/v1/connect", "listConnectable", "List the agents that can be connected")
            .who(Who::Anyone)
            .done_by(list),
        get("/v1/connect/{client}", "getConnectSnippet", "What to put into an agent's configuration")
            .about("What `capdeck connect --url` writes. No token is in it: agents that cannot sign in are given one by hand.")
            .who(Who::Anyone)
            .done_by(show),
    ]
}

/// An agent that can be connected.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ConnectableAgent")]
struct Agent {
    client: &'static str,
    name: &'static str,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ConnectTo {
    /// The endpoint of this capsule instead of the deck's.
    #[schemars(length(min = 1, max = 100))]
    capsule: Option<String>,
}

/// What to put into an agent's configuration.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ConnectSnippet")]
struct Snippet {
    client: &'static str,
    name: &'static str,
    /// The endpoint that the agent is told.
    url: String,
    /// `json`, `yaml` or `toml`.
    format: &'static str,
    /// The keys that lead to the map of servers, joined by dots.
    key: String,
    /// A whole file with nothing but this entry; in a file that is there, the entry goes under the key.
    text: String,
    notes: Vec<&'static str>,
}

async fn list(_: Call, _: NoQuery, _: NoBody) -> Result<Reply<Page<Agent>>, ApiError> {
    let all = Client::all().iter().map(|client| Agent { client: client.id, name: client.name });
    Ok(Reply::new(Page::whole(all.collect())))
}

async fn show(call: Call, query: ConnectTo, _: NoBody) -> Result<Reply<Snippet>, ApiError> {
    let id = call.place("client");
    let client = Client::find(id).ok_or_else(|| ApiError::not_found("agent", id))?;
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
    let launch = Launch::Url { url: url.clone(), command: "capdeck".to_owned() };
    let text = text(client, &launch)
        .map_err(|error| ApiError::internal("the entry cannot be written", &error))?;
    let mut notes = Vec::new();
    if call.rest.http_state.mode == AuthMode::Required {
        notes.push("the agent opens a browser, where you choose what it can use");
        notes.push("an agent without a browser enrolls at `/v1/agent-enrollments`, or is given a token from *Access*, *Asked by me*, as the header `Authorization: Bearer <token>`; never give it the admin key or your own key");
    }
    Ok(Reply::new(Snippet {
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
    }))
}

fn text(client: &Client, launch: &Launch) -> Result<String, Box<dyn std::error::Error>> {
    let mut document = Document::parse("", client.format)?;
    let path = client.server_path(&document, NAME);
    document.set(&path, client.entry(NAME, launch))?;
    Ok(document.text())
}

//! What a half-typed address or argument may become.

use capdeck_host::{CapsuleOperation, ListQuery, RawObject};
use capdeck_mcp::RpcError;
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{super::capsule_client::CapsuleClient, array, prompts, raw};

/// The most that one answer may hold.
const MOST: usize = 100;

#[derive(Deserialize)]
struct Request {
    #[serde(rename = "ref")]
    about: Reference,
    argument: Argument,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Reference {
    #[serde(rename = "ref/resource")]
    Resource { uri: String },
    #[serde(rename = "ref/prompt")]
    Prompt { name: String },
}

#[derive(Deserialize)]
struct Argument {
    name: String,
    value: String,
}

pub(super) async fn complete(
    client: &CapsuleClient,
    params: &RawObject,
) -> Result<Box<RawValue>, RpcError> {
    let params = raw(params)?;
    let request: Request = serde_json::from_str(params.get())
        .map_err(|error| RpcError::invalid_params(error.to_string()))?;
    let Argument { name, value } = request.argument;
    let (values, has_more) = match request.about {
        Reference::Resource { uri } => {
            let scheme = uri.strip_suffix("://{+path}").filter(|_| name == "path");
            let scheme = scheme.ok_or_else(|| {
                RpcError::invalid_params(format!("`{uri}` is no template with `{name}`"))
            })?;
            let start = format!("{scheme}://");
            let (found, has_more) = addresses(client, &format!("{start}{value}")).await;
            let paths = found.iter().filter_map(|uri| uri.strip_prefix(&start));
            (paths.map(str::to_owned).collect(), has_more)
        }
        Reference::Prompt { name: prompt } => {
            argument_values(client, &prompt, &name, &value).await?
        }
    };
    raw(&json!({ "completion": { "values": values, "hasMore": has_more } }))
}

/// What the skill says its argument can be; else addresses, once the value begins like one.
async fn argument_values(
    client: &CapsuleClient,
    prompt: &str,
    argument: &str,
    value: &str,
) -> Result<(Vec<String>, bool), RpcError> {
    let prompts = prompts::all(client).await?;
    let prompt = prompts
        .iter()
        .find(|one| one["name"] == prompt)
        .ok_or_else(|| RpcError::invalid_params(format!("there is no prompt `{prompt}`")))?;
    let mut declared = prompt["arguments"].as_array().into_iter().flatten();
    let declared = declared.find(|one| one["name"] == argument).ok_or_else(|| {
        RpcError::invalid_params(format!("the prompt has no argument `{argument}`"))
    })?;
    let values = declared["values"].as_array().into_iter().flatten();
    let fitting = values.filter_map(|one| one.as_str()).filter(|one| one.starts_with(value));
    let mut fitting: Vec<String> = fitting.map(str::to_owned).collect();
    if fitting.is_empty() && value.contains("://") {
        return Ok(addresses(client, value).await);
    }
    let has_more = fitting.len() > MOST;
    fitting.truncate(MOST);
    Ok((fitting, has_more))
}

/// Addresses of entries that begin so. What can begin no address has none.
async fn addresses(client: &CapsuleClient, start: &str) -> (Vec<String>, bool) {
    let prefix = Some(if start.ends_with("://") { start.to_owned() } else { format!("{start}*") });
    let query = ListQuery { prefix, limit: MOST, ..ListQuery::default() };
    let Ok(answer) = client.ask(CapsuleOperation::List(query)).await else {
        return (Vec::new(), false);
    };
    let has_more = answer["next_cursor"].is_string();
    let entries = array(answer, "entries");
    let uris = entries.iter().filter_map(|entry| Some(entry["uri"].as_str()?.to_owned()));
    (uris.collect(), has_more)
}

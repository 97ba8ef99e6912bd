//! The skills extension: each entry of `skills://` as a folder with one file.

use capdeck_host::{CapsuleOperation, RawObject};
use capdeck_mcp::{Era, RpcError};
use serde_json::{Value, json, value::RawValue};

use super::{
    super::{capsule_client::CapsuleClient, capsule_failure, page::page, params},
    array, raw,
};

const MIME: &str = "text/markdown";

/// The name of the skill whose file an address is.
pub(super) fn name_in(uri: &str) -> Option<&str> {
    uri.strip_prefix("skill://")?.strip_suffix("/SKILL.md")
}

pub(super) async fn list(
    client: &CapsuleClient,
    params: &RawObject,
) -> Result<Box<RawValue>, RpcError> {
    let skills: Vec<Value> = all(client).await?.iter().map(shown).collect();
    page("skills", &raw(&skills)?, Some(params))
}

pub(super) async fn get(client: &CapsuleClient, uri: &str) -> Result<Box<RawValue>, RpcError> {
    let all = all(client).await?;
    let skill = all.iter().map(shown).find(|skill| skill["uri"] == uri);
    let unknown = || RpcError::invalid_params(format!("there is no skill `{uri}`"));
    raw(&json!({ "skill": skill.ok_or_else(unknown)? }))
}

/// The file of a skill.
pub(super) async fn read(
    client: &CapsuleClient,
    uri: &str,
    name: &str,
    era: Era,
) -> Result<Box<RawValue>, RpcError> {
    let skill = client.ask(CapsuleOperation::Skill { name: name.to_owned() }).await;
    let skill = skill.map_err(|mut failure| {
        if failure.code == "invalid_input" {
            failure.code = "not_found".to_owned();
        }
        capsule_failure::of_resource(&failure, era)
    })?;
    raw(&json!({ "contents": [{ "uri": uri, "mimeType": MIME, "text": skill["text"] }] }))
}

/// What is in the folder of a skill: its file.
pub(super) async fn folder(
    client: &CapsuleClient,
    params: &RawObject,
) -> Result<Box<RawValue>, RpcError> {
    let uri = params::text(params, "uri")?;
    let folder = uri.trim_end_matches('/');
    let name = folder.strip_prefix("skill://");
    let is_there = all(client).await?.iter().any(|skill| skill["name"].as_str() == name);
    if !is_there {
        return Err(RpcError::invalid_params(format!("`{uri}` is no folder of a skill")));
    }
    let file =
        json!([{ "uri": format!("{folder}/SKILL.md"), "name": "SKILL.md", "mimeType": MIME }]);
    page("resources", &raw(&file)?, Some(params))
}

async fn all(client: &CapsuleClient) -> Result<Vec<Value>, RpcError> {
    let answer = client.ask(CapsuleOperation::Skills).await;
    let answer = answer.map_err(|failure| capsule_failure::as_rpc_error(&failure))?;
    Ok(array(answer, "skills"))
}

fn shown(skill: &Value) -> Value {
    let uri = format!("skill://{}/SKILL.md", skill["name"].as_str().unwrap_or_default());
    json!({
        "uri": uri,
        "frontmatter": skill["frontmatter"],
        "resources": [{ "uri": uri, "digest": skill["digest"], "size": skill["size"] }],
    })
}

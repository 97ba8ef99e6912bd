//! Skills, and entries of schemes that say so, as prompts.

use std::collections::BTreeMap;

use capdeck_host::{CapsuleOperation, RawObject};
use capdeck_mcp::RpcError;
use serde_json::{Value, json, value::RawValue};

use super::{
    super::{capsule_client::CapsuleClient, capsule_failure, page::page, params},
    array, raw,
};

pub(super) async fn list(
    client: &CapsuleClient,
    params: &RawObject,
) -> Result<Box<RawValue>, RpcError> {
    let prompts: Vec<Value> = all(client).await?.iter().map(listed).collect();
    page("prompts", &raw(&prompts)?, Some(params))
}

pub(super) async fn get(
    client: &CapsuleClient,
    params: &RawObject,
) -> Result<Box<RawValue>, RpcError> {
    let name = params::text(params, "name")?;
    let given = params.get("arguments").filter(|given| given.get() != "null");
    let arguments: BTreeMap<String, String> = match given {
        None => BTreeMap::new(),
        Some(given) => serde_json::from_str(given.get())
            .map_err(|_| RpcError::invalid_params("`arguments` must be an object of strings"))?,
    };
    let answer = client.ask(CapsuleOperation::Prompt { name, arguments }).await;
    let answer = answer.map_err(|failure| capsule_failure::as_rpc_error(&failure))?;
    let content = json!({ "type": "text", "text": answer["text"] });
    raw(&json!({
        "description": answer["title"],
        "messages": [{ "role": "user", "content": content }],
    }))
}

/// All prompts of the capsule, as the desk tells them.
pub(super) async fn all(client: &CapsuleClient) -> Result<Vec<Value>, RpcError> {
    let answer = client.ask(CapsuleOperation::Prompts).await;
    let answer = answer.map_err(|failure| capsule_failure::as_rpc_error(&failure))?;
    Ok(array(answer, "prompts"))
}

fn listed(prompt: &Value) -> Value {
    let arguments = prompt["arguments"].as_array().into_iter().flatten().map(|argument| {
        json!({
            "name": argument["name"],
            "description": argument["description"],
            "required": argument["required"],
        })
    });
    json!({
        "name": prompt["name"],
        "title": prompt["title"],
        "description": prompt["description"],
        "arguments": arguments.collect::<Vec<_>>(),
    })
}

//! Prompts of the deck, and the completion of arguments of prompts and resource templates.

use capdeck_backend::{CallError, ErrorCode};
use capdeck_catalog::RawMembers;
use serde_json::{Value, json};

use crate::{RequestContext, View, forward::forward, listing, raw};

/// Gets a listed prompt. `params` are the client's own, with the listed name.
pub async fn get(request: &RequestContext<'_>, name: &str, mut params: RawMembers) -> raw::Answer {
    if let Some(entries) = request.deck.entries()
        && let Some(got) = entries.prompt(name, &params, request.call).await
    {
        return got;
    }
    let found = find_in_offers(request, Some(name), |view| view.prompt_route(name)).await;
    let (request, (id, real)) = found.ok_or_else(|| {
        CallError::new(ErrorCode::PromptNotFound, format!("there is no prompt `{name}`"))
            .hint("list the prompts first")
    })?;
    raw::set(&mut params, "name", &real);
    forward(&request, &id, "prompts/get", Some(params)).await
}

/// Completes an argument of a listed prompt or template.
pub async fn complete(request: &RequestContext<'_>, mut params: RawMembers) -> raw::Answer {
    if let Some(entries) = request.deck.entries()
        && let Some(completed) = entries.complete(&params, request.call).await
    {
        return completed;
    }
    let reference: Value = raw::get(&params, "ref").unwrap_or_default();
    let text = |key: &str| reference.get(key).and_then(Value::as_str);
    let route_in = |view: &View| match (text("type"), text("name"), text("uri")) {
        (Some("ref/prompt"), Some(name), _) => view
            .prompt_route(name)
            .map(|(id, real)| (id, json!({ "type": "ref/prompt", "name": real }))),
        (Some("ref/resource"), _, Some(uri)) => view
            .template_route(uri)
            .or_else(|| view.resource_route(uri))
            .map(|(id, real)| (id, json!({ "type": "ref/resource", "uri": real }))),
        _ => None,
    };
    let found = find_in_offers(request, text("name").or(text("uri")), route_in).await;
    let Some((request, (id, reference))) = found else {
        return Err(CallError::invalid_request(
            "`ref` names no listed prompt or resource template",
        ));
    };
    raw::set(&mut params, "ref", &reference);
    forward(&request, &id, "completion/complete", Some(params)).await
}

/// Searches the lists; on a miss, the servers that `name` may belong to are asked for their lists
/// again.
async fn find_in_offers<'a, T>(
    request: &RequestContext<'a>,
    name: Option<&str>,
    find: impl Fn(&View) -> Option<T>,
) -> Option<(RequestContext<'a>, T)> {
    let mut request = listing::with_offers(request).await;
    if let Some(found) = find(&listing::offers_in(&request.deck)) {
        return Some((request, found));
    }
    listing::ask_about(&request, name?).await;
    request = listing::with_offers(&request.renewed()).await;
    let found = find(&listing::offers_in(&request.deck))?;
    Some((request, found))
}

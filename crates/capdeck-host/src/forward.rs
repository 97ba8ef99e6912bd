//! Requests and notifications of a client that are forwarded to one server unchanged.

use std::time::Duration;

use capdeck_backend::CallContext;
use capdeck_catalog::RawMembers;

use crate::{
    RequestContext, Session, audit::subject, client_questions::ClientQuestions, raw,
    tasks::is_task_request,
};

const NOTIFY_TIMEOUT: Duration = Duration::from_secs(10);

/// Forwards an MCP request to one server. The server's questions are part of its response where the
/// client supports that.
pub async fn forward(
    request: &RequestContext<'_>,
    id: &str,
    method: &str,
    params: Option<RawMembers>,
) -> raw::Answer {
    match subject(method, params.as_ref()) {
        Some(about) => {
            let sending = send(request, id, method, params);
            request.session().audited(method, id, &about, sending).await
        }
        None => send(request, id, method, params).await,
    }
}

pub(crate) async fn send(
    request: &RequestContext<'_>,
    id: &str,
    method: &str,
    params: Option<RawMembers>,
) -> raw::Answer {
    let deck = &request.deck;
    let capability = match method {
        // A client that has only some of the tools may list them and use their tasks.
        "tools/list" => deck.capability(id)?,
        "resources/list" | "resources/templates/list" | "prompts/list" => {
            deck.listed_capability(id)?
        }
        _ if is_task_request(method) => deck.capability(id)?,
        _ => deck.whole_capability(id)?,
    };
    let (_, context) = ClientQuestions::watch(request.call, request.connections().audience());
    let lease = request.connections().lease(&capability.definition, request.call).await?;
    lease.request(method, params, &context).await
}

/// Forwards a notification to one server.
pub async fn notify(session: &Session, id: &str, method: &str, params: Option<RawMembers>) {
    let context = CallContext::detached(NOTIFY_TIMEOUT);
    let request = session.request(&context);
    let Ok(capability) = request.deck.whole_capability(id) else { return };
    if let Ok(lease) = request.connections().lease(&capability.definition, request.call).await {
        lease.notify(method, params).await;
    }
}

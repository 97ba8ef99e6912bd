//! Lists everything a server offers, page by page.

use std::{collections::HashSet, sync::Arc};

use capdeck_catalog::{Discovery, RawMembers, Tool};
use indexmap::IndexMap;
use serde_json::value::{RawValue, to_raw_value};

use super::session::McpSession;
use crate::{CallContext, CallError, ErrorCode};

/// Bounds an endless list.
const MAX_PAGES: usize = 1000;
const MAX_ENTRIES: usize = 100_000;

pub(super) async fn discover(
    session: &McpSession,
    context: &CallContext,
) -> Result<Discovery, CallError> {
    let timeout = session.timeout(context);
    tokio::time::timeout(timeout, read_all(session, context)).await.unwrap_or_else(|_| {
        Err(CallError::new(
            ErrorCode::ToolCallTimeout,
            format!(
                "`{}` did not list what it offers within {} ms",
                session.id(),
                timeout.as_millis()
            ),
        ))
    })
}

async fn read_all(session: &McpSession, context: &CallContext) -> Result<Discovery, CallError> {
    let tools = read_list(session, context, "tools/list", "tools").await?;
    let mut seen = HashSet::new();
    let tools = tools
        .into_iter()
        .filter_map(|entry| {
            let tool = Tool::new(entry);
            if tool.is_none() {
                tracing::warn!(server = session.id(), "a tool without a name was left out");
            }
            tool
        })
        .filter(|tool| seen.insert(tool.name().to_owned()))
        .map(Arc::new)
        .collect();
    Ok(Discovery {
        tools,
        resources: read_list(session, context, "resources/list", "resources").await?,
        resource_templates: read_list(
            session,
            context,
            "resources/templates/list",
            "resourceTemplates",
        )
        .await?,
        prompts: read_list(session, context, "prompts/list", "prompts").await?,
        server: Some(session.facts()),
        ..Discovery::default()
    })
}

async fn read_list(
    session: &McpSession,
    context: &CallContext,
    method: &str,
    member: &str,
) -> Result<Vec<RawMembers>, CallError> {
    let capabilities = session.facts().capabilities;
    let capability = method.split('/').next().unwrap_or_default();
    // A server that declares nothing is old or incomplete and is asked anyway.
    if !capabilities.is_empty() && !capabilities.contains_key(capability) {
        return Ok(Vec::new());
    }
    let mut entries = Vec::new();
    let mut cursors = HashSet::new();
    let mut params = None;
    for _ in 0..MAX_PAGES {
        // No message of the server belongs to it: a listing during a call must not make the recipient of that call's
        // question ambiguous.
        let answer = match session.forward(method, params, context).await {
            Ok(answer) => answer,
            Err(error) if error.code == ErrorCode::UnsupportedCapability => return Ok(entries),
            Err(error) => return Err(error),
        };
        let next = read_page(session, method, member, &answer, &mut entries)?;
        let Some(cursor) = next else { return Ok(entries) };
        if entries.len() >= MAX_ENTRIES || !cursors.insert(cursor.clone()) {
            break;
        }
        let cursor = to_raw_value(&cursor).unwrap_or_else(|_| RawValue::NULL.to_owned());
        params = Some([("cursor".to_owned(), cursor)].into_iter().collect());
    }
    tracing::warn!(
        server = session.id(),
        method,
        entries = entries.len(),
        "the list does not end; what was read so far is used"
    );
    Ok(entries)
}

/// Adds one page's entries and returns the next cursor. An entry that is not an object is omitted.
fn read_page(
    session: &McpSession,
    method: &str,
    member: &str,
    answer: &RawValue,
    entries: &mut Vec<RawMembers>,
) -> Result<Option<String>, CallError> {
    let malformed = || {
        CallError::protocol_error(format!(
            "`{}` answered `{}` without a list of `{}`",
            session.id(),
            method,
            member
        ))
    };
    let page: IndexMap<String, &RawValue> =
        serde_json::from_str(answer.get()).map_err(|_| malformed())?;
    let list = page.get(member).ok_or_else(malformed)?;
    let items: Vec<&RawValue> = serde_json::from_str(list.get()).map_err(|_| malformed())?;
    for item in items {
        match serde_json::from_str(item.get()) {
            Ok(entry) => entries.push(entry),
            Err(_) => tracing::warn!(
                server = session.id(),
                method,
                "an entry that is no object was left out"
            ),
        }
    }
    Ok(page.get("nextCursor").and_then(|cursor| serde_json::from_str(cursor.get()).ok()))
}

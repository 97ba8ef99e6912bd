//! What is read from one capsule.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use capdeck_capsule::{
    CapsuleSession, EntryMeta, ListRequest, Order, ReadEntry, SearchHit, SearchRequest, Skill,
};
use capdeck_catalog::sha256_hex;
use serde_json::{Map, Value, json};

use super::{Answer, address, answer, prefix};
use crate::capsules::{ListQuery, ReadBody, SearchQuery};

pub(super) async fn overview(session: &CapsuleSession) -> Answer {
    let overview = session.overview().await?;
    let recent: Vec<_> = overview.recent.iter().map(facts).collect();
    let info = session.capsule();
    answer(
        session,
        &json!({
            "name": info.name,
            "description": info.description,
            "role": session.access().role,
            "schemes": overview.schemes,
            "recent": recent,
        }),
    )
}

pub(super) async fn read(
    session: &CapsuleSession,
    uri: &str,
    version: Option<u64>,
    body: ReadBody,
) -> Answer {
    let uri = address(session, "read", uri).await?;
    answer(session, &entry(session.read(&uri, version).await?, body))
}

pub(super) async fn list(session: &CapsuleSession, query: ListQuery) -> Answer {
    let ListQuery { scheme, prefix: below, tag, written_after, latest_first, limit, cursor } =
        query;
    let request = ListRequest {
        scheme,
        prefix: prefix(session, "list", below.as_deref()).await?,
        tag,
        written_after,
        order: if latest_first { Order::ByTime } else { Order::ByUri },
        limit,
        cursor,
        ..ListRequest::default()
    };
    let page = session.list(request).await?;
    let entries: Vec<_> = page.items.iter().map(facts).collect();
    answer(session, &with_cursor(json!({ "entries": entries }), page.next_cursor))
}

pub(super) async fn search(session: &CapsuleSession, query: SearchQuery) -> Answer {
    let SearchQuery {
        query,
        scheme,
        prefix: below,
        tags,
        author,
        risk_class,
        written_after,
        written_before,
        limit,
        cursor,
    } = query;
    let request = SearchRequest {
        query,
        scheme,
        prefix: prefix(session, "search", below.as_deref()).await?,
        tags,
        author,
        risk_class,
        written_after,
        written_before,
        limit,
        cursor,
        ..SearchRequest::default()
    };
    let page = session.search(request).await?;
    let hits: Vec<_> = page.hits.iter().map(hit).collect();
    let found = json!({ "hits": hits, "total": page.total });
    answer(session, &with_cursor(found, page.next_cursor))
}

pub(super) async fn history(session: &CapsuleSession, uri: &str) -> Answer {
    let uri = address(session, "history", uri).await?;
    let versions = session.history(&uri).await?;
    let versions: Vec<_> = versions.iter().map(facts).collect();
    answer(session, &json!({ "uri": uri, "versions": versions }))
}

pub(super) async fn diff(
    session: &CapsuleSession,
    uri: &str,
    from: u64,
    to: Option<u64>,
) -> Answer {
    let uri = address(session, "diff", uri).await?;
    let diff = session.diff(&uri, from, to).await?;
    answer(session, &json!({ "uri": uri, "from": from, "to": to, "diff": diff }))
}

pub(super) async fn schemes(session: &CapsuleSession) -> Answer {
    answer(session, &json!({ "schemes": session.schemes().await? }))
}

pub(super) async fn prompts(session: &CapsuleSession) -> Answer {
    answer(session, &json!({ "prompts": session.prompts().await? }))
}

pub(super) async fn prompt(
    session: &CapsuleSession,
    name: &str,
    arguments: BTreeMap<String, String>,
) -> Answer {
    let mut fields = entry(session.prompt(name, arguments).await?, ReadBody::Banded);
    fields.insert("name".to_owned(), name.into());
    answer(session, &fields)
}

pub(super) async fn skills(session: &CapsuleSession) -> Answer {
    let skills = session.skills().await?;
    answer(session, &json!({ "skills": skills.iter().map(skill_facts).collect::<Vec<_>>() }))
}

pub(super) async fn skill(session: &CapsuleSession, name: &str) -> Answer {
    let skill = session.skill(name).await?;
    let mut fields = skill_facts(&skill);
    fields["text"] = skill.text.into();
    answer(session, &fields)
}

/// What a client needs to know a file again.
fn skill_facts(skill: &Skill) -> Value {
    json!({
        "name": skill.name,
        "uri": skill.uri,
        "frontmatter": skill.frontmatter,
        "digest": format!("sha256:{}", sha256_hex(&skill.text)),
        "size": skill.text.len(),
    })
}

pub(super) async fn read_blob(session: &CapsuleSession, uri: &str, version: Option<u64>) -> Answer {
    let uri = address(session, "blob.read", uri).await?;
    let blob = session.read_blob(&uri, version).await?;
    let reference = &blob.reference;
    let data = STANDARD.encode(&blob.bytes);
    answer(
        session,
        &json!({
            "uri": uri,
            "sha256": reference.sha256,
            "mime": reference.mime,
            "bytes": reference.bytes,
            "data": data,
        }),
    )
}

/// An entry as it is answered with. `text` is the only form in which its content goes to an agent as text.
fn entry(read: ReadEntry, body: ReadBody) -> Map<String, Value> {
    let mut fields = facts(&read.entry.meta);
    fields.insert("mime_type".to_owned(), read.entry.format.mime_type().into());
    fields.insert("stale".to_owned(), read.anchors.is_stale().into());
    fields.insert("anchors".to_owned(), json!(read.anchors));
    if body == ReadBody::Banded {
        fields.insert("body".to_owned(), read.entry.body.into());
        fields.insert("text".to_owned(), read.text.into());
    }
    fields
}

/// What is known about an entry, under the names that readers know.
fn facts(meta: &EntryMeta) -> Map<String, Value> {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(meta) else { return Map::new() };
    // The store's own mark of a request is nobody else's business.
    fields.shift_remove("idempotency");
    fields.insert("title".to_owned(), meta.display_title().into());
    fields.insert("file_anchors".to_owned(), json!(meta.file_anchors));
    fields.insert("tags".to_owned(), json!(meta.tags));
    fields
}

fn hit(hit: &SearchHit) -> Map<String, Value> {
    let mut fields = facts(&hit.meta);
    fields.insert("score".to_owned(), json!(hit.score));
    fields.insert("snippet".to_owned(), hit.snippet.as_str().into());
    fields.insert("stale".to_owned(), hit.is_stale.into());
    fields
}

fn with_cursor(mut page: Value, cursor: Option<String>) -> Value {
    if let (Some(fields), Some(cursor)) = (page.as_object_mut(), cursor) {
        fields.insert("next_cursor".to_owned(), cursor.into());
    }
    page
}

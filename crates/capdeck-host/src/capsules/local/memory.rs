//! The caller's own memory in one capsule.

use capdeck_capsule::CapsuleSession;
use serde_json::json;

use super::{Answer, answer};

pub(super) async fn get(session: &CapsuleSession, key: &str) -> Answer {
    let value = session.memory_get(key).await?;
    answer(session, &json!({ "key": key, "value": value }))
}

pub(super) async fn set(session: &CapsuleSession, key: &str, value: &str) -> Answer {
    session.memory_set(key, value).await?;
    answer(session, &json!({ "key": key, "stored": true }))
}

pub(super) async fn delete(session: &CapsuleSession, key: &str) -> Answer {
    session.memory_delete(key).await?;
    answer(session, &json!({ "key": key, "deleted": true }))
}

pub(super) async fn list(session: &CapsuleSession) -> Answer {
    answer(session, &json!({ "items": session.memory_list().await? }))
}

pub(super) async fn search(session: &CapsuleSession, query: &str) -> Answer {
    answer(session, &json!({ "items": session.memory_search(query).await? }))
}

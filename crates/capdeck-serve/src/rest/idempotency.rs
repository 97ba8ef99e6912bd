//! Idempotency keys: the same key and request get the first response.
//!
//! Stored in memory. A completed request never runs again under its key, even if its response was too large to store.

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{ApiError, ApiResult};

const MAX_AGE: Duration = Duration::from_secs(24 * 3600);
/// Per principal; the oldest key is dropped first.
const MAX_KEYS: usize = 1_000;
/// The least recently active principal is dropped first.
const MAX_PRINCIPALS: usize = 1_000;
const MAX_RESPONSE_BYTES: usize = 256 * 1024;
const MAX_TOTAL_BYTES: usize = 64 * 1024 * 1024;
const MAX_KEY_BYTES: usize = 128;

pub(super) const HEADER: &str = "idempotency-key";
const REPLAYED_HEADER: HeaderName = HeaderName::from_static("idempotency-replayed");
/// The id of the original request, in a replayed response.
const ORIGINAL_HEADER: HeaderName = HeaderName::from_static("original-request");

#[derive(Debug, Default)]
pub(super) struct IdempotencyCache(Mutex<IdempotencyTable>);

#[derive(Debug, Default)]
struct IdempotencyTable {
    principals: HashMap<String, HashMap<String, IdempotencyEntry>>,
    bytes: usize,
}

#[derive(Debug)]
struct IdempotencyEntry {
    request: String,
    at: Instant,
    state: IdempotencyState,
}

#[derive(Debug)]
enum IdempotencyState {
    Running,
    Done(StoredResponse),
    /// Done, but the response was too large.
    NotKept,
}

#[derive(Debug, Clone)]
pub(super) struct StoredResponse {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
    request_id: String,
}

/// The right to run a request under a key. It moves with the work, so the key is held while anything runs under it. Dropped
/// without a response, it frees the key.
#[derive(Debug)]
pub(super) struct IdempotencyClaim {
    kept: Arc<IdempotencyCache>,
    principal: String,
    key: String,
    is_settled: bool,
}

pub(super) enum IdempotencyDecision {
    Do(IdempotencyClaim),
    Repeat(StoredResponse),
}

pub(super) fn key(headers: &HeaderMap) -> ApiResult<Option<String>> {
    let mut sent = headers.get_all(HEADER).iter();
    let Some(first) = sent.next() else { return Ok(None) };
    let text = first.to_str().ok().filter(|_| sent.next().is_none());
    let good = text.filter(|text| !text.is_empty() && text.len() <= MAX_KEY_BYTES);
    good.map(|text| Some(text.to_owned())).ok_or_else(|| {
        ApiError::invalid(format!(
            "`Idempotency-Key` must be 1 to {MAX_KEY_BYTES} visible characters"
        ))
    })
}

impl IdempotencyCache {
    /// Looks up a key and claims it if it is new. `request` is a digest of the request.
    pub(super) fn claim(
        self: &Arc<Self>,
        principal: &str,
        key: String,
        request: String,
    ) -> ApiResult<IdempotencyDecision> {
        let mut kept = self.0.lock();
        kept.sweep(principal);
        let keys = kept.principals.entry(principal.to_owned()).or_default();
        if let Some(entry) = keys.get(&key) {
            if entry.request != request {
                let detail = "this `Idempotency-Key` was used for another request";
                let status = StatusCode::UNPROCESSABLE_ENTITY;
                return Err(
                    ApiError::new(status, "idempotency_key_reused", detail).hint("use a new key")
                );
            }
            return match &entry.state {
                IdempotencyState::Done(finished) => {
                    Ok(IdempotencyDecision::Repeat(finished.clone()))
                }
                IdempotencyState::Running => Err(conflict("the same request is still running")
                    .header(header::RETRY_AFTER, HeaderValue::from_static("1"))),
                IdempotencyState::NotKept => {
                    Err(conflict("the same request is done; its response was too large to store"))
                }
            };
        }
        let entry =
            IdempotencyEntry { request, at: Instant::now(), state: IdempotencyState::Running };
        keys.insert(key.clone(), entry);
        let (kept, principal) = (Arc::clone(self), principal.to_owned());
        Ok(IdempotencyDecision::Do(IdempotencyClaim { kept, principal, key, is_settled: false }))
    }
}

impl IdempotencyClaim {
    /// Stores the response and returns it.
    pub(super) async fn settle(mut self, response: Response, request_id: &str) -> Response {
        let (head, body) = response.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
        let request_id = request_id.to_owned();
        let finished =
            StoredResponse { status: head.status, headers: head.headers, body, request_id };
        let answer = finished.as_response();
        // An internal error does not settle the request; it can be retried.
        if finished.status.is_server_error() {
            return answer;
        }
        self.is_settled = true;
        let mut kept = self.kept.0.lock();
        let size = finished.body.len();
        let fits = size <= MAX_RESPONSE_BYTES && kept.bytes + size <= MAX_TOTAL_BYTES;
        if let Some(entry) = kept.entry(&self.principal, &self.key) {
            entry.state =
                if fits { IdempotencyState::Done(finished) } else { IdempotencyState::NotKept };
            if fits {
                kept.bytes += size;
            }
        }
        drop(kept);
        answer
    }
}

impl Drop for IdempotencyClaim {
    fn drop(&mut self) {
        if self.is_settled {
            return;
        }
        let mut kept = self.kept.0.lock();
        if let Some(keys) = kept.principals.get_mut(&self.principal) {
            keys.remove(&self.key);
        }
    }
}

impl IdempotencyTable {
    fn entry(&mut self, principal: &str, key: &str) -> Option<&mut IdempotencyEntry> {
        self.principals.get_mut(principal)?.get_mut(key)
    }

    /// Drops expired keys, and old ones above the limits.
    fn sweep(&mut self, principal: &str) {
        for keys in self.principals.values_mut() {
            keys.retain(|_, entry| entry.at.elapsed() < MAX_AGE);
        }
        self.principals.retain(|_, keys| !keys.is_empty());
        if let Some(keys) = self.principals.get_mut(principal)
            && keys.len() >= MAX_KEYS
        {
            let oldest = keys.iter().min_by_key(|(_, entry)| entry.at).map(|(key, _)| key.clone());
            oldest.and_then(|key| keys.remove(&key));
        }
        if self.principals.len() >= MAX_PRINCIPALS && !self.principals.contains_key(principal) {
            let latest = |keys: &HashMap<String, IdempotencyEntry>| {
                keys.values().map(|entry| entry.at).max()
            };
            let quiet = self.principals.iter().min_by_key(|(_, keys)| latest(keys));
            let quiet = quiet.map(|(name, _)| name.clone());
            quiet.and_then(|name| self.principals.remove(&name));
        }
        let sizes = self.principals.values().flat_map(HashMap::values);
        self.bytes = sizes.map(IdempotencyEntry::bytes).sum();
    }
}

impl IdempotencyEntry {
    fn bytes(&self) -> usize {
        match &self.state {
            IdempotencyState::Done(finished) => finished.body.len(),
            IdempotencyState::Running | IdempotencyState::NotKept => 0,
        }
    }
}

impl StoredResponse {
    fn as_response(&self) -> Response {
        let mut response = (self.status, self.body.clone()).into_response();
        *response.headers_mut() = self.headers.clone();
        response
    }

    /// Replays the response. A problem gets the id of the current request.
    pub(super) fn repeated(mut self, request_id: &str) -> Response {
        let kind = self.headers.get(header::CONTENT_TYPE);
        if kind.is_some_and(|kind| kind == "application/problem+json")
            && let Ok(mut problem) = serde_json::from_slice::<Map<String, Value>>(&self.body)
        {
            problem.insert("request_id".to_owned(), request_id.into());
            self.body = Value::Object(problem).to_string().into();
        }
        let mut response = self.as_response();
        let headers = response.headers_mut();
        headers.insert(REPLAYED_HEADER, HeaderValue::from_static("true"));
        if let Ok(original) = HeaderValue::from_str(&self.request_id) {
            headers.insert(ORIGINAL_HEADER, original);
        }
        response
    }
}

fn conflict(detail: &'static str) -> ApiError {
    ApiError::new(StatusCode::CONFLICT, "conflict", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(text: &'static str) -> Response {
        (StatusCode::CREATED, text).into_response()
    }

    fn claim(
        kept: &Arc<IdempotencyCache>,
        who: &str,
        key: &str,
        request: &str,
    ) -> IdempotencyClaim {
        let verdict = kept.claim(who, key.to_owned(), request.to_owned()).unwrap();
        let IdempotencyDecision::Do(claim) = verdict else { unreachable!("the key is new") };
        claim
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_is_for_one_request_of_one_principal_for_a_day() {
        let kept = Arc::<IdempotencyCache>::default();
        claim(&kept, "a", "k", "one").settle(done("first"), "req_1").await;
        let again = kept.claim("a", "k".to_owned(), "one".to_owned()).unwrap();
        let IdempotencyDecision::Repeat(again) = again else { unreachable!("it was done") };
        let again = again.repeated("req_2");
        assert_eq!(again.status(), StatusCode::CREATED);
        assert_eq!(again.headers()[&REPLAYED_HEADER], "true");
        assert_eq!(again.headers()[&ORIGINAL_HEADER], "req_1");
        let other = kept.claim("a", "k".to_owned(), "two".to_owned());
        assert!(other.is_err_and(|error| error.status == StatusCode::UNPROCESSABLE_ENTITY));
        // Keys of different principals do not collide.
        drop(claim(&kept, "b", "k", "two"));
        tokio::time::advance(MAX_AGE + Duration::from_secs(1)).await;
        drop(claim(&kept, "a", "k", "two"));
    }

    #[tokio::test]
    async fn a_request_under_way_is_not_begun_twice() {
        let kept = Arc::<IdempotencyCache>::default();
        let first = claim(&kept, "a", "k", "one");
        let second = kept.claim("a", "k".to_owned(), "one".to_owned());
        assert!(second.is_err_and(|error| error.status == StatusCode::CONFLICT));
        // It failed with an internal error, so it can be retried.
        first.settle(StatusCode::INTERNAL_SERVER_ERROR.into_response(), "req_1").await;
        claim(&kept, "a", "k", "one")
            .settle("x".repeat(MAX_RESPONSE_BYTES + 1).into_response(), "req_1")
            .await;
        let third = kept.claim("a", "k".to_owned(), "one".to_owned());
        assert!(third.is_err_and(|error| error.status == StatusCode::CONFLICT), "not stored");
    }

    #[tokio::test]
    async fn the_oldest_keys_give_way() {
        let kept = Arc::<IdempotencyCache>::default();
        for number in 0..MAX_KEYS + 10 {
            claim(&kept, "a", &number.to_string(), "one").settle(done(""), "req_1").await;
        }
        assert!(kept.0.lock().principals["a"].len() <= MAX_KEYS);
        for number in 0..MAX_PRINCIPALS + 10 {
            claim(&kept, &format!("p{number}"), "k", "one").settle(done(""), "req_1").await;
        }
        assert!(kept.0.lock().principals.len() <= MAX_PRINCIPALS);
    }

    #[test]
    fn keys_are_short_and_sent_once() {
        let with = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(HEADER, HeaderValue::from_str(value).unwrap());
            }
            key(&headers)
        };
        assert!(with(&[]).unwrap().is_none());
        assert_eq!(with(&["a-b"]).unwrap().as_deref(), Some("a-b"));
        assert!(with(&["x".repeat(129).as_str()]).is_err());
        assert!(with(&["a", "b"]).is_err());
        assert!(with(&[""]).is_err());
    }
}

//! Handles a request: access check, parsing, idempotency, response or error.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::{RawPathParams, Request, rejection::RawPathParamsRejection},
    response::Response,
    routing::{any, get},
};
use bytes::Bytes;
use capdeck_host::SharedAccess;
use capdeck_mcp::server::SessionOwner;
use capdeck_storage::sha256_hex;
use http::{HeaderValue, Method, StatusCode, header, request::Parts};
use http_body_util::{LengthLimitError, Limited};
use serde_json::{Map, Value};

use super::{
    ApiError, ApiResult, RequiredAccess, RestApi, RestCall, RestOperation, activity,
    idempotency::{self, IdempotencyDecision},
    operation::unauthenticated,
    problem::REQUEST_ID,
};
use crate::{
    request_actor::{RefusalLocation, RequestActor},
    transport::http::{ClientAddress, collect},
};

/// The limit for the text of an error from outside the REST API.
const MAX_REFUSAL_BYTES: usize = 4_096;

pub(crate) struct RestRouters {
    /// Authenticated operations. Unknown paths below `/v1` are errors here.
    pub(crate) known: Router,
    pub(crate) open: Router,
}

pub(crate) fn routers(rest: &Arc<RestApi>) -> RestRouters {
    let watched = Arc::clone(rest);
    let watch = move |request: Request| activity::watch(Arc::clone(&watched), request);
    let known = operation_router(rest, |who| who != RequiredAccess::Stranger)
        .route("/api/activity", get(watch))
        .route("/v1", any(unknown))
        .route("/v1/{*path}", any(unknown));
    RestRouters { known, open: operation_router(rest, |who| who == RequiredAccess::Stranger) }
}

fn operation_router(rest: &Arc<RestApi>, belongs: impl Fn(RequiredAccess) -> bool) -> Router {
    let mut paths: BTreeMap<&'static str, Vec<usize>> = BTreeMap::new();
    let all = rest.operations.iter().enumerate();
    for (index, operation) in all.filter(|(_, operation)| belongs(operation.declared.who)) {
        paths.entry(operation.declared.path).or_default().push(index);
    }
    let mut router = Router::new();
    for (path, indexes) in paths {
        let (rest, indexes) = (Arc::clone(rest), Arc::<[usize]>::from(indexes));
        let serve = move |places, request| {
            let (rest, indexes) = (Arc::clone(&rest), Arc::clone(&indexes));
            async move { serve(rest, &indexes, places, request).await }
        };
        router = router.route(path, any(serve));
    }
    router
}

async fn serve(
    rest: Arc<RestApi>,
    indexes: &[usize],
    places: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
) -> Response {
    let request_id = new_request_id();
    let is_head = request.method() == Method::HEAD;
    let refusal = RefusalContext::of(&rest, &request);
    let mut response =
        match run_operation(rest, indexes, places, request, &request_id, &refusal).await {
            Ok(response) => response,
            Err(error) => refusal.respond(error, &request_id).await,
        };
    if is_head {
        *response.body_mut() = Body::empty();
    }
    if let Ok(id) = HeaderValue::from_str(&request_id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

async fn run_operation(
    rest: Arc<RestApi>,
    indexes: &[usize],
    places: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
    request_id: &str,
    refusal: &RefusalContext,
) -> ApiResult<Response> {
    let (head, body) = request.into_parts();
    let meant = if head.method == Method::HEAD { Method::GET } else { head.method.clone() };
    let operations: Vec<&RestOperation> =
        indexes.iter().filter_map(|index| rest.operations.get(*index)).collect();
    let Some(operation) = operations.iter().find(|one| one.declared.method == meant) else {
        return Err(no_such_method(&operations, &head.method));
    };
    let actor = match operation.declared.who {
        RequiredAccess::Stranger => None,
        who => {
            let actor =
                head.extensions.get::<RequestActor>().cloned().ok_or_else(unauthenticated)?;
            who.check(&actor)?;
            Some(actor)
        }
    };
    let places = places
        .map_err(|_| ApiError::invalid("the path is not UTF-8"))?
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let bytes = read_body(&rest, operation, body).await?;
    let key = match head.method {
        // Anonymous senders are indistinguishable, and one must not get the response of another.
        Method::POST if actor.is_some() => idempotency::key(&head.headers)?,
        _ => None,
    };
    let digest = request_digest(&head, &bytes);
    let principal = head.extensions.get::<SessionOwner>().map(|principal| principal.0.to_string());
    let principal = principal.unwrap_or_default();
    let query = head.uri.query().map(str::to_owned);
    let call = RestCall {
        rest: Arc::clone(&rest),
        actor,
        access: head.extensions.get::<SharedAccess>().cloned(),
        address: head.extensions.get::<ClientAddress>().copied(),
        principal: principal.clone(),
        headers: head.headers,
        places,
        path: head.uri.path().to_owned(),
        filters: filters(query.as_deref()),
    };
    let Some(key) = key else {
        return (operation.run)(call, query.as_deref(), bytes)?.await;
    };
    let claim = match rest.idempotency.claim(&principal, key, digest)? {
        IdempotencyDecision::Repeat(earlier) => return Ok(earlier.repeated(request_id)),
        IdempotencyDecision::Do(claim) => claim,
    };
    // A sender with a key may disconnect and ask again later: the work continues without the sender and keeps the key and
    // the response.
    let working = (operation.run)(call, query.as_deref(), bytes);
    let (refusal, request_id) = (refusal.clone(), request_id.to_owned());
    let keeping = tokio::spawn(async move {
        let outcome = match working {
            Ok(working) => working.await,
            Err(error) => Err(error),
        };
        let response = match outcome {
            Ok(response) => response,
            Err(error) => refusal.respond(error, &request_id).await,
        };
        claim.settle(response, &request_id).await
    });
    keeping.await.map_err(|error| ApiError::internal("cannot run the request", &error))
}

#[derive(Clone)]
struct RefusalContext {
    rest: Arc<RestApi>,
    actor: Option<RequestActor>,
    place: RefusalLocation,
}

impl RefusalContext {
    fn of(rest: &Arc<RestApi>, request: &Request) -> Self {
        let actor = request.extensions().get::<RequestActor>().cloned();
        let place = RefusalLocation::of(request.method(), request.extensions());
        Self { rest: Arc::clone(rest), actor, place }
    }

    /// Responds with an error. Unrecorded denials are recorded first.
    async fn respond(&self, error: ApiError, request_id: &str) -> Response {
        if let (Some(code), Some(actor)) = (error.unrecorded(), &self.actor) {
            self.rest.http_state.record_refusal(actor, self.place.clone(), code).await;
        }
        error.into_response(request_id)
    }
}

async fn read_body(rest: &RestApi, operation: &RestOperation, body: Body) -> ApiResult<Bytes> {
    let limit = operation.body.limit;
    let too_slow = || {
        let detail = "the body took too long";
        ApiError::new(StatusCode::REQUEST_TIMEOUT, "timed_out", detail)
    };
    let read = collect(Limited::new(body, limit), rest.body_timeout).await.ok_or_else(too_slow)?;
    read.map_err(|error| {
        if error.is::<LengthLimitError>() {
            let detail = format!("the body is larger than {limit} bytes");
            return ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail);
        }
        ApiError::invalid("cannot read the body")
    })
}

/// A digest of the request, without hop-by-hop data.
fn request_digest(head: &Parts, body: &Bytes) -> String {
    let body = sha256_hex(String::from_utf8_lossy(body).as_bytes());
    let target = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    sha256_hex(format!("{} {target}\n{body}", head.method))
}

/// The query without paging parameters, sorted, so that a cursor is valid for filters in any order.
fn filters(query: Option<&str>) -> String {
    let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let mut kept: Vec<_> =
        pairs.filter(|(name, _)| !matches!(name.as_ref(), "cursor" | "limit")).collect();
    kept.sort();
    let mut text = url::form_urlencoded::Serializer::new(String::new());
    text.extend_pairs(kept).finish()
}

fn new_request_id() -> String {
    format!("req_{}", uuid::Uuid::now_v7().simple())
}

fn no_such_method(operations: &[&RestOperation], method: &Method) -> ApiError {
    let mut names: Vec<&str> = operations.iter().map(|one| one.declared.method.as_str()).collect();
    if names.contains(&"GET") {
        names.push("HEAD");
    }
    let names = names.join(", ");
    let detail = format!("method `{method}` not allowed; use {names}");
    let error = ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail);
    match HeaderValue::from_str(&names) {
        Ok(allow) => error.header(header::ALLOW, allow),
        Err(_) => error,
    }
}

async fn unknown(request: Request) -> Response {
    let error = ApiError::not_found("path", request.uri().path());
    error.hint("see /v1/openapi.json").into_response(&new_request_id())
}

pub(crate) fn is_rest_path(path: &str) -> bool {
    path.starts_with("/v1/")
}

/// Converts an error from before the routing into a problem.
pub(crate) async fn into_problem(response: Response) -> Response {
    let status = response.status();
    let is_refused = status.is_client_error() || status.is_server_error();
    if !is_refused || response.headers().contains_key(REQUEST_ID) {
        return response;
    }
    let request_id = new_request_id();
    let (mut head, body) = response.into_parts();
    let said = axum::body::to_bytes(body, MAX_REFUSAL_BYTES).await.unwrap_or_default();
    let body = match serde_json::from_slice::<Map<String, Value>>(&said) {
        Ok(mut problem) => {
            problem.insert("request_id".to_owned(), request_id.as_str().into());
            Value::Object(problem).to_string()
        }
        Err(_) => {
            let said = String::from_utf8_lossy(&said).trim().to_owned();
            let dressed = ApiError::new(status, code_of(status), said).problem(&request_id);
            serde_json::to_string(&dressed).unwrap_or_default()
        }
    };
    head.headers.remove(header::CONTENT_LENGTH);
    let kind = HeaderValue::from_static("application/problem+json");
    head.headers.insert(header::CONTENT_TYPE, kind);
    if let Ok(id) = HeaderValue::from_str(&request_id) {
        head.headers.insert(REQUEST_ID, id);
    }
    Response::from_parts(head, Body::from(body))
}

fn code_of(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "unauthenticated",
        StatusCode::FORBIDDEN => "forbidden",
        StatusCode::GONE => "token_in_address",
        StatusCode::BAD_REQUEST => "invalid_input",
        _ => "refused",
    }
}

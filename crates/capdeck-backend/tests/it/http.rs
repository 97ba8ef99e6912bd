//! HTTP actions against a real server on this machine.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    http::{StatusCode, header},
    response::Response,
};
use capdeck_backend::ErrorCode;
use serde_json::{Value, json};

use crate::support::{Deck, context};

type Answer = dyn Fn(&str, &Request<Bytes>) -> Response + Send + Sync;

/// Starts a server that answers every request with this function; gives its base URL.
pub(crate) async fn serve(
    answer: impl Fn(&str, &Request<Bytes>) -> Response + Send + Sync + 'static,
) -> String {
    let answer: Arc<Answer> = Arc::new(answer);
    let app = Router::new().fallback(move |request: Request| {
        let answer = Arc::clone(&answer);
        async move {
            let (parts, body) = request.into_parts();
            let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            let request = Request::from_parts(parts, body);
            answer(request.uri().path(), &request)
        }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}")
}

pub(crate) fn respond(status: u16, content_type: &str, body: impl Into<Body>) -> Response {
    let response = Response::builder().status(status).header(header::CONTENT_TYPE, content_type);
    response.body(body.into()).unwrap()
}

pub(crate) fn redirect(status: u16, location: &str) -> Response {
    Response::builder()
        .status(status)
        .header(header::LOCATION, location)
        .body(Body::empty())
        .unwrap()
}

/// Tells the client what it sent.
pub(crate) fn echo(_path: &str, request: &Request<Bytes>) -> Response {
    let headers: serde_json::Map<String, Value> = request
        .headers()
        .iter()
        .filter(|(name, _)| *name != header::HOST)
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().into()))
        .collect();
    let reported = json!({
        "method": request.method().as_str(),
        "target": request.uri().to_string(),
        "headers": headers,
        "body": String::from_utf8_lossy(request.body()),
    });
    respond(200, "application/json", reported.to_string())
}

fn api(base: &str, actions: Value) -> Value {
    json!({"kind": "http", "baseUrl": base, "auth": {"type": "none"}, "actions": actions})
}

#[tokio::test]
async fn a_request_is_sent_as_declared() {
    let base = serve(echo).await;
    let mut backend = api(
        &format!("{base}/v1"),
        json!({"create": {
            "method": "POST",
            "path": "/repos/{repo}/issues",
            "query": {"draft": "$input.draft", "gone": "$input.gone"},
            "headers": {"X-Request": "$input.request"},
            "jsonBody": {"title": "$input.title", "labels": ["$input.label"], "gone": "$input.gone"},
        }}),
    );
    backend["auth"] = json!({"type": "bearer", "token": "$env:API"});
    let deck = Deck::new(&[("API", "tok")]);
    let arguments =
        json!({"repo": "a/b", "draft": true, "request": 7, "title": "T é", "label": "bug"});
    let result = deck.call(backend, "create", arguments).await.unwrap();
    assert_eq!(
        result["structuredContent"]["body"],
        json!({
            "method": "POST",
            "target": "/v1/repos/a%2Fb/issues?draft=true",
            "headers": {
                "accept": "application/json, */*;q=0.5",
                "authorization": "Bearer tok",
                "x-request": "7",
                "content-type": "application/json",
                "user-agent": "capdeck/0.0.0-test",
                "accept-encoding": "gzip",
                "content-length": "33",
            },
            "body": "{\"title\":\"T é\",\"labels\":[\"bug\"]}",
        })
    );
    assert_eq!(result["isError"], false);
}

#[tokio::test]
async fn results_have_one_shape_for_every_kind_of_body() {
    let base = serve(|path, _request| match path {
        "/json" => respond(200, "application/problem+json; charset=utf-8", r#"{"a":1}"#),
        "/broken" => respond(200, "application/json", "{nope"),
        "/text" => respond(201, "text/plain", "hello"),
        "/empty" => Response::builder().status(204).body(Body::empty()).unwrap(),
        "/denied" => respond(401, "application/json", r#"{"error":"who?"}"#),
        _ => respond(500, "text/plain", "boom"),
    })
    .await;
    for (path, expected, text, is_error) in [
        (
            "/json",
            json!({"status": 200, "statusText": "OK", "kind": "inline", "body": {"a": 1},
                "headers": {"content-type": "application/problem+json; charset=utf-8"}}),
            r#"{"a":1}"#,
            false,
        ),
        (
            "/broken",
            json!({"status": 200, "statusText": "OK", "kind": "inline", "body": "{nope",
                "headers": {"content-type": "application/json"}}),
            "{nope",
            false,
        ),
        (
            "/text",
            json!({"status": 201, "statusText": "Created", "kind": "inline", "body": "hello",
                "headers": {"content-type": "text/plain"}}),
            "hello",
            false,
        ),
        (
            "/empty",
            json!({"status": 204, "statusText": "No Content", "kind": "inline", "headers": {}}),
            "HTTP 204 No Content",
            false,
        ),
        (
            "/denied",
            json!({"status": 401, "statusText": "Unauthorized", "kind": "inline",
                "body": {"error": "who?"}, "headers": {"content-type": "application/json"}}),
            "HTTP 401 Unauthorized\n\n{\"error\":\"who?\"}",
            true,
        ),
        (
            "/other",
            json!({"status": 500, "statusText": "Internal Server Error", "kind": "inline",
                "body": "boom", "headers": {"content-type": "text/plain"}}),
            "HTTP 500 Internal Server Error\n\nboom",
            true,
        ),
    ] {
        let backend = api(&base, json!({"get": {"method": "GET", "path": path}}));
        let mut result = Deck::new(&[]).call(backend, "get", json!({})).await.unwrap();
        let structured = result["structuredContent"].as_object_mut().unwrap();
        assert!(structured.remove("elapsedMs").unwrap().is_u64(), "{path}");
        assert_eq!(result["structuredContent"], expected, "{path}");
        assert_eq!(result["content"], json!([{"type": "text", "text": text}]), "{path}");
        assert_eq!(result["isError"], is_error, "{path}");
    }
}

#[tokio::test]
async fn text_is_read_in_the_encoding_that_the_server_names() {
    let utf16 =
        |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let base = serve(move |path, request| match path {
        "/latin" => respond(200, "text/plain; charset=ISO-8859-1", &b"caf\xe9"[..]),
        "/japanese" => {
            respond(200, "application/json; charset=shift_jis", &b"{\"a\":\"\x93\xfa\"}"[..])
        }
        "/marked" => respond(200, "application/json", "\u{feff}{\"a\":1}"),
        "/wide" => respond(200, "application/json", utf16("\u{feff}{\"a\":\"é\"}")),
        // Says back what it was informed, where no one would look for it.
        "/echo" => {
            let secret = request.headers()[header::AUTHORIZATION].to_str().unwrap();
            respond(200, "text/plain; charset=utf-16le", utf16(secret))
        }
        _ => respond(200, "text/plain; charset=klingon", "née"),
    })
    .await;
    for (path, body) in [
        ("/latin", json!("café")),
        ("/japanese", json!({"a": "日"})),
        ("/marked", json!({"a": 1})),
        ("/wide", json!({"a": "é"})),
        ("/echo", json!("Bearer [redacted]")),
        ("/unknown", json!("née")),
    ] {
        let mut backend = api(&base, json!({"get": {"method": "GET", "path": path}}));
        backend["auth"] = json!({"type": "bearer", "token": "canary-1234"});
        let result = Deck::new(&[]).call(backend, "get", json!({})).await.unwrap();
        assert_eq!(result["structuredContent"]["body"], body, "{path}");
    }
}

#[tokio::test]
async fn useful_response_headers_are_kept_beside_the_result() {
    let base = serve(|_path, _request| {
        Response::builder()
            .status(StatusCode::OK)
            .header("x-ratelimit-remaining", "59")
            .header(header::LINK, "</2>; rel=next")
            .header(header::LINK, "</9>; rel=last")
            .header(header::SET_COOKIE, "session=canary-1")
            .body(Body::from("x"))
            .unwrap()
    })
    .await;
    let backend = api(&base, json!({"get": {"method": "GET", "path": "/"}}));
    let result = Deck::new(&[]).call(backend, "get", json!({})).await.unwrap();
    let headers = &result["_meta"]["capdeck/responseHeaders"];
    assert_eq!(headers["x-ratelimit-remaining"], "59");
    assert_eq!(headers["link"], "</2>; rel=next, </9>; rel=last");
    assert!(!result.to_string().contains("canary"), "{result}");
}

#[tokio::test]
async fn redirects_stay_inside_the_origin_and_move_no_writes() {
    let other = serve(|_path, _request| respond(200, "text/plain", "stolen")).await;
    let elsewhere = format!("{other}/collect?key=canary-1");
    let base = serve(move |path, _request| match path {
        "/v1/away" => redirect(302, &elsewhere),
        "/v1/here" => redirect(301, "/v2/there"),
        "/v2/there" => respond(200, "text/plain", "found"),
        "/v1/loop" => redirect(307, "/v1/loop"),
        "/v1/odd" => redirect(302, "http://["),
        _ => Response::builder().status(302).body(Body::empty()).unwrap(),
    })
    .await;
    let base = format!("{base}/v1");
    for (method, path, expected) in [
        ("GET", "/here", Ok("found")),
        ("GET", "/nowhere", Ok("HTTP 302 Found")),
        ("GET", "/away", Err(format!("the server redirected to another origin: `{other}`"))),
        ("POST", "/away", Err(format!("the server redirected to another origin: `{other}`"))),
        ("POST", "/here", Err("the server redirected a POST to `/v2/there`".to_owned())),
        ("GET", "/loop", Err("the server redirected more than 5 times".to_owned())),
        ("GET", "/odd", Err("the server redirected to something that is not a URL".to_owned())),
    ] {
        let backend = api(&base, json!({"go": {"method": method, "path": path}}));
        let result = Deck::new(&[]).call(backend, "go", json!({})).await;
        match expected {
            Ok(text) => assert_eq!(result.unwrap()["content"][0]["text"], text, "{method} {path}"),
            Err(message) => {
                let error = result.unwrap_err();
                assert_eq!(error.code, ErrorCode::DownstreamProtocolError);
                assert_eq!(error.message, message, "{method} {path}");
            }
        }
    }
}

#[tokio::test]
async fn tools_are_described_as_declared() {
    let backend = api(
        "https://api.example",
        json!({
            "remove": {"method": "DELETE", "path": "/x/{id}"},
            "get": {
                "method": "GET", "path": "/x", "description": "All.", "useWhen": "Often.",
                "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}},
                "outputSchema": {"type": "object"},
            },
        }),
    );
    let connection = Deck::new(&[]).connect(backend).await.unwrap();
    let discovery = connection.discover(&context(Duration::from_secs(1))).await.unwrap();
    assert_eq!(
        serde_json::to_value(&discovery.tools).unwrap(),
        json!([
            {
                "name": "get", "description": "All.", "useWhen": "Often.",
                "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}},
                "outputSchema": {"type": "object"},
                "annotations": {"readOnlyHint": true, "destructiveHint": false},
            },
            {
                "name": "remove", "description": "DELETE /x/{id}",
                "inputSchema": {"type": "object", "additionalProperties": true},
                "annotations": {"readOnlyHint": false, "destructiveHint": true},
            },
        ])
    );
}

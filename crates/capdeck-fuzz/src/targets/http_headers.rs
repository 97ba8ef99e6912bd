//! Headers of HTTP: of requests to an MCP endpoint, and the challenge of a server that refuses.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use capdeck_auth::BearerChallenge;
use capdeck_mcp::{
    TextSealer,
    server::{HttpEndpoint, HttpOptions},
};
use http::{HeaderName, HeaderValue, Method, Request, Response, header::CONTENT_TYPE};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::{echo_service::EchoService, json_rpc};
use crate::{FuzzTarget, seeds};

/// Longer than an answer takes; only what never ends is still going on then.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);

struct HttpHeaders {
    runtime: Runtime,
}

pub(crate) fn http_headers() -> Box<dyn FuzzTarget> {
    Box::new(HttpHeaders { runtime: json_rpc::runtime() })
}

impl FuzzTarget for HttpHeaders {
    fn seeds(&self) -> Vec<Vec<u8>> {
        seeds::files("crates/capdeck-fuzz/seeds/http-headers", &[".txt"])
    }

    fn dictionary(&self) -> &'static [&'static str] {
        WORDS
    }

    fn max_bytes(&self) -> usize {
        8 * 1024
    }

    fn execute(&mut self, input: &[u8]) -> String {
        let (head, body) = split(input, b"\n\n").unwrap_or((input, b""));
        let mut lines = head.split(|byte| *byte == b'\n');
        let method = lines.next().and_then(|line| Method::from_bytes(line).ok());
        let mut request = Request::new(Bytes::copy_from_slice(body));
        *request.method_mut() = method.unwrap_or(Method::POST);
        for line in lines {
            check_challenge(line);
            let Some((name, value)) = split(line, b": ") else { continue };
            // The HTTP parser lets nothing else through.
            if let (Ok(name), Ok(value)) =
                (HeaderName::from_bytes(name), HeaderValue::from_bytes(value))
            {
                request.headers_mut().append(name, value);
            }
        }
        self.runtime.block_on(answer(request))
    }
}

async fn answer(request: Request<Bytes>) -> String {
    let options = HttpOptions {
        sealer: Arc::new(TextSealer::new(&[7; 32])),
        json_grace: BODY_TIMEOUT,
        ..HttpOptions::default()
    };
    let endpoint = HttpEndpoint::new(Arc::new(EchoService::default()), options);
    let is_post = request.method() == Method::POST;
    let response = endpoint.handle(request).await;
    let status = response.status();
    assert!(!status.is_server_error(), "{status}");
    for (name, value) in response.headers() {
        let text = value.to_str();
        assert!(text.is_ok_and(|text| !text.contains(char::is_control)), "{name} is {value:?}");
    }
    let code = if is_post { check_body(response).await } else { None };
    endpoint.shutdown().await;
    format!("{} {code:?}", status.as_u16())
}

/// A body of JSON is a JSON-RPC answer. Gives the code of its error.
async fn check_body(response: Response<capdeck_mcp::server::ResponseBody>) -> Option<i64> {
    let kind = response.headers().get(CONTENT_TYPE).cloned()?;
    if kind != "application/json" {
        return None;
    }
    let body = tokio::time::timeout(BODY_TIMEOUT, response.into_body().collect()).await.unwrap();
    let bytes = body.unwrap_or_else(|never| match never {}).to_bytes();
    let value: Value = serde_json::from_slice(&bytes).unwrap();
    for answer in value.as_array().unwrap_or(&vec![value.clone()]) {
        assert_eq!(answer["jsonrpc"], "2.0", "{value}");
        assert_ne!(answer["error"]["code"], -32603, "an internal error: {value}");
    }
    value["error"]["code"].as_i64()
}

/// What is read of a challenge is a part of it, and scopes are words.
fn check_challenge(line: &[u8]) {
    let Ok(text) = std::str::from_utf8(line) else { return };
    let Some(challenge) = BearerChallenge::parse(text) else { return };
    let read = challenge.scopes.iter().chain(&challenge.resource_metadata).chain(&challenge.error);
    assert!(read.map(String::len).sum::<usize>() <= text.len(), "{challenge:?} of {text:?}");
    let is_word = |scope: &String| !scope.is_empty() && !scope.contains(char::is_whitespace);
    assert!(challenge.scopes.iter().all(is_word), "{challenge:?}");
    assert_eq!(
        challenge.needs_more_scopes(),
        challenge.error.as_deref() == Some("insufficient_scope")
    );
}

fn split<'a>(text: &'a [u8], separator: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let at = text.windows(separator.len()).position(|window| window == separator)?;
    Some((&text[..at], &text[at + separator.len()..]))
}

const WORDS: &[&str] = &[
    "POST",
    "GET",
    "DELETE",
    "OPTIONS",
    "Accept: ",
    "Content-Type: ",
    "application/json",
    "text/event-stream",
    "*/*",
    ";q=0",
    "charset=utf-8",
    "Mcp-Session-Id: ",
    "MCP-Protocol-Version: ",
    "2026-07-28",
    "2025-11-25",
    "2025-06-18",
    "2025-03-26",
    "Mcp-Method: ",
    "Mcp-Name: ",
    "Mcp-Param-Region: ",
    "Mcp-Param-N: ",
    "Last-Event-ID: ",
    "=?base64?",
    "?=",
    "=?base64?w6k=?=",
    "1.0",
    "1e2",
    "+1",
    "WWW-Authenticate: Bearer ",
    "resource_metadata=",
    "scope=\"a b\"",
    "error=\"insufficient_scope\"",
    "DPoP",
    "Basic realm=\"x\"",
    "\\\"",
    "tools/call",
    "initialize",
    "server/discover",
    "subscriptions/listen",
    "notifications/initialized",
    "\n\n",
    "\n",
    "\t",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
];

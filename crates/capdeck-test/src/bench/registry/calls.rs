//! What a token adds to a call: the same echo on the same host, from the person at this machine and from a client whose
//! grants are asked every time.

use serde_json::{Value, json};

use super::{
    super::{
        BenchStage, LoadFigures,
        calls::{CALLERS, middle},
        load::HttpCallers,
    },
    TokenRow,
};
use crate::{FakePlan, HttpClient, RunningHost, TestDirs};

const CALLS: usize = 6_000;
const WARM_UP: usize = 500;
const ROUNDS: usize = 5;

pub(super) fn measure(stage: &BenchStage) -> Vec<TokenRow> {
    let fake = FakePlan::default().start_http();
    let dirs = TestDirs::new();
    // Limits protect a shared host from clients such as this one.
    let limits =
        json!({"mcp": {"perMinute": 100_000_000, "burst": 1_000_000}, "concurrent": 1_000});
    let server =
        json!({"name": "fake", "description": "A server of the benchmark", "url": fake.url});
    dirs.write_config(&json!({
        "options": {"exposure": "direct", "surfaceTokens": 1_000_000_000},
        "mcpServers": {"fake": server},
        "serve": {"limits": limits},
    }));
    let host = stage.up(&dirs);
    let token = enroll(&host);
    let headers = [("Authorization".to_owned(), format!("Bearer {token}"))];
    let url = format!("{}/mcp", host.url);
    let echo = json!({"name": "fake__echo", "arguments": {"text": "hello", "count": 3}});
    let load = |headers: &[(String, String)], calls: usize, callers: usize| -> LoadFigures {
        let mut callers = HttpCallers::open(&url, headers, callers);
        let load = callers.load(&echo, calls);
        callers.close();
        load
    };
    load(&[], WARM_UP, 1);
    load(&headers, WARM_UP, 1);
    let row = |callers: usize| {
        let (mut open, mut token) = (vec![], vec![]);
        for _ in 0..ROUNDS {
            open.push(load(&[], CALLS, callers));
            token.push(load(&headers, CALLS, callers));
        }
        TokenRow { callers, open: middle(open), token: middle(token) }
    };
    CALLERS.into_iter().map(row).collect()
}

/// Signs up for the whole deck and has it approved by the person at this machine.
fn enroll(host: &RunningHost) -> String {
    let mut client = HttpClient::new(&host.url);
    let wanted = json!({"client_id": "bench", "deck": {"capabilities": ["*"]}});
    let signed_up = ask(&mut client, "POST", "/v1/agent-enrollments", &wanted);
    let pending = ask(&mut client, "GET", "/v1/grants?status=pending", &Value::Null);
    let id = pending["items"][0]["id"].as_str().expect("a request waits");
    ask(&mut client, "POST", &format!("/v1/grants/{id}/approve"), &json!({}));
    signed_up["enrollment_token"].as_str().expect("a token, told once").to_owned()
}

fn ask(client: &mut HttpClient, method: &str, path: &str, body: &Value) -> Value {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let reply = client.send(method, path, &[("Content-Type", "application/json")], body.as_bytes());
    assert!((200..300).contains(&reply.status), "{method} {path}: {reply:?}");
    serde_json::from_str(&reply.body).expect("JSON")
}

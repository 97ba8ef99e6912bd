//! The one who is known and refused leaves exactly one line, which says who, where and why, and nothing that was sent.

use capdeck_auth::inbound::OperatorRole;
use capdeck_serve::{BucketRate, RateLimits};
use serde_json::{Value, json};

use super::stage::{
    KEY, audit, client, many, operator, refusals, setting, share, signed_in, tells_nothing,
};
use crate::{
    served::Served,
    sign_in::browser::{Browser, hello},
};

/// A request of a person who is known, and how it ends.
struct Refused<'t> {
    token: &'t str,
    method: &'static str,
    path: &'static str,
    body: Value,
    status: u16,
    /// What the audit says: the place as it is declared, and the reason.
    place: &'static str,
    code: &'static str,
}

impl Refused<'_> {
    fn send(&self, served: &Served) {
        let bearer = format!("Bearer {}", self.token);
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        let body = if self.body.is_null() { String::new() } else { self.body.to_string() };
        let reply = Browser::new(served).send(self.method, self.path, &headers, &body);
        assert_eq!(reply.status, self.status, "{} {}: {reply:?}", self.method, self.path);
        tells_nothing(served, &reply, &[self.token]);
    }
}

#[test]
fn item_22_a_refusal_of_a_person_known_is_one_line() {
    let served = setting().serve();
    let member = operator(&served, "Ada", OperatorRole::Member);
    let (looking, share) = (client(&served, "/mcp", "deck:read"), share(&served));
    let looking = looking.access.as_str();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "fake__echo", "arguments": {"text": "canary-of-a-body"}}});
    let refused = |token, method, path, body, status, place, code| Refused {
        token,
        method,
        path,
        body,
        status,
        place,
        code,
    };
    let nothing = Value::Null;
    let all = [
        // The interface's own rules.
        refused(
            &member,
            "GET",
            "/v1/operators",
            nothing.clone(),
            403,
            "GET /v1/operators",
            "forbidden",
        ),
        refused(
            &member,
            "GET",
            "/v1/deck/capabilities",
            nothing.clone(),
            403,
            "GET /v1/deck/capabilities",
            "forbidden",
        ),
        refused(
            looking,
            "GET",
            "/v1/operators",
            nothing.clone(),
            403,
            "GET /v1/operators",
            "forbidden",
        ),
        refused(
            looking,
            "DELETE",
            "/v1/operators/canary-of-a-path",
            nothing.clone(),
            403,
            "DELETE /v1/operators/{id}",
            "forbidden",
        ),
        refused(looking, "GET", "/api/me", nothing.clone(), 403, "GET /api/me", "forbidden"),
        // Places where there is nothing for them.
        refused(
            &share,
            "GET",
            "/v1/capsules",
            nothing.clone(),
            403,
            "GET /v1/capsules",
            "forbidden",
        ),
        refused(
            &share,
            "POST",
            "/servers/fake/mcp",
            hello(),
            403,
            "POST /servers/{id}/mcp",
            "forbidden",
        ),
        refused(looking, "GET", "/metrics", nothing.clone(), 403, "GET /metrics", "forbidden"),
        refused(&member, "POST", "/mcp", hello(), 403, "POST /mcp", "forbidden"),
        // Tokens for something else, and for less.
        refused(
            looking,
            "POST",
            "/servers/fake/mcp",
            hello(),
            401,
            "POST /servers/{id}/mcp",
            "other_audience",
        ),
        refused(looking, "POST", "/mcp", call, 403, "POST /mcp", "insufficient_scope"),
    ];
    for one in &all {
        let before = refusals(&served).len();
        one.send(&served);
        let after = refusals(&served);
        assert_eq!(after.len(), before + 1, "{} {}", one.method, one.path);
        let line = after.last().unwrap();
        assert_eq!(line["outcome"], "denied", "{line}");
        assert_eq!(line["error_code"], one.code, "{line}");
        assert!(line.to_string().contains(one.place), "{}: {line}", one.place);
    }
    let audit = audit(&served);
    for secret in [member.as_str(), looking, share.as_str(), KEY, "canary"] {
        assert!(!audit.contains(secret), "{secret}: {audit}");
    }
}

#[test]
fn item_22_a_change_without_the_proof_of_a_page_is_one_line() {
    let served = setting().serve();
    let (mut browser, csrf) = signed_in(&served, KEY);
    let (_, foreign) = signed_in(&served, KEY);
    for wrong in [None, Some("wrong"), Some(foreign.as_str())] {
        let before = refusals(&served).len();
        let headers: Vec<_> = wrong.iter().map(|value| ("x-capdeck-csrf", *value)).collect();
        let reply = browser.send("POST", "/v1/capsules", &headers, r#"{"name":"team"}"#);
        assert_eq!(reply.status, 403, "{reply:?}");
        let cookie = browser.cookie.clone().unwrap();
        tells_nothing(&served, &reply, &[csrf.as_str(), cookie.as_str()]);
        let after = refusals(&served);
        assert_eq!(after.len(), before + 1, "{wrong:?}");
        assert_eq!(after.last().unwrap()["error_code"], "csrf_required");
    }
    let headers = [("x-capdeck-csrf", csrf.as_str()), ("Content-Type", "application/json")];
    let reply = browser.send("POST", "/v1/capsules", &headers, r#"{"name":"team"}"#);
    assert_eq!(reply.status, 201, "{reply:?}");
}

#[test]
fn strangers_and_good_requests_leave_no_such_line() {
    let served = setting().serve();
    let tokens = client(&served, "/mcp", "deck:call");
    let mut browser = Browser::new(&served);
    assert_eq!(browser.mcp("/mcp", "cap_at_made_up", &hello()).status, 401);
    assert_eq!(browser.get("/v1/operators").status, 401);
    assert_eq!(browser.mcp("/mcp", &tokens.access, &hello()).status, 200);
    assert!(refusals(&served).is_empty(), "{:?}", refusals(&served));
}

#[test]
fn item_22_no_one_fills_the_audit_with_refusals() {
    let few = BucketRate { per_minute: 1, burst: 4 };
    let served = setting().rates(RateLimits { api: few, mcp: few, ..many() }).serve();
    let tokens = client(&served, "/mcp", "deck:call");
    let bearer = format!("Bearer {}", tokens.access);
    let mut browser = Browser::new(&served);
    for (path, wanted) in [("/metrics", 403), ("/v1/operators", 403)] {
        let statuses: Vec<u16> = (0..8)
            .map(|_| browser.send("GET", path, &[("Authorization", &bearer)], "").status)
            .collect();
        assert_eq!(statuses, [wanted, wanted, wanted, wanted, 429, 429, 429, 429], "{path}");
    }
    assert_eq!(refusals(&served).len(), 8);
}

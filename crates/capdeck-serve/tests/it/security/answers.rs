//! What is informed: tokens, scopes, lists that are a person's own, and what can be changed over HTTP at all.

use capdeck_definition::Exposure;
use capdeck_serve::ServeAuthMode;
use capdeck_test::{FakeApi, FakeApiReply, FakeEra, FakePlan};
use serde_json::{Value, json};

use super::stage::{ALL, KEY, audit, client, many, setting};
use crate::{
    modern_client::ModernClient,
    served::{Served, Setting},
    sign_in::browser::{Browser, REDIRECT, body, client_with},
};

#[test]
fn security_11_tokens_are_short_lived_and_kept_in_no_cache() {
    let served = setting().serve();
    let mut person = Browser::with_key(&served, KEY);
    let registered = person.register(REDIRECT);
    let code = person.code(&registered, &[("scope", "deck:call")], &ALL);
    for reply in [person.redeem(&registered, &code), person.redeem(&registered, &code)] {
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{reply:?}");
        if reply.status == 200 {
            let lasts = body(&reply)["expires_in"].as_u64().unwrap();
            assert!((60..=3600).contains(&lasts), "{lasts}");
        }
    }
}

#[test]
fn security_16_an_address_that_a_server_asks_to_visit_is_passed_on_whole_and_not_fetched() {
    let page = FakeApi::start(|_| FakeApiReply::json(&json!({})));
    let served = setting().serve();
    let (ada, eve) = (client(&served, "/mcp", "deck:call"), client(&served, "/mcp", "deck:call"));
    let url = format!("{}/start?for=somebody&{}", page.url(), "x".repeat(500));
    let call = json!({"name": "fake__ask_url", "arguments": {"url": url}});
    let mut asker = modern(&served, &ada.access);
    let asked = asker.request("tools/call", call.clone());
    let questions = asked["result"]["inputRequests"].as_object().unwrap();
    let (key, question) = questions.iter().next().unwrap();
    assert_eq!(question["params"]["url"], url, "{asked}");
    assert!(page.requests().is_empty(), "nobody went there before the person did");
    let mut again = call;
    again["inputResponses"] = json!({key: {"action": "accept"}});
    again["requestState"] = asked["result"]["requestState"].clone();
    // Another person cannot finish it.
    let stolen = modern(&served, &eve.access).request("tools/call", again.clone());
    assert_eq!(stolen["error"]["code"], -32602, "{stolen}");
    let answer = asker.request("tools/call", again);
    assert!(answer["result"]["content"].to_string().contains("accept"), "{answer}");
    assert!(page.requests().is_empty());
}

fn modern(served: &Served, token: &str) -> ModernClient {
    let mut http = served.client("/mcp");
    http.headers.push(("Authorization".to_owned(), format!("Bearer {token}")));
    ModernClient::over(http, "/mcp", json!({"elicitation": {"url": {}, "form": {}}}))
}

#[test]
fn security_17_no_operation_adds_a_server() {
    let served = setting().serve();
    let key = format!("Bearer {KEY}");
    let mut owner = Browser::new(&served);
    let document = body(&owner.send("GET", "/v1/openapi.json", &[("Authorization", &key)], ""));
    let mut members = Vec::new();
    for item in document["paths"].as_object().unwrap().values() {
        for reported in item.as_object().unwrap().values() {
            collect_members(&reported["requestBody"], &document, 0, &mut members);
        }
    }
    assert!(members.len() > 30, "{members:?}");
    for word in ["command", "args", "env", "cwd", "program", "mcpServers", "httpApis", "baseUrl"] {
        assert!(!members.iter().any(|member| member == word), "`{word}`: {members:?}");
    }
    // Not even for the owner: what runs here is in files of this machine.
    let headers = [("Authorization", key.as_str()), ("Content-Type", "application/json")];
    let server = json!({"command": "touch", "args": ["trap"]}).to_string();
    for path in ["/v1/deck/capabilities", "/v1/deck/capabilities/fake"] {
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            let reply = owner.send(method, path, &headers, &server);
            assert_eq!(reply.status, 405, "{method} {path}: {reply:?}");
        }
    }
}

/// The names of everything that a body may hold.
fn collect_members(schema: &Value, document: &Value, depth: usize, found: &mut Vec<String>) {
    if depth > 12 {
        return;
    }
    match schema {
        Value::Object(members) => {
            if let Some(place) = members.get("$ref").and_then(Value::as_str) {
                let target = document.pointer(place.trim_start_matches('#')).unwrap();
                collect_members(target, document, depth + 1, found);
            }
            if let Some(properties) = members.get("properties").and_then(Value::as_object) {
                found.extend(properties.keys().cloned());
            }
            for inner in members.values() {
                collect_members(inner, document, depth + 1, found);
            }
        }
        Value::Array(items) => {
            items.iter().for_each(|inner| collect_members(inner, document, depth + 1, found));
        }
        _ => {}
    }
}

#[test]
fn security_18_what_a_client_is_shown_is_its_own() {
    // A server that says of its lists that everybody may keep them.
    let plan = FakePlan { era: FakeEra::Both, ..FakePlan::default() };
    let served = Setting::of(&plan)
        .exposure(Exposure::Direct)
        .registry()
        .auth(ServeAuthMode::Required)
        .key(KEY)
        .rates(many())
        .serve();
    for path in ["/mcp", "/servers/fake/mcp"] {
        let tokens = client(&served, path, "deck:call");
        let mut http = served.client(path);
        http.headers.push(("Authorization".to_owned(), format!("Bearer {}", tokens.access)));
        let mut client = ModernClient::over(http, path, json!({}));
        for method in ["tools/list", "resources/list", "prompts/list", "resources/templates/list"] {
            let listed = client.request(method, json!({}));
            assert_eq!(listed["result"]["cacheScope"], "private", "{path} {method}: {listed}");
        }
    }
}

#[test]
fn security_19_few_scopes_are_offered_and_none_is_everything() {
    let served = setting().serve();
    let mut browser = Browser::new(&served);
    for path in ["", "/mcp", "/mcp/team", "/servers/fake/mcp", "/views/small/mcp"] {
        let document = body(&browser.get(&format!("/.well-known/oauth-protected-resource{path}")));
        let scopes = document["scopes_supported"].as_array().unwrap();
        assert!(!scopes.is_empty() && scopes.len() <= 5, "{path}: {scopes:?}");
        for scope in scopes.iter().map(|scope| scope.as_str().unwrap()) {
            let is_strong = scope.ends_with(":admin") || scope.ends_with(":manage");
            assert!(!is_strong && !scope.contains('*') && scope != "offline_access", "{scope}");
        }
    }
    // What a client is informed to begin with is less.
    let refused = browser.post_json("/mcp", &crate::sign_in::browser::hello());
    let challenge = refused.header("www-authenticate").unwrap();
    assert!(challenge.contains("scope=\"deck:read deck:call capsule:read\""), "{challenge}");
    // A word that no one offers is refused, not ignored.
    let registered = browser.register(REDIRECT);
    let path = browser.authorize_path(&registered, &[("scope", "offline_access *")]);
    let reply = Browser::with_key(&served, KEY).get(&path);
    assert_eq!(reply.status, 400, "{reply:?}");
    assert!(reply.body.contains("error=invalid_scope"), "{reply:?}");
}

#[test]
fn security_19_asking_for_more_is_recorded() {
    let served = setting().serve();
    let mut person = Browser::with_key(&served, KEY);
    let registered = person.register(REDIRECT);
    let resource = format!("{}/mcp", served.url());
    let mut sign_in = |scope: &str| {
        let extra = [("scope", scope), ("resource", resource.as_str())];
        let code = person.code(&registered, &extra, &[("scope", scope), ("deck", "all")]);
        body(&person.redeem(&registered, &code))["access_token"].as_str().unwrap().to_owned()
    };
    let call = json!({"name": "fake__echo", "arguments": {"text": "hi"}});
    let looking = sign_in("deck:read");
    let mut client = client_with(&served, "/mcp", &looking);
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call});
    assert_eq!(client.post(&message.to_string()).status, 403);
    let calling = sign_in("deck:call");
    let mut client = client_with(&served, "/mcp", &calling);
    assert_eq!(client.post(&message.to_string()).status, 200);
    let lines: Vec<Value> =
        audit(&served).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |action: &str| -> Vec<&Value> {
        lines.iter().filter(|line| line["action"] == action).collect()
    };
    let refused = of("access.refuse");
    assert_eq!(refused.len(), 1, "{refused:?}");
    let principal = &refused[0]["metadata"]["principal_id"];
    assert!(principal.as_str().is_some_and(|id| id.starts_with("prn_")), "{refused:?}");
    for action in ["grant.request", "grant.approve", "credential.issue"] {
        let same =
            of(action).into_iter().filter(|line| line["metadata"]["principal_id"] == *principal);
        assert_eq!(same.count(), 2, "{action}: once for each sign-in: {lines:?}");
    }
}

//! The whole way: a client registers, a person decides, tokens open what was granted.

use capdeck_definition::Exposure;
use capdeck_serve::ServeAuthMode;
use capdeck_test::FakePlan;
use serde_json::json;

use super::browser::{Browser, REDIRECT, body, client_with, hello, parameter, tokens};
use crate::served::{Served, Setting};

const KEY: &str = "open-sesame-0123456789";

fn two_servers() -> Setting {
    Setting::of(&FakePlan::default())
        .server("other", &FakePlan::default())
        .exposure(Exposure::Direct)
        .registry()
}

fn tool_names(served: &Served, path: &str, token: &str) -> Vec<String> {
    let answer = client_with(served, path, token).request("tools/list", json!({}));
    let tools = answer["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_client_signs_in_and_sees_what_was_chosen() {
    let served = two_servers().serve();
    let mut browser = Browser::new(&served);
    let choices = [("scope", "deck:call"), ("deck", "some"), ("capability", "fake")];
    let tokens = browser.sign_in("/mcp", "deck:call", &choices);
    assert_eq!(tokens.scope, "deck:call");
    assert!(tokens.access.starts_with("cap_at_"), "scanners can tell it");
    let names = tool_names(&served, "/mcp", &tokens.access);
    assert!(names.iter().any(|name| name == "fake__echo"), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("other__")), "{names:?}");
    let mut client = client_with(&served, "/mcp", &tokens.access);
    let call = json!({"name": "fake__echo", "arguments": {"text": "hi"}});
    let answer = client.request("tools/call", call);
    assert!(answer["result"]["content"].to_string().contains("hi"), "{answer}");
    let hidden =
        client.request("tools/call", json!({"name": "other__echo", "arguments": {"text": "hi"}}));
    let missing =
        client.request("tools/call", json!({"name": "nobody__echo", "arguments": {"text": "hi"}}));
    let said = |answer: &serde_json::Value, name: &str| {
        let mut answer = answer.clone();
        answer["id"] = json!(0);
        answer.to_string().replace(name, "NAME")
    };
    assert_eq!(
        said(&hidden, "other"),
        said(&missing, "nobody"),
        "what is not granted does not exist"
    );
}

#[test]
fn an_operator_signs_in_before_deciding() {
    let served = two_servers().auth(ServeAuthMode::Required).key(KEY).serve();
    let mut browser = Browser::with_key(&served, KEY);
    let choices = [("scope", "deck:call"), ("scope", "deck:read"), ("deck", "all")];
    let tokens = browser.sign_in("/mcp", "deck:read deck:call", &choices);
    assert!(browser.cookie.as_deref().unwrap().starts_with("capdeck=cap_se_"));
    assert!(!tool_names(&served, "/mcp", &tokens.access).is_empty());
}

#[test]
fn security_02_the_page_shows_who_asks_and_cannot_be_framed() {
    let served = two_servers().serve();
    let mut browser = Browser::new(&served);
    let metadata = json!({"client_name": "<script>alert(1)</script>", "redirect_uris": ["https://app.example/cb"]});
    let client = body(&browser.post_json("/oauth/register", &metadata))["client_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = browser
        .authorize_path(&client, &[])
        .replace("http%3A%2F%2F127.0.0.1%3A9%2Fcallback", "https%3A%2F%2Fapp.example%2Fcb");
    let page = browser.get(&path);
    assert_eq!(page.status, 200, "{page:?}");
    assert!(page.body.contains("<p class=\"host\">app.example</p>"), "{}", page.body);
    assert!(!page.body.contains("<script"), "{}", page.body);
    assert!(page.body.contains("&lt;script&gt;alert(1)&lt;/script&gt; requests access"));
    assert!(page.body.contains("deck:call") && page.body.contains("value=\"fake\""));
    assert!(
        !page.body.contains("imitate"),
        "only clients on the person's machine are warned about"
    );
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        policy.contains("frame-ancestors 'none'") && policy.contains("default-src 'none'"),
        "{policy}"
    );
    assert!(policy.contains("form-action 'self' https://app.example;"), "{policy}");
    assert_eq!(page.header("x-frame-options"), Some("DENY"));
    assert_eq!(page.header("cache-control"), Some("no-store"));
    let local = browser.register(REDIRECT);
    let page = browser.consent_page(&local, &[]);
    assert!(page.body.contains("imitate"), "{}", page.body);
}

#[test]
fn the_answer_names_its_issuer_and_a_no_is_reported() {
    let served = two_servers().serve();
    let mut browser = Browser::new(&served);
    let client = browser.register(REDIRECT);
    let page = browser.consent_page(&client, &[]);
    let request = super::browser::hidden(&page, "request");
    let denied = browser.post("/oauth/authorize", &[("request", &request), ("decision", "deny")]);
    let location = denied.header("location").unwrap();
    assert!(location.starts_with(REDIRECT), "{location}");
    let reported = |name: &str| parameter(location, name);
    assert_eq!(reported("error").as_deref(), Some("access_denied"));
    assert_eq!(reported("state").as_deref(), Some("xyz"));
    assert_eq!(reported("iss").as_deref(), Some(served.url()));
    assert_eq!(reported("code"), None);
}

#[test]
fn item_13_what_is_granted_and_taken_back_shows_with_the_next_call() {
    let served = two_servers().serve();
    let mut browser = Browser::new(&served);
    let choices = [("scope", "deck:call"), ("deck", "all")];
    let tokens = browser.sign_in("/mcp", "deck:call", &choices);
    let mut client = client_with(&served, "/mcp", &tokens.access);
    let call = json!({"name": "fake__echo", "arguments": {"text": "hi"}});
    assert!(client.request("tools/call", call.clone())["result"].is_object());
    let standing = served.registry().authenticate(&tokens.access).unwrap();
    let held = capdeck_auth::inbound::GrantQuery {
        principal: Some(standing.principal.clone()),
        ..Default::default()
    };
    let grants = served.registry().grants().list(&held, &Default::default()).unwrap().items;
    let caller = capdeck_auth::inbound::EventCaller::new("local", None);
    let decider = capdeck_auth::inbound::DecisionMaker::Operator {
        id: "local".to_owned(),
        role: capdeck_auth::inbound::OperatorRole::Admin,
        readable: Vec::new(),
    };
    for grant in &grants {
        served.wait(served.registry().grants().revoke(&caller, &decider, &grant.id)).unwrap();
    }
    let reply = client.post(
        &json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": call}).to_string(),
    );
    assert_eq!(reply.status, 401, "{reply:?}");
}

#[test]
fn security_07_a_call_beyond_the_scopes_hears_of_all_it_needs_at_once() {
    let served = two_servers().serve();
    let mut browser = Browser::new(&served);
    let choices = [("scope", "deck:read"), ("deck", "all")];
    let tokens = browser.sign_in("/mcp", "deck:read", &choices);
    let list = browser.mcp("/mcp", &tokens.access, &hello());
    assert_eq!(list.status, 200, "{list:?}");
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "fake__echo", "arguments": {"text": "hi"}}});
    let refused = browser.mcp("/mcp", &tokens.access, &call);
    assert_eq!(refused.status, 403, "{refused:?}");
    let challenge = refused.header("www-authenticate").unwrap();
    assert!(challenge.contains("error=\"insufficient_scope\""), "{challenge}");
    assert!(
        challenge.contains("scope=\"deck:call\""),
        "the stronger one stands for both: {challenge}"
    );
    assert!(challenge.contains("resource_metadata="), "{challenge}");
    // The client asks its person once more, for all of it.
    let choices = [("scope", "deck:call"), ("deck", "all")];
    let more = browser.sign_in("/mcp", "deck:call", &choices);
    let mut client = client_with(&served, "/mcp", &more.access);
    let answer = client.request("tools/call", call["params"].clone());
    assert!(answer["result"].is_object(), "{answer}");
}

#[test]
fn a_token_is_renewed_and_the_old_refresh_token_ends_everything_when_it_comes_back() {
    let served = two_servers().serve();
    let mut browser = Browser::new(&served);
    let client = browser.register(REDIRECT);
    let choices = [("scope", "deck:call"), ("deck", "all")];
    let code = browser.code(&client, &[("scope", "deck:call")], &choices);
    let first = tokens(&browser.redeem(&client, &code));
    let renew = |browser: &mut Browser, token: &str| {
        let fields = [
            ("grant_type", "refresh_token"),
            ("client_id", client.as_str()),
            ("refresh_token", token),
        ];
        browser.post("/oauth/token", &fields)
    };
    let second = tokens(&renew(&mut browser, &first.refresh));
    let third = tokens(&renew(&mut browser, &second.refresh));
    assert_ne!(second.refresh, third.refresh);
    assert_eq!(browser.mcp("/mcp", &third.access, &hello()).status, 200);
    let stolen = renew(&mut browser, &first.refresh);
    assert_eq!((stolen.status, body(&stolen)["error"].as_str()), (400, Some("invalid_grant")));
    assert_eq!(browser.mcp("/mcp", &third.access, &hello()).status, 401, "the family is over");
}

#[test]
fn a_token_can_be_given_back() {
    let served = two_servers().serve();
    let mut browser = Browser::new(&served);
    let client = browser.register(REDIRECT);
    let code = browser.code(
        &client,
        &[("scope", "deck:call")],
        &[("scope", "deck:call"), ("deck", "all")],
    );
    let tokens = tokens(&browser.redeem(&client, &code));
    let other = browser.register(REDIRECT);
    let foreign =
        browser.post("/oauth/revoke", &[("client_id", &other), ("token", &tokens.access)]);
    assert_eq!(foreign.status, 200, "nobody learns whether a token is good");
    assert_eq!(browser.mcp("/mcp", &tokens.access, &hello()).status, 200);
    let revoked =
        browser.post("/oauth/revoke", &[("client_id", &client), ("token", &tokens.refresh)]);
    assert_eq!(revoked.status, 200, "{revoked:?}");
    assert_eq!(browser.mcp("/mcp", &tokens.access, &hello()).status, 401);
}

#[test]
fn item_22_every_step_leaves_one_line_without_secrets() {
    let served = two_servers().serve();
    let mut browser = Browser::new(&served);
    let choices = [("scope", "deck:call"), ("deck", "all")];
    let tokens = browser.sign_in("/mcp", "deck:call", &choices);
    let logs = served.dirs.root().join("data/logs");
    let text: String = std::fs::read_dir(&logs)
        .unwrap()
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    for action in
        ["client.register", "grant.request", "grant.approve", "code.issue", "credential.issue"]
    {
        let lines = text.lines().filter(|line| line.contains(&format!("\"action\":\"{action}\"")));
        assert_eq!(lines.count(), 1, "{action}: {text}");
    }
    for secret in [&tokens.access, &tokens.refresh] {
        assert!(!text.contains(secret.as_str()), "{text}");
    }
    let kept: String = std::fs::read_dir(served.dirs.root().join("data/registry"))
        .unwrap()
        .filter_map(|file| std::fs::read_to_string(file.unwrap().path()).ok())
        .collect();
    for secret in [&tokens.access, &tokens.refresh] {
        assert!(!kept.contains(secret.as_str()), "only hashes are kept");
    }
}

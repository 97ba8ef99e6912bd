//! Requests that are wrong, forged, replayed or too large. No one is sent to an address that is not the client's.

use capdeck_definition::Exposure;
use capdeck_serve::ServeAuthMode;
use capdeck_test::FakePlan;
use serde_json::json;

use super::browser::{
    Browser, CHALLENGE, REDIRECT, VERIFIER, body, form, hello, hidden, parameter, tokens,
};
use crate::served::{Served, Setting};

const KEY: &str = "open-sesame-0123456789";

fn served() -> Served {
    Setting::of(&FakePlan::default()).exposure(Exposure::Direct).registry().serve()
}

#[test]
fn security_04_an_address_that_is_not_registered_is_never_gone_to() {
    let served = served();
    let mut browser = Browser::new(&served);
    let client = browser.register("https://app.example/cb");
    for redirect in [
        "https://app.example/cb/",
        "https://app.example/cb?x=1",
        "https://app.example/CB",
        "https://app.example:443/cb",
        "https://app.example.evil/cb",
        "https://evil.example/cb",
        "javascript:alert(1)",
        "",
    ] {
        let fields = [
            ("response_type", "token"),
            ("client_id", client.as_str()),
            ("redirect_uri", redirect),
            ("state", "xyz"),
        ];
        let reply = browser.get(&format!("/oauth/authorize?{}", form(&fields)));
        assert_eq!((reply.status, reply.header("location")), (400, None), "{redirect}");
        // One that is left out is the only one that there is.
        let names_client = reply.body.contains(">app.example</a>");
        assert_eq!(names_client, redirect.is_empty(), "{redirect}: {}", reply.body);
    }
    for unknown in ["cli_unknown", "", "http://127.0.0.1:1/client.json"] {
        let reply = browser.get(&browser.authorize_path(unknown, &[]));
        assert_eq!((reply.status, reply.header("location")), (400, None), "{unknown}");
    }
}

#[test]
fn item_16_documents_of_clients_inside_are_not_fetched() {
    let served = served();
    let mut browser = Browser::new(&served);
    for id in [
        "https://127.0.0.1/client.json",
        "https://169.254.169.254/client.json",
        "https://[::1]/client.json",
        "https://[::ffff:10.0.0.1]/client.json",
        "https://2130706433/client.json",
        "https://localhost/client.json",
        "https://example.com",
        "https://user@example.com/client.json",
        "https://example.com/client.json#x",
    ] {
        let reply = browser.get(&browser.authorize_path(id, &[]));
        assert_eq!((reply.status, reply.header("location")), (400, None), "{id}: {reply:?}");
    }
}

#[test]
fn item_15_plain_pkce_is_refused_and_reported_to_the_client() {
    let served = served();
    let mut browser = Browser::new(&served);
    let (client, stranger) = (browser.register(REDIRECT), browser.register(REDIRECT));
    let path = browser.authorize_path(&client, &[]);
    let choices = [("scope", "deck:call"), ("deck", "all")];
    browser.code(&client, &[("scope", "deck:call")], &choices);
    for (from, to, error) in [
        ("code_challenge_method=S256", "code_challenge_method=plain", "invalid_request"),
        ("&code_challenge_method=S256", "", "invalid_request"),
        (&*format!("&code_challenge={CHALLENGE}"), "", "invalid_request"),
        ("response_type=code", "response_type=token", "unsupported_response_type"),
        ("state=xyz", "state=xyz&resource=https%3A%2F%2Fevil.example%2Fmcp", "invalid_target"),
        ("state=xyz", "state=xyz&scope=everything", "invalid_scope"),
        ("state=xyz", "state=xyz&scope=deck:call&scope=deck:read", "invalid_request"),
        ("state=xyz", "state=xyz&request_uri=https%3A%2F%2Fevil.example", "request_not_supported"),
    ] {
        let reply = browser.get(&path.replace(from, to));
        assert_eq!(reply.status, 303, "{to}");
        let location = reply.header("location").unwrap();
        assert!(location.starts_with(REDIRECT), "{location}");
        assert_eq!(parameter(location, "error").as_deref(), Some(error), "{location}");
        assert_eq!(parameter(location, "iss").as_deref(), Some(served.url()));
        assert_eq!(parameter(location, "state").as_deref(), Some("xyz"));
        // Anyone can register a client and send people here with a mistake: no one is sent on before they saw where to.
        let reply = browser.get(&path.replace(from, to).replace(&client, &stranger));
        assert_eq!((reply.status, reply.header("location")), (400, None), "{to}");
        assert!(
            reply.body.contains("<p class=\"host\"><a href=\"http://127.0.0.1:9/callback?error=")
        );
        assert!(reply.body.contains(">127.0.0.1</a>"), "{}", reply.body);
        assert!(reply.body.contains(&format!("error={error}&amp;")), "{}", reply.body);
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'"), "{policy}");
    }
    // It is a matter of the person: what one let in leads no one else away.
    let grants = served.registry().clients().principals_of_client(&client);
    assert_eq!(grants.len(), 1);
    let wrong = path.replace("response_type=code", "response_type=token");
    let elsewhere = browser.send("GET", &wrong, &[("X-Forwarded-For", "192.0.2.1")], "");
    assert_eq!((elsewhere.status, elsewhere.header("location")), (400, None));
}

#[test]
fn security_11_a_code_works_once_for_its_client_and_its_proof() {
    let served = served();
    let mut browser = Browser::new(&served);
    let client = browser.register(REDIRECT);
    let other = browser.register(REDIRECT);
    let choices = [("scope", "deck:call"), ("deck", "all")];
    let fresh = |browser: &mut Browser| browser.code(&client, &[("scope", "deck:call")], &choices);
    let redeem = |browser: &mut Browser, change: (&str, &str), code: &str| {
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("client_id", client.as_str()),
            ("code", code),
            ("redirect_uri", REDIRECT),
            ("code_verifier", VERIFIER),
        ];
        fields.retain(|(name, _)| *name != change.0);
        fields.push(change);
        let reply = browser.post("/oauth/token", &fields);
        (reply.status, body(&reply)["error"].as_str().unwrap_or_default().to_owned())
    };
    for (change, status, error) in [
        (("code_verifier", CHALLENGE), 400, "invalid_grant"),
        (("code_verifier", ""), 400, "invalid_request"),
        (("client_id", other.as_str()), 400, "invalid_grant"),
        (("client_id", "cli_unknown"), 401, "invalid_client"),
        (("redirect_uri", "http://127.0.0.1:9/other"), 400, "invalid_grant"),
        (("resource", "https://evil.example/mcp"), 400, "invalid_target"),
        (("grant_type", "password"), 400, "unsupported_grant_type"),
        (("grant_type", ""), 400, "invalid_request"),
    ] {
        let code = fresh(&mut browser);
        assert_eq!(redeem(&mut browser, change, &code), (status, error.to_owned()), "{change:?}");
    }
    let code = fresh(&mut browser);
    let tokens = tokens(&browser.redeem(&client, &code));
    assert_eq!(browser.mcp("/mcp", &tokens.access, &hello()).status, 200);
    let again = browser.redeem(&client, &code);
    assert_eq!((again.status, body(&again)["error"].as_str()), (400, Some("invalid_grant")));
    assert_eq!(browser.mcp("/mcp", &tokens.access, &hello()).status, 401, "what it gave is over");
}

#[test]
fn security_02_a_decision_needs_the_page_that_it_is_about() {
    let served = Setting::of(&FakePlan::default())
        .exposure(Exposure::Direct)
        .registry()
        .auth(ServeAuthMode::Required)
        .key(KEY)
        .serve();
    let mut browser = Browser::with_key(&served, KEY);
    let client = browser.register(REDIRECT);
    let page = browser.consent_page(&client, &[]);
    let request = hidden(&page, "request");
    let approve = |request: &str| {
        form(&[
            ("request", request),
            ("decision", "approve"),
            ("scope", "deck:call"),
            ("deck", "all"),
        ])
    };
    let origin = browser.url.clone();
    let headers =
        [("Content-Type", "application/x-www-form-urlencoded"), ("Origin", origin.as_str())];
    // Without the page, with a changed one, from a foreign site, without or with another session.
    for forged in ["", "x", &request.chars().rev().collect::<String>()] {
        let reply = browser.send("POST", "/oauth/authorize", &headers, &approve(forged));
        assert_eq!((reply.status, reply.header("location")), (403, None));
    }
    let foreign = [headers[0], ("Origin", "https://evil.example")];
    let reply = browser.send("POST", "/oauth/authorize", &foreign, &approve(&request));
    assert_eq!((reply.status, reply.header("location")), (403, None));
    let mut stranger = Browser::new(&served);
    let reply = stranger.send("POST", "/oauth/authorize", &headers, &approve(&request));
    assert_eq!((reply.status, reply.header("location")), (403, None));
    let mut colleague = Browser::with_key(&served, KEY);
    colleague.consent_page(&client, &[]);
    let reply = colleague.send("POST", "/oauth/authorize", &headers, &approve(&request));
    assert_eq!((reply.status, reply.header("location")), (403, None));
    let with_key = [headers[0], headers[1], ("Authorization", "Bearer open-sesame-0123456789")];
    let reply = stranger.send("POST", "/oauth/authorize", &with_key, &approve(&request));
    assert_eq!((reply.status, reply.header("location")), (403, None), "a program is no person");
    let reply = browser.send("POST", "/oauth/authorize", &headers, &approve(&request));
    assert_eq!(reply.status, 303, "{reply:?}");
}

#[test]
fn methods_types_and_sizes_are_held_to() {
    let served = served();
    let mut browser = Browser::new(&served);
    for path in [
        "/oauth/register",
        "/oauth/token",
        "/oauth/revoke",
        "/oauth/sign-in",
        "/api/login",
        "/v1/agent-enrollments",
    ] {
        assert_eq!(browser.get(path).status, 405, "{path}");
        let reply = browser.send("POST", path, &[("Content-Type", "text/plain")], "x");
        assert_eq!(reply.status, 415, "{path}");
        let kind = match path {
            "/oauth/register" | "/api/login" | "/v1/agent-enrollments" => "application/json",
            _ => "application/x-www-form-urlencoded",
        };
        let large = "x".repeat(70 * 1024);
        let reply = browser.send("POST", path, &[("Content-Type", kind)], &large);
        assert_eq!(reply.status, 413, "{path}");
        let foreign = [("Content-Type", kind), ("Origin", "https://evil.example")];
        assert_eq!(browser.send("POST", path, &foreign, "{}").status, 403, "{path}");
        let wrong_name = [("Content-Type", kind), ("Host", "evil.example")];
        assert_eq!(browser.send("POST", path, &wrong_name, "{}").status, 403, "{path}");
    }
    assert_eq!(browser.send("DELETE", "/oauth/authorize", &[], "").status, 405);
    assert_eq!(
        browser.send("POST", "/.well-known/oauth-authorization-server", &[], "").status,
        405
    );
}

#[test]
fn what_a_client_says_about_itself_is_checked() {
    let served = served();
    let mut browser = Browser::new(&served);
    for (metadata, error) in [
        (json!({}), "invalid_redirect_uri"),
        (json!({"redirect_uris": []}), "invalid_redirect_uri"),
        (json!({"redirect_uris": ["http://app.example/cb"]}), "invalid_redirect_uri"),
        (json!({"redirect_uris": ["javascript:alert(1)"]}), "invalid_redirect_uri"),
        (json!({"redirect_uris": ["https://a.example/#f"]}), "invalid_redirect_uri"),
        (
            json!({"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "tls_client_auth"}),
            "invalid_client_metadata",
        ),
        (
            json!({"redirect_uris": [REDIRECT], "grant_types": ["password"]}),
            "invalid_client_metadata",
        ),
        (json!({"redirect_uris": "x"}), "invalid_client_metadata"),
    ] {
        let reply = browser.post_json("/oauth/register", &metadata);
        assert_eq!(
            (reply.status, body(&reply)["error"].as_str()),
            (400, Some(error)),
            "{metadata}"
        );
    }
    let metadata =
        json!({"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "client_secret_basic"});
    let reply = browser.post_json("/oauth/register", &metadata);
    assert_eq!((reply.status, reply.header("cache-control")), (201, Some("no-store")));
    let client = body(&reply);
    let (id, secret) =
        (client["client_id"].as_str().unwrap(), client["client_secret"].as_str().unwrap());
    let code =
        browser.code(id, &[("scope", "deck:call")], &[("scope", "deck:call"), ("deck", "all")]);
    let without = browser.redeem(id, &code);
    assert_eq!(
        (without.status, without.header("www-authenticate")),
        (401, Some("Basic realm=\"capdeck\""))
    );
    let fields = [
        ("grant_type", "authorization_code"),
        ("client_id", id),
        ("client_secret", secret),
        ("code", &code),
        ("code_verifier", VERIFIER),
    ];
    let reply = browser.post("/oauth/token", &fields);
    assert_eq!(reply.status, 200, "a client that is not who it says uses nothing up: {reply:?}");
}

//! Documents at well-known places, and the challenges that lead to them.

use capdeck_definition::Exposure;
use capdeck_serve::ServeAuthMode;
use capdeck_test::FakePlan;
use serde_json::json;

use super::browser::{Browser, body, hello};
use crate::served::Setting;

const KEY: &str = "open-sesame-0123456789";

#[test]
fn every_endpoint_has_a_document_that_names_exactly_it() {
    let served = Setting::new().registry().serve();
    let mut browser = Browser::new(&served);
    for path in ["", "/mcp", "/mcp/team", "/views/dev/mcp", "/servers/fake/mcp"] {
        let reply = browser.get(&format!("/.well-known/oauth-protected-resource{path}"));
        assert_eq!(reply.status, 200, "{path}");
        let document = body(&reply);
        let place = if path.is_empty() { "/" } else { path };
        assert_eq!(document["resource"], format!("{}{place}", served.url()));
        assert_eq!(document["authorization_servers"], json!([served.url()]));
        let scopes = document["scopes_supported"].to_string();
        assert!(!scopes.contains("offline_access") && !scopes.contains('*'), "{scopes}");
        assert!(!scopes.contains("registry:manage"), "{scopes}");
    }
    for path in ["/nothing", "/mcp/a/b", "/v1"] {
        let reply = browser.get(&format!("/.well-known/oauth-protected-resource{path}"));
        assert_eq!(reply.status, 404, "{path}");
    }
}

/// Codex takes the document of its own wherever the metadata allows it.
#[test]
fn a_host_without_a_way_out_has_clients_register() {
    let served = Setting::new().registry().without_client_documents().serve();
    let mut browser = Browser::new(&served);
    let document = body(&browser.get("/.well-known/oauth-authorization-server"));
    assert_eq!(document["client_id_metadata_document_supported"], false);
    assert_eq!(document["registration_endpoint"], format!("{}/oauth/register", served.url()));
    let agent = body(&browser.get("/.well-known/capsol-agent.json"));
    assert_eq!(agent["mcp"]["auth"]["oauth"]["cimd"], false);
    let asked =
        "/oauth/authorize?response_type=code&client_id=https%3A%2F%2Fagent.example%2Fclient.json";
    let reply = browser.get(asked);
    assert_eq!(reply.status, 400);
    assert!(
        reply.body.contains("sign in again, and the client registers itself"),
        "{}",
        reply.body
    );
}

#[test]
fn the_server_tells_what_it_can() {
    let served = Setting::new().registry().serve();
    let mut browser = Browser::new(&served);
    for path in ["oauth-authorization-server", "openid-configuration"] {
        let document = body(&browser.get(&format!("/.well-known/{path}")));
        assert_eq!(document["issuer"], served.url());
        assert_eq!(document["code_challenge_methods_supported"], json!(["S256"]));
        assert_eq!(document["authorization_response_iss_parameter_supported"], true);
        assert_eq!(document["client_id_metadata_document_supported"], true);
        for (key, end) in [
            ("authorization_endpoint", "authorize"),
            ("token_endpoint", "token"),
            ("registration_endpoint", "register"),
            ("revocation_endpoint", "revoke"),
        ] {
            assert_eq!(document[key], format!("{}/oauth/{end}", served.url()), "{key}");
        }
    }
    let agent = body(&browser.get("/.well-known/capsol-agent.json"));
    assert_eq!(agent["mcp"]["auth"]["token_in_url"], false);
    assert_eq!(agent["mcp"]["auth"]["oauth"]["pkce"], true);
    assert_eq!(agent["enrollment"]["approval"], "human");
    let endpoint = format!("{}/v1/agent-enrollments", served.url());
    assert_eq!(agent["enrollment"]["endpoint"], endpoint);
}

#[test]
fn the_public_address_is_the_issuer() {
    let served = Setting::new().registry().public_url("https://deck.example/").serve();
    let mut browser = Browser::new(&served);
    let document = body(&browser.get("/.well-known/oauth-authorization-server"));
    assert_eq!(document["issuer"], "https://deck.example");
}

#[test]
fn a_refused_client_hears_where_to_sign_in_and_for_what() {
    let setting = Setting::of(&FakePlan::default()).exposure(Exposure::Direct).registry();
    let served = setting.auth(ServeAuthMode::Required).key(KEY).serve();
    let mut browser = Browser::new(&served);
    for (path, scope) in [
        ("/mcp", "deck:read deck:call capsule:read"),
        ("/mcp/team", "capsule:read"),
        ("/servers/fake/mcp", "deck:read deck:call"),
        ("/views/dev/mcp", "deck:read deck:call"),
    ] {
        for (token, error) in [(None, None), (Some("cap_at_wrong"), Some("invalid_token"))] {
            let reply = match token {
                Some(token) => browser.mcp(path, token, &hello()),
                None => browser.post_json(path, &hello()),
            };
            assert_eq!(reply.status, 401, "{path}");
            let challenge = reply.header("www-authenticate").unwrap();
            let about = format!("{}/.well-known/oauth-protected-resource{path}", served.url());
            assert!(challenge.contains(&format!("resource_metadata=\"{about}\"")), "{challenge}");
            assert!(challenge.contains(&format!("scope=\"{scope}\"")), "{challenge}");
            assert_eq!(challenge.contains("invalid_token"), error.is_some(), "{challenge}");
        }
    }
}

#[test]
fn without_the_registry_no_one_is_sent_anywhere() {
    let served = Setting::new().key(KEY).serve();
    let mut browser = Browser::new(&served);
    let reply = browser.post_json("/mcp", &hello());
    assert_eq!(reply.header("www-authenticate"), Some("Bearer realm=\"capdeck\""));
    for path in [
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-protected-resource/mcp",
        "/oauth/authorize",
    ] {
        assert_eq!(browser.get(path).status, 503, "{path}");
    }
}

#[test]
fn item_17_a_token_in_an_address_is_gone() {
    let served = Setting::new().registry().serve();
    let mut browser = Browser::new(&served);
    for path in [
        "/oauth/authorize",
        "/oauth/token",
        "/api/me",
        "/v1/agent-enrollments/x",
        "/mcp",
        "/.well-known/capsol-agent.json",
    ] {
        for name in ["token", "access_token"] {
            let reply = browser.get(&format!("{path}?{name}=secret-canary"));
            assert_eq!(reply.status, 410, "{path}");
            assert!(!reply.body.contains("canary"), "{}", reply.body);
        }
    }
}

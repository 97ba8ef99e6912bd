//! Clients: what they may say about themselves, where their documents may be, and lists of what there is.

use std::time::Duration;

use capdeck_auth::inbound::{
    ClientDocumentError, ClientKind, ClientMetadata, GrantQuery, OAuthClient, PageRequest,
    RedirectPolicy, RegistryLimits, RegistryOptions, RequestQuery, RequestStatus,
    fetch_client_document,
};
use serde_json::{Value, json};

use crate::{
    inbound_support::{caller, fixture, fixture_with, operator, reader},
    support::guarded_clients,
};

const ADDRESS: &str = "https://app.example/oauth/client.json";

fn metadata(redirects: &[&str]) -> ClientMetadata {
    ClientMetadata {
        redirect_uris: redirects.iter().map(|uri| (*uri).to_owned()).collect(),
        ..ClientMetadata::default()
    }
}

fn document() -> Value {
    json!({
        "client_id": ADDRESS,
        "client_name": "App",
        "client_uri": "https://app.example/",
        "redirect_uris": ["https://app.example/cb", "http://127.0.0.1/cb"],
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "logo_uri": "https://app.example/logo.png",
    })
}

fn check(address: &str, document: &Value) -> Result<OAuthClient, ClientDocumentError> {
    let policy = RedirectPolicy::default();
    OAuthClient::from_document(
        address,
        document.to_string().as_bytes(),
        &policy,
        jiff::Timestamp::now(),
    )
}

#[tokio::test]
async fn a_client_registers_with_what_can_be_kept() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let registered = registry
        .clients()
        .register(&caller(""), metadata(&["http://localhost:1234/cb"]))
        .await
        .unwrap();
    let client = registered.client;
    assert_eq!((client.kind, registered.secret), (ClientKind::Registered, None));
    assert!(client.name == client.id && client.is_local_only());
    let list = |items: &[&str]| Some(items.iter().map(|item| (*item).to_owned()).collect());
    let good = || metadata(&["https://app.example/cb"]);
    for wrong in [
        metadata(&[]),
        metadata(&["https://app.example/cb"; 21]),
        metadata(&["javascript:alert(1)"]),
        metadata(&["https://app.example/cb", "http://app.example/cb"]),
        ClientMetadata { client_name: Some("a\nb".to_owned()), ..good() },
        ClientMetadata { grant_types: list(&["implicit"]), ..good() },
        ClientMetadata { response_types: list(&["token"]), ..good() },
        ClientMetadata { token_endpoint_auth_method: Some("private_key_jwt".to_owned()), ..good() },
    ] {
        let refused = registry.clients().register(&caller(""), wrong.clone()).await.unwrap_err();
        assert_eq!(refused.code(), "invalid_input", "{wrong:?}");
    }
    // A page that is no page is left out rather than shown.
    let page = ClientMetadata { client_uri: Some("javascript:alert(1)".to_owned()), ..good() };
    let kept = registry.clients().register(&caller(""), page).await.unwrap().client;
    assert_eq!(kept.client_uri, None);
}

#[tokio::test]
async fn clients_that_never_came_back_make_room_for_new_ones() {
    let limits = RegistryLimits { clients: 2, ..RegistryLimits::default() };
    let fixture = fixture_with(RegistryOptions { limits, ..RegistryOptions::default() });
    let registry = &fixture.registry;
    let register = async || {
        let metadata = metadata(&["https://app.example/cb"]);
        registry.clients().register(&caller(""), metadata).await.map(|one| one.client.id)
    };
    let first = register().await.unwrap();
    fixture.pass(Duration::from_secs(1));
    let second = register().await.unwrap();
    assert_eq!(register().await.unwrap_err().code(), "limit_reached");
    fixture.pass(Duration::from_secs(3600));
    let third = register().await.unwrap();
    let known = |id: &str| registry.clients().get(id).is_some();
    assert!(!known(&first) && known(&second) && known(&third));
}

#[test]
fn security_11_a_document_is_about_its_own_address() {
    let client = check(ADDRESS, &document()).unwrap();
    assert_eq!((client.id.as_str(), client.kind), (ADDRESS, ClientKind::Document));
    assert!(client.has_redirect("http://127.0.0.1:5000/cb"));
    assert!(!client.has_redirect("https://evil.example/cb"));
    for (member, value) in [
        ("client_id", json!("https://app.example/oauth/other.json")),
        ("client_id", json!(7)),
        ("client_id", Value::Null),
        ("redirect_uris", json!([])),
        ("redirect_uris", json!(["http://app.example/cb"])),
        ("redirect_uris", json!("https://app.example/cb")),
        ("token_endpoint_auth_method", json!("client_secret_post")),
        ("client_name", json!("\u{202e}App")),
    ] {
        let mut changed = document();
        changed[member] = value;
        let error = check(ADDRESS, &changed).unwrap_err();
        assert!(matches!(error, ClientDocumentError::Invalid { .. }), "{member}: {error}");
    }
    let large = json!({ "client_id": ADDRESS, "padding": "x".repeat(70_000) });
    assert_eq!(check(ADDRESS, &large).unwrap_err(), ClientDocumentError::TooLarge);
}

#[test]
fn item_16_security_11_an_id_is_an_address_with_a_path_over_https() {
    for wrong in [
        "",
        "app.example/x",
        "http://app.example/client.json",
        "https://app.example",
        "https://app.example/",
        "https://a@app.example/c",
        "https://app.example/c#x",
        "https://APP.example/c",
        "https://app.example/a/../c",
        "https://app.example:443/c",
        "ftp://app.example/c",
    ] {
        let error = OAuthClient::document_address(wrong).unwrap_err();
        assert!(matches!(error, ClientDocumentError::NotAnAddress { .. }), "{wrong}: {error}");
    }
    assert!(
        OAuthClient::document_address(&format!("https://app.example/{}", "x".repeat(1000)))
            .is_err()
    );
}

#[tokio::test]
async fn item_16_security_10_documents_inside_are_not_fetched() {
    for (address, expected) in [
        ("https://127.0.0.1/client.json", "may not be fetched"),
        ("https://169.254.169.254/latest/meta-data", "may not be fetched"),
        ("https://[::1]/client.json", "may not be fetched"),
        ("https://[::ffff:7f00:1]/client.json", "may not be fetched"),
        ("https://10.0.0.1/client.json", "may not be fetched"),
        ("https://localhost/client.json", "may not be fetched"),
        ("http://app.example/client.json", "no address"),
        // Other forms of an address are not the usual one.
        ("https://2130706433/client.json", "no address"),
        ("https://0x7f.1/client.json", "no address"),
        ("https://0177.0.0.1/client.json", "no address"),
    ] {
        let policy = RedirectPolicy::default();
        let fetched = fetch_client_document(&guarded_clients(), address, &policy).await;
        let message = fetched.unwrap_err().to_string();
        assert!(message.contains(expected), "{address}: {message}");
    }
}

#[tokio::test]
async fn a_client_of_a_document_is_kept_once_a_person_agreed_and_follows_its_document() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let first = check(ADDRESS, &document()).unwrap();
    registry.clients().remember(&caller("opr_ann"), &first).await.unwrap();
    let mut changed = document();
    changed["redirect_uris"] = json!(["https://app.example/new"]);
    let second = check(ADDRESS, &changed).unwrap();
    let kept = registry.clients().remember(&caller("opr_ann"), &second).await.unwrap();
    assert_eq!(registry.clients().get(ADDRESS), Some(kept.clone()));
    assert!(!kept.has_redirect("https://app.example/cb"));
    assert_eq!(kept.created_at, first.created_at);
}

#[tokio::test]
async fn lists_are_distinguished_by_what_is_asked_for() {
    let fixture = fixture();
    let registry = &fixture.registry;
    registry.capsules().set_owner(&caller("opr_bob"), "cap_b", Some("opr_bob")).await.unwrap();
    fixture.grant(reader("cap_a"), "capsule:read").await;
    fixture.pass(Duration::from_millis(1));
    let waiting = fixture.file(reader("cap_b"), "capsule:read").await;
    let bob = operator("opr_bob", capdeck_auth::inbound::OperatorRole::Member);
    let count = |query: RequestQuery| {
        registry.grants().requests(&query, &PageRequest::default()).unwrap().items.len()
    };
    let text = |value: &str| Some(value.to_owned());
    assert_eq!(count(RequestQuery::default()), 2);
    assert_eq!(count(RequestQuery { decidable_by: Some(bob), ..RequestQuery::default() }), 1);
    assert_eq!(
        count(RequestQuery { status: Some(RequestStatus::Approved), ..RequestQuery::default() }),
        1
    );
    assert_eq!(count(RequestQuery { capsule: text("cap_b"), ..RequestQuery::default() }), 1);
    assert_eq!(count(RequestQuery { requested_by: text("nobody"), ..RequestQuery::default() }), 0);
    let one = PageRequest { limit: Some(1), cursor: None };
    let first = registry.grants().requests(&RequestQuery::default(), &one).unwrap();
    assert_eq!(first.items, [waiting]);
    let next = PageRequest { limit: Some(1), cursor: first.next_cursor };
    let second = registry.grants().requests(&RequestQuery::default(), &next).unwrap();
    assert_eq!((second.items.len(), second.next_cursor), (1, None));
    let grants = GrantQuery { capsule: text("cap_a"), live_only: true, ..GrantQuery::default() };
    assert_eq!(registry.grants().list(&grants, &PageRequest::default()).unwrap().items.len(), 1);
    let wrong = PageRequest { cursor: text("?"), limit: None };
    assert!(registry.grants().requests(&RequestQuery::default(), &wrong).is_err());
    assert_eq!(registry.clients().principals(&PageRequest::default()).unwrap().items.len(), 1);
}

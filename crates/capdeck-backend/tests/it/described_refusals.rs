//! Described APIs that do not accept our credentials: the error says what to renew, and shows no secret.

use capdeck_backend::{CallError, ErrorCode, ErrorKind};
use serde_json::{Value, json};

use crate::{
    http::{respond, serve},
    support::Deck,
};

async fn refused(status: u16, auth: Value) -> CallError {
    let base = serve(move |_path, _request| {
        respond(status, "application/json", r#"{"error": "token canary-1 is old"}"#)
    })
    .await;
    let deck = Deck::new(&[("API_TOKEN", "canary-1")]);
    let path = deck.folder.path().join("api.json");
    let description = json!({
        "kind": "discovery#restDescription", "name": "things", "version": "v1",
        "rootUrl": format!("{base}/"), "servicePath": "",
        "methods": {"list": {"id": "list", "path": "things", "httpMethod": "GET"}},
    });
    std::fs::write(&path, description.to_string()).unwrap();
    let block =
        json!({"kind": "googleDiscovery", "discoveryPath": path, "baseUrl": base, "auth": auth});
    deck.call(block, "list", json!({})).await.unwrap_err()
}

#[tokio::test]
async fn a_refusal_says_what_to_renew() {
    let bearer = json!({"type": "bearer", "token": "$env:API_TOKEN"});
    let headers = json!({"type": "headers", "headers": {"X-Key": "${API_TOKEN}", "X-Org": "acme"}});
    let written = json!({"type": "bearer", "token": "canary-1"});
    let none = json!({"type": "none"});
    let variable = "set `API_TOKEN` to a valid value where capdeck is started";
    for (status, auth, message, hint) in [
        (401, &bearer, "`thing` does not accept our credentials (HTTP 401)", variable),
        (403, &bearer, "`thing` does not allow this with our credentials (HTTP 403)", variable),
        (401, &headers, "`thing` does not accept our credentials (HTTP 401)", variable),
        (
            401,
            &written,
            "`thing` does not accept our credentials (HTTP 401)",
            "renew the credentials in the `auth` block of `thing`",
        ),
        (
            401,
            &none,
            "`thing` asks for credentials, and its definition has none (HTTP 401)",
            "give the definition of `thing` an `auth` block",
        ),
        (
            403,
            &none,
            "`thing` does not allow this without credentials (HTTP 403)",
            "give the definition of `thing` an `auth` block",
        ),
    ] {
        let error = refused(status, auth.clone()).await;
        let expected = match status {
            401 => (ErrorCode::AuthRequired, ErrorKind::NeedsLogin),
            _ => (ErrorCode::AuthFailed, ErrorKind::BackendFailed),
        };
        assert_eq!((error.code, error.kind()), expected, "{auth}");
        assert_eq!(
            (error.message.as_str(), error.hint.as_deref()),
            (message, Some(hint)),
            "{auth}"
        );
        let data = error.data.clone().unwrap();
        assert_eq!(data["status"], status);
        assert!(data["body"].as_str().unwrap().contains("is old"), "{data}");
        let is_secret = auth["type"] != "none";
        assert!(!(is_secret && format!("{error:?}").contains("canary")), "{error:?}");
    }
}

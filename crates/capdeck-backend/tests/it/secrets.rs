//! Planted values must not come out anywhere, the one who prints them.

use capdeck_auth::{Secret, VaultGrant};
use capdeck_backend::{CallError, vault_holder};
use serde_json::{Value, json};

use crate::{
    http::{respond, serve},
    support::{Deck, definition},
};

const CANARY: &str = "canary/xyzzy+secret";

fn deck() -> Deck {
    Deck::new(&[("MY_TOKEN", CANARY), ("PLAIN", CANARY)])
}

/// Everything a call can leave behind, as one text.
fn traces(deck: &Deck, result: &Result<Value, CallError>) -> String {
    let mut text = format!("{result:?}");
    if let Ok(value) = result {
        text.push_str(&value.to_string());
    }
    text.push_str(&deck.connector.process_log("thing").unwrap_or_default());
    read_all(deck.folder.path(), &mut text);
    text
}

fn read_all(folder: &std::path::Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            read_all(&entry.path(), text);
        } else {
            text.push_str(&String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()));
        }
    }
}

fn assert_clean(text: &str) {
    for form in ["canary", "xyzzy", "%2Fxyzzy"] {
        assert!(!text.contains(form), "`{form}` is in: {text}");
    }
}

#[tokio::test]
async fn a_command_that_prints_its_secret_is_scrubbed() {
    for (script, limit) in [
        ("echo out $T; echo err $T >&2; exit 1", 200_000),
        ("echo out $T; echo err $T >&2", 200_000),
        // Cut in the middle of the value, and kept whole in an artifact.
        ("printf %s 12345$T; printf %s $T$T$T >&2", 8),
        ("echo $T; sleep 1000", 200_000),
    ] {
        let backend = json!({"kind": "cli", "timeoutMs": 500, "maxOutputBytes": limit,
            "actions": {"run": {"command": "sh", "args": ["-c", script], "env": {"T": "$env:MY_TOKEN"}}}});
        let deck = deck();
        let connection = deck.connect(backend).await.unwrap();
        let context = crate::support::cancellable(tokio_util::sync::CancellationToken::new());
        let result = crate::support::call(&connection, "run", json!({}), &context).await;
        let text = traces(&deck, &result);
        assert_clean(&text);
        assert!(text.contains("[redac"), "{script}: {text}");
    }
}

#[tokio::test]
async fn errors_do_not_show_what_was_put_into_a_command_or_url() {
    for backend in [
        json!({"kind": "cli", "actions": {"run": {"command": "/nowhere/$env:PLAIN"}}}),
        json!({"kind": "cli", "cwd": "/nowhere/$env:PLAIN", "actions": {"run": {"command": "true"}}}),
        json!({"kind": "cli", "actions": {"run": {"command": "sh", "args": ["$env:PLAIN $input"]}}}),
        json!({"kind": "http", "baseUrl": "http://127.0.0.1:1", "auth": {"type": "none"},
            "actions": {"run": {"method": "GET", "path": "/", "query": {"key": "$env:MY_TOKEN"}}}}),
        json!({"kind": "http", "baseUrl": "https://user:$env:PLAIN@x.example", "auth": {"type": "none"},
            "actions": {"run": {"method": "GET", "path": "/"}}}),
        json!({"kind": "http", "baseUrl": "http://127.0.0.1:1",
            "auth": {"type": "headers", "headers": {"X-A": "$env:PLAIN\n"}},
            "actions": {"run": {"method": "GET", "path": "/"}}}),
    ] {
        let deck = deck();
        let result = deck.call(backend, "run", json!({})).await;
        assert!(result.is_err());
        assert_clean(&traces(&deck, &result));
    }
}

#[tokio::test]
async fn a_server_that_echoes_its_credentials_is_scrubbed() {
    let base = serve(|path, request| {
        let reported = format!("{:?} {}", request.headers(), request.uri());
        if path == "/headers" {
            let mut response = respond(200, "text/plain", "see headers");
            let reported = request.headers()["authorization"].clone();
            response.headers_mut().insert("x-told", reported);
            return response;
        }
        respond(if path == "/fail" { 500 } else { 200 }, "text/plain", reported)
    })
    .await;
    for (path, limit) in [("/ok", 200_000), ("/fail", 200_000), ("/cut", 40), ("/headers", 200_000)]
    {
        // The token is in the file itself this time.
        let backend = json!({"kind": "http", "baseUrl": base, "maxResponseBytes": limit,
            "auth": {"type": "bearer", "token": CANARY},
            "actions": {"run": {"method": "GET", "path": path, "query": {"key": "$env:MY_TOKEN"}}}});
        let deck = deck();
        let result = deck.call(backend, "run", json!({})).await;
        assert!(result.is_ok());
        let text = traces(&deck, &result);
        assert_clean(&text);
        assert!(text.contains("[redacted]"), "{path}: {text}");
    }
}

#[tokio::test]
async fn vault_entries_reach_every_kind_of_backend_and_come_out_of_none() {
    let base = serve(|_, request| {
        let reported = format!(
            "length {} {:?} {}",
            request.uri().path().len(),
            request.headers(),
            request.uri()
        );
        respond(200, "text/plain", reported)
    })
    .await;
    let call = |backend: Value| async move {
        let deck = Deck::new(&[]);
        deck.vault.set("STORED", &Secret::new(CANARY)).unwrap();
        let refused = deck.call(backend.clone(), "run", json!({})).await;
        let data = refused.as_ref().unwrap_err().data.clone().unwrap();
        assert_eq!(data["unresolved"][0]["code"], "missing", "{data}");
        let holder = vault_holder(&definition(backend.clone()));
        let (reference, entry) = ("PLAIN".to_owned(), "STORED".to_owned());
        deck.vault.grant(VaultGrant { holder, reference, entry }).unwrap();
        let result = deck.call(backend, "run", json!({})).await;
        assert!(result.is_ok(), "{result:?}");
        traces(&deck, &result)
    };
    for backend in [
        json!({"kind": "cli", "actions": {"run": {"command": "echo", "args": ["a $vault:PLAIN b"]}}}),
        json!({"kind": "cli", "actions": {"run": {
            "command": "sh", "args": ["-c", "echo $T >&2; echo $T"], "env": {"T": "${vault:PLAIN}"}}}}),
        json!({"kind": "http", "baseUrl": base, "auth": {"type": "bearer", "token": "$vault:PLAIN"},
            "actions": {"run": {"method": "GET", "path": "/"}}}),
        json!({"kind": "http", "baseUrl": base, "auth": {"type": "headers", "headers": {"X-A": "$vault:PLAIN"}},
            "actions": {"run": {"method": "GET", "path": "/"}}}),
        json!({"kind": "http", "baseUrl": format!("{base}/$vault:PLAIN"), "auth": {"type": "none"},
            "actions": {"run": {"method": "GET", "path": "/x", "query": {"q": "${vault:PLAIN}"}}}}),
    ] {
        let text = call(backend.clone()).await;
        assert_clean(&text);
        assert!(text.contains("[redacted]"), "{backend}: {text}");
    }
}

#[tokio::test]
async fn a_plain_value_stays_readable_in_results() {
    let deck = Deck::new(&[("ORG", "acme-industries")]);
    let backend =
        json!({"kind": "cli", "actions": {"run": {"command": "echo", "args": ["$env:ORG"]}}});
    let result = deck.call(backend, "run", json!({})).await.unwrap();
    assert_eq!(result["structuredContent"]["stdout"], "acme-industries\n");
}

#[tokio::test]
async fn tool_descriptions_never_carry_a_secret() {
    let backend = json!({"kind": "cli", "actions": {"run": {
        "command": "true", "description": "uses $env:MY_TOKEN",
        "inputSchema": {"type": "object", "description": "$env:MY_TOKEN"},
    }}});
    let connection = deck().connect(backend).await.unwrap();
    let context = crate::support::context(std::time::Duration::from_secs(1));
    let discovery = connection.discover(&context).await.unwrap();
    let text = serde_json::to_string(&discovery).unwrap();
    assert_clean(&text);
    assert!(text.contains("uses [redacted]"), "{text}");
}

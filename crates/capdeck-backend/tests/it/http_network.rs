//! Where the requests of HTTP actions may go. Nothing here leaves this machine: what is refused is never contacted.

use std::{
    io,
    net::{IpAddr, TcpListener},
    sync::Arc,
};

use async_trait::async_trait;
use capdeck_auth::NameResolver;
use capdeck_backend::{CallError, ErrorCode};
use serde_json::{Value, json};

use crate::{
    http::{respond, serve},
    support::Deck,
};

/// Gives every name the same addresses.
#[derive(Debug)]
struct Everywhere(Vec<IpAddr>);

#[async_trait]
impl NameResolver for Everywhere {
    async fn addresses(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(self.0.clone())
    }
}

pub(crate) fn deck(addresses: &[&str]) -> Deck {
    let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
    Deck::with_names(Arc::new(Everywhere(addresses)))
}

/// A port that takes connections and never speaks.
pub(crate) fn port() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

pub(crate) fn was_contacted(listener: &TcpListener) -> bool {
    match listener.accept() {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
            false
        }
    }
}

async fn get(deck: &Deck, base: &str, network: &str) -> Result<Value, CallError> {
    let backend = json!({
        "kind": "http", "baseUrl": base, "auth": {"type": "none"}, "network": network,
        "requestTimeoutMs": 2000, "retries": 0,
        "actions": {"get": {"method": "GET", "path": "/"}},
    });
    deck.call(backend, "get", json!({})).await
}

#[tokio::test]
async fn a_name_that_leads_inside_is_not_contacted_unless_the_file_says_so() {
    for addresses in [&["127.0.0.1"][..], &["::ffff:127.0.0.1"], &["10.0.0.1", "127.0.0.1"]] {
        let (listener, port) = port();
        let base = format!("https://api.example.test:{port}");
        let error = get(&deck(addresses), &base, "public").await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Denied, "{error}");
        assert_eq!(
            error.message,
            "`thing` names an address that is not contacted: `api.example.test` is this machine"
        );
        let hint = error.hint.unwrap();
        let start = "if the service is yours, add `network: private` to `httpApi` in ";
        assert!(hint.starts_with(start), "{hint}");
        assert!(
            hint.ends_with("for the whole deck set `options.network` in its config file"),
            "{hint}"
        );
        assert!(!was_contacted(&listener));
    }
    let (listener, port) = port();
    let closing = tokio::task::spawn_blocking(move || {
        listener.set_nonblocking(false).unwrap();
        drop(listener.accept().unwrap());
    });
    let base = format!("https://api.example.test:{port}");
    let error = get(&deck(&["127.0.0.1"]), &base, "private").await.unwrap_err();
    closing.await.unwrap();
    assert_ne!(error.code, ErrorCode::Denied, "{error}");
}

#[tokio::test]
async fn written_addresses_inside_are_not_contacted() {
    let (listener, port) = port();
    for (host, place) in [
        ("10.0.0.1", "in a private network"),
        ("0xa.1", "in a private network"),
        ("[fd00::1]", "in a private network"),
        ("100.64.1.1", "in a private network"),
        // Only a plain spelling says that this machine is meant.
        ("2130706433", "this machine"),
        ("0177.0.0.1", "this machine"),
        ("0x7f.1", "this machine"),
        ("127.1", "this machine"),
        ("[::ffff:127.0.0.1]", "this machine"),
        ("x.localhost", "this machine"),
        ("localhost.", "this machine"),
    ] {
        let base = format!("https://{host}:{port}");
        let error = get(&Deck::new(&[]), &base, "public").await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Denied, "{base}: {error}");
        assert!(error.message.ends_with(&format!("` is {place}")), "{base}: {error}");
        assert!(error.hint.unwrap().contains("network: private"), "{base}");
    }
    for host in ["169.254.169.254", "[fe80::1]", "0.0.0.0", "[::]", "224.0.0.1", "[2002:7f00:1::]"]
    {
        for network in ["public", "private"] {
            let error =
                get(&Deck::new(&[]), &format!("https://{host}"), network).await.unwrap_err();
            assert_eq!(error.code, ErrorCode::Denied, "{host}: {error}");
            assert_eq!(error.hint.unwrap(), "no setting opens this address");
        }
    }
    assert!(!was_contacted(&listener));
}

#[tokio::test]
async fn a_plain_address_on_this_machine_is_the_file_saying_so() {
    let base = serve(|_path, _request| respond(200, "text/plain", "here")).await;
    let port = base.rsplit(':').next().unwrap();
    for base in [base.clone(), format!("http://localhost:{port}")] {
        let result = get(&Deck::new(&[]), &base, "public").await.unwrap();
        assert_eq!(result["content"][0]["text"], "here");
        assert_eq!(result["_meta"]["capdeck/status"], 200);
    }
    // With `private` every spelling is fine.
    for host in ["127.1", "x.localhost"] {
        let base = format!("http://{host}:{port}");
        let deck = deck(&["127.0.0.1"]);
        let result = get(&deck, &base, "private").await;
        match host {
            "127.1" => assert_eq!(result.unwrap()["content"][0]["text"], "here"),
            // The format keeps plain http to its three spellings.
            _ => assert_eq!(result.unwrap_err().code, ErrorCode::ConfigInvalid),
        }
    }
}

//! Who may talk to the host: the names it is reached by, the pages that may ask, the key.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use capdeck_test::FakePlan;

use crate::served::{Served, Setting, TEST_TIMEOUT};

const PATHS: [(&str, &str); 6] = [
    ("GET", "/health"),
    ("GET", "/ready"),
    ("GET", "/metrics"),
    ("POST", "/mcp"),
    ("POST", "/servers/fake/mcp"),
    ("GET", "/no/such/path"),
];

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;

fn status(served: &Served, method: &str, path: &str, headers: &[(&str, &str)]) -> u16 {
    let mut all = vec![("Content-Type", "application/json")];
    all.extend_from_slice(headers);
    let body = if method == "POST" { HELLO } else { "" };
    served.client(path).send(method, path, &all, body.as_bytes()).status
}

/// What an endpoint answers to an allowed request.
fn ordinary(path: &str) -> u16 {
    if path == "/no/such/path" { 404 } else { 200 }
}

#[test]
fn a_foreign_host_name_is_refused_everywhere() {
    let served = Setting::of(&FakePlan::default()).allowed_host("deck.example").serve();
    for (method, path) in PATHS {
        for name in ["evil.example", "127.0.0.1.evil.example:80", "localhost.evil", ""] {
            assert_eq!(status(&served, method, path, &[("Host", name)]), 403, "{path} {name}");
        }
        for name in ["localhost", "127.0.0.1:1", "[::1]:7717", "Deck.Example"] {
            assert_eq!(status(&served, method, path, &[("Host", name)]), ordinary(path), "{path}");
        }
    }
}

/// The status of a request that is written by hand.
fn raw_status(served: &Served, head: &str) -> u16 {
    let mut stream = TcpStream::connect(served.authority()).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    stream.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default()
}

#[test]
fn a_request_is_addressed_to_one_host() {
    let local = Setting::of(&FakePlan::default()).serve();
    let open = Setting::new().address("0.0.0.0").key("open-sesame-and-more").serve();
    for served in [&local, &open] {
        let own = served.authority();
        for path in ["/health", "/mcp", "/v1/operators", "/no/such/path"] {
            let status = |target: &str, hosts: &[&str]| {
                let hosts: String = hosts.iter().map(|host| format!("Host: {host}\r\n")).collect();
                raw_status(served, &format!("GET {target} HTTP/1.1\r\n{hosts}"))
            };
            for hosts in [
                &[own, "evil.example"][..],
                &["evil.example", own],
                &[own, own],
                &["localhost", "127.0.0.1"],
                &[],
            ] {
                assert_eq!(status(path, hosts), 400, "{path} {hosts:?}");
            }
            let foreign = format!("http://evil.example{path}");
            assert_eq!(status(&foreign, &[own]), 421, "{path}");
            assert_eq!(status(&foreign, &["localhost"]), 421, "{path}");
            let same = status(&format!("http://{own}{path}"), &[own]);
            assert_eq!(same, status(path, &[own]), "{path}");
        }
    }
    let foreign = "GET http://evil.example/health HTTP/1.1\r\nHost: evil.example\r\n";
    assert_eq!(raw_status(&local, foreign), 421);
}

#[test]
fn what_a_proxy_passed_on_does_not_come_from_this_machine() {
    let served = Setting::of(&FakePlan::default()).serve();
    assert_eq!(status(&served, "GET", "/ready", &[]), 200);
    for header in [
        ("Via", "1.1 proxy"),
        ("Forwarded", "for=192.0.2.1"),
        ("X-Forwarded-For", "192.0.2.1"),
        ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-Host", "deck.example"),
        ("X-Forwarded-Port", "443"),
        ("X-Forwarded-Server", "proxy"),
        ("X-Real-IP", "192.0.2.1"),
        ("X-Client-IP", "192.0.2.1"),
        ("CF-Connecting-IP", "192.0.2.1"),
        ("True-Client-IP", "192.0.2.1"),
    ] {
        for (method, path) in PATHS.iter().filter(|(_, path)| *path != "/health") {
            assert_eq!(status(&served, method, path, &[header]), 401, "{path} {header:?}");
        }
    }
}

#[test]
fn a_foreign_origin_is_refused_everywhere() {
    let served = Setting::of(&FakePlan::default()).serve();
    for (method, path) in PATHS {
        for origin in ["https://evil.example", "null", "http://localhost.evil.example", "file://"] {
            let headers = [("Origin", origin)];
            assert_eq!(status(&served, method, path, &headers), 403, "{path} {origin}");
        }
        let own = format!("http://{}", served.authority());
        for origin in [own.as_str(), "http://localhost:3000"] {
            let headers = [("Origin", origin)];
            assert_eq!(status(&served, method, path, &headers), ordinary(path), "{path} {origin}");
        }
    }
}

#[test]
fn foreign_sites_are_refused_whatever_the_method() {
    let served = Setting::of(&FakePlan::default()).serve();
    for path in ["/mcp", "/servers/fake/mcp", "/health"] {
        for method in ["POST", "GET", "DELETE", "OPTIONS", "PUT"] {
            for foreign in [("Host", "evil.example"), ("Origin", "https://evil.example")] {
                assert_eq!(status(&served, method, path, &[foreign]), 403, "{method} {path}");
            }
            // The own page is refused for other reasons at most.
            let own = format!("http://{}", served.authority());
            assert_ne!(status(&served, method, path, &[("Origin", &own)]), 403, "{method} {path}");
        }
    }
}

#[test]
fn a_key_is_asked_for_everywhere_but_for_health() {
    let served =
        Setting::of(&FakePlan::default()).key("open-sesame-and-more-0123456789-and-more").serve();
    for (method, path) in PATHS.iter().filter(|(_, path)| *path != "/health") {
        for wrong in [
            None,
            Some("Bearer wrong"),
            Some("Basic open-sesame-and-more-0123456789-and-more"),
            Some("open-sesame-and-more-0123456789-and-more"),
        ] {
            let headers: Vec<_> = wrong.iter().map(|value| ("Authorization", *value)).collect();
            assert_eq!(status(&served, method, path, &headers), 401, "{path} {wrong:?}");
        }
        let headers = [("Authorization", "Bearer open-sesame-and-more-0123456789-and-more")];
        assert_eq!(status(&served, method, path, &headers), ordinary(path), "{path}");
    }
    assert_eq!(status(&served, "GET", "/health", &[]), 200);
    let refused = served.client("/mcp").post(HELLO);
    assert_eq!(refused.header("www-authenticate"), Some("Bearer realm=\"capdeck\""));
    assert!(refused.body.contains("Authorization: Bearer"), "{}", refused.body);
}

#[test]
fn off_loopback_needs_a_key() {
    let refused = Setting::new().address("0.0.0.0").try_serve().err().unwrap();
    assert_eq!(refused, "0.0.0.0 can be reached from other machines, so a key is required");
    let served = Setting::new().address("0.0.0.0").key("open-sesame-and-more").serve();
    let key = ("Authorization", "Bearer open-sesame-and-more");
    // Off loopback the host has names it cannot know; the key decides.
    assert_eq!(status(&served, "GET", "/ready", &[key, ("Host", "my-machine.lan")]), 200);
    assert_eq!(status(&served, "GET", "/ready", &[key, ("Origin", "https://evil.example")]), 403);
    assert_eq!(status(&served, "GET", "/ready", &[]), 401);
}

#[test]
fn a_taken_port_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let refused = Setting::new().port(port).try_serve().err().unwrap();
    assert!(refused.contains(&format!("127.0.0.1:{port}")), "{refused}");
}

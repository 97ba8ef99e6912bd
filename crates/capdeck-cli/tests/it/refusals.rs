//! An API that does not accept the credentials of its definition.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    thread,
};

use capdeck_test::TestDirs;
use serde_json::json;

use crate::capdeck;

/// A server that says no to everybody; gives its address.
fn refusing() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let _request = lines.map(Result::unwrap).take_while(|line| !line.is_empty()).count();
            let answer = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 13\r\nconnection: close\r\n\r\ntoken expired";
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    base
}

/// The capability `things`, whose server refuses what `API_TOKEN` holds.
pub(crate) fn refused_things(dirs: &TestDirs) {
    let base = refusing();
    let description = json!({
        "kind": "discovery#restDescription", "name": "things", "version": "v1",
        "rootUrl": format!("{base}/"), "servicePath": "",
        "methods": {"list": {"id": "list", "path": "things", "httpMethod": "GET"}},
    });
    dirs.write("config/api.json", description.to_string());
    dirs.write(
        "config/things.md",
        format!(
            "---\nname: Things\ndescription: Things of an API.\ngoogleDiscoveryApi:\n  discoveryPath: ./api.json\n  baseUrl: {base}\n  auth: {{ type: bearer, token: $env:API_TOKEN }}\n---\n"
        ),
    );
}

#[test]
fn refused_credentials_end_with_code_3_and_what_to_renew() {
    let dirs = TestDirs::new();
    refused_things(&dirs);
    let finished =
        capdeck(&dirs).env("API_TOKEN", "canary-1").args(["call", "things", "list"]).run();
    assert_eq!(finished.code, Some(3), "{}", finished.stderr);
    let reported = format!("{}{}", finished.stdout, finished.stderr);
    assert!(reported.contains("`things` does not accept our credentials (HTTP 401)"), "{reported}");
    assert!(reported.contains("set `API_TOKEN` to a valid value"), "{reported}");
    assert!(!reported.contains("canary"), "{reported}");
}

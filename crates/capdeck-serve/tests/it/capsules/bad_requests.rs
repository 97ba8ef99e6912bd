//! Addresses and arguments that are none (conformance list, items 2 and 3).

use std::fs;

use serde_json::json;

use super::stage::{Stage, call, error, facts};

#[test]
fn spec_26_2_tricks_with_paths_are_refused() {
    let stage = Stage::with(&["team"]);
    let mut client = stage.client("/mcp/team");
    let long = format!("docs://{}", "a".repeat(300));
    for uri in [
        "docs://../../x",
        "docs://a//b",
        "docs://%2e%2e/x",
        "docs://a/../b",
        "docs:///etc/passwd",
        "docs://a\\b",
        "docs://a\u{0}b",
        "docs://CON",
        "docs://a.",
        "docs://.hidden",
        &long,
        "",
        "docs",
    ] {
        let read = error(&mut client, "capsol_read", json!({"uri": uri}));
        assert_eq!(read["code"], "invalid_uri", "{uri:?}: {read}");
        let write = error(&mut client, "capsol_write", json!({"uri": uri, "content": "x"}));
        assert_eq!(write["code"], "invalid_uri", "{uri:?}: {write}");
        let answer = client.request("resources/read", json!({"uri": uri}));
        assert_eq!(answer["error"]["code"], -32002, "{uri:?}: {answer}");
    }
    facts(&mut client, "capsol_write", json!({"uri": "docs://real", "content": "x"}));
    let folder = stage.served.dirs.root().join("data/boxes/team/.capsol/knowledge/docs");
    std::os::unix::fs::symlink("/etc/passwd", folder.join("link.md")).unwrap();
    let linked = call(&mut client, "capsol_read", json!({"uri": "docs://link"}));
    assert_eq!(linked["isError"], true, "{linked}");
    let names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "nothing else was made: {names:?}");
}

#[test]
fn spec_26_3_a_blob_pointer_cannot_be_smuggled_in() {
    let stage = Stage::with(&["team"]);
    let mut client = stage.client("/mcp/team");
    let pointer = json!({"uri": "docs://a", "content": "x", "blob": "sha256:../../etc/passwd"});
    assert_eq!(error(&mut client, "capsol_write", pointer)["code"], "invalid_input");
    let body = "---\nblob: sha256:../../../../etc/passwd\n---\nx";
    facts(&mut client, "capsol_write", json!({"uri": "docs://b", "content": body}));
    let read = client.request("resources/read", json!({"uri": "docs://b"}));
    assert_eq!(read["result"]["contents"].as_array().unwrap().len(), 1, "{read}");
}

//! Whole capsules as archives.

use super::stage::Api;

#[test]
fn a_capsule_goes_out_and_comes_in_again() {
    let mut api = Api::new();
    api.capsule("team");
    api.entry("team", "docs/a/b", "# One\n").is(201);
    api.entry("team", "docs/c", "two").is(201);
    let archive = api.get("/v1/capsules/team/export");
    assert_eq!(archive.status, 200);
    assert_eq!(archive.reply.header("content-type"), Some("application/gzip"));
    let bytes = archive.reply.bytes;
    assert!(bytes.starts_with(&[0x1f, 0x8b]));
    let typed = [("Content-Type", "application/gzip")];
    let made = api.send("POST", "/v1/capsules/import?name=Copy", &typed, &bytes).is(201);
    assert_eq!(made["capsule"]["id"], "copy");
    assert_eq!(made["entries"].as_array().unwrap().len(), 2, "{made}");
    assert_eq!(api.get("/v1/capsules/copy/entries/docs/a/b").is(200)["body"], "# One\n");
    api.send("POST", "/v1/capsules/import?name=Copy", &typed, &bytes).fails(409, "exists");
}

#[test]
fn an_archive_that_is_none_leaves_nothing_behind() {
    let mut api = Api::new();
    let typed = [("Content-Type", "application/gzip")];
    for bad in [&b"\x1f\x8bnonsense"[..], b"nonsense", b""] {
        let refused = api.send("POST", "/v1/capsules/import?name=Copy", &typed, bad);
        assert_eq!(refused.status, 400, "{bad:?}: {}", refused.reply.body);
    }
    api.send("POST", "/v1/capsules/import?name=x", &[("Content-Type", "text/plain")], b"x")
        .fails(415, "unsupported_media_type");
    assert!(api.get("/v1/capsules").is(200)["items"].as_array().unwrap().is_empty());
}

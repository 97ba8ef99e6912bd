//! Documents, good and bad.

use super::*;
use crate::ErrorCode;

fn document(root: &Value) -> Result<DiscoveryDocument, CallError> {
    DiscoveryDocument::read(root.to_string().as_bytes())
}

#[test]
fn what_is_no_document_says_why() {
    for (root, reason) in [
        (json!([]), "it is not a JSON object"),
        (json!({"kind": "discovery#directoryList"}), "its kind is `discovery#directoryList`"),
        (json!({"kind": 7, "methods": {}}), "its kind is `not a text`"),
        (json!({"kind": "discovery#restDescription"}), "neither `resources` nor `methods`"),
        (json!({"resources": []}), "neither `resources` nor `methods`"),
    ] {
        let error = document(&root).unwrap_err();
        assert_eq!(error.code, ErrorCode::ConfigInvalid);
        assert!(error.message.contains(reason), "{error}");
    }
    assert!(DiscoveryDocument::read(b"<html>").unwrap_err().message.contains("expected value"));
}

#[test]
fn methods_are_found_at_every_depth() {
    let read = document(&json!({
        "methods": {"ping": {}},
        "resources": {
            "users": {"methods": {"get": {}}, "resources": {"messages": {"methods": {"list": {}}}}},
            "broken": 7,
        },
    }))
    .unwrap();
    let places: Vec<String> = read.methods().into_iter().map(|(place, _)| place).collect();
    assert_eq!(places, ["ping", "users.get", "users.messages.list", "broken"]);
}

#[test]
fn where_requests_go() {
    for (members, configured, service, root) in [
        (
            json!({"baseUrl": "https://a.example/x/v1/", "servicePath": "x/v1/"}),
            None,
            "https://a.example/x/v1/",
            "https://a.example/",
        ),
        (
            json!({"rootUrl": "https://a.example/", "servicePath": "x/v1/"}),
            None,
            "https://a.example/x/v1/",
            "https://a.example/",
        ),
        (json!({"rootUrl": "https://a.example"}), None, "https://a.example/", "https://a.example/"),
        (
            json!({"baseUrl": "https://a.example/x/v1/", "servicePath": "x/v1/"}),
            Some("http://127.0.0.1:9/proxy/x/v1"),
            "http://127.0.0.1:9/proxy/x/v1",
            "http://127.0.0.1:9/proxy/",
        ),
        (
            json!({"baseUrl": "https://a.example/x/v1/", "servicePath": "x/v1/"}),
            Some("http://127.0.0.1:9/other"),
            "http://127.0.0.1:9/other",
            "http://127.0.0.1:9/",
        ),
        (
            json!({"rootUrl": "https://a.example/", "servicePath": ""}),
            Some("https://b.example/deep/"),
            "https://b.example/deep/",
            "https://b.example/deep",
        ),
    ] {
        let mut root_members = members.clone();
        root_members["methods"] = json!({});
        let bases = document(&root_members).unwrap().bases(configured).unwrap();
        assert_eq!((bases.service.as_str(), bases.root.as_str()), (service, root), "{members}");
    }
    let nowhere = document(&json!({"methods": {}})).unwrap().bases(None).unwrap_err();
    assert_eq!(nowhere.hint.as_deref(), Some("set `baseUrl`"));
    let plain = document(&json!({"methods": {}, "baseUrl": "http://a.example/"})).unwrap();
    assert!(plain.bases(None).unwrap_err().message.contains("plain http"));
}

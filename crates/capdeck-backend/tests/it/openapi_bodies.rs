//! Bodies as the server receives them: JSON, forms, files, text and bytes.

use std::{fs, os::unix::fs::symlink};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use capdeck_backend::ErrorCode;
use serde_json::{Value, json};

use crate::{
    http::{echo, serve},
    openapi::{asked, deck_with},
    support::{Deck, definition},
};

fn description(content: Value) -> Value {
    json!({"openapi": "3.0.0", "paths": {"/x": {"post": {"operationId": "op", "requestBody": {"content": content}}}}})
}

/// What arrives when this body is sent as this content.
async fn sent(content: Value, arguments: Value) -> Value {
    let base = serve(echo).await;
    let (deck, block) = deck_with(&description(content), &base);
    asked(&deck.call(block, "op", arguments).await.unwrap())
}

#[tokio::test]
async fn simple_bodies() {
    for (content, arguments, content_type, body) in [
        (
            json!({"application/json": {}}),
            json!({"body": [1, null]}),
            "application/json",
            "[1,null]",
        ),
        (
            json!({"application/vnd.x+json": {}}),
            json!({"body": {"a": 1}}),
            "application/vnd.x+json",
            r#"{"a":1}"#,
        ),
        (json!({"text/plain": {}}), json!({"body": "hällo"}), "text/plain", "hällo"),
        (
            json!({"application/xml": {"schema": {"type": "object"}}}),
            json!({"body": "<a/>"}),
            "application/xml",
            "<a/>",
        ),
        (
            json!({"text/plain": {}, "application/json": {}}),
            json!({"body": "x"}),
            "application/json",
            "\"x\"",
        ),
        (
            json!({"text/plain": {}, "application/json": {}}),
            json!({"body": "x", "contentType": "text/plain"}),
            "text/plain",
            "x",
        ),
        (
            json!({"application/octet-stream": {}}),
            json!({"body": {"base64": STANDARD.encode("bytes")}}),
            "application/octet-stream",
            "bytes",
        ),
        (
            json!({"image/png": {}}),
            json!({"body": {"dataUrl": "data:image/gif;base64,R0lG"}}),
            "image/gif",
            "GIF",
        ),
        (
            json!({"application/octet-stream": {}}),
            json!({"body": {"text": "t", "mimeType": "text/x-log"}}),
            "text/x-log",
            "t",
        ),
    ] {
        let reported = sent(content, arguments).await;
        assert_eq!(
            (reported["headers"]["content-type"].as_str(), reported["body"].as_str()),
            (Some(content_type), Some(body))
        );
        assert_eq!(reported["headers"]["content-length"], body.len().to_string());
    }
    let nothing = sent(json!({"application/json": {}}), json!({})).await;
    assert_eq!(nothing["headers"].get("content-type"), None);
}

#[tokio::test]
async fn forms_follow_their_encoding() {
    let content = json!({"application/x-www-form-urlencoded": {
        "schema": {"type": "object", "properties": {
            "name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}},
            "csv": {"type": "array"}, "deep": {"type": "object"}, "meta": {"type": "object"},
        }},
        "encoding": {"csv": {"style": "form", "explode": false}, "deep": {"style": "deepObject", "explode": true}},
    }});
    let body = json!({"name": "a b&c", "tags": ["x", "y"], "csv": [1, 2], "deep": {"a": {"b": true}}, "meta": {"k": 1}, "more": 5, "none": null});
    let reported = sent(content, json!({ "body": body })).await;
    assert_eq!(reported["headers"]["content-type"], "application/x-www-form-urlencoded");
    assert_eq!(
        reported["body"],
        "name=a%20b%26c&tags=x&tags=y&csv=1,2&deep%5Ba%5D%5Bb%5D=true&meta=%7B%22k%22%3A1%7D&more=5"
    );
}

fn upload() -> Value {
    json!({"multipart/form-data": {
        "schema": {"type": "object", "properties": {
            "note": {"type": "string"}, "meta": {"type": "object"}, "tags": {"type": "array", "items": {"type": "string"}},
            "file": {"type": "string", "format": "binary"}, "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
        }},
        "encoding": {"files": {"contentType": "image/png, image/jpeg"}},
    }})
}

/// The parts of a multipart body, without the boundary.
fn parts(reported: &Value) -> Vec<String> {
    let content_type = reported["headers"]["content-type"].as_str().unwrap();
    let boundary = content_type.strip_prefix("multipart/form-data; boundary=").unwrap();
    let body = reported["body"].as_str().unwrap();
    assert_eq!(reported["headers"]["content-length"], body.len().to_string());
    let body = body.strip_suffix(&format!("--{boundary}--\r\n")).unwrap();
    let marker = format!("--{boundary}\r\n");
    body.split(&marker).skip(1).map(|part| part.strip_suffix("\r\n").unwrap().to_owned()).collect()
}

#[tokio::test]
async fn parts_of_a_form_are_values_and_files() {
    let body = json!({
        "note": "a\"b", "meta": {"k": [1]}, "tags": ["x", "y"],
        "file": {"base64": STANDARD.encode("one"), "filename": "a\"\r\nX: y.txt", "mimeType": "text/plain"},
        "files": [{"text": "two"}, {"text": "three", "filename": "3.jpg"}],
    });
    let reported = sent(upload(), json!({ "body": body })).await;
    assert_eq!(
        parts(&reported),
        [
            "Content-Disposition: form-data; name=\"note\"\r\n\r\na\"b",
            "Content-Disposition: form-data; name=\"meta\"\r\nContent-Type: application/json\r\n\r\n{\"k\":[1]}",
            "Content-Disposition: form-data; name=\"tags\"\r\n\r\nx",
            "Content-Disposition: form-data; name=\"tags\"\r\n\r\ny",
            "Content-Disposition: form-data; name=\"file\"; filename=\"a%22%0D%0AX: y.txt\"\r\nContent-Type: text/plain\r\n\r\none",
            "Content-Disposition: form-data; name=\"files\"; filename=\"files\"\r\nContent-Type: image/png\r\n\r\ntwo",
            "Content-Disposition: form-data; name=\"files\"; filename=\"3.jpg\"\r\nContent-Type: image/png\r\n\r\nthree",
        ]
    );
}

#[tokio::test]
async fn files_come_from_the_project_and_from_artifacts_and_from_nowhere_else() {
    let base = serve(echo).await;
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("project");
    fs::create_dir_all(project.join("sub")).unwrap();
    fs::write(project.join("sub/inside.txt"), "from the project").unwrap();
    fs::write(folder.path().join("outside.txt"), "canary").unwrap();
    symlink(folder.path().join("outside.txt"), project.join("link.txt")).unwrap();
    let deck = Deck::with_project(&[], Some(&project));
    let spec = deck.folder.path().join("api.json");
    fs::write(&spec, description(upload()).to_string()).unwrap();
    let block =
        json!({"kind": "openapi", "specPath": spec, "baseUrl": base, "auth": {"type": "none"}});
    let send = async |deck: &Deck, file: Value| {
        deck.call(block.clone(), "op", json!({"body": {"file": file}})).await
    };

    let reported = asked(&send(&deck, json!({"path": "sub/inside.txt"})).await.unwrap());
    assert!(parts(&reported)[0].ends_with(
        "filename=\"inside.txt\"\r\nContent-Type: application/octet-stream\r\n\r\nfrom the project"
    ));

    let id = definition(block.clone()).id;
    let mut writer =
        deck.connector.artifacts().create(&id, "shot.png", Some("image/png")).await.unwrap();
    writer.write(b"from an artifact").await.unwrap();
    let artifact = writer.finish().await.unwrap();
    let reported = asked(&send(&deck, json!({"artifact": artifact.uri})).await.unwrap());
    assert!(parts(&reported)[0].ends_with("from an artifact"), "{reported}");

    let outside = folder.path().join("outside.txt");
    for (file, expected) in [
        (json!({"path": "../outside.txt"}), "`body.file` is outside of the project: `../outside.txt`".to_owned()),
        (json!({"path": outside}), format!("`body.file` is outside of the project: `{}`", outside.display())),
        (json!({"path": "link.txt"}), "`body.file` is outside of the project: `link.txt`".to_owned()),
        (json!({"path": "sub"}), "`body.file` is no file".to_owned()),
        (json!({"path": "nothing.txt"}), "`body.file` cannot be read: `nothing.txt`: No such file or directory (os error 2)".to_owned()),
        (json!({"artifact": "capdeck://artifacts/../x/y"}), "`body.file` names no artifact: this is not an artifact URI: `capdeck://artifacts/../x/y`".to_owned()),
        (json!({"base64": "***"}), "`body.file` is not base64: Invalid symbol 42, offset 0.".to_owned()),
        (json!({"dataUrl": "http://x"}), "`body.file` holds no data URL".to_owned()),
        (json!({"filename": "x"}), "`body.file` is no file".to_owned()),
    ] {
        let error = send(&deck, file).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::RequestInvalid);
        assert_eq!(error.message, expected);
    }
    let without_project = Deck::new(&[]);
    let error = send(&without_project, json!({"path": "sub/inside.txt"})).await.unwrap_err();
    assert_eq!(error.message, "`body.file` is a path, and there is no project to read it from");
}

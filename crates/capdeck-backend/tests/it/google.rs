//! APIs described by Discovery documents: listing, calling, downloading.

use std::time::Duration;

use capdeck_backend::ErrorCode;
use serde_json::{Value, json};

use crate::{
    google_server::Google,
    support::{Deck, context, definition},
};

#[tokio::test]
async fn a_document_becomes_tools() {
    let (google, deck) = (Google::start().await, Deck::new(&[]));
    let mut block = google.block();
    block["excludeOperations"] = json!(["*.touch", "*.nothing"]);
    let connection = deck.connect(block).await.unwrap();
    let discovery = connection.discover(&context(Duration::from_secs(20))).await.unwrap();
    let names: Vec<&str> = discovery.tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(names, ["things.get", "things.insert", "things.list", "things.load"]);
    assert_eq!(discovery.problems.len(), 1);
    assert!(google.seen().is_empty());
}

#[tokio::test]
async fn arguments_go_where_the_document_says() {
    let (google, deck) = (Google::start().await, Deck::new(&[]));
    let arguments = json!({"query": {"label": ["a b", "c&d"], "max": 7, "alt": null}});
    let result = deck.call(google.block(), "things.list", arguments).await.unwrap();
    assert_eq!(result["structuredContent"]["body"]["name"], "a thing");
    assert_eq!(result["isError"], false);
    let arguments = json!({"path": {"name": "projects/p 1/x"}, "header": {"x-mark": "m"}});
    deck.call(google.block(), "things.touch", arguments).await.unwrap();
    deck.call(google.block(), "things.insert", json!({"body": {"name": "x"}})).await.unwrap();
    assert_eq!(
        google.lines(),
        [
            "GET /things/v1/things?label=a%20b&label=c%26d&max=7&prettyPrint=false",
            "POST /things/v1/projects/p%201/x:touch?prettyPrint=false",
            "POST /things/v1/things?prettyPrint=false",
        ]
    );
    let [_, touch, insert] = <[_; 3]>::try_from(google.seen()).unwrap();
    assert_eq!(touch.header("x-mark"), Some("m"));
    assert_eq!(touch.header("content-length"), Some("0"));
    assert_eq!(insert.header("content-type"), Some("application/json"));
    assert_eq!(insert.body, r#"{"name":"x"}"#);
}

#[tokio::test]
async fn arguments_that_fit_nowhere_send_nothing() {
    let (google, deck) = (Google::start().await, Deck::new(&[]));
    for (tool, arguments, reason) in [
        (
            "things.list",
            json!({"query": {"access_token": "x"}}),
            "there is no `query.access_token`",
        ),
        ("things.list", json!({"query": {"max": {"a": [1]}}}), "`query.max` must be a string"),
        ("things.list", json!({"body": {}}), "takes no `body`"),
        ("things.list", json!({"media": {"dataUrl": "data:,x"}}), "`things.list` takes no media"),
        ("things.list", json!({"max": 7}), "unknown field `max`"),
        ("things.get", json!({}), "`path.thingId` is part of the path"),
        ("things.get", json!({"path": {"thingId": ".."}}), "`.` or `..` segment"),
        ("things.touch", json!({"path": {"name": "a/../../b"}}), "`.` or `..` segment"),
        (
            "things.touch",
            json!({"path": {"name": "a"}, "header": {"x-mark": "a\r\nb: c"}}),
            "holds a line break",
        ),
        (
            "things.touch",
            json!({"path": {"name": "a"}, "header": {"authorization": "x"}}),
            "there is no `header.authorization`",
        ),
        ("things.insert", json!({"media": {}}), "exactly one of"),
        ("things.insert", json!({"media": {"path": "a", "kind": "x"}}), "unknown field `kind`"),
    ] {
        let error = deck.call(google.block(), tool, arguments).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::RequestInvalid);
        assert!(error.message.contains(reason), "{tool}: {error}");
    }
    let error = deck.call(google.block(), "things.gone", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ToolNotFound);
    assert!(google.seen().is_empty());
}

#[tokio::test]
async fn content_comes_down_as_an_artifact() {
    let (google, deck) = (Google::start().await, Deck::new(&[]));
    let get = async |arguments: Value| deck.call(google.block(), "things.get", arguments).await;
    let arguments = json!({"path": {"thingId": "t"}, "filename": "../../a thing.txt"});
    let result = get(arguments).await.unwrap();
    let structured = &result["structuredContent"];
    assert_eq!(structured["kind"], "remote-reference");
    assert_eq!(
        (&structured["byteLength"], &structured["mimeType"]),
        (&json!(11), &json!("text/plain"))
    );
    let uri = structured["uri"].as_str().unwrap();
    assert!(uri.starts_with("capdeck://artifacts/thing/"), "{uri}");
    let (artifact, bytes) = deck.connector.artifacts().read(uri).await.unwrap();
    assert_eq!(
        (artifact.filename.as_str(), bytes.as_slice()),
        ("_.._a_thing.txt", &b"the content"[..])
    );
    assert!(google.lines()[0].starts_with("GET /things/v1/things/t?alt=media"));

    // The other argument chooses the name, too, and never the place.
    let arguments = json!({"path": {"thingId": "t"}, "outputPath": "other.txt"});
    let named = get(arguments).await.unwrap()["structuredContent"]["uri"].to_string();
    assert!(named.ends_with("/other.txt\""), "{named}");
    let asked = google.seen().len();
    for place in ["/etc/../other.txt", "sub/other.txt", "..\\other.txt", "/"] {
        let arguments = json!({"path": {"thingId": "t"}, "outputPath": place});
        let error = get(arguments).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::RequestInvalid, "{place}");
        assert!(error.message.starts_with("`outputPath` names a place"), "{error}");
        assert!(error.hint.unwrap().starts_with("give `filename`"));
    }
    assert_eq!(google.seen().len(), asked);

    // What was downloaded can be uploaded again.
    let media = json!({"media": {"artifact": uri}});
    let result = deck.call(google.block(), "things.insert", media).await.unwrap();
    assert_eq!(result["structuredContent"]["body"], json!({"uploadType": "media", "bytes": 11}));
    let upload = google.seen().pop().unwrap();
    assert_eq!(
        (upload.header("content-type"), upload.body.as_ref()),
        (Some("text/plain"), &b"the content"[..])
    );

    // A refusal is informed in words.
    let result = get(json!({"path": {"thingId": "gone"}, "filename": "x"})).await.unwrap();
    assert_eq!(result["isError"], true);
    assert_eq!(result["structuredContent"]["body"]["error"]["message"], "gone");
}

#[tokio::test]
async fn credentials_go_only_where_they_were_meant_to() {
    let (google, elsewhere) = (Google::start().await, Google::start().await);
    let deck = Deck::new(&[("TOKEN", "canary-token")]);
    let bearer = json!({"type": "bearer", "token": "$env:TOKEN"});
    let mut block = google.block();
    block["auth"] = bearer.clone();
    // The document is fetched without them, and says that the API is at the same place.
    deck.call(block.clone(), "things.list", json!({})).await.unwrap();
    assert_eq!(google.seen()[0].header("authorization"), Some("Bearer canary-token"));

    // A document from elsewhere does not decide where they go; the definition does.
    let mut foreign = block.clone();
    foreign["discoveryUrl"] =
        json!(format!("{}/discovery", google.url.replace("127.0.0.1", "localhost")));
    let error = deck.call(foreign.clone(), "things.list", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ConfigInvalid);
    assert!(error.message.contains("the API is elsewhere"), "{error}");
    foreign["baseUrl"] = json!(format!("{}/things/v1/", elsewhere.url));
    deck.call(foreign, "things.list", json!({})).await.unwrap();
    assert_eq!(elsewhere.lines(), ["GET /things/v1/things?prettyPrint=false"]);
    assert_eq!(google.seen().len(), 1);
}

#[tokio::test]
async fn documents_that_cannot_be_used_say_why() {
    let deck = Deck::new(&[]);
    let path = deck.folder.path().join("api.json");
    let block = json!({"kind": "googleDiscovery", "discoveryPath": path, "auth": {"type": "none"}});
    let error = deck.call(block.clone(), "x", json!({})).await.unwrap_err();
    assert!(error.message.contains("cannot be read"), "{error}");
    for (text, reason) in [
        ("{", "not a Discovery document: EOF"),
        ("{\"kind\": \"discovery#directoryList\"}", "its kind is"),
        ("{\"methods\": {}}", "says where the API is"),
        ("{\"methods\": {}, \"rootUrl\": \"http://api.example\"}", "plain http"),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = deck.call(block.clone(), "x", json!({})).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::ConfigInvalid);
        assert!(error.message.contains(reason), "{error}");
    }
    std::fs::write(&path, vec![b' '; 21 * 1024 * 1024]).unwrap();
    let error = deck.call(block, "x", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ContentTooLarge);
}

#[tokio::test]
async fn a_sign_in_asks_for_what_is_exposed_unless_the_file_names_its_own() {
    let (google, deck) = (Google::start().await, Deck::new(&[]));
    let mut block = google.block();
    block["auth"] = json!({"type": "oauth2", "clientId": "c"});
    // The tools are listed before anybody has signed in.
    let connection = deck.connect(block.clone()).await.unwrap();
    assert_eq!(
        connection.discover(&context(Duration::from_secs(20))).await.unwrap().tools.len(),
        5
    );
    let error = deck.call(block.clone(), "things.list", json!({})).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::AuthRequired);
    assert_eq!(error.hint.as_deref(), Some("run: capdeck auth login thing"));

    let described = ["https://www.googleapis.com/auth/things".to_owned()];
    let sign_in = deck.connector.sign_in(&definition(block.clone()), &described).unwrap();
    assert_eq!(sign_in.status().unwrap().wanted_scopes, described);
    block["auth"]["scopes"] = json!(["own"]);
    let sign_in = deck.connector.sign_in(&definition(block.clone()), &described).unwrap();
    assert_eq!(sign_in.status().unwrap().wanted_scopes, ["own"]);
    block["auth"] = json!({"type": "oidc", "clientId": "c"});
    let sign_in = deck.connector.sign_in(&definition(block.clone()), &described).unwrap();
    assert_eq!(
        sign_in.status().unwrap().wanted_scopes,
        ["openid", "profile", "email", described[0].as_str()]
    );
    block["auth"] = json!({"type": "none"});
    assert!(deck.connector.sign_in(&definition(block), &described).is_err());
}

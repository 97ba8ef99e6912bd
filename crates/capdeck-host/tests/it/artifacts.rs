//! Large results: who may read them, in which parts, and how long they stay.

use std::{
    fs,
    sync::Arc,
    time::{Duration, SystemTime},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use capdeck_host::{
    CallError, CapabilityId, ClientProfile, Host, RawMembers, Session, SessionScope,
    SessionSettings, artifacts, resources, transparent,
};
use capdeck_test::FakePlan;
use serde_json::{Value, json};

use crate::{
    audit::written,
    deck::{Deck, agent, call, caplet, context, local_session, value},
};

fn tools(exposure: &str) -> String {
    let action = |command: &str| json!({"command": "sh", "args": ["-c", command]});
    caplet(&json!({
        "name": "Tools", "description": "Prints a lot", "exposure": exposure,
        "cliTools": {"maxOutputBytes": 100, "actions": {
            "lines": action("seq 5000"),
            "words": action("for i in $(seq 500); do printf 'äöü€𝄞'; done"),
            "huge": action("head -c 3000000 /dev/zero | tr '\\0' x"),
            "bytes": action("head -c 1000 /dev/zero"),
        }},
    }))
}

fn deck(exposure: &str) -> Deck {
    Deck::new().file("config/tools.md", &tools(exposure))
}

/// The URI of the artifact that a call of this tool leaves.
async fn made(session: &Session, tool: &str) -> String {
    let answer = call(session, "tools", tool, json!({})).await.unwrap();
    let link = &answer["content"][1];
    assert_eq!((&link["type"], link["size"].is_u64()), (&json!("resource_link"), true), "{link}");
    let artifact = &answer["structuredContent"]["artifact"];
    assert_eq!(link["_meta"]["capdeck/sha256"], artifact["sha256"]);
    artifact["uri"].as_str().unwrap().to_owned()
}

async fn read(session: &Session, uri: &str) -> Result<Value, CallError> {
    let answer = resources::read(&session.request(&context()), uri, RawMembers::new()).await?;
    Ok(value(&answer)["contents"][0].clone())
}

/// The text of all parts, following `next` from the first.
async fn read_on(session: &Session, first: String) -> String {
    let (mut text, mut next) = (String::new(), Some(first));
    while let Some(uri) = next {
        let part = read(session, &uri).await.unwrap();
        text.push_str(part["text"].as_str().unwrap());
        next = part["_meta"]["capdeck/artifact"]["next"].as_str().map(str::to_owned);
    }
    text
}

#[tokio::test]
async fn parts_of_a_text_are_texts() {
    let deck = deck("search");
    let host = deck.open();
    let session = agent(&host);
    let uri = made(&session, "lines").await;
    let whole = read(&session, &uri).await.unwrap();
    let text = whole["text"].as_str().unwrap();
    assert!(text.starts_with("1\n2\n") && text.ends_with("5000\n"));
    let asked = format!("{uri}?offset=2&length=4");
    let part = read(&session, &asked).await.unwrap();
    assert_eq!((&part["uri"], &part["text"]), (&json!(asked), &json!("2\n3\n")));
    let facts = &part["_meta"]["capdeck/artifact"];
    assert_eq!((&facts["offset"], &facts["length"]), (&json!(2), &json!(4)));
    assert_eq!(facts["size"], json!(text.len()));
    assert_eq!(facts["sha256"], whole["_meta"]["capdeck/artifact"]["sha256"]);
    let rest = read(&session, &format!("{uri}?offset={}", text.len() - 5)).await.unwrap();
    assert_eq!(rest["text"], "5000\n");
    assert_eq!(rest["_meta"]["capdeck/artifact"].get("next"), None);
    let end = read(&session, &format!("{uri}?offset={}&length=9", text.len())).await.unwrap();
    assert_eq!(end["text"], "");
    host.close().await;
}

#[tokio::test]
async fn a_range_never_cuts_a_character_or_loses_one() {
    let deck = deck("search");
    let host = deck.open();
    let session = agent(&host);
    let uri = made(&session, "words").await;
    let whole = read(&session, &uri).await.unwrap()["text"].as_str().unwrap().to_owned();
    assert_eq!(whole.chars().count(), 2500);
    for length in [4, 5, 7, 11] {
        let (mut text, mut offset) = (String::new(), 0);
        while offset < whole.len() as u64 {
            let part = read(&session, &format!("{uri}?offset={offset}&length={length}")).await;
            let part = part.unwrap();
            text.push_str(part["text"].as_str().unwrap());
            let facts = &part["_meta"]["capdeck/artifact"];
            offset = facts["offset"].as_u64().unwrap() + facts["length"].as_u64().unwrap();
        }
        assert_eq!(text, whole, "{length}");
    }
    host.close().await;
}

#[tokio::test]
async fn a_large_one_says_how_to_read_it_in_parts() {
    let deck = deck("search");
    let host = deck.open();
    let session = agent(&host);
    let uri = made(&session, "huge").await;
    for asked in [uri.clone(), format!("{uri}?length=2000000"), format!("{uri}?offset=10")] {
        let error = read(&session, &asked).await.unwrap_err();
        assert_eq!(error.code.as_str(), "CONTENT_TOO_LARGE", "{asked}");
        assert!(error.message.contains("3000000 bytes"), "{error}");
        let next = error.data.unwrap()["next"].as_str().unwrap().to_owned();
        assert!(error.hint.unwrap().ends_with(&next));
        let text = read_on(&session, next).await;
        assert_eq!(text.len(), if asked.ends_with("=10") { 2_999_990 } else { 3_000_000 });
    }
    host.close().await;
}

#[tokio::test]
async fn what_is_no_text_comes_as_a_blob() {
    let deck = deck("search");
    let host = deck.open();
    let session = agent(&host);
    let artifacts = host.artifacts();
    let id = CapabilityId::new("tools").unwrap();
    // A text by its bytes, and by its type none: every part is a blob, whatever it holds.
    for (mime_type, bytes) in [(Some("image/png"), &b"plain"[..]), (None, &[0, 1, 2, 255])] {
        let mut writer = artifacts.create(&id, "x.bin", mime_type).await.unwrap();
        writer.write(bytes).await.unwrap();
        let uri = writer.finish().await.unwrap().uri;
        let part = read(&session, &format!("{uri}?offset=1&length=2")).await.unwrap();
        assert_eq!(part["blob"], json!(BASE64_STANDARD.encode(&bytes[1..3])));
        assert_eq!(part.get("mimeType").and_then(Value::as_str), mime_type);
    }
    host.close().await;
}

#[tokio::test]
async fn wrong_uris_and_ranges_are_refused() {
    let deck = deck("search");
    let host = deck.open();
    let session = agent(&host);
    let uri = made(&session, "lines").await;
    for (wrong, code) in [
        ("?offset=-1", "REQUEST_INVALID"),
        ("?offset=99999999999999999999999", "REQUEST_INVALID"),
        ("?offset=18446744073709551615&length=18446744073709551615", "REQUEST_INVALID"),
        ("?offset=1000000", "REQUEST_INVALID"),
        ("?offset=1&offset=2", "REQUEST_INVALID"),
        ("?file=/etc/passwd", "REQUEST_INVALID"),
        ("/../../../../secret", "RESOURCE_NOT_FOUND"),
        ("%00", "RESOURCE_NOT_FOUND"),
        (".capdeck.json", "RESOURCE_NOT_FOUND"),
    ] {
        let error = read(&session, &format!("{uri}{wrong}")).await.unwrap_err();
        assert_eq!(error.code.as_str(), code, "{wrong}: {error}");
    }
    for foreign in ["capdeck://artifacts/", "capdeck://artifacts/tools", "capdeck://other/a/b/c"] {
        let error = read(&session, foreign).await.unwrap_err();
        assert_eq!(error.code.as_str(), "RESOURCE_NOT_FOUND", "{foreign}: {error}");
    }
    host.close().await;
}

/// What a client is informed, with what it asked for taken out.
fn received(error: &CallError, uri: &str) -> String {
    let shown = format!("{:?} {} {:?} {:?}", error.code, error.message, error.hint, error.data);
    shown.replace(uri, "URI")
}

#[tokio::test]
async fn only_those_who_may_use_the_capability_read_its_artifacts() {
    let deck = deck("search").file("config/other.md", &tools("search"));
    let (host, operator) = deck.operator();
    let uri = made(&operator, "lines").await;
    let transparent =
        |id: &str| local_session(&host, SessionScope::Transparent(CapabilityId::new(id).unwrap()));
    read(&agent(&host), &uri).await.unwrap();
    let own = |session: Arc<Session>, uri: String| async move {
        let params = [("uri".to_owned(), crate::deck::raw(&json!(uri)))].into_iter().collect();
        transparent::answer(&session.request(&context()), "tools", "resources/read", Some(params))
            .await
    };
    own(transparent("tools"), uri.clone()).await.unwrap();
    let other = transparent("other");
    let params: RawMembers =
        [("uri".to_owned(), crate::deck::raw(&json!(uri)))].into_iter().collect();
    let error =
        transparent::answer(&other.request(&context()), "other", "resources/read", Some(params))
            .await;
    assert_eq!(error.unwrap_err().code.as_str(), "RESOURCE_NOT_FOUND");
    host.close().await;

    let denied = deck
        .config("policy", json!([{"deny": {"capability": "tools", "principal": "test-agent"}}]));
    denied_everything(&denied.open(), &uri).await;
    let hidden = denied.config("policy", json!([])).file("config/tools.md", &tools("none"));
    denied_everything(&hidden.open(), &uri).await;
    fs::remove_file(hidden.dirs.config().join("tools.md")).unwrap();
    let host = hidden.open();
    denied_everything(&host, &uri).await;
    // The person owns the files, also when the capability is gone.
    read(&host.operator(), &uri).await.unwrap();
    assert_eq!(artifacts::list(&host.operator().snapshot()).len(), 1);
    host.close().await;
}

async fn denied_everything(host: &Host, uri: &str) {
    let session = agent(host);
    let unknown = uri.replace("/tools/", "/nobody/");
    let error = read(&session, uri).await.unwrap_err();
    let other = read(&session, &unknown).await.unwrap_err();
    assert_eq!(
        received(&error, uri),
        received(&other, &unknown),
        "denied and unknown get the same answer"
    );
    assert_eq!(error.code.as_str(), "RESOURCE_NOT_FOUND");
    assert!(artifacts::list(&session.snapshot()).is_empty());
    assert!(artifacts::delete(&session.snapshot(), uri).is_err());
}

#[tokio::test]
async fn every_read_leaves_a_line() {
    let deck = deck("search");
    let uri = {
        let host = deck.open();
        let session = agent(&host);
        let uri = made(&session, "lines").await;
        read(&session, &format!("{uri}?length=5")).await.unwrap();
        read(&session, "capdeck://artifacts/nobody/1/x").await.unwrap_err();
        host.close().await;
        uri
    };
    let lines = written(&deck);
    let reads: Vec<[&str; 3]> = lines
        .iter()
        .filter(|line| line["method"] == "resources/read")
        .map(|line| ["capability", "tool", "outcome"].map(|key| line[key].as_str().unwrap()))
        .collect();
    let unknown = "capdeck://artifacts/nobody/1/x";
    assert_eq!(reads, [["tools", &uri, "ok"], ["nobody", unknown, "RESOURCE_NOT_FOUND"]]);
}

#[tokio::test]
async fn a_template_is_listed_where_results_may_become_artifacts() {
    let listed = |deck: &Deck| {
        let templates = value(&agent(&deck.open()).view().resource_templates());
        templates.as_array().unwrap().iter().any(|one| one["name"] == "artifact")
    };
    for exposure in ["search", "progressive", "direct"] {
        assert!(listed(&deck(exposure)), "{exposure}");
    }
    let servers = Deck::of(&FakePlan::default());
    assert!(!listed(&servers), "servers' results pass as they are");
    assert!(listed(&servers.config("options", json!({"resultBytes": 4096}))));
    assert!(!listed(&deck("none")));
}

#[tokio::test]
async fn the_config_says_how_long_they_stay() {
    let deck = deck("search").config("artifacts", json!({"maxAgeDays": 3, "maxMegabytes": 1}));
    let (host, session) = deck.operator();
    let (old, young) = (made(&session, "lines").await, made(&session, "words").await);
    let age = |uri: &str, days: u64| {
        let path = host.artifacts().path(uri).unwrap();
        let folder = fs::File::open(path.parent().unwrap()).unwrap();
        folder.set_modified(SystemTime::now() - Duration::from_secs(days * 24 * 3600)).unwrap();
    };
    age(&old, 4);
    age(&young, 2);
    let swept = host.artifacts().prune();
    assert_eq!((swept.removed, swept.kept), (1, 1));
    let error = read(&session, &old).await.unwrap_err();
    assert!(error.message.contains("it has expired"), "{error}");
    read(&session, &young).await.unwrap();
    // Three megabytes do not fit into one, but were only just made.
    let huge = made(&session, "huge").await;
    assert_eq!(host.artifacts().prune().removed, 1, "the older one makes room");
    read(&session, &format!("{huge}?length=1")).await.unwrap();
    age(&huge, 1);
    assert_eq!(host.artifacts().prune().removed, 1);

    // A changed config counts from the next reload on, and a project's has no say.
    let stored = made(&session, "lines").await;
    age(&stored, 4);
    let deck = deck.config("artifacts", json!({"maxAgeDays": 30}));
    deck.dirs.write("project/.capdeck/config.json", r#"{"artifacts": {"maxAgeDays": 1}}"#);
    host.reload();
    assert_eq!(host.artifacts().prune().removed, 0);
    assert_eq!(host.artifacts().clear().removed, 1);
    host.close().await;
}

#[tokio::test]
async fn a_client_on_this_machine_learns_where_the_file_is() {
    let deck = deck("direct");
    let host = deck.open();
    for (shares_files, is_there) in [(true, true), (false, false)] {
        let session = host.session(SessionSettings {
            shares_files,
            ..SessionSettings::local(SessionScope::Operator, ClientProfile::default())
        });
        let answer = call(&session, "tools", "lines", json!({})).await.unwrap();
        let path = answer["structuredContent"]["artifact"]["path"].as_str();
        assert_eq!(path.is_some(), is_there, "{answer}");
        if let Some(path) = path {
            assert!(fs::read_to_string(path).unwrap().ends_with("5000\n"));
        }
    }
    host.close().await;
}

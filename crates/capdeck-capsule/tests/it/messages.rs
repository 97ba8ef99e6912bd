//! Signals between agents, and memory that is each agent's own.

use std::fs;

use capdeck_capsule::{
    CapsuleAuthor, PollSignalsRequest, Role, SendSignalRequest, StoreLimits, StoreOptions,
    StoreWrite, WriteDurability,
};

use crate::{
    session::TestSession,
    stage::{Stage, access, fill, options, uri},
};

async fn kinds(session: &TestSession, request: PollSignalsRequest) -> Vec<String> {
    session
        .poll_signals(request)
        .await
        .unwrap()
        .signals
        .into_iter()
        .map(|signal| signal.kind)
        .collect()
}

#[tokio::test]
async fn signals_come_in_order_from_where_they_were_acknowledged() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let reader = stage.handle("reader", access(Role::Reader, &[], &[])).await;
    fill(&owner, &[("docs://a", "x"), ("docs://a", "y")]).await;
    let text = SendSignalRequest {
        text: Some("done".to_owned()),
        ..SendSignalRequest::of_kind("build.done")
    };
    owner.send_signal(text).await.unwrap();
    let whispered =
        SendSignalRequest { to: Some("other".to_owned()), ..SendSignalRequest::of_kind("whisper") };
    owner.send_signal(whispered).await.unwrap();
    assert_eq!(
        kinds(&reader, PollSignalsRequest::default()).await,
        ["entry.created", "entry.updated", "build.done"]
    );
    let first = reader
        .poll_signals(PollSignalsRequest { limit: 2, ..PollSignalsRequest::default() })
        .await
        .unwrap();
    assert!(first.has_more);
    reader.acknowledge(first.next_cursor.as_deref().unwrap()).await.unwrap();
    assert_eq!(kinds(&reader, PollSignalsRequest::default()).await, ["build.done"]);
    // An older acknowledgement changes nothing.
    reader.acknowledge(&first.signals[0].id).await.unwrap();
    let stage = stage.restarted().await;
    let reader = stage.handle("reader", access(Role::Reader, &[], &[])).await;
    assert_eq!(kinds(&reader, PollSignalsRequest::default()).await, ["build.done"]);
    let other = stage.handle("other", access(Role::Reader, &[], &[])).await;
    let only =
        PollSignalsRequest { kinds: vec!["whisper".to_owned()], ..PollSignalsRequest::default() };
    assert_eq!(kinds(&other, only).await, ["whisper"]);
}

#[tokio::test]
async fn a_write_that_fails_is_not_reported() {
    let durability = WriteDurability::Synced;
    let stage = Stage::with(StoreOptions { durability, ..options() }).await;
    let owner = stage.owner().await;
    // Nothing can be kept without it, as on a disk that is full.
    let journal = stage.root().join("journal");
    fs::remove_dir(&journal).unwrap();
    for _ in 0..2 {
        let error = owner.write(StoreWrite::create(uri("docs://a"), "x")).await.unwrap_err();
        assert_eq!(error.code(), "io_failed");
        assert!(owner.send_signal(SendSignalRequest::of_kind("lost")).await.is_err());
    }
    assert_eq!(kinds(&owner, PollSignalsRequest::default()).await, Vec::<String>::new());
    fs::create_dir(&journal).unwrap();
    fill(&owner, &[("docs://a", "x")]).await;
    owner.send_signal(SendSignalRequest::of_kind("kept")).await.unwrap();
    assert_eq!(kinds(&owner, PollSignalsRequest::default()).await, ["entry.created", "kept"]);
    let report = stage.capsules.store("team").await.unwrap().verify().await.unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

#[tokio::test]
async fn old_signals_are_read_from_their_files() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    for number in 0..2_050 {
        owner.send_signal(SendSignalRequest::of_kind(&format!("n{number}"))).await.unwrap();
    }
    let first = owner
        .poll_signals(PollSignalsRequest { limit: 3, ..PollSignalsRequest::default() })
        .await
        .unwrap();
    assert_eq!(
        first.signals.iter().map(|signal| signal.kind.as_str()).collect::<Vec<_>>(),
        ["n0", "n1", "n2"]
    );
    let next =
        PollSignalsRequest { after: first.next_cursor, limit: 1, ..PollSignalsRequest::default() };
    assert_eq!(kinds(&owner, next).await, ["n3"]);
}

#[tokio::test]
async fn bad_signals_are_refused() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let bad = [
        SendSignalRequest::of_kind(""),
        SendSignalRequest::of_kind("with space"),
        SendSignalRequest::of_kind("entry.created"),
        SendSignalRequest::of_kind(&"k".repeat(65)),
        SendSignalRequest { to: Some("a\nb".to_owned()), ..SendSignalRequest::of_kind("x") },
        SendSignalRequest { text: Some("t".repeat(5_000)), ..SendSignalRequest::of_kind("x") },
        SendSignalRequest {
            data: serde_json::json!({"x": "y".repeat(9_000)}).as_object().cloned(),
            ..SendSignalRequest::of_kind("x")
        },
    ];
    for signal in bad {
        assert!(owner.send_signal(signal.clone()).await.is_err(), "{signal:?}");
    }
    assert_eq!(owner.acknowledge("sig_nonsense").await.unwrap_err().code(), "bad_cursor");
    let request =
        PollSignalsRequest { after: Some("../../x".to_owned()), ..PollSignalsRequest::default() };
    assert_eq!(owner.poll_signals(request).await.unwrap_err().code(), "bad_cursor");
}

#[tokio::test]
async fn memory_is_private_to_its_principal_or_name() {
    let stage = Stage::new().await;
    let named = |name: &str, principal: Option<&str>| {
        let author = CapsuleAuthor::client(name);
        let author = principal.map_or(author.clone(), |principal| author.principal(principal));
        let opening = stage.capsules.handle("team", author, access(Role::Reader, &[], &[]));
        async move { opening.await.map(TestSession) }
    };
    let one = named("claude", None).await.unwrap();
    one.memory_set("plan.next", "write tests").await.unwrap();
    one.memory_set("colour", "blue").await.unwrap();
    let same_name = named("claude", None).await.unwrap();
    assert_eq!(same_name.memory_get("plan.next").await.unwrap(), "write tests");
    let pretender = named("claude", Some("prn_1")).await.unwrap();
    assert_eq!(pretender.memory_get("plan.next").await.unwrap_err().code(), "no_such_key");
    assert_eq!(pretender.memory_list().await.unwrap(), []);
    pretender.memory_set("plan.next", "other").await.unwrap();
    let renamed = named("something-else", Some("prn_1")).await.unwrap();
    assert_eq!(renamed.memory_get("plan.next").await.unwrap(), "other");
    let found = one.memory_search("TESTS write").await.unwrap();
    assert_eq!(found.iter().map(|item| item.key.as_str()).collect::<Vec<_>>(), ["plan.next"]);
    one.memory_delete("colour").await.unwrap();
    assert_eq!(one.memory_delete("colour").await.unwrap_err().code(), "no_such_key");
    let keys: Vec<String> =
        one.memory_list().await.unwrap().into_iter().map(|item| item.key).collect();
    assert_eq!(keys, ["plan.next"]);
}

#[tokio::test]
async fn memory_has_limits() {
    let limits =
        StoreLimits { memory_keys: 2, memory_value: 4, memories: 1, ..StoreLimits::default() };
    let stage = Stage::with(StoreOptions { limits, ..options() }).await;
    let owner = stage.owner().await;
    owner.memory_set("a", "1234").await.unwrap();
    assert_eq!(owner.memory_set("a", "12345").await.unwrap_err().code(), "too_large");
    owner.memory_set("b", "1").await.unwrap();
    assert_eq!(owner.memory_set("c", "1").await.unwrap_err().code(), "quota_exceeded");
    owner.memory_set("b", "2").await.unwrap();
    for key in ["", "a b", "a\n", &"k".repeat(129)] {
        assert_eq!(
            owner.memory_set(key, "1").await.unwrap_err().code(),
            "invalid_input",
            "{key:?}"
        );
    }
    let other = stage.handle("other", access(Role::Reader, &[], &[])).await;
    assert_eq!(other.memory_set("a", "1").await.unwrap_err().code(), "quota_exceeded");
}

//! The audit and the shares (conformance list, item 22).

use std::{fs, sync::Arc};

use capdeck_capsule::{
    AddShareRequest, AuditFilter, AuditMode, AuditOutcome, CapsuleAuthor, CapsuleRegistry,
    CapsuleUpdate, EntryUri, ListQuery, PatchStep, REGISTRY_LOG, Role, SearchQuery, ShareExpiry,
    StoreOptions, StoreWrite, query_audit, verify_audit,
};

use crate::{
    session::TestSession,
    stage::{Stage, access, fill, options, uri},
};

#[tokio::test]
async fn spec_26_22_each_call_is_one_line_without_content() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let guest = stage.handle("guest", access(Role::Reader, &[], &["docs://secret"])).await;
    const CANARY: &str = "canary-5e1f";
    let entry = uri("docs://a");
    let secret = uri("docs://secret");
    let canary = || CANARY.to_owned();
    let mut calls: Vec<(&str, AuditOutcome)> = Vec::new();
    use AuditOutcome::{Denied, Error, Ok as Done};
    owner
        .write(StoreWrite { title: Some(canary()), ..StoreWrite::create(entry.clone(), CANARY) })
        .await
        .unwrap();
    calls.push(("write.create", Done));
    owner.write(StoreWrite::replace(secret.clone(), CANARY)).await.unwrap();
    calls.push(("write.replace", Done));
    owner
        .write(StoreWrite::patch(entry.clone(), vec![PatchStep::Append { text: canary() }]))
        .await
        .unwrap();
    calls.push(("write.patch", Done));
    owner.write(StoreWrite::create(entry.clone(), CANARY)).await.unwrap_err();
    calls.push(("write.create", Error));
    owner.read(&entry, None).await.unwrap();
    calls.push(("read", Done));
    guest.read(&secret, None).await.unwrap_err();
    calls.push(("read", Denied));
    guest.write(StoreWrite::create(uri("docs://b"), CANARY)).await.unwrap_err();
    calls.push(("write.create", Denied));
    owner.search(SearchQuery::words(CANARY)).await.unwrap();
    calls.push(("search", Done));
    owner.list(ListQuery::default()).await.unwrap();
    calls.push(("list", Done));
    owner.memory_set(CANARY, CANARY).await.unwrap();
    calls.push(("memory.set", Done));
    owner.memory_get(CANARY).await.unwrap();
    calls.push(("memory.get", Done));
    let invalid = EntryUri::parse(&format!("docs://../{CANARY}")).unwrap_err();
    owner.note_failure("read", &invalid.into()).unwrap();
    calls.push(("read", Error));
    let lines = query_audit(&stage.root().join("logs"), "", &AuditFilter::default(), 100).unwrap();
    let found: Vec<(&str, AuditOutcome)> =
        lines.iter().map(|line| (line.action.as_str(), line.outcome)).collect();
    assert_eq!(found, calls);
    assert_eq!((lines[0].agent.as_str(), lines[0].version), ("tester", Some(1)));
    for log in fs::read_dir(stage.root().join("logs")).unwrap() {
        let text = fs::read_to_string(log.unwrap().path()).unwrap();
        assert!(!text.contains(CANARY), "{text}");
    }
    assert_eq!(verify_audit(&stage.root().join("logs"), "").unwrap().problems, []);
}

#[tokio::test]
async fn a_call_that_no_one_waits_for_is_finished_and_recorded() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let mut changes = stage.capsules.store("team").await.unwrap().changes();
    let entry = uri("docs://a");
    {
        let call = owner.write(StoreWrite::create(entry.clone(), "x"));
        tokio::pin!(call);
        // Polled once, so that it has begun, and then dropped. On a busy machine the other thread may already be done.
        let _begun = futures_poll(call.as_mut());
    }
    changes.recv().await.unwrap();
    // The next call waits for the same thread pool and the same log; its line comes after the one in question.
    loop {
        owner.read(&entry, None).await.unwrap();
        let lines =
            query_audit(&stage.root().join("logs"), "", &AuditFilter::default(), 100).unwrap();
        if lines.iter().any(|line| line.action == "write.create") {
            break;
        }
    }
}

fn futures_poll<F: Future>(future: std::pin::Pin<&mut F>) -> std::task::Poll<F::Output> {
    future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
}

#[tokio::test]
async fn strict_recording_refuses_to_work_unrecorded() {
    let stage = Stage::with(StoreOptions { audit: AuditMode::Strict, ..options() }).await;
    let owner = stage.owner().await;
    let logs = stage.root().join("logs");
    // A folder is at the place of the day's log.
    let today = format!("{}.jsonl", jiff::Timestamp::now().strftime("%Y-%m-%d"));
    let tomorrow = format!(
        "{}.jsonl",
        (jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24)).strftime("%Y-%m-%d")
    );
    for day in [&today, &tomorrow] {
        fs::create_dir(logs.join(day)).unwrap();
    }
    let error = owner.write(StoreWrite::create(uri("docs://a"), "x")).await.unwrap_err();
    assert_eq!(error.code(), "audit_failed");
    assert!(error.to_string().starts_with("done, but"), "{error}");
    let refused = owner.write(StoreWrite::replace(uri("docs://a"), "y")).await.unwrap_err();
    assert_eq!(refused.code(), "audit_failed");
    assert!(refused.to_string().starts_with("not done"), "{refused}");
    for day in [&today, &tomorrow] {
        fs::remove_dir(logs.join(day)).unwrap();
    }
    assert_eq!(owner.read(&uri("docs://a"), None).await.unwrap().entry.body, "x");
    let actions: Vec<String> = query_audit(&logs, "", &AuditFilter::default(), 9)
        .unwrap()
        .into_iter()
        .map(|line| line.action)
        .collect();
    assert_eq!(actions, ["write.create", "read"]);
}

#[tokio::test]
async fn what_failed_unrecorded_is_not_reported_as_done() {
    let stage = Stage::with(StoreOptions { audit: AuditMode::Strict, ..options() }).await;
    let owner = stage.owner().await;
    let logs = stage.root().join("logs");
    fs::remove_dir(&logs).unwrap();
    let error = owner.read(&uri("docs://a"), None).await.unwrap_err();
    assert_eq!(error.code(), "not_found");
    assert_eq!(owner.list(ListQuery::default()).await.unwrap_err().code(), "audit_failed");
    fs::create_dir(&logs).unwrap();
    owner.list(ListQuery::default()).await.unwrap();
    let actions: Vec<String> = query_audit(&logs, "", &AuditFilter::default(), 9)
        .unwrap()
        .into_iter()
        .map(|line| line.action)
        .collect();
    assert_eq!(actions, ["read", "list"]);
}

#[tokio::test]
async fn lenient_recording_catches_up() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let logs = stage.root().join("logs");
    fs::remove_dir(&logs).unwrap();
    fill(&owner, &[("docs://a", "x")]).await;
    fs::create_dir(&logs).unwrap();
    owner.read(&uri("docs://a"), None).await.unwrap();
    let actions: Vec<String> = query_audit(&logs, "", &AuditFilter::default(), 9)
        .unwrap()
        .into_iter()
        .map(|line| line.action)
        .collect();
    assert_eq!(actions, ["write.replace", "read"]);
}

#[tokio::test]
async fn a_share_is_opened_by_its_token_alone() {
    let stage = Stage::new().await;
    let new = |expires_at| AddShareRequest {
        name: "ci".to_owned(),
        role: Role::Appender,
        uri_prefixes: vec!["notes://ci".to_owned()],
        denied_prefixes: vec!["notes://ci/old".to_owned()],
        expires_at,
    };
    let (share, token) = stage.capsules.add_share("team", new(ShareExpiry::Never)).await.unwrap();
    let (_, expired) = stage
        .capsules
        .add_share("team", new(ShareExpiry::At("2020-01-01T00:00:00Z".parse().unwrap())))
        .await
        .unwrap();
    assert!(token.reveal().starts_with("cap_sh_") && token.reveal().len() == 50);
    assert_eq!(format!("{token:?}"), "[redacted]");
    let text = fs::read_to_string(stage.folder.path().join("shares.json")).unwrap();
    assert!(!text.contains(token.reveal()), "{text}");
    assert!(text.contains("\"uri_prefixes\"") && text.contains("\"denied_prefixes\""), "{text}");
    let stage = stage.restarted().await;
    let found = stage.capsules.share_by_token(token.reveal()).unwrap();
    assert_eq!(found, share);
    for wrong in [
        "",
        "cap_sh_",
        expired.reveal(),
        token.reveal().get(..49).unwrap(),
        &format!("{}x", token.reveal()),
    ] {
        assert!(stage.capsules.share_by_token(wrong).is_none(), "{wrong}");
    }
    let author = CapsuleAuthor::client("ci").principal(&found.principal);
    let session =
        stage.capsules.handle(&found.capsule, author, found.access).await.map(TestSession).unwrap();
    assert!(session.write(StoreWrite::create(uri("notes://ci/run"), "x")).await.is_ok());
    assert!(session.write(StoreWrite::create(uri("notes://other"), "x")).await.is_err());
    assert_eq!(stage.capsules.shares("team").unwrap().len(), 2);
    stage.capsules.revoke_share(&share.id).await.unwrap();
    assert!(stage.capsules.share_by_token(token.reveal()).is_none());
    assert_eq!(stage.capsules.revoke_share(&share.id).await.unwrap_err().code(), "not_found");
    let _kept = Arc::new(session);
}

#[tokio::test]
async fn the_registry_records_capsules_shares_and_refused_tokens() {
    let stage = Stage::new().await;
    let person = CapsuleAuthor::client("cli").version("1").principal("prn_owner");
    let capsules = stage.capsules.acting_for(person);
    let update = |name: &str| CapsuleUpdate { name: Some(name.to_owned()), ..Default::default() };
    capsules.create(update("second")).await.unwrap();
    capsules.create(update("second")).await.unwrap_err();
    capsules.update("second", update("renamed")).await.unwrap();
    let new = AddShareRequest {
        name: "ci".to_owned(),
        role: Role::Owner,
        uri_prefixes: Vec::new(),
        denied_prefixes: Vec::new(),
        expires_at: ShareExpiry::Never,
    };
    let (share, token) = capsules.add_share("team", new).await.unwrap();
    assert!(capsules.share_by_token(token.reveal()).is_some());
    capsules.revoke_share(&share.id).await.unwrap();
    assert!(capsules.share_by_token(token.reveal()).is_none());
    capsules.revoke_share("canary-3d70").await.unwrap_err();
    capsules.delete("second").await.unwrap();
    let logs = capsules.registry_logs();
    let text = fs::read_to_string(
        logs.join(format!("{REGISTRY_LOG}{}.jsonl", jiff::Timestamp::now().strftime("%Y-%m-%d"))),
    );
    let text = text.unwrap();
    assert!(!text.contains(token.reveal()) && !text.contains("canary-3d70"), "{text}");
    let stage = stage.restarted().await;
    stage.capsules.create(update("third")).await.unwrap();
    assert_eq!(verify_audit(&logs, REGISTRY_LOG).unwrap().problems, []);
    let lines = query_audit(&logs, REGISTRY_LOG, &AuditFilter::default(), 100).unwrap();
    let found: Vec<_> = lines
        .iter()
        .map(|line| {
            let share_is_named = line.share.as_deref() == Some(share.id.as_str());
            let capsule = line.capsule.as_deref().unwrap_or_default();
            (line.action.as_str(), line.outcome, capsule, share_is_named)
        })
        .collect();
    use AuditOutcome::{Denied, Error, Ok as Done};
    assert_eq!(
        found,
        [
            ("capsule.create", Done, "team", false),
            ("capsule.create", Done, "second", false),
            ("capsule.create", Error, "", false),
            ("capsule.update", Done, "second", false),
            ("share.add", Done, "team", true),
            ("share.revoke", Done, "team", true),
            ("share.open", Denied, "", false),
            ("share.revoke", Error, "", false),
            ("capsule.delete", Done, "second", false),
            ("capsule.create", Done, "third", false),
        ]
    );
    assert_eq!(lines[1].metadata.principal_id.as_deref(), Some("prn_owner"));
    assert_eq!((lines[0].agent.as_str(), lines[1].agent.as_str()), ("capdeck", "cli"));
    assert_eq!(lines[6].error_code.as_deref(), Some("invalid_token"));
}

#[tokio::test]
async fn strict_recording_holds_for_the_registry() {
    let stage = Stage::with(StoreOptions { audit: AuditMode::Strict, ..options() }).await;
    let logs = stage.capsules.registry_logs();
    let moved = stage.folder.path().join("moved");
    fs::rename(&logs, &moved).unwrap();
    // The file of the day is open and goes on; a new day needs a new one, so the folder's loss shows after a restart.
    let Stage { folder, capsules } = stage;
    capsules.close().await;
    fs::write(&logs, "no folder").unwrap();
    let strict = || StoreOptions { audit: AuditMode::Strict, ..options() };
    assert_eq!(
        CapsuleRegistry::open(folder.path(), strict()).await.unwrap_err().code(),
        "io_failed"
    );
    fs::remove_file(&logs).unwrap();
    let capsules = CapsuleRegistry::open(folder.path(), strict()).await.unwrap();
    fs::remove_dir(&logs).unwrap();
    let new =
        |name: &str| CapsuleUpdate { name: Some(name.to_owned()), ..CapsuleUpdate::default() };
    assert_eq!(capsules.create(new("one")).await.unwrap_err().code(), "audit_failed");
    assert_eq!(capsules.create(new("two")).await.unwrap_err().code(), "audit_failed");
    fs::create_dir(&logs).unwrap();
    capsules.create(new("three")).await.unwrap();
    let names: Vec<String> = capsules.list().into_iter().map(|capsule| capsule.name).collect();
    assert_eq!(names, ["one", "team", "three"]);
    let lines = query_audit(&logs, REGISTRY_LOG, &AuditFilter::default(), 9).unwrap();
    let reported: Vec<_> = lines.iter().filter_map(|line| line.capsule.as_deref()).collect();
    assert_eq!(reported, ["one", "three"]);
}

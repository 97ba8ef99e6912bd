//! Input that is wrong, hostile or too much, and disks that refuse (conformance list, items 2 and 3).

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use capdeck_capsule::{
    CapsuleAccess, CapsuleAuthor, CapsuleRegistry, CapsuleUpdate, CommitRef, EntryUri,
    PollSignalsRequest, Scheme, StoreLimits, StoreMode, StoreOptions, StoreWrite, verify_audit,
};
use capdeck_storage::WallClock;
use jiff::Timestamp;

use crate::{
    session::TestSession,
    stage::{Stage, fill, options, uri},
};

#[tokio::test]
async fn spec_26_2_tricks_with_paths_are_refused() {
    for text in [
        "docs://../../x",
        "docs://a//b",
        "docs://%2e%2e/x",
        "docs://a\0b",
        "docs://a\\..\\b",
        "docs:///etc/passwd",
    ] {
        assert!(EntryUri::parse(text).is_err(), "{text}");
    }
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    fill(&owner, &[("docs://real/a", "x")]).await;
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret.md"), "secret").unwrap();
    let docs = stage.root().join("knowledge/docs");
    symlink(outside.path(), docs.join("linked")).unwrap();
    symlink(outside.path().join("secret.md"), docs.join("file.md")).unwrap();
    for (address, code) in [("docs://linked/secret", "not_found"), ("docs://file", "not_found")] {
        assert_eq!(owner.read(&uri(address), None).await.unwrap_err().code(), code, "{address}");
    }
    for address in ["docs://linked/new", "docs://file", "docs://linked/deep/new"] {
        let error = owner.write(StoreWrite::replace(uri(address), "y")).await.unwrap_err();
        assert_eq!(error.code(), "unsafe_path", "{address}: {error}");
    }
    // An entry that becomes a link under the store's hands is not followed either.
    fs::remove_file(docs.join("real/a.md")).unwrap();
    symlink(outside.path().join("secret.md"), docs.join("real/a.md")).unwrap();
    assert_eq!(owner.read(&uri("docs://real/a"), None).await.unwrap_err().code(), "unsafe_path");
    let stage = stage.restarted().await;
    let owner = stage.owner().await;
    assert_eq!(owner.overview().await.unwrap().recent.len(), 0);
    assert_eq!(fs::read_to_string(outside.path().join("secret.md")).unwrap(), "secret");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn spec_26_3_a_pointer_in_a_file_that_is_no_hash_is_not_followed() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let file = stage.root().join("knowledge/docs");
    fs::create_dir_all(&file).unwrap();
    fs::write(
        file.join("a.md"),
        "---\nuri: docs://a\nversion: 1\nblob: sha256:../../../etc/passwd\n---\nx",
    )
    .unwrap();
    drop(owner);
    let stage = stage.restarted().await;
    let owner = stage.owner().await;
    assert_eq!(owner.read_blob(&uri("docs://a"), None).await.unwrap_err().code(), "not_found");
}

#[tokio::test]
async fn wrong_content_is_refused_and_nothing_is_changed() {
    let limits = StoreLimits { body: 100, blob: 10, entries: 3, ..StoreLimits::default() };
    let stage = Stage::with(StoreOptions { limits, ..options() }).await;
    let owner = stage.owner().await;
    let code = |result: Result<_, capdeck_capsule::StoreError>| {
        result.map(|_: capdeck_capsule::WriteOutcome| ()).unwrap_err().code()
    };
    assert_eq!(
        code(owner.write(StoreWrite::create(uri("api-data://x"), "{not json")).await),
        "invalid_json"
    );
    assert_eq!(
        code(owner.write(StoreWrite::create(uri("docs://x"), "x".repeat(101))).await),
        "too_large"
    );
    assert_eq!(
        code(owner.write(StoreWrite::create(uri("unknown://x"), "x")).await),
        "unknown_scheme"
    );
    let blob = Some(capdeck_capsule::BlobSource::Bytes { bytes: vec![0; 11], mime: String::new() });
    assert_eq!(
        code(owner.write(StoreWrite { blob, ..StoreWrite::create(uri("docs://x"), "x") }).await),
        "too_large"
    );
    for (title, tags, key) in [
        (Some("t".repeat(201)), None, None),
        (None, Some(vec![String::new()]), None),
        (None, Some(vec!["a\nb".to_owned()]), None),
        (None, Some(vec!["x".to_owned(); 51]), None),
        (None, None, Some(String::new())),
    ] {
        let write = StoreWrite {
            title,
            tags,
            idempotency_key: key,
            ..StoreWrite::create(uri("docs://x"), "x")
        };
        assert_eq!(code(owner.write(write).await), "invalid_input");
    }
    assert!(CommitRef::claimed("HEAD~1").is_err());
    fill(&owner, &[("docs://a", "1"), ("docs://b", "1"), ("docs://c", "1")]).await;
    assert_eq!(code(owner.write(StoreWrite::create(uri("docs://d"), "1")).await), "quota_exceeded");
    fill(&owner, &[("docs://a", "2")]).await;
    assert_eq!(code(owner.write(StoreWrite::create(uri("docs://A"), "1")).await), "exists");
    owner.delete(&uri("docs://a"), None).await.unwrap();
    // A deleted entry keeps its name, for it can come back.
    assert_eq!(code(owner.write(StoreWrite::create(uri("docs://A"), "1")).await), "exists");
    assert_eq!(owner.overview().await.unwrap().recent.len(), 2);
}

#[tokio::test]
async fn a_full_capsule_takes_no_more_until_something_goes() {
    let limits = StoreLimits { bytes: 1_000, ..StoreLimits::default() };
    let stage = Stage::with(StoreOptions { limits, ..options() }).await;
    let owner = stage.owner().await;
    fill(&owner, &[("docs://a", &"a".repeat(600))]).await;
    let error =
        owner.write(StoreWrite::create(uri("docs://b"), "b".repeat(600))).await.unwrap_err();
    assert_eq!(error.code(), "quota_exceeded");
    // What is purged makes room at once, however it came to an end and however often.
    owner.purge(&uri("docs://a")).await.unwrap();
    for _ in 0..3 {
        fill(&owner, &[("docs://b", &"b".repeat(600))]).await;
        owner.delete(&uri("docs://b"), None).await.unwrap();
        owner.purge(&uri("docs://b")).await.unwrap();
        fill(&owner, &[("docs://c", &"c".repeat(600))]).await;
        owner.purge(&uri("docs://c")).await.unwrap();
    }
}

#[tokio::test]
async fn schemes_are_declared_once_and_removed_when_empty() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    owner.add_scheme(Scheme::named("runbooks")).await.unwrap();
    for bad in ["runbooks", "docs", "Bad", "", "../x"] {
        assert_eq!(
            owner.add_scheme(Scheme::named(bad)).await.unwrap_err().code(),
            "invalid_scheme",
            "{bad}"
        );
    }
    fill(&owner, &[("runbooks://x", "x")]).await;
    assert_eq!(owner.remove_scheme("runbooks").await.unwrap_err().code(), "scheme_in_use");
    assert_eq!(owner.remove_scheme("docs").await.unwrap_err().code(), "invalid_input");
    assert_eq!(owner.remove_scheme("none").await.unwrap_err().code(), "unknown_scheme");
    owner.purge(&uri("runbooks://x")).await.unwrap();
    owner.remove_scheme("runbooks").await.unwrap();
    assert_eq!(owner.read(&uri("runbooks://x"), None).await.unwrap_err().code(), "unknown_scheme");
}

#[tokio::test]
async fn files_put_there_by_hand_are_entries_and_edits_are_seen() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    fill(&owner, &[("docs://edited", "before"), ("api-data://edited", "1")]).await;
    let knowledge = stage.root().join("knowledge");
    fs::write(knowledge.join("docs/dropped.md"), "# Dropped\nsee src/a.ts").unwrap();
    fs::write(knowledge.join("docs/Bad Name.md"), "x").unwrap();
    fs::write(knowledge.join("docs/notes.pdf"), "x").unwrap();
    fs::write(knowledge.join("api-data/edited.json"), "2").unwrap();
    let text = fs::read_to_string(knowledge.join("docs/edited.md")).unwrap();
    fs::write(knowledge.join("docs/edited.md"), text.replace("before", "after")).unwrap();
    let stage = stage.restarted().await;
    let owner = stage.owner().await;
    assert_eq!(owner.read(&uri("docs://edited"), None).await.unwrap().entry.body, "after");
    assert_eq!(owner.read(&uri("api-data://edited"), None).await.unwrap().entry.body, "2");
    let dropped = owner.read(&uri("docs://dropped"), None).await.unwrap();
    assert_eq!(
        (dropped.entry.meta.written_by.as_str(), dropped.entry.meta.version),
        ("unknown", 1)
    );
    assert_eq!(dropped.entry.meta.file_anchors, ["src/a.ts"]);
    fill(&owner, &[("docs://dropped", "new"), ("api-data://edited", "3")]).await;
    assert_eq!(
        owner.read(&uri("docs://dropped"), Some(1)).await.unwrap().entry.body,
        "# Dropped\nsee src/a.ts"
    );
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_can_be_read() {
    if rustix::process::geteuid().is_root() {
        // Permissions do not hold root back, so a file is put where a folder is needed: nothing can be made there.
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("data"), "a file").unwrap();
        let error =
            CapsuleRegistry::open(&folder.path().join("data"), options()).await.unwrap_err();
        assert_eq!(error.code(), "io_failed");
        return;
    }
    let stage = Stage::new().await;
    fill(&stage.owner().await, &[("docs://a", "x")]).await;
    let Stage { folder, capsules } = stage;
    drop(capsules);
    let lock = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
    lock(0o500);
    let reader = CapsuleRegistry::open(
        folder.path(),
        StoreOptions { mode: StoreMode::ReadOnly, ..options() },
    )
    .await
    .unwrap();
    let session = reader
        .handle("team", CapsuleAuthor::client("r"), CapsuleAccess::owner())
        .await
        .map(TestSession)
        .unwrap();
    assert_eq!(session.read(&uri("docs://a"), None).await.unwrap().entry.body, "x");
    lock(0o700);
}

#[tokio::test]
async fn no_folder_of_a_capsule_may_be_a_link() {
    let outside = tempfile::tempdir().unwrap();
    for name in
        ["tmp", "journal", "signals", "memory", "history", "blobs", "trash", "cursors", "logs"]
    {
        let stage = Stage::new().await;
        fill(&stage.owner().await, &[("docs://a", "x")]).await;
        let root = stage.root();
        stage.capsules.close().await;
        fs::rename(root.join(name), root.join("moved")).unwrap();
        symlink(outside.path(), root.join(name)).unwrap();
        let capsules = CapsuleRegistry::open(stage.folder.path(), options()).await.unwrap();
        let opened =
            capsules.handle("team", CapsuleAuthor::client("a"), CapsuleAccess::owner()).await;
        assert_eq!(opened.map(drop).unwrap_err().code(), "unsafe_path", "{name}");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0, "{name}");
    }
}

#[tokio::test]
async fn a_file_in_the_place_of_a_folder_is_named() {
    for name in ["knowledge", "skills", "history", "journal"] {
        let stage = Stage::new().await;
        fill(&stage.owner().await, &[("docs://a", "x"), ("skills://a", "x")]).await;
        let root = stage.root();
        stage.capsules.close().await;
        fs::rename(root.join(name), root.join("moved")).unwrap();
        fs::write(root.join(name), "in the way").unwrap();
        let capsules = CapsuleRegistry::open(stage.folder.path(), options()).await.unwrap();
        let opened =
            capsules.handle("team", CapsuleAuthor::client("a"), CapsuleAccess::owner()).await;
        let error = opened.map(drop).unwrap_err();
        let expected = format!(
            "`{name}` inside the capsule is unexpected: a file where a folder should be; move it away"
        );
        assert_eq!((error.code().as_str(), error.to_string()), ("unsafe_path", expected));
        assert_eq!(fs::read_to_string(root.join(name)).unwrap(), "in the way");
    }
    // One scheme's folder costs that scheme.
    let stage = Stage::new().await;
    fill(&stage.owner().await, &[("docs://a", "x"), ("skills://a", "x")]).await;
    let folder = stage.root().join("knowledge/docs");
    fs::rename(&folder, stage.root().join("moved")).unwrap();
    fs::write(&folder, "in the way").unwrap();
    let stage = stage.restarted().await;
    assert!(stage.owner().await.read(&uri("skills://a"), None).await.is_ok());
    let write = StoreWrite::replace(uri("docs://b"), "x");
    assert_eq!(stage.owner().await.write(write).await.unwrap_err().code(), "unsafe_path");
    let report = stage.capsules.store("team").await.unwrap().verify().await.unwrap();
    let problem = &report.problems[0];
    assert_eq!(
        (problem.place.as_str(), problem.what.as_str()),
        ("knowledge/docs", "a file where a folder should be")
    );
    assert_eq!(fs::read_to_string(&folder).unwrap(), "in the way");
}

#[tokio::test]
async fn a_name_that_the_host_uses_itself_is_refused() {
    let stage = Stage::new().await;
    let new =
        |name: &str| CapsuleUpdate { name: Some(name.to_owned()), ..CapsuleUpdate::default() };
    for name in ["server-card", "Server-Card"] {
        let error = stage.capsules.create(new(name)).await.unwrap_err();
        assert_eq!(error.code(), "invalid_input", "{error}");
        assert!(error.to_string().contains("kept for the host's own use"), "{error}");
        let renamed = stage.capsules.update("team", new(name)).await.unwrap_err();
        assert_eq!(renamed.code(), "invalid_input", "{renamed}");
    }
    let made = stage.capsules.create(new("Server card")).await.unwrap();
    assert_eq!((made.id.as_str(), made.name.as_str()), ("server-card-2", "Server card"));
}

#[tokio::test]
async fn a_link_in_the_place_of_history_memory_or_a_blob_is_not_written_through() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join("victim");
    fs::write(&victim, "untouched").unwrap();
    fill(&owner, &[("docs://a", "1"), ("api-data://d", "1")]).await;
    owner.memory_set("key", "1").await.unwrap();
    let root = stage.root();
    fs::create_dir_all(root.join("history/docs")).unwrap();
    symlink(outside.path(), root.join("history/docs/a")).unwrap();
    assert_eq!(
        owner.write(StoreWrite::replace(uri("docs://a"), "2")).await.unwrap_err().code(),
        "unsafe_path"
    );
    fs::remove_file(root.join("knowledge/api-data/d.meta.json")).unwrap();
    symlink(&victim, root.join("knowledge/api-data/d.meta.json")).unwrap();
    assert_eq!(
        owner.write(StoreWrite::replace(uri("api-data://d"), "2")).await.unwrap_err().code(),
        "unsafe_path"
    );
    fs::remove_file(root.join("memory/tester.json")).unwrap();
    symlink(&victim, root.join("memory/tester.json")).unwrap();
    assert_eq!(owner.memory_set("key", "2").await.unwrap_err().code(), "unsafe_path");
    let bytes = b"payload".to_vec();
    symlink(&victim, root.join("blobs").join(capdeck_capsule::BlobId::of(&bytes).as_str()))
        .unwrap();
    let blob = Some(capdeck_capsule::BlobSource::Bytes { bytes, mime: "text/plain".to_owned() });
    let write = StoreWrite { blob, ..StoreWrite::create(uri("docs://b"), "x") };
    assert_eq!(owner.write(write).await.unwrap_err().code(), "unsafe_path");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    assert_eq!(owner.read(&uri("docs://a"), None).await.unwrap().entry.body, "1");
}

#[tokio::test]
async fn a_clock_that_jumps_changes_no_order() {
    let seconds = Arc::new(AtomicI64::new(1_800_000_000));
    let clock = {
        let seconds = Arc::clone(&seconds);
        WallClock::from_fn(move || Timestamp::from_second(seconds.load(Ordering::Relaxed)).unwrap())
    };
    let stage = Stage::with(StoreOptions { clock, ..options() }).await;
    let owner = stage.owner().await;
    let entry = uri("docs://a");
    let mut seen = None;
    // Two days ahead, four days back, and on.
    for (round, step) in [0, 172_800, -345_600, 60, -1_800_000_000, 5].into_iter().enumerate() {
        seconds.fetch_add(step, Ordering::Relaxed);
        fill(&owner, &[("docs://a", &format!("body {round}"))]).await;
        let request = PollSignalsRequest { after: seen.clone(), ..PollSignalsRequest::default() };
        let page = owner.poll_signals(request).await.unwrap();
        assert_eq!(page.signals.len(), 1, "round {round}");
        assert!(page.next_cursor > seen, "round {round}");
        seen = page.next_cursor;
    }
    let history = owner.history(&entry).await.unwrap();
    assert!(history.is_sorted_by_key(|version| version.written_at), "{history:?}");
    assert_eq!(owner.read(&entry, None).await.unwrap().entry.body, "body 5");
    let report = stage.capsules.store("team").await.unwrap().verify().await.unwrap();
    assert!(report.is_clean() && report.signals == 6, "{report:?}");
    assert_eq!(verify_audit(&stage.root().join("logs"), "").unwrap().problems, []);
    let stage = stage.restarted().await;
    let owner = stage.owner().await;
    fill(&owner, &[("docs://a", "after")]).await;
    let request = PollSignalsRequest { after: seen, ..PollSignalsRequest::default() };
    assert_eq!(owner.poll_signals(request).await.unwrap().signals.len(), 1);
}

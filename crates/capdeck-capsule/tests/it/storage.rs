//! Versions, files on disk, restarts (conformance list, items 1, 2, 24, 25).

use std::{fs, os::unix::fs::PermissionsExt as _};

use capdeck_capsule::{
    BodyFormat, CapsuleRegistry, CapsuleUpdate, CapsuleVisibility, ListQuery, PatchStep, Role,
    Scheme, StoreError, StoreMode, StoreOptions, StoreWrite,
};

use crate::{
    session::TestSession,
    stage::{Stage, access, fill, options, uri},
};

#[tokio::test]
async fn entries_are_plain_files_in_the_known_layout() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    owner
        .add_scheme(Scheme { format: BodyFormat::Text, ..Scheme::named("runbooks") })
        .await
        .unwrap();
    let entries = [
        ("docs://team/api", "# API\n"),
        ("skills://review-pr", "Review."),
        ("api-data://pets", "{\"pets\": []}"),
        ("runbooks://deploy", "1. deploy"),
    ];
    fill(&owner, &entries).await;
    fill(&owner, &[("docs://team/api", "# API 2\n")]).await;
    owner.memory_set("key", "value").await.unwrap();
    let root = stage.root();
    assert!(root.ends_with("boxes/team/.capsol"));
    let text = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    assert!(
        text("knowledge/docs/team/api.md").starts_with("---\nuri: docs://team/api\nversion: 2\n")
    );
    assert!(text("knowledge/docs/team/api.md").ends_with("\n---\n# API 2\n"));
    assert!(text("history/docs/team/api/@1.md").ends_with("\n---\n# API\n"));
    assert!(text("skills/review-pr.md").ends_with("Review."));
    assert_eq!(text("knowledge/api-data/pets.json"), "{\"pets\": []}");
    assert!(text("knowledge/api-data/pets.meta.json").contains("\"version\": 1"));
    assert!(text("entries/runbooks/deploy.txt").ends_with("1. deploy"));
    assert_eq!(text("memory/tester.json"), "{\n  \"key\": \"value\"\n}");
    assert!(text("schemes.json").contains("runbooks"));
    let log = fs::read_dir(root.join("logs")).unwrap().next().unwrap().unwrap();
    assert!(log.file_name().to_string_lossy().ends_with(".jsonl"));
    for (path, mode) in [
        ("knowledge/docs/team", 0o700),
        ("knowledge/docs/team/api.md", 0o600),
        ("memory/tester.json", 0o600),
    ] {
        assert_eq!(
            fs::metadata(root.join(path)).unwrap().permissions().mode() & 0o777,
            mode,
            "{path}"
        );
    }
    assert!(fs::metadata(log.path()).unwrap().permissions().mode() & 0o077 == 0);
}

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    owner.add_scheme(Scheme::named("runbooks")).await.unwrap();
    fill(
        &owner,
        &[
            ("docs://a", "one"),
            ("docs://a", "two"),
            ("api-data://b", "1"),
            ("runbooks://c", "x"),
            ("docs://gone", "x"),
        ],
    )
    .await;
    let tagged = StoreWrite {
        title: Some("Title".to_owned()),
        tags: Some(vec!["x".to_owned()]),
        ..StoreWrite::replace(uri("docs://a"), "three")
    };
    owner.write(tagged).await.unwrap();
    owner.delete(&uri("docs://gone"), None).await.unwrap();
    let before = owner.list(ListQuery::default()).await.unwrap();
    let stage = stage.restarted().await;
    let owner = stage.owner().await;
    assert_eq!(owner.list(ListQuery::default()).await.unwrap(), before);
    assert_eq!(owner.read(&uri("docs://a"), Some(1)).await.unwrap().entry.body, "one");
    assert_eq!(owner.deleted().await.unwrap().len(), 1);
    assert_eq!(owner.restore(&uri("docs://gone"), 1, None).await.unwrap().version, 2);
    let kept = owner.write(StoreWrite::replace(uri("docs://a"), "four")).await.unwrap();
    let meta = owner.read(&uri("docs://a"), None).await.unwrap().entry.meta;
    assert_eq!((kept.version, meta.title.as_str(), meta.tags.len()), (4, "Title", 1));
}

#[tokio::test]
async fn versions_are_kept_compared_and_restored() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    fill(&owner, &[("docs://a", "one\n"), ("docs://a", "two\n"), ("docs://a", "three\n")]).await;
    let entry = uri("docs://a");
    let versions: Vec<u64> =
        owner.history(&entry).await.unwrap().iter().map(|meta| meta.version).collect();
    assert_eq!(versions, [1, 2, 3]);
    let diff = owner.diff(&entry, 1, Some(2)).await.unwrap();
    assert_eq!(diff, "--- docs://a@1\n+++ docs://a@2\n@@ -1 +1 @@\n-one\n+two\n");
    assert_eq!(owner.restore(&entry, 1, Some(3)).await.unwrap().version, 4);
    assert_eq!(owner.read(&entry, None).await.unwrap().entry.body, "one\n");
    assert_eq!(owner.restore(&entry, 1, Some(3)).await.unwrap_err().code(), "version_conflict");
    assert_eq!(
        owner.read(&entry, Some(9)).await.unwrap_err().to_string(),
        "there is no version 9 of `docs://a`"
    );

    // DeletedEntry: gone for readers, and numbering goes on when it comes back.
    owner.delete(&entry, Some(4)).await.unwrap();
    assert_eq!(owner.read(&entry, None).await.unwrap_err().code(), "not_found");
    assert_eq!(owner.history(&entry).await.unwrap_err().code(), "not_found");
    let again = owner.write(StoreWrite::create(entry.clone(), "again")).await.unwrap();
    assert_eq!((again.version, again.created), (5, true));
    owner.purge(&entry).await.unwrap();
    assert_eq!(owner.write(StoreWrite::create(entry.clone(), "new")).await.unwrap().version, 1);
    assert_eq!(owner.read(&entry, Some(3)).await.unwrap_err().code(), "not_found");
}

#[tokio::test]
async fn conditions_hold_and_a_conflict_proposes_a_merge() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let entry = uri("docs://a");
    let write = |body: &str, version: u64| {
        owner.write(StoreWrite::replace(entry.clone(), body).if_version(version))
    };
    assert_eq!(write("a\nb\nc\n", 1).await.unwrap_err().code(), "version_conflict");
    write("a\nb\nc\n", 0).await.unwrap();
    assert_eq!(write("x", 0).await.unwrap_err().code(), "version_conflict");
    write("A\nb\nc\n", 1).await.unwrap();
    let StoreError::VersionConflict(conflict) = write("a\nb\nC\n", 1).await.unwrap_err() else {
        panic!("no conflict")
    };
    assert_eq!((conflict.expected_version, conflict.current_version), (1, 2));
    let proposal = conflict.proposal.unwrap();
    assert_eq!((proposal.text.as_str(), proposal.conflicts), ("A\nb\nC\n", 0));
    write(&proposal.text, 2).await.unwrap();
    // A patch is merged as what it makes of the version it was meant for.
    let patched = |find: &str, version: u64| {
        let (find, with) = (find.to_owned(), "B".to_owned());
        let steps = vec![PatchStep::Replace { find, with, count: None }];
        owner.write(StoreWrite::patch(entry.clone(), steps).if_version(version))
    };
    let StoreError::VersionConflict(conflict) = patched("b", 1).await.unwrap_err() else {
        panic!("no conflict")
    };
    assert_eq!(conflict.proposal.unwrap().text, "A\nB\nC\n");
    let StoreError::VersionConflict(conflict) = patched("nowhere", 1).await.unwrap_err() else {
        panic!("no conflict")
    };
    assert_eq!(conflict.proposal, None);
}

#[tokio::test]
async fn a_conflict_says_what_is_there() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    fill(&owner, &[("docs://a", "x")]).await;
    for (address, version, said) in [
        (
            "docs://a",
            0,
            "`docs://a` is there already, in version 1; read it, merge, and write with `if_version`: 1",
        ),
        (
            "docs://a",
            7,
            "`docs://a` is in version 1, not 7; read it, merge, and write with `if_version`: 1",
        ),
        (
            "docs://gone",
            7,
            "there is no `docs://gone` any more, and version 7 was expected; to make it again, write with `if_version`: 0",
        ),
    ] {
        let write = StoreWrite::replace(uri(address), "y").if_version(version);
        assert_eq!(owner.write(write).await.unwrap_err().to_string(), said);
    }
}

#[tokio::test]
async fn patches_are_all_or_nothing() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    fill(&owner, &[("docs://a", "one two\n"), ("api-data://j", "{\"a\": 1}")]).await;
    let replace = |find: &str, with: &str| PatchStep::Replace {
        find: find.to_owned(),
        with: with.to_owned(),
        count: None,
    };
    let failed = owner
        .write(StoreWrite::patch(uri("docs://a"), vec![replace("one", "1"), replace("three", "3")]))
        .await
        .unwrap_err();
    assert!(
        failed
            .to_string()
            .starts_with("the patch does not apply to version 1 of `docs://a`: step 2: "),
        "{failed}"
    );
    assert_eq!(owner.read(&uri("docs://a"), None).await.unwrap().entry.body, "one two\n");
    owner.write(StoreWrite::patch(uri("docs://a"), vec![replace("one", "1")])).await.unwrap();
    assert_eq!(owner.read(&uri("docs://a"), None).await.unwrap().entry.body, "1 two\n");
    let broken = owner
        .write(StoreWrite::patch(uri("api-data://j"), vec![replace("}", "")]))
        .await
        .unwrap_err();
    assert_eq!(broken.code(), "invalid_json");
    assert_eq!(
        owner
            .write(StoreWrite::patch(uri("docs://none"), vec![replace("a", "b")]))
            .await
            .unwrap_err()
            .code(),
        "not_found"
    );
}

#[tokio::test]
async fn a_repeated_request_gives_the_first_answer() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let keyed = |body: &str| StoreWrite {
        idempotency_key: Some("k1".to_owned()),
        ..StoreWrite::replace(uri("docs://a"), body)
    };
    let first = owner.write(keyed("one")).await.unwrap();
    let again = owner.write(keyed("one")).await.unwrap();
    assert_eq!((again.version, again.repeated, first.repeated), (1, true, false));
    assert_eq!(owner.write(keyed("other")).await.unwrap_err().code(), "idempotency_key_reused");
    fill(&owner, &[("docs://a", "two")]).await;
    let stage = stage.restarted().await;
    let late = stage.owner().await.write(keyed("one")).await.unwrap();
    assert_eq!((late.version, late.repeated), (1, true));
    // The key belongs to the one who used it.
    let other = stage.handle("other", access(Role::Writer, &[], &[])).await;
    assert_eq!(other.write(keyed("one")).await.unwrap().version, 3);
}

#[tokio::test]
async fn listings_come_in_pages() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    for number in 0..23 {
        let tags = if number % 2 == 0 { vec!["even".to_owned()] } else { Vec::new() };
        let write = StoreWrite {
            tags: Some(tags),
            ..StoreWrite::replace(uri(&format!("docs://n{number:02}")), "x")
        };
        owner.write(write).await.unwrap();
    }
    for latest_first in [false, true] {
        let mut request = ListQuery { limit: 10, latest_first, ..ListQuery::default() };
        let mut seen = Vec::new();
        loop {
            let page = owner.list(request.clone()).await.unwrap();
            assert!(page.entries.len() <= 10);
            seen.extend(page.entries.into_iter().map(|meta| meta.uri.to_string()));
            match page.next_cursor {
                Some(cursor) => request.cursor = Some(cursor),
                None => break,
            }
        }
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 23, "{latest_first}");
        let other = ListQuery { tag: Some("even".to_owned()), ..request };
        assert_eq!(owner.list(other).await.unwrap_err().code(), "bad_cursor");
    }
    let even = ListQuery { tag: Some("even".to_owned()), ..ListQuery::default() };
    assert_eq!(owner.list(even).await.unwrap().entries.len(), 12);
    let bad = ListQuery { cursor: Some("nonsense".to_owned()), ..ListQuery::default() };
    assert_eq!(owner.list(bad).await.unwrap_err().code(), "bad_cursor");
}

#[tokio::test]
async fn a_capsule_that_could_not_be_made_leaves_its_name_free() {
    let stage = Stage::new().await;
    let list = stage.folder.path().join("boxes.json");
    let kept = fs::read(&list).unwrap();
    // The list cannot be replaced, as on a disk that is full.
    fs::remove_file(&list).unwrap();
    fs::create_dir(&list).unwrap();
    let new = || CapsuleUpdate { name: Some("other".to_owned()), ..CapsuleUpdate::default() };
    assert_eq!(stage.capsules.create(new()).await.unwrap_err().code(), "io_failed");
    fs::remove_dir(&list).unwrap();
    fs::write(&list, kept).unwrap();
    assert_eq!(stage.capsules.create(new()).await.unwrap().id, "other");
}

#[tokio::test]
async fn spec_26_24_a_second_opener_is_refused_and_readers_are_not() {
    let stage = Stage::new().await;
    fill(&stage.owner().await, &[("docs://a", "x")]).await;
    let refused = CapsuleRegistry::open(stage.folder.path(), options()).await.unwrap_err();
    assert!(matches!(refused, StoreError::InUse { .. }), "{refused}");
    assert!(
        refused.to_string().contains(&format!("by process {}", std::process::id())),
        "{refused}"
    );
    let read_only = StoreOptions { mode: StoreMode::ReadOnly, ..options() };
    let reader = CapsuleRegistry::open(stage.folder.path(), read_only).await.unwrap();
    let session = reader
        .handle(
            "team",
            capdeck_capsule::CapsuleAuthor::client("r"),
            capdeck_capsule::CapsuleAccess::owner(),
        )
        .await
        .map(TestSession)
        .unwrap();
    assert_eq!(session.read(&uri("docs://a"), None).await.unwrap().entry.body, "x");
    assert_eq!(
        session.write(StoreWrite::replace(uri("docs://a"), "y")).await.unwrap_err().code(),
        "read_only"
    );
    assert_eq!(
        reader
            .create(CapsuleUpdate { name: Some("n".to_owned()), ..CapsuleUpdate::default() })
            .await
            .unwrap_err()
            .code(),
        "read_only"
    );
    let stage = stage.restarted().await;
    assert_eq!(stage.capsules.list().len(), 1);
}

#[tokio::test]
async fn capsules_are_made_renamed_and_taken_away() {
    let stage = Stage::new().await;
    let named =
        |name: &str| CapsuleUpdate { name: Some(name.to_owned()), ..CapsuleUpdate::default() };
    let second = stage.capsules.create(named("Team: Docs & more")).await.unwrap();
    assert_eq!(second.id, "team-docs-more");
    assert_eq!(stage.capsules.create(named("TEAM")).await.unwrap_err().code(), "exists");
    for bad in ["", "a\nb", &"x".repeat(101)] {
        assert_eq!(
            stage.capsules.create(named(bad)).await.unwrap_err().code(),
            "invalid_input",
            "{bad:?}"
        );
    }
    assert_eq!(stage.capsules.create(named("日本")).await.unwrap().id, "capsule");
    let update = CapsuleUpdate { visibility: Some(CapsuleVisibility::Team), ..named("Renamed") };
    stage.capsules.update("team-docs-more", update).await.unwrap();
    let found = stage.capsules.find("renamed").unwrap();
    assert_eq!((found.id.as_str(), found.visibility), ("team-docs-more", CapsuleVisibility::Team));
    let author = capdeck_capsule::CapsuleAuthor::client("late");
    let late = stage
        .capsules
        .handle("renamed", author, capdeck_capsule::CapsuleAccess::owner())
        .await
        .map(TestSession)
        .unwrap();
    stage.capsules.delete("Renamed").await.unwrap();
    // A session that is still held does not bring the folder back.
    assert_eq!(
        late.write(StoreWrite::create(uri("docs://a"), "x")).await.unwrap_err().code(),
        "closed"
    );
    assert!(!stage.folder.path().join("boxes/team-docs-more").exists());
    assert_eq!(stage.capsules.find("renamed").unwrap_err().code(), "not_found");
    let stage = stage.restarted().await;
    assert_eq!(stage.capsules.list().len(), 2);
    assert!(stage.capsules.find("../boxes/team").is_err());
}

#[tokio::test]
async fn a_purged_capsule_is_gone_even_where_a_kill_cut_it_short() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let id = owner.capsule().id.clone();
    owner.write(StoreWrite::create(uri("docs://a"), "x")).await.unwrap();
    stage.capsules.purge(&id).await.unwrap();
    let late = owner.write(StoreWrite::create(uri("docs://b"), "x")).await;
    assert_eq!(late.unwrap_err().code(), "closed");
    assert!(!stage.folder.path().join("boxes").join(&id).exists());
    assert!(!stage.folder.path().join("deleted").exists(), "nothing is kept aside");
    assert_eq!(stage.capsules.purge(&id).await.unwrap_err().code(), "not_found");
    assert_eq!(stage.capsules.purge_deleted(&id).await.unwrap_err().code(), "not_found");
    // Where a kill comes between taking it out of the way and removing it, the next start removes it.
    let half = stage.folder.path().join("tmp/.erased-1-1/.capsol/docs");
    std::fs::create_dir_all(&half).unwrap();
    std::fs::write(half.join("a.md"), "x").unwrap();
    let stage = stage.restarted().await;
    assert!(!stage.folder.path().join("tmp/.erased-1-1").exists());
}

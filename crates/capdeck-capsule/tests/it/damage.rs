//! What cannot be read costs only itself.

use std::{fs, os::unix::fs::symlink};

use capdeck_capsule::{ExportFormat, ListQuery, SearchQuery, export};

use crate::stage::{Stage, fill, uri};

/// A capsule in which something of every kind cannot be read, besides what can.
async fn damaged() -> Stage {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let entries = [
        ("docs://good", "word one"),
        ("docs://bad", "word"),
        ("docs://gone", "word"),
        ("api-data://bad", "{}"),
    ];
    fill(&owner, &entries).await;
    fill(&owner, &[("docs://good", "word two"), ("docs://bad", "word again")]).await;
    owner.delete(&uri("docs://gone"), None).await.unwrap();
    drop(owner);
    let root = stage.root();
    fs::write(root.join("knowledge/docs/bad.md"), b"\xff\xfe").unwrap();
    fs::write(root.join("knowledge/api-data/bad.meta.json"), "no JSON").unwrap();
    fs::write(root.join("trash/docs/gone.json"), "no JSON").unwrap();
    // A loop of links, and a file where the folder of a scheme should be.
    symlink(root.join("skills/loop"), root.join("skills/loop")).unwrap();
    fs::write(root.join("knowledge/notes"), "a file").unwrap();
    fs::create_dir_all(root.join("history/docs/good/@9.md")).unwrap();
    stage
}

#[tokio::test]
async fn a_capsule_is_used_beside_what_cannot_be_read() {
    for is_restarted in [false, true] {
        let mut stage = damaged().await;
        if is_restarted {
            stage = stage.restarted().await;
        }
        let owner = stage.owner().await;
        let good = uri("docs://good");
        assert_eq!(owner.read(&good, None).await.unwrap().entry.body, "word two");
        assert_eq!(owner.history(&good).await.unwrap().len(), 2);
        owner.list(ListQuery::default()).await.unwrap();
        owner.overview().await.unwrap();
        owner.skills().await.unwrap();
        let found = owner.search(SearchQuery::words("two")).await.unwrap();
        assert_eq!(found.hits.len(), 1);
        fill(&owner, &[("docs://good", "word three"), ("docs://new", "word")]).await;
        assert!(owner.read(&uri("docs://bad"), None).await.is_err());
    }
}

#[tokio::test]
async fn a_verification_names_each_and_goes_on() {
    let stage = damaged().await.restarted().await;
    let report = stage.capsules.store("team").await.unwrap().verify().await.unwrap();
    let places: Vec<&str> = report.problems.iter().map(|one| one.place.as_str()).collect();
    for place in
        ["docs://bad", "api-data://bad", "trash/docs/gone.json", "skills/loop", "knowledge/notes"]
    {
        assert!(places.contains(&place), "{place}: {report:#?}");
    }
    // The good one was checked nevertheless, and the audit.
    assert_eq!(report.entries, 1);
    assert!(report.audit.lines > 6 && report.audit.problems.is_empty(), "{report:#?}");
}

#[tokio::test]
async fn an_export_says_what_is_not_in_it() {
    let stage = damaged().await;
    let owner = stage.owner().await;
    let target = tempfile::tempdir().unwrap();
    let folder = export(&owner, ExportFormat::Folder, &target.path().join("folder")).await.unwrap();
    let tar = export(&owner, ExportFormat::Tar, &target.path().join("tar")).await.unwrap();
    let git = export(&owner, ExportFormat::GitStream, &target.path().join("git")).await.unwrap();
    for report in [&folder, &tar, &git] {
        let skipped: Vec<&str> = report.skipped.iter().map(|one| one.uri.as_str()).collect();
        assert_eq!(skipped, ["api-data://bad", "docs://bad"], "{report:?}");
    }
    assert_eq!((folder.entries, tar.entries), (1, 1));
    assert!(target.path().join("folder/docs/good.md").exists());
}

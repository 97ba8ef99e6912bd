//! Verification and export.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use capdeck_capsule::{
    BlobSource, ExistingEntryMode, ExportFormat, ImportFilesRequest, ImportMode, ImportSource,
    Role, StoreWrite, export, import,
};

use crate::stage::{Stage, access, fill, uri};

const ENTRIES: [(&str, &str); 5] = [
    ("docs://team/api", "# API\n"),
    ("docs://readme", "hello"),
    ("skills://review", "Review."),
    ("api-data://pets", "[1, 2]"),
    ("docs://readme", "hello again"),
];

/// Something done to a file.
type Change<'a> = &'a dyn Fn(&Path);

async fn filled() -> Stage {
    let stage = Stage::new().await;
    fill(&stage.owner().await, &ENTRIES).await;
    stage
}

#[tokio::test]
async fn a_folder_holds_the_content_that_is_seen() {
    let stage = filled().await;
    let guest = stage.handle("guest", access(Role::Reader, &[], &["docs://team"])).await;
    let target = tempfile::tempdir().unwrap();
    let report = export(&guest, ExportFormat::Folder, target.path()).await.unwrap();
    assert_eq!(report.entries, 3);
    assert_eq!(fs::read_to_string(target.path().join("docs/readme.md")).unwrap(), "hello again");
    assert_eq!(fs::read_to_string(target.path().join("api-data/pets.json")).unwrap(), "[1, 2]");
    assert!(!target.path().join("docs/team").exists());
    let manifest = fs::read_to_string(target.path().join("capsule.json")).unwrap();
    assert!(manifest.contains("\"version\": 2") && !manifest.contains("docs://team"), "{manifest}");
    // Never over something that is there.
    assert!(export(&guest, ExportFormat::Folder, target.path()).await.is_err());
}

#[tokio::test]
async fn tar_can_read_the_archive() {
    let stage = filled().await;
    let owner = stage.owner().await;
    let deep = format!("docs://{}/{}/{}/x", "a".repeat(60), "b".repeat(60), "c".repeat(60));
    // No place to cut it so that both parts fit the two name fields of a header.
    let long = format!("api-data://{}", [64, 64, 64, 5].map(|most| "n".repeat(most)).join("/"));
    fill(&owner, &[(&deep, "deep"), (&long, "{}")]).await;
    let exported = tempfile::tempdir().unwrap();
    let archive = exported.path().join("tar");
    let report = export(&owner, ExportFormat::Tar, &archive).await.unwrap();
    let bytes = fs::read(&archive).unwrap();
    assert_eq!((report.entries, bytes.len() % 512), (6, 0));
    let target = tempfile::tempdir().unwrap();
    fs::write(target.path().join("capsule.tar"), &bytes).unwrap();
    let status = Command::new("tar")
        .args(["-xf", "capsule.tar"])
        .current_dir(target.path())
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(fs::read_to_string(target.path().join("docs/team/api.md")).unwrap(), "# API\n");
    let path = format!("{}.md", deep.replace("://", "/"));
    assert_eq!(fs::read_to_string(target.path().join(path)).unwrap(), "deep");
    let path = format!("{}.json", long.replace("://", "/"));
    assert_eq!(fs::read_to_string(target.path().join(path)).unwrap(), "{}");
    // And so can an import.
    let other = Stage::new().await;
    let source = target.path().join("capsule.tar");
    let request = ImportFilesRequest {
        path: source,
        form: ImportSource::Export,
        existing: ExistingEntryMode::Replace,
        mode: ImportMode::Write,
    };
    let imported = import(&other.owner().await.0, &request).await.unwrap();
    assert_eq!((imported.entries.len(), imported.skipped.len()), (6, 0), "{imported:?}");
}

#[tokio::test]
async fn git_can_read_the_past() {
    let stage = filled().await;
    let owner = stage.owner().await;
    owner
        .write(StoreWrite {
            title: Some("A title".to_owned()),
            ..StoreWrite::replace(uri("docs://readme"), "")
        })
        .await
        .unwrap();
    let target = tempfile::tempdir().unwrap();
    let file = target.path().join("stream");
    let exported = export(&owner, ExportFormat::GitStream, &file).await.unwrap();
    assert_eq!(exported.entries, 6);
    let git = |arguments: &[&str], input: Option<&Path>| {
        let mut command = Command::new("git");
        command.arg("-C").arg(target.path()).args(arguments).stderr(Stdio::null());
        command.stdin(input.map_or_else(Stdio::null, |path| fs::File::open(path).unwrap().into()));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q", "--bare", "."], None);
    git(&["fast-import", "--quiet", "--done"], Some(&file));
    assert_eq!(git(&["rev-list", "--count", "main"], None).trim(), "6");
    assert_eq!(
        git(&["log", "--format=%s", "-1", "main", "--", "docs/readme.md"], None).trim(),
        "docs://readme version 3"
    );
    assert_eq!(git(&["show", "main:docs/team/api.md"], None), "# API\n");
    assert_eq!(git(&["log", "--format=%an", "-1", "main"], None).trim(), "local");
}

#[tokio::test]
async fn a_verification_finds_every_damage() {
    let stage = filled().await;
    let owner = stage.owner().await;
    let blob = Some(BlobSource::Bytes { bytes: b"blob".to_vec(), mime: "x/y".to_owned() });
    owner.write(StoreWrite { blob, ..StoreWrite::replace(uri("docs://blob"), "x") }).await.unwrap();
    fill(&owner, &[("api-data://pets", "[3]"), ("docs://gone", "x"), ("docs://gone", "y")]).await;
    owner.delete(&uri("docs://gone"), None).await.unwrap();
    let store = stage.capsules.store("team").await.unwrap();
    let clean = store.verify().await.unwrap();
    assert!(clean.is_clean(), "{clean:?}");
    assert_eq!((clean.entries, clean.versions, clean.blobs, clean.signals), (5, 9, 1, 10));
    let root = stage.root();
    let damage = |path: &str, change: Change<'_>| {
        let path = root.join(path);
        let before = fs::read(&path).ok();
        change(&path);
        (path, before)
    };
    let blob_name = fs::read_dir(root.join("blobs")).unwrap().next().unwrap().unwrap().file_name();
    let blob_path = format!("blobs/{}", blob_name.to_string_lossy());
    let signals = fs::read_dir(root.join("signals")).unwrap().next().unwrap().unwrap().file_name();
    let signals_path = format!("signals/{}", signals.to_string_lossy());
    let write = |text: &'static str| move |path: &Path| fs::write(path, text).unwrap();
    let remove = |path: &Path| fs::remove_file(path).unwrap();
    let first_line_gone = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        fs::write(path, format!("{}\n{}\n", lines[0], lines[2..].join("\n"))).unwrap();
    };
    let damages: [(&str, Change<'_>); 9] = [
        ("knowledge/docs/readme.md", &remove),
        ("knowledge/docs/readme.md", &write("---\nuri: docs://other\nversion: 1\n---\n")),
        ("history/docs/readme/@1.md", &remove),
        ("history/api-data/pets/@1.json", &write("[9]")),
        ("history/docs/gone/@2.md", &remove),
        (&blob_path, &write("other")),
        (&blob_path, &remove),
        ("knowledge/docs/Not An Entry.md", &write("x")),
        (&signals_path, &first_line_gone),
    ];
    for (path, change) in damages {
        let (path, before) = damage(path, change);
        let report = store.verify().await.unwrap();
        assert!(!report.is_clean(), "{}", path.display());
        match before {
            Some(bytes) => fs::write(&path, bytes).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let healed = store.verify().await.unwrap();
        assert!(healed.is_clean(), "{}: {healed:?}", path.display());
    }
    // An edit by hand is no damage, but is informed.
    let readme = root.join("knowledge/docs/readme.md");
    let text = fs::read_to_string(&readme).unwrap();
    fs::write(&readme, text.replace("hello", "good bye")).unwrap();
    let report = store.verify().await.unwrap();
    assert!(report.is_clean() && report.remarks.len() == 1, "{report:?}");
}

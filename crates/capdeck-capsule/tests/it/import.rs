//! Import: what an export wrote comes back, and nothing else gets in.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use capdeck_capsule::{
    AuditFilter, BlobSource, BodyFormat, CommitRef, ExistingEntryMode, ExportFormat,
    ImportFilesRequest, ImportMode, ImportOutcome, ImportReport, ImportSource, RiskClass, Role,
    Scheme, StoreError, StoreWrite, export, import, query_audit,
};

use crate::{
    session::TestSession,
    stage::{Stage, access, fill, uri},
};

async fn take(
    session: &TestSession,
    source: &Path,
    form: ImportSource,
) -> Result<ImportReport, StoreError> {
    let (existing, mode) = (ExistingEntryMode::default(), ImportMode::default());
    import(session, &ImportFilesRequest { path: source.to_owned(), form, existing, mode }).await
}

fn folder_of(scheme: &str) -> ImportSource {
    ImportSource::Folder { scheme: scheme.to_owned() }
}

fn addresses(report: &ImportReport) -> Vec<&str> {
    report.entries.iter().map(|file| file.uri.as_str()).collect()
}

fn reasons(report: &ImportReport) -> Vec<(String, &str)> {
    let reason = |file: &capdeck_capsule::SkippedFile| file.file.display().to_string();
    report.skipped.iter().map(|file| (reason(file), file.reason.as_str())).collect()
}

#[tokio::test]
async fn folders_agents_files_and_skills_come_in() {
    let folder = tempfile::tempdir().unwrap();
    let file = |path: &str, text: &[u8]| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    file("docs/Über uns/plan (1).md", b"plan");
    file("docs/image.png", b"\x89");
    file("docs/bad.md", b"\xff\xfe");
    file("docs/.git/config.md", b"hidden");
    file("docs/con.md", b"device");
    std::os::unix::fs::symlink("/etc/hostname", folder.path().join("docs/link.md")).unwrap();
    file("skills/review/SKILL.md", b"Review.");
    file("skills/review/scripts/run.sh", b"true");
    file("skills/short.md", b"Short.");
    file("AGENTS.md", b"# Agents");
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let report = take(&owner, &folder.path().join("docs"), folder_of("docs")).await.unwrap();
    assert_eq!(addresses(&report), ["docs://ber-uns/plan--1"]);
    let mut reasons: Vec<&str> = report.skipped.iter().map(|file| file.reason.as_str()).collect();
    reasons.sort_unstable();
    assert_eq!(reasons.len(), 4, "{reasons:?}");
    assert!(reasons.contains(&"it is a link or no ordinary file, and is not followed"));
    let skills = take(&owner, &folder.path().join("skills"), ImportSource::Skills).await.unwrap();
    assert_eq!(addresses(&skills), ["skills://review", "skills://short"]);
    assert_eq!(skills.skipped.len(), 1);
    let agents = ImportSource::File { uri: "guidance://agents".to_owned() };
    take(&owner, &folder.path().join("AGENTS.md"), agents.clone()).await.unwrap();
    assert_eq!(owner.read(&uri("guidance://agents"), None).await.unwrap().entry.body, "# Agents");
    assert_eq!(owner.prompts().await.unwrap().len(), 2);
    assert_eq!(
        take(&owner, folder.path(), folder_of("nothing")).await.unwrap_err().code(),
        "unknown_scheme"
    );
    assert_eq!(
        take(&owner, &folder.path().join("none"), folder_of("docs")).await.unwrap_err().code(),
        "io_failed"
    );
    // Those who may only add, add; what is there is left out.
    file("skills/review/SKILL.md", b"Review twice.");
    let appender = stage.handle("a", access(Role::Appender, &[], &[])).await;
    let again = take(&appender, &folder.path().join("skills"), ImportSource::Skills).await.unwrap();
    let outcomes: Vec<_> = again.entries.iter().map(|file| file.outcome).collect();
    assert_eq!((outcomes, again.skipped.len()), (vec![ImportOutcome::Unchanged], 2));
    let reader = stage.handle("r", access(Role::Reader, &[], &[])).await;
    let refused = take(&reader, &folder.path().join("skills"), ImportSource::Skills).await;
    assert_eq!(refused.unwrap_err().code(), "forbidden_role");
    // What is no file at all is not read.
    let refused = take(&owner, folder.path(), agents).await.unwrap_err();
    assert!(refused.to_string().contains("not an ordinary file"), "{refused}");
}

/// A capsule with everything that an export has to keep.
async fn rich() -> Stage {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let runbooks =
        Scheme { format: BodyFormat::Text, prompt_source: true, ..Scheme::named("runbooks") };
    owner.add_scheme(runbooks).await.unwrap();
    owner.add_scheme(Scheme { format: BodyFormat::Json, ..Scheme::named("models") }).await.unwrap();
    let deep = format!("docs://{}/{}/{}/x", "a".repeat(60), "b".repeat(60), "c".repeat(60));
    fill(
        &owner,
        &[
            ("docs://cites", "See src/a.ts"),
            ("docs://cites", "See src/a.ts and src/b.ts"),
            ("runbooks://deploy", "push\r\nand wait"),
            ("models://pet", "{\"legs\":4}"),
            ("notes://empty", ""),
            (&deep, "---\nuri: docs://fake\n---\nno head"),
        ],
    )
    .await;
    let bytes = |bytes: &[u8]| {
        Some(BlobSource::Bytes { bytes: bytes.to_vec(), mime: "image/png".to_owned() })
    };
    for (address, blob) in [("docs://one", b"\0picture"), ("docs://two", b"\0picture")] {
        let write =
            StoreWrite { blob: bytes(blob), ..StoreWrite::replace(uri(address), "with a picture") };
        owner.write(write).await.unwrap();
    }
    let write = StoreWrite {
        title: Some("How we ship".to_owned()),
        tags: Some(vec!["release".to_owned(), "team".to_owned()]),
        risk_class: Some(RiskClass::Structural),
        file_anchors: vec!["ci/ship.sh".to_owned()],
        commit: Some(CommitRef::observed("0123abc").unwrap()),
        ..StoreWrite::replace(uri("guidance://ship"), "Use src/ship.ts")
    };
    owner.write(write).await.unwrap();
    stage
}

/// What of a capsule an export keeps, as text.
async fn kept(stage: &Stage) -> Vec<String> {
    let owner = stage.owner().await;
    let mut all = Vec::new();
    for meta in owner.list(capdeck_capsule::ListQuery::default()).await.unwrap().entries {
        let entry = owner.read(&meta.uri, None).await.unwrap().entry;
        let blob = owner.read_blob(&meta.uri, None).await.ok().map(|blob| blob.bytes);
        let commit = meta.commit_at_write.map(|commit| commit.hash);
        all.push(format!(
            "{} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {commit:?} {blob:?}",
            meta.uri,
            entry.body,
            meta.title,
            meta.tags,
            meta.risk_class,
            meta.promotion_reason,
            meta.anchors_detected,
            meta.file_anchors,
        ));
    }
    all.extend(owner.schemes().await.unwrap().iter().map(|scheme| format!("{scheme:?}")));
    all
}

#[tokio::test]
async fn a_round_trip_keeps_what_writers_gave() {
    let stage = rich().await;
    let target = tempfile::tempdir().unwrap();
    let before = kept(&stage).await;
    for form in [ExportFormat::Folder, ExportFormat::Tar] {
        let path = target.path().join(format!("{form:?}"));
        let report = export(&stage.owner().await.0, form, &path).await.unwrap();
        assert_eq!((report.entries, report.blobs), (8, 1));
        let other = Stage::new().await;
        let importer = other.handle("importer", access(Role::Owner, &[], &[])).await;
        // Nothing happens in a rehearsal, and it says what will.
        let request = ImportFilesRequest {
            path: path.clone(),
            form: ImportSource::Export,
            existing: ExistingEntryMode::Replace,
            mode: ImportMode::Rehearse,
        };
        let plan = import(&importer, &request).await.unwrap();
        assert_eq!(kept(&other).await.len(), 6, "no entries, and the built-in schemes");
        let done = take(&importer, &path, ImportSource::Export).await.unwrap();
        assert_eq!(plan, done);
        assert_eq!((done.schemes.len(), done.entries.len(), done.skipped.len()), (2, 8, 0));
        assert_eq!(kept(&other).await, before, "{form:?}");
        // Who wrote it here is known; what the archive says about that is not taken.
        let read = importer.read(&uri("guidance://ship"), None).await.unwrap();
        let meta = &read.entry.meta;
        assert_eq!((meta.client.as_deref(), meta.version), (Some("importer"), 1));
        assert_eq!(meta.written_by, "local");
        assert!(read.entry.meta.commit_at_write.unwrap().is_claimed);
        // Once more changes nothing.
        let again = take(&importer, &path, ImportSource::Export).await.unwrap();
        assert!(again.entries.iter().all(|file| file.outcome == ImportOutcome::Unchanged));
        assert!(again.schemes.is_empty() && again.skipped.is_empty());
        assert!(other.capsules.store("team").await.unwrap().verify().await.unwrap().is_clean());
        // An edited file is a new version; with `Keep` it is left out.
        if form == ExportFormat::Folder {
            fs::write(path.join("docs/one.md"), "edited").unwrap();
            let keep = ImportFilesRequest {
                existing: ExistingEntryMode::Keep,
                mode: ImportMode::Write,
                ..request.clone()
            };
            let kept = import(&importer, &keep).await.unwrap();
            assert!(kept.skipped[0].reason.contains("version 1 and is kept"), "{kept:?}");
            let replaced = take(&importer, &path, ImportSource::Export).await.unwrap();
            let changed: Vec<_> = replaced
                .entries
                .iter()
                .filter(|file| file.outcome == ImportOutcome::Replaced)
                .map(|file| (file.uri.as_str(), file.version))
                .collect();
            assert_eq!(changed, [("docs://one", 2)]);
        }
    }
    let logs = stage.root().join("logs");
    let exports = AuditFilter { action: Some("export".to_owned()), ..AuditFilter::default() };
    assert_eq!(query_audit(&logs, "", &exports, 10).unwrap().len(), 2);
}

#[tokio::test]
async fn an_export_never_lands_on_something() {
    let stage = rich().await;
    let owner = stage.owner().await;
    let target = tempfile::tempdir().unwrap();
    let there = target.path().join("there");
    fs::write(&there, "mine").unwrap();
    for form in [ExportFormat::Folder, ExportFormat::Tar, ExportFormat::GitStream] {
        export(&owner, form, &there).await.unwrap_err();
        export(&owner, form, &target.path().join("no/such/folder")).await.unwrap_err();
    }
    assert_eq!(fs::read_to_string(&there).unwrap(), "mine");
    // A capsule that is closed meanwhile leaves nothing half done.
    stage.capsules.close().await;
    for form in [ExportFormat::Folder, ExportFormat::Tar] {
        export(&owner, form, &target.path().join("half")).await.unwrap_err();
    }
    let left: Vec<_> =
        fs::read_dir(target.path()).unwrap().map(|one| one.unwrap().path()).collect();
    assert_eq!(left, [there]);
}

/// A tar archive made by `tar` of these files.
fn packed(folder: &Path, options: &[&str], members: &[&str]) -> PathBuf {
    let archive = folder.with_extension("tar");
    let mut tar = Command::new("tar");
    tar.arg("-C").arg(folder).args(options).arg("-cf").arg(&archive).args(members);
    assert!(tar.status().unwrap().success());
    archive
}

#[tokio::test]
async fn an_archive_that_tar_made_is_read() {
    let stage = rich().await;
    let target = tempfile::tempdir().unwrap();
    let folder = target.path().join("out");
    export(&stage.owner().await.0, ExportFormat::Folder, &folder).await.unwrap();
    for options in [&["--format=gnu"][..], &["--format=pax"], &["--format=ustar"]] {
        let archive = packed(&folder, options, &["."]);
        let other = Stage::new().await;
        let done = take(&other.owner().await, &archive, ImportSource::Export).await.unwrap();
        assert_eq!((done.entries.len(), done.skipped.len()), (8, 0), "{options:?} {done:?}");
        assert_eq!(kept(&other).await, kept(&stage).await, "{options:?}");
    }
    // Without what an export says about itself, folders are schemes.
    fs::remove_file(folder.join("capsule.json")).unwrap();
    let archive = packed(&folder, &[], &["docs", "runbooks"]);
    let other = Stage::new().await;
    let done = take(&other.owner().await, &archive, ImportSource::Export).await.unwrap();
    assert_eq!(done.entries.len(), 4);
    assert!(reasons(&done)[0].1.contains("no scheme `runbooks://`"), "{done:?}");
    let refused = take(&other.owner().await, &folder, ImportSource::Export).await.unwrap_err();
    assert!(refused.to_string().contains("no `capsule.json`"), "{refused}");
}

/// A tar archive with these members: type, name, content.
fn archive(members: &[(u8, &str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (kind, name, content) in members {
        let mut header = [0_u8; 512];
        let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
        put(0, name.as_bytes());
        put(100, b"0000644\0");
        put(124, format!("{:011o}\0", content.len()).as_bytes());
        put(148, b"        ");
        put(156, &[*kind]);
        put(257, b"ustar\x0000");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        bytes.extend(header);
        bytes.extend(*content);
        bytes.resize(bytes.len().div_ceil(512) * 512, 0);
    }
    bytes.extend([0; 1024]);
    bytes
}

#[tokio::test]
async fn an_archive_with_tricks_touches_nothing_else() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("bad.tar");
    let nul = "docs/nul.md";
    let members: [(u8, &str, &[u8]); 14] = [
        (b'0', "../escape.md", b"x"),
        (b'0', "/docs/absolute.md", b"x"),
        (b'0', "docs/../../../up.md", b"x"),
        (b'0', "docs/%2e%2e/up.md", b"x"),
        (b'0', nul, b"x"),
        (b'0', "docs/a\\b.md", b"x"),
        (b'2', "docs/link.md", b""),
        (b'3', "docs/device.md", b""),
        (b'0', "docs/twice.md", b"first"),
        (b'0', "docs/twice.md", b"second"),
        (b'0', "docs/binary.md", b"\xff\xfe"),
        (b'0', "api-data/bad.json", b"{"),
        (b'0', "stray.md", b"x"),
        (b'0', "docs/.tmp", b"x"),
    ];
    fs::write(&path, archive(&members)).unwrap();
    let done = take(&owner, &path, ImportSource::Export).await.unwrap();
    assert_eq!(addresses(&done), ["docs://twice"], "{done:?}");
    assert_eq!(owner.read(&uri("docs://twice"), None).await.unwrap().entry.body, "first");
    assert_eq!(done.skipped.len(), 13, "{:?}", reasons(&done));
    let around: Vec<_> = fs::read_dir(place.path()).unwrap().collect();
    assert_eq!(around.len(), 1);
}

#[tokio::test]
async fn a_manifest_is_not_trusted() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("bad.tar");
    let (zeros, ones) = ("0".repeat(64), "1".repeat(64));
    let manifest = serde_json::json!({
        "schemes": [{"name": "extra"}],
        "entries": [
            {"uri": "docs://../up", "risk_class": "structural"},
            {"uri": "docs://named", "risk_class": "harmless"},
            {"uri": "docs://missing", "risk_class": "structural"},
            {"uri": "docs://pointer", "risk_class": "structural",
             "blob": {"sha256": format!("sha256:{zeros}"), "mime": "x/y", "bytes": 1}},
            {"uri": "docs://swapped", "risk_class": "structural",
             "blob": {"sha256": format!("sha256:{ones}"), "mime": "x/y", "bytes": 1}},
            {"uri": "docs://crafted", "risk_class": "structural",
             "blob": {"sha256": "../../boxes.json", "mime": "x/y", "bytes": 1}},
            {"uri": "docs://forged", "risk_class": "structural", "written_by": "root",
             "written_by_principal": "prn_root", "version": 9, "written_at": "1999-01-01T00:00:00Z"},
        ],
    });
    let swapped = format!("_blobs/{ones}");
    let members: [(u8, &str, &[u8]); 7] = [
        (b'0', "capsule.json", &serde_json::to_vec(&manifest).unwrap()),
        (b'0', "docs/named.md", b"x"),
        (b'0', "docs/pointer.md", b"x"),
        (b'0', "docs/swapped.md", b"x"),
        (b'0', &swapped, b"other bytes"),
        (b'0', "docs/forged.md", b"x"),
        (b'0', "extra/new.md", b"x"),
    ];
    fs::write(&path, archive(&members)).unwrap();
    let done = take(&owner, &path, ImportSource::Export).await.unwrap();
    assert_eq!(addresses(&done), ["docs://forged", "docs://named", "extra://new"], "{done:?}");
    assert_eq!(done.skipped.len(), 6, "{:?}", reasons(&done));
    let forged = owner.read(&uri("docs://forged"), None).await.unwrap().entry.meta;
    assert_eq!((forged.written_by.as_str(), forged.version), ("local", 1));
    assert_eq!(forged.client.as_deref(), Some("tester"));
    assert_eq!(forged.written_by_principal, None);
}

#[tokio::test]
async fn a_damaged_archive_is_refused_whole() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let place = tempfile::tempdir().unwrap();
    let whole = archive(&[(b'0', "docs/a.md", &[b'x'; 2000])]);
    let mut huge = whole.clone();
    huge[124..136].copy_from_slice(b"77777777777\0");
    let mut header = huge[..512].to_vec();
    header[148..156].copy_from_slice(b"        ");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    huge[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    for (name, bytes, expected) in [
        ("cut", whole[..1024].to_vec(), "ends in the middle"),
        ("huge", huge, "ends in the middle"),
        (
            "changed",
            {
                let mut bytes = whole.clone();
                bytes[3] = b'X';
                bytes
            },
            "or damaged",
        ),
        ("text", b"no archive ".repeat(100), "or damaged"),
        ("zip", [&[0x1f, 0x8b][..], &[0; 1000]].concat(), "gunzip"),
        ("empty", Vec::new(), "nothing in it"),
        ("manifest", archive(&[(b'0', "capsule.json", b"[")]), "`capsule.json`"),
        (
            "schemes",
            archive(&[(b'0', "capsule.json", br#"{"schemes":[{"name":"Bad Name"}]}"#)]),
            "scheme",
        ),
    ] {
        let path = place.path().join(name);
        fs::write(&path, bytes).unwrap();
        let refused = take(&owner, &path, ImportSource::Export).await.unwrap_err();
        let source = std::error::Error::source(&refused).map(ToString::to_string);
        let reported = format!("{refused} {}", source.unwrap_or_default());
        assert!(reported.contains(expected), "{name}: {reported}");
    }
    assert!(owner.list(capdeck_capsule::ListQuery::default()).await.unwrap().entries.is_empty());
}

/// Everything is checked before anything is written, and a rehearsal says the same.
#[tokio::test]
async fn a_bad_scheme_leaves_no_other_scheme_behind() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let before = owner.schemes().await.unwrap();
    let place = tempfile::tempdir().unwrap();
    for schemes in
        [r#"[{"name":"facts"},{"name":"Bad Name"}]"#, r#"[{"name":"facts"},{"name":"facts"}]"#]
    {
        let manifest = format!("{{\"schemes\":{schemes}}}");
        let path = place.path().join("archive");
        let members: &[(u8, &str, &[u8])] =
            &[(b'0', "capsule.json", manifest.as_bytes()), (b'0', "facts/x.md", b"x")];
        fs::write(&path, archive(members)).unwrap();
        for mode in [ImportMode::Rehearse, ImportMode::Write] {
            let request = ImportFilesRequest {
                path: path.clone(),
                form: ImportSource::Export,
                existing: ExistingEntryMode::Replace,
                mode,
            };
            import(&owner, &request).await.unwrap_err();
            assert_eq!(owner.schemes().await.unwrap(), before, "{schemes}");
        }
    }
}

#[tokio::test]
async fn a_rehearsal_checks_entries_of_new_schemes() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("archive");
    let manifest = br#"{"schemes":[{"name":"facts","format":"json"}]}"#;
    let members: &[(u8, &str, &[u8])] = &[
        (b'0', "capsule.json", manifest),
        (b'0', "facts/bad.json", b"{nope"),
        (b'0', "facts/good.json", b"{}"),
    ];
    fs::write(&path, archive(members)).unwrap();
    let request = ImportFilesRequest {
        path,
        form: ImportSource::Export,
        existing: ExistingEntryMode::Replace,
        mode: ImportMode::Rehearse,
    };
    let rehearsed = import(&owner, &request).await.unwrap();
    assert_eq!(addresses(&rehearsed), ["facts://good"]);
    let written = import(&owner, &ImportFilesRequest { mode: ImportMode::Write, ..request }).await;
    assert_eq!(written.unwrap(), rehearsed);
}

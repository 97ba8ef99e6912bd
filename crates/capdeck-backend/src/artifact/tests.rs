//! Tests of writing, reading and sweeping artifacts.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    sync::atomic::{AtomicBool, Ordering},
};

use super::*;

fn id() -> CapabilityId {
    CapabilityId::new("thing").unwrap()
}

async fn store_one(store: &ArtifactStore, name: &str, bytes: &[u8]) -> Artifact {
    let mut writer = store.create(&id(), name, Some("text/plain")).await.unwrap();
    for chunk in bytes.chunks(3) {
        writer.write(chunk).await.unwrap();
    }
    assert_eq!(writer.byte_length(), bytes.len() as u64);
    writer.finish().await.unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn what_is_written_can_be_read_by_its_uri() {
    let folder = tempfile::tempdir().unwrap();
    let store = ArtifactStore::open(folder.path().join("artifacts"));
    let artifact = store_one(&store, "out.txt", b"hello world").await;
    assert!(artifact.uri.starts_with("capdeck://artifacts/thing/"), "{}", artifact.uri);
    assert!(artifact.uri.ends_with("/out.txt"), "{}", artifact.uri);
    assert_eq!(artifact.byte_length, 11);
    assert_eq!(artifact.sha256, "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9");
    let (described, bytes) = store.read(&artifact.uri).await.unwrap();
    assert_eq!((described, bytes.as_slice()), (artifact.clone(), b"hello world".as_slice()));
    let path = store.path(&artifact.uri).unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(mode(folder.path().join("artifacts").as_path()), 0o700);
}

#[tokio::test]
async fn an_unfinished_artifact_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = ArtifactStore::open(folder.path().to_owned());
    let mut writer = store.create(&id(), "out.txt", None).await.unwrap();
    writer.write(b"half").await.unwrap();
    drop(writer);
    assert_eq!(fs::read_dir(folder.path().join("thing")).unwrap().count(), 0);
}

#[tokio::test]
async fn names_are_made_safe() {
    for (name, safe) in [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "_.._etc_passwd"),
        (".hidden", "hidden"),
        ("", "_"),
        ("..", "_"),
        ("a b\u{0}é.txt", "a_b__.txt"),
        ("x.capdeck.json", "x.capdeck.json_"),
    ] {
        assert_eq!(safe_filename(name), safe, "{name:?}");
    }
    assert_eq!(safe_filename(&"x".repeat(500)).len(), 100);
}

#[tokio::test]
async fn uris_reach_nothing_outside_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("artifacts");
    let store = ArtifactStore::open(root.clone());
    fs::write(folder.path().join("secret.txt"), "canary").unwrap();
    let artifact = store_one(&store, "out.txt", b"x").await;
    let call = artifact.uri.split('/').nth(4).unwrap();
    std::os::unix::fs::symlink(
        folder.path().join("secret.txt"),
        root.join("thing").join(call).join("link.txt"),
    )
    .unwrap();
    std::os::unix::fs::symlink(folder.path(), root.join("thing").join("elsewhere")).unwrap();
    for uri in [
        "capdeck://artifacts/../secret.txt".to_owned(),
        "capdeck://artifacts/thing/../../secret.txt".to_owned(),
        "capdeck://artifacts/thing//secret.txt".to_owned(),
        "capdeck://artifacts/thing/%2e%2e/secret.txt".to_owned(),
        "capdeck://artifacts/thing/a/b/c".to_owned(),
        "capdeck://artifacts//etc/passwd".to_owned(),
        "file:///etc/passwd".to_owned(),
        format!("capdeck://artifacts/thing/{call}/.partial"),
        format!("capdeck://artifacts/thing/{call}/out.txt\u{0}"),
        format!("capdeck://artifacts/thing/{call}/link.txt"),
        "capdeck://artifacts/thing/elsewhere/secret.txt".to_owned(),
        format!("capdeck://artifacts/thing/{call}/none.txt"),
    ] {
        let error = store.read(&uri).await.unwrap_err();
        let is_refused =
            matches!(error, ArtifactError::InvalidUri { .. } | ArtifactError::NotFound { .. });
        assert!(is_refused, "{uri}: {error:?}");
    }
}

#[tokio::test]
async fn the_sweep_keeps_what_is_young_or_fits() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("artifacts");
    let store = ArtifactStore::open(root.clone());
    let old = store_one(&store, "a.txt", &[b'a'; 4000]).await;
    let new = store_one(&store, "b.txt", &[b'b'; 4000]).await;
    let age = |artifact: &Artifact, hours: u64| {
        let path = store.path(&artifact.uri).unwrap();
        let folder = fs::File::open(path.parent().unwrap()).unwrap();
        let then = std::time::SystemTime::now() - Duration::from_secs(hours * 3600);
        folder.set_modified(then).unwrap();
    };
    age(&old, 5);
    age(&new, 3);
    let limits = |max_bytes, max_hours: u64, min_hours: u64| ArtifactLimits {
        max_age: Duration::from_secs(max_hours * 3600),
        min_age: Duration::from_secs(min_hours * 3600),
        max_bytes,
    };
    sweep(&root, &limits(1 << 20, 10, 1));
    assert!(store.path(&old.uri).is_ok() && store.path(&new.uri).is_ok());
    // Over the size limit, but too young to be removed.
    sweep(&root, &limits(0, 10, 9));
    assert!(store.path(&old.uri).is_ok() && store.path(&new.uri).is_ok());
    sweep(&root, &limits(6000, 10, 1));
    assert!(store.path(&old.uri).is_err() && store.path(&new.uri).is_ok());
    sweep(&root, &limits(1 << 20, 2, 1));
    assert!(store.path(&new.uri).is_err());
}

#[tokio::test]
async fn what_is_written_or_read_is_never_swept() {
    let folder = tempfile::tempdir().unwrap();
    let store = ArtifactStore::open(folder.path().join("artifacts"));
    let kept = store_one(&store, "a.txt", b"hello").await;
    let (uri, _) = ArtifactUri::parse(&kept.uri).unwrap();
    let mut writer = store.create(&id(), "b.txt", None).await.unwrap();
    let mut reader = store.reader(&uri).unwrap();
    assert_eq!(store.clear().removed, 0);
    assert!(matches!(store.delete(&uri), Err(ArtifactError::InUse { .. })));
    writer.write(b"late").await.unwrap();
    let written = writer.finish().await.unwrap();
    assert_eq!(reader.next(100).unwrap(), b"hello");
    drop(reader);
    let swept = store.clear();
    assert_eq!((swept.removed, swept.kept), (2, 0));
    for gone in [&kept.uri, &written.uri] {
        assert!(matches!(store.path(gone), Err(ArtifactError::NotFound { .. })), "{gone}");
    }
}

#[tokio::test]
async fn readers_writers_and_sweeps_do_not_disturb_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let store = ArtifactStore::open(folder.path().join("artifacts"));
    let stop = Arc::new(AtomicBool::new(false));
    let sweeping = thread::spawn({
        let (store, stop) = (store.clone(), Arc::clone(&stop));
        move || {
            while !stop.load(Ordering::Relaxed) {
                store.clear();
            }
        }
    });
    for round in 0..200_u32 {
        let text = round.to_string();
        let artifact = store_one(&store, "a.txt", text.as_bytes()).await;
        // Removed or complete, but never partial.
        match store.read(&artifact.uri).await {
            Ok((_, bytes)) => assert_eq!(bytes, text.as_bytes()),
            Err(ArtifactError::NotFound { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    stop.store(true, Ordering::Relaxed);
    sweeping.join().unwrap();
}

#[tokio::test]
async fn the_list_names_what_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("artifacts");
    let store = ArtifactStore::open(root.clone());
    assert!(store.list().is_empty());
    let one = store_one(&store, "a.txt", b"one").await;
    let unfinished = store.create(&id(), "b.txt", None).await.unwrap();
    fs::write(root.join("thing").join("stray.capdeck.json"), "{}").unwrap();
    let listed = store.list();
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0].artifact, listed[0].capability.as_str()), (&one, "thing"));
    drop(unfinished);
    store.delete(&ArtifactUri::parse(&one.uri).unwrap().0).unwrap();
    assert!(store.list().is_empty());
}

#[test]
fn parts_are_numbers_of_bytes_and_nothing_else() {
    let uri = "capdeck://artifacts/thing/1/out.txt";
    let part = |query: &str| ArtifactUri::parse(&format!("{uri}{query}")).map(|(_, part)| part);
    assert_eq!(part("").unwrap(), ArtifactPart::Whole);
    let bytes = |offset, length| ArtifactPart::Bytes { offset, length };
    assert_eq!(part("?offset=3").unwrap(), bytes(3, None));
    assert_eq!(part("?length=4&offset=3").unwrap(), bytes(3, Some(4)));
    let place = |at: &str, from, count| ArtifactPart::Place { at: at.to_owned(), from, count };
    assert_eq!(part("?at=/a%20b/0&from=3").unwrap(), place("/a b/0", 3, None));
    assert_eq!(part("?at=&count=2").unwrap(), place("", 0, Some(2)));
    for wrong in [
        "?",
        "?offset",
        "?offset=",
        "?offset=-1",
        "?offset=+1",
        "?offset=1.5",
        "?offset=0x10",
        "?offset=99999999999999999999999",
        "?offset=1&offset=2",
        "?limit=3",
        "?offset=1&",
        "?offset=%31",
        "?offset=\u{661}",
        "?at=items",
        "?at=%ff",
        "?at=/a&offset=1",
        "?from=-1",
        "?at=/a&count=x",
    ] {
        let error = part(wrong).unwrap_err();
        assert!(matches!(error, ArtifactError::InvalidPart { .. }), "{wrong}: {error:?}");
    }
}

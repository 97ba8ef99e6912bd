//! Attached bytes: shared by entries, kept with versions, collected when nothing names them.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use capdeck_capsule::{
    BlobSource, CapsuleAccess, CapsuleAuthor, CapsuleRegistry, CapsuleUpdate, Scheme, StoreOptions,
    StoreWrite,
};

use crate::{
    session::TestSession,
    stage::{Stage, fill, options, uri},
};

#[tokio::test]
async fn blobs_are_shared_kept_and_collected() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let with = |bytes: &[u8]| {
        Some(BlobSource::Bytes { bytes: bytes.to_vec(), mime: "image/png".to_owned() })
    };
    owner
        .write(StoreWrite { blob: with(b"one"), ..StoreWrite::create(uri("docs://a"), "x") })
        .await
        .unwrap();
    owner
        .write(StoreWrite { blob: with(b"one"), ..StoreWrite::create(uri("docs://b"), "x") })
        .await
        .unwrap();
    owner
        .write(StoreWrite { blob: with(b"two"), ..StoreWrite::replace(uri("docs://b"), "x") })
        .await
        .unwrap();
    let blobs = stage.root().join("blobs");
    assert_eq!(fs::read_dir(&blobs).unwrap().count(), 2);
    // A write that says nothing of the blob keeps it.
    fill(&owner, &[("docs://b", "y")]).await;
    assert_eq!(owner.read_blob(&uri("docs://b"), None).await.unwrap().bytes, b"two");
    assert_eq!(owner.read_blob(&uri("docs://b"), Some(1)).await.unwrap().bytes, b"one");
    owner
        .write(StoreWrite {
            blob: Some(BlobSource::Remove),
            ..StoreWrite::replace(uri("docs://b"), "y")
        })
        .await
        .unwrap();
    assert!(owner.read_blob(&uri("docs://b"), None).await.is_err());
    owner.restore(&uri("docs://b"), 1, None).await.unwrap();
    assert_eq!(owner.read_blob(&uri("docs://b"), None).await.unwrap().bytes, b"one");
    owner.purge(&uri("docs://b")).await.unwrap();
    let young = owner.collect_blobs().await.unwrap();
    assert_eq!((young.removed, young.kept), (0, 2));
    make_old(&blobs);
    let collected = owner.collect_blobs().await.unwrap();
    assert_eq!((collected.removed, collected.kept, collected.bytes), (1, 1, 3));
    assert_eq!(owner.read_blob(&uri("docs://a"), None).await.unwrap().bytes, b"one");
}

#[tokio::test]
async fn blobs_of_entries_that_cannot_be_read_now_are_not_collected() {
    let folder = tempfile::tempdir().unwrap();
    let open = async |schemes: &str| {
        let schemes = Scheme::parse_registry_list(schemes).unwrap();
        let options = StoreOptions { schemes, ..options() };
        CapsuleRegistry::open(folder.path(), options).await.unwrap()
    };
    let owner = async |capsules: &CapsuleRegistry| {
        capsules
            .handle("team", CapsuleAuthor::client("tester"), CapsuleAccess::owner())
            .await
            .map(TestSession)
            .unwrap()
    };
    let capsules = open("runbooks").await;
    let new = CapsuleUpdate { name: Some("team".to_owned()), ..CapsuleUpdate::default() };
    capsules.create(new).await.unwrap();
    let blob = |bytes: &[u8]| {
        Some(BlobSource::Bytes { bytes: bytes.to_vec(), mime: "image/png".to_owned() })
    };
    for (address, bytes) in [("runbooks://a", b"one"), ("docs://b", b"two"), ("docs://c", b"six")] {
        let write = StoreWrite { blob: blob(bytes), ..StoreWrite::create(uri(address), "x") };
        owner(&capsules).await.write(write).await.unwrap();
    }
    owner(&capsules).await.purge(&uri("docs://c")).await.unwrap();
    let root = capsules.root("team").unwrap();
    capsules.close().await;
    // No one declares the scheme any more, and the other file is no text.
    let damaged = root.join("knowledge/docs/b.md");
    let whole = fs::read(&damaged).unwrap();
    fs::write(&damaged, [whole.as_slice(), b"\xff"].concat()).unwrap();
    make_old(&root.join("blobs"));
    let capsules = open("").await;
    let collected = owner(&capsules).await.collect_blobs().await.unwrap();
    assert_eq!((collected.removed, collected.kept), (1, 2));
    let remarks = capsules.store("team").await.unwrap().verify().await.unwrap().remarks;
    assert_eq!(
        remarks.iter().map(|one| one.place.as_str()).collect::<Vec<_>>(),
        ["entries/runbooks"]
    );
    capsules.close().await;
    fs::write(&damaged, whole).unwrap();
    let capsules = open("runbooks").await;
    for (address, bytes) in [("runbooks://a", b"one"), ("docs://b", b"two")] {
        let read = owner(&capsules).await.read_blob(&uri(address), None).await.unwrap();
        assert_eq!(read.bytes, bytes);
    }
}

/// Blobs that no one can be about to use.
fn make_old(blobs: &Path) {
    for blob in fs::read_dir(blobs).unwrap() {
        let old = SystemTime::now() - Duration::from_secs(3_600);
        fs::File::open(blob.unwrap().path()).unwrap().set_modified(old).unwrap();
    }
}

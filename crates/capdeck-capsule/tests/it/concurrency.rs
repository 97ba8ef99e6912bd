//! Many writers at once (conformance list, item 25).

use capdeck_capsule::{PatchStep, StoreError, StoreOptions, StoreWrite};
use tokio::task::JoinSet;

use crate::stage::{Stage, options, uri};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn spec_26_25_of_two_writes_on_one_version_exactly_one_wins() {
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let entry = uri("docs://a");
    owner.write(StoreWrite::create(entry.clone(), "start\n")).await.unwrap();
    for round in 1..=20 {
        let write =
            |text: &str| owner.write(StoreWrite::replace(entry.clone(), text).if_version(round));
        let (one, other) = tokio::join!(write("one\n"), write("other\n"));
        let lost = match (one, other) {
            (Ok(_), Err(lost)) | (Err(lost), Ok(_)) => lost,
            both => panic!("{both:?}"),
        };
        let StoreError::VersionConflict(conflict) = lost else { panic!("{lost}") };
        assert_eq!((conflict.expected_version, conflict.current_version), (round, round + 1));
        assert!(conflict.proposal.is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_update_of_64_writers_is_lost() {
    const WRITERS: usize = 64;
    const ROUNDS: usize = 4;
    let stage = Stage::new().await;
    let owner = stage.owner().await;
    let entry = uri("api-data://counter");
    owner.write(StoreWrite::create(entry.clone(), "0")).await.unwrap();
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let (owner, entry) = (owner.clone(), entry.clone());
        writers.spawn(async move {
            for _ in 0..ROUNDS {
                loop {
                    let read = owner.read(&entry, None).await.unwrap().entry;
                    let count: usize = read.body.parse().unwrap();
                    let write = StoreWrite::replace(entry.clone(), (count + 1).to_string());
                    match owner.write(write.if_version(read.meta.version)).await {
                        Ok(_) => break,
                        Err(StoreError::VersionConflict(_)) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        });
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
    let last = owner.read(&entry, None).await.unwrap().entry;
    assert_eq!(last.body, (WRITERS * ROUNDS).to_string());
    assert_eq!(last.meta.version as usize, WRITERS * ROUNDS + 1);
    let history = owner.history(&entry).await.unwrap();
    assert_eq!(history.len(), WRITERS * ROUNDS + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_of_different_entries_and_patchers_of_one_do_not_disturb_each_other() {
    // With the disk's own confirmation here: this is the way that many commits share.
    let stage = Stage::with(StoreOptions { durability: Default::default(), ..options() }).await;
    let owner = stage.owner().await;
    let shared = uri("docs://shared");
    owner.write(StoreWrite::create(shared.clone(), "")).await.unwrap();
    let mut writers = JoinSet::new();
    for number in 0..32 {
        let (owner, shared) = (owner.clone(), shared.clone());
        writers.spawn(async move {
            let entry = uri(&format!("docs://n/{number}"));
            owner.write(StoreWrite::create(entry, format!("{number}"))).await.unwrap();
            let line = PatchStep::Append { text: format!("line {number}\n") };
            owner.write(StoreWrite::patch(shared, vec![line])).await.unwrap();
        });
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
    let text = owner.read(&shared, None).await.unwrap().entry.body;
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 32);
}

//! Test of a command with endless output.

use capdeck_auth::SecretScrubber;
use capdeck_definition::CapabilityId;
use indexmap::IndexMap;

use super::*;
use crate::{ArtifactStore, capture::SpillTarget};

fn capture(folder: &std::path::Path) -> StreamCapture {
    let place = SpillTarget {
        store: ArtifactStore::open(folder.to_owned()),
        capability: CapabilityId::new("thing").unwrap(),
        filename: "stdout.txt".to_owned(),
        mime_type: None,
    };
    StreamCapture::new(1000, &SecretScrubber::default(), place)
}

#[tokio::test]
async fn an_endless_writer_is_ended_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let command = ChildCommand {
        program: "yes".to_owned(),
        args: Vec::new(),
        env: IndexMap::new(),
        folder: None,
        pipes_stdin: false,
        error_log: None,
    };
    let outcome = run(
        &ProcessSpawner::default(),
        CommandRun {
            command: &command,
            timeout: Duration::from_secs(60),
            cancel: std::future::pending(),
            stdout: capture(folder.path()),
            stderr: capture(folder.path()),
            max_total: 1 << 20,
        },
    )
    .await
    .unwrap();
    assert_eq!(outcome.ending, CommandEnd::TooMuchOutput);
    assert_eq!(outcome.stdout.text(8), "y\ny\ny\ny\n");
    drop(outcome);
    let left: Vec<_> = std::fs::read_dir(folder.path().join("thing")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

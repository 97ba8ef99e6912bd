//! A host killed without warning takes its children along.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::support::{is_alive, pids_in, until_gone};

/// Cargo builds examples along with the tests, into the folder beside `deps`.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().with_file_name("examples").join(name);
    assert!(path.exists(), "`{}` is missing; run `cargo build --examples`", path.display());
    path
}

#[tokio::test]
async fn children_and_grandchildren_die_with_a_killed_host() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pids");
    let mut host = Command::new(example("guarded_host"))
        .arg("host")
        .arg(&file)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let pids = pids_in(&file, 2).await;
    assert!(pids.iter().all(|pid| is_alive(*pid)), "{pids:?}");
    // SIGKILL: the host has no chance to clean up.
    host.kill().unwrap();
    host.wait().unwrap();
    until_gone(&pids).await;
}

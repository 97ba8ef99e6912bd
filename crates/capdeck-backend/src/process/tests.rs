//! Tests of process groups, logs and program search.

use tokio::io::AsyncReadExt;

use super::*;

fn shell(script: &str) -> ChildCommand {
    ChildCommand {
        program: "sh".to_owned(),
        args: vec!["-c".to_owned(), script.to_owned()],
        env: IndexMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]),
        folder: None,
        pipes_stdin: false,
        error_log: None,
    }
}

#[tokio::test]
async fn a_group_is_gone_after_kill() {
    let (process, pipes) =
        ProcessSpawner::default().spawn(&shell("sleep 1000 & echo up; wait")).unwrap();
    let mut stdout = pipes.stdout.unwrap();
    let mut word = [0; 3];
    stdout.read_exact(&mut word).await.unwrap();
    assert_eq!(process.exit(), None);
    let exit = process.kill().await;
    // A group that did not end in time would have `SIGKILL`.
    assert_eq!(exit.signal_name().as_deref(), Some("SIGTERM"));
    assert_eq!(process.exit(), Some(exit));
    // The end of the pipe means that the grandchild, which held it too, is gone.
    let mut rest = Vec::new();
    stdout.read_to_end(&mut rest).await.unwrap();
}

#[tokio::test]
async fn errors_are_logged_when_no_one_reads_them() {
    let log = ProcessLog::default();
    let mut command = shell(
        "i=0; while [ $i -lt 20000 ]; do echo line $i of noise here >&2; i=$((i+1)); done; echo done",
    );
    command.error_log = Some((log.clone(), SecretScrubber::default()));
    let (process, pipes) = ProcessSpawner::default().spawn(&command).unwrap();
    let mut stdout = String::new();
    pipes.stdout.unwrap().read_to_string(&mut stdout).await.unwrap();
    assert_eq!(stdout, "done\n");
    assert_eq!(process.exited().await.code, Some(0));
    assert!(
        log.text().ends_with("line 19999 of noise here\n"),
        "the last words are there at the exit"
    );
}

#[tokio::test]
async fn a_runtime_that_ends_kills_at_once() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let spawned = ProcessSpawner::default()
                .spawn(&shell("trap '' TERM; echo up; sleep 1000"))
                .unwrap();
            let (process, mut pipes) = spawned;
            let mut stdout = pipes.stdout.take().unwrap();
            let mut word = [0; 3];
            stdout.read_exact(&mut word).await.unwrap();
            let stdout = stdout.into_owned_fd().unwrap();
            sender.send(std::fs::File::from(stdout)).unwrap();
            std::mem::forget(process);
        });
    });
    thread.join().unwrap();
    let mut stdout = receiver.recv().unwrap();
    let flags = rustix::fs::fcntl_getfl(&stdout).unwrap();
    rustix::fs::fcntl_setfl(&stdout, flags - rustix::fs::OFlags::NONBLOCK).unwrap();
    std::io::Read::read_to_end(&mut stdout, &mut Vec::new()).unwrap();
}

#[test]
fn programs_are_found_like_a_shell_does() {
    let folder = tempfile::tempdir().unwrap();
    let tool = folder.path().join("tool");
    std::fs::write(&tool, "#!/bin/sh\n").unwrap();
    let search = format!("/nowhere::{}", folder.path().display());
    let found = find_program("tool", Some(&search), None);
    assert!(matches!(found, Err(SpawnError::NotExecutable { .. })), "{found:?}");
    let mut permissions = std::fs::metadata(&tool).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    std::fs::set_permissions(&tool, permissions).unwrap();
    assert_eq!(find_program("tool", Some(&search), None).unwrap(), tool);
    assert_eq!(
        find_program("./tool", None, Some(folder.path())).unwrap(),
        folder.path().join("./tool")
    );
    assert!(matches!(find_program("tool", Some(""), None), Err(SpawnError::NotOnPath { .. })));
    assert!(matches!(find_program("", Some(&search), None), Err(SpawnError::Empty)));
    let missing = find_program("./none", None, Some(folder.path()));
    assert!(matches!(missing, Err(SpawnError::NoSuchFile { .. })), "{missing:?}");
}

#[tokio::test]
async fn a_script_without_its_interpreter_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    let mut permissions = std::fs::metadata(&script).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    std::fs::set_permissions(&script, permissions).unwrap();
    let mut command = shell("");
    command.program = script.to_str().unwrap().to_owned();
    let error = crate::CallError::from(ProcessSpawner::default().spawn(&command).unwrap_err());
    assert_eq!(error.hint.as_deref(), Some("the interpreter in its first line may be missing"));
}

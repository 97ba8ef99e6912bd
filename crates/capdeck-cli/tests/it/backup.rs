//! `docs/guide/backup.md`: the data folder, copied by the system's own programs and put back, is whole.

use std::{path::Path, process::Command};

use capdeck_test::{StdioClient, TestDirs};
use serde_json::json;

use crate::capdeck;

fn run(program: &str, arguments: &[&str]) {
    let done = Command::new(program).args(arguments).output().unwrap();
    assert!(done.status.success(), "{program} {arguments:?}: {done:?}");
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn write(agent: &mut StdioClient, uri: &str, content: &str) {
    let arguments = json!({ "capsule": "team", "uri": uri, "content": content });
    let call = json!({ "name": "capsules__capsol_write", "arguments": arguments });
    let written = agent.request("tools/call", call);
    assert_ne!(written["result"]["isError"], true, "{written}");
    assert!(written.get("error").is_none(), "{written}");
}

/// A host that has the capsules, and what was written before it was copied.
fn filled(dirs: &TestDirs) -> StdioClient {
    capdeck(dirs).args(["capsule", "new", "team"]).run().success();
    let mut agent = capdeck(dirs).serve(&["--exposure", "direct"]);
    agent.initialize();
    for number in 0..20 {
        write(&mut agent, &format!("docs://entry{}", number % 5), &format!("version {number}"));
    }
    agent
}

/// The copy is sound, and has what was written before it was made.
fn check(restored: &TestDirs) {
    let verified = capdeck(restored).args(["capsule", "verify"]).run();
    assert_eq!(verified.code, Some(0), "{verified:?}");
    assert!(verified.stdout.contains("team: OK, 5 entries, 20 versions"), "{verified:?}");
    let audited = capdeck(restored).args(["audit", "verify", "team"]).run();
    assert_eq!(audited.code, Some(0), "{audited:?}");
    let read = ["capsule", "read", "team", "docs://entry4", "--raw"];
    assert_eq!(capdeck(restored).args(read).run().success().stdout, "version 19");
    // It is a data folder like any other.
    let again = ["capsule", "write", "team", "docs://entry4", "--append", "and on"];
    capdeck(restored).args(again).run().success();
}

#[test]
fn a_copy_of_a_running_host_is_whole() {
    let (there, restored) = (TestDirs::new(), TestDirs::new());
    let mut agent = filled(&there);
    let archive = there.root().join("data.tar");
    run("tar", &["-C", text(&there.data()), "--exclude=desk.sock", "-cf", text(&archive), "."]);
    write(&mut agent, "docs://entry0", "after the copy");
    run("tar", &["-C", text(&restored.data()), "-xf", text(&archive)]);
    check(&restored);
}

#[test]
fn a_copy_of_a_host_at_rest_is_whole() {
    let (there, restored) = (TestDirs::new(), TestDirs::new());
    let (status, _) = filled(&there).close();
    assert!(status.success());
    run("cp", &["-a", &format!("{}/.", text(&there.data())), text(&restored.data())]);
    check(&restored);
}

#[test]
fn a_damaged_copy_is_reported() {
    let (there, restored) = (TestDirs::new(), TestDirs::new());
    filled(&there).close();
    run("cp", &["-a", &format!("{}/.", text(&there.data())), text(&restored.data())]);
    let logs = restored.data().join("boxes/team/.capsol/logs");
    let day = logs.read_dir().unwrap().next().unwrap().unwrap().path();
    let lines = std::fs::read_to_string(&day).unwrap();
    std::fs::write(&day, lines.replacen("docs://entry3", "docs://entry4", 1)).unwrap();
    for command in [&["audit", "verify", "team"][..], &["capsule", "verify"]] {
        let verified = capdeck(&restored).args(command).run();
        assert_eq!(verified.code, Some(1), "{command:?}: {verified:?}");
    }
}

//! The helper process that ends what a killed host leaves behind.

use std::{
    io::Write as _,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    process::{Command, Stdio},
};

#[test]
fn groups_still_listed_end_when_the_pipe_closes() {
    let start = || Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
    let (mut doomed, mut spared) = (start(), start());
    let mut guardian = Command::new(env!("CARGO_BIN_EXE_capdeck"))
        .arg("__guardian")
        .env_clear()
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = guardian.stdin.take().unwrap();
    write!(pipe, "+{}\n+{}\n-{}\n", doomed.id(), spared.id(), spared.id()).unwrap();
    drop(pipe);
    assert_eq!(doomed.wait().unwrap().signal(), Some(15));
    assert!(guardian.wait().unwrap().success());
    assert_eq!(spared.try_wait().unwrap(), None, "a group that was taken back lives on");
    spared.kill().unwrap();
    spared.wait().unwrap();
}

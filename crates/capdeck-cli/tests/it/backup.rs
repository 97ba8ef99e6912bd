//! A copy made with `tar` is enough to go on elsewhere: `docs/guide/backup.md`, done.

use std::{fs, process::Command};

use capdeck_test::TestDirs;

use crate::{capdeck, capsule, json, run};

#[test]
fn a_copy_is_put_back_and_goes_on() {
    let there = capsule::team();
    capsule::write(&there, "docs://deploy", "# Deploy\n\nFirst.\n", &[]).success();
    capsule::write(&there, "docs://deploy", "# Deploy\n\nSecond.\n", &[]).success();
    let archive = there.root().join("copy.tar");
    let made = Command::new("tar").arg("-C").arg(there.data()).arg("-cf").arg(&archive).arg(".");
    assert!(made.status().unwrap().success());
    capsule::write(&there, "docs://deploy", "# Deploy\n\nToo late for the copy.\n", &[]).success();

    let here = TestDirs::new();
    fs::create_dir_all(here.data()).unwrap();
    let unpacked = Command::new("tar").arg("-C").arg(here.data()).arg("-xf").arg(&archive).status();
    assert!(unpacked.unwrap().success());
    run(&here, &["capsule", "verify"]).success();
    run(&here, &["audit", "verify"]).success();
    let read = json(&here, &["capsule", "read", "team", "docs://deploy"]);
    assert_eq!((&read["version"], &read["body"]), (&2.into(), &"# Deploy\n\nSecond.\n".into()));
    let history = json(&here, &["capsule", "history", "team", "docs://deploy"]);
    assert_eq!(history["items"].as_array().map(Vec::len), Some(2), "{history}");
    capsule::write(
        &here,
        "docs://deploy",
        "# Deploy\n\nOn from the copy.\n",
        &["--if-version", "2"],
    )
    .success();
    run(&here, &["audit", "verify"]).success();
}

/// A copy that lost a part says so.
#[test]
fn a_damaged_copy_is_told() {
    let there = capsule::team();
    capsule::write(&there, "docs://deploy", "# Deploy\n\nFirst.\n", &[]).success();
    fs::write(capsule::root(&there).join("knowledge/docs/deploy.md"), "half an ent").unwrap();
    let verified = capdeck(&there).args(["capsule", "verify"]).run();
    assert_ne!(verified.code, Some(0), "{verified:?}");
}

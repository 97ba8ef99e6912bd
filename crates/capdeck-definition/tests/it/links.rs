//! Symbolic links are named and never followed, so a loop cannot hang anything.

use std::{fs, os::unix::fs::symlink};

use crate::folder::{Folder, caplet, codes, ids, quarantined};

#[test]
fn links_are_named_and_never_followed() {
    let folder = Folder::with(&[("good.md", &caplet("good")), ("real/CAPLET.md", &caplet("real"))]);
    symlink(folder.path("good.md"), folder.path("linked.md")).unwrap();
    symlink(folder.path("real"), folder.path("linked-folder")).unwrap();
    symlink(folder.path("loop"), folder.path("loop")).unwrap();
    symlink(folder.dir(), folder.path("self")).unwrap();
    fs::create_dir(folder.path("inside")).unwrap();
    symlink(folder.path("good.md"), folder.path("inside/CAPLET.md")).unwrap();
    let deck = folder.deck();
    assert_eq!(ids(&deck), ["good", "real"]);
    assert_eq!(codes(&deck), ["symlink"; 4]);
    let named: Vec<_> = deck
        .diagnostics
        .iter()
        .map(|found| found.file.strip_prefix(folder.dir()).unwrap().to_str().unwrap())
        .collect();
    assert_eq!(named, ["inside/CAPLET.md", "linked-folder", "linked.md", "loop"]);
}

#[test]
fn a_linked_config_is_an_error() {
    let folder = Folder::with(&[("good.md", &caplet("good")), ("elsewhere.txt", "{}")]);
    symlink(folder.path("elsewhere.txt"), folder.path("config.json")).unwrap();
    let deck = folder.deck();
    assert_eq!(codes(&deck), ["symlink"]);
    assert_eq!(quarantined(&deck), ["config.json"]);
    assert_eq!(ids(&deck), ["good"]);
}

//! `capdeck migrate`: made-up but complete homes of other systems, taken over, used by a client, and put back.

mod capa;
mod caplets;
mod capsol;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use capdeck_test::{CapdeckRun, TestDirs};
use serde_json::Value;

use crate::capdeck;

/// Every file below the folders of the person, with its bytes and its mode. Locks are no content.
fn tree(dirs: &TestDirs) -> Tree {
    fn add(folder: &Path, root: &Path, files: &mut Tree) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let name = path.strip_prefix(root).unwrap().display().to_string();
            if kind.is_dir() {
                add(&path, root, files);
            } else if !name.ends_with("lock") {
                let mode = fs::symlink_metadata(&path).unwrap().permissions().mode();
                let target = fs::read_link(&path).ok();
                let target = target.map(|target| target.as_os_str().as_encoded_bytes().to_vec());
                files.insert(name, (target.unwrap_or_else(|| fs::read(&path).unwrap()), mode));
            }
        }
    }
    let mut files = Tree::new();
    for folder in ["home", "config", "project", "data"] {
        add(&dirs.root().join(folder), dirs.root(), &mut files);
    }
    for folder in ["vault", "auth", "connections", "migrations"] {
        let folder = dirs.state().join(folder);
        if folder.exists() {
            add(&folder, dirs.root(), &mut files);
        }
    }
    files
}

type Tree = BTreeMap<String, (Vec<u8>, u32)>;

/// Compares two states of a home by the names of the files that differ.
fn assert_same(before: &Tree, after: &Tree) {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let is_other = |name: &&&String| before.get(**name) != after.get(**name);
    let other: Vec<&&String> = names.iter().filter(is_other).collect();
    assert!(other.is_empty(), "these differ: {other:#?}");
}

/// The binary with itself on the `PATH`.
fn at_home(dirs: &TestDirs) -> CapdeckRun {
    let bin = dirs.root().join("bin");
    if !bin.exists() {
        fs::create_dir(&bin).unwrap();
        symlink(env!("CARGO_BIN_EXE_capdeck"), bin.join("capdeck")).unwrap();
    }
    capdeck(dirs).env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
}

fn item<'a>(answer: &'a Value, kind: &str, name: &str) -> &'a Value {
    let items = answer["items"][0]["items"].as_array().unwrap();
    let is_it = |item: &&Value| {
        item["kind"] == kind && item["name"].as_str().is_some_and(|found| found.contains(name))
    };
    items.iter().find(is_it).unwrap_or_else(|| panic!("no {kind} {name} in {items:#?}"))
}

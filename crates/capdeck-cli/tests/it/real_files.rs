//! Capability files that others wrote and published: each validates, lists and inspects.

use std::path::PathBuf;

use capdeck_test::TestDirs;

use crate::{json, run};

#[test]
fn every_published_file_works() {
    let caplets = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/caplets");
    let Ok(caplets) = caplets.canonicalize() else {
        println!("skipped: no shared data");
        return;
    };
    let dirs = TestDirs::new();
    let folder = caplets.to_str().unwrap();
    let validated = run(&dirs, &["validate", folder, "--json"]).success().json();
    let warnings = validated["items"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    assert!(warnings[0]["file"].as_str().unwrap().contains("npm"), "{warnings:?}");

    let listed = json(&dirs, &["list", "--config", folder]);
    let listed: Vec<&str> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["id"].as_str().unwrap())
        .collect();
    for entry in
        caplets.read_dir().unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir())
    {
        let id = entry.file_name().into_string().unwrap();
        let children = format!("{id}__");
        assert!(listed.iter().any(|listed| *listed == id || listed.starts_with(&children)), "{id}");
        run(&dirs, &["inspect", &id, "--config", folder]).success();
        run(
            &dirs,
            &["why", listed.iter().find(|one| one.starts_with(&id)).unwrap(), "--config", folder],
        )
        .success();
    }
}

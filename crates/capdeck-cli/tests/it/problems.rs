//! What of a description could not be imported: shown where people look, and nowhere else.

use capdeck_test::TestDirs;
use serde_json::{Value, json};

use crate::{json, run};

/// A description with one good method and two broken ones.
fn document() -> Value {
    let method = |path: &str| json!({"id": "things.get", "httpMethod": "GET", "path": path});
    json!({
        "kind": "discovery#restDescription", "name": "thing", "version": "v1",
        "rootUrl": "http://127.0.0.1:9/", "servicePath": "v1/",
        "resources": {"things": {"methods": {
            "get": method("things"),
            "hole": {"id": "things.hole", "httpMethod": "GET", "path": "x/{y"},
            "verb": {"id": "things.verb", "httpMethod": "FETCH", "path": "x"},
        }}},
    })
}

fn file(name: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Things of the test API.\ngoogleDiscoveryApi:\n  discoveryPath: ./things.json\n  \
         auth:\n    type: bearer\n    token: ${{NOT_SET_ANYWHERE}}\n---\n"
    )
}

fn with_things() -> TestDirs {
    let dirs = TestDirs::new();
    dirs.write("config/things.json", document().to_string());
    dirs.write("config/things.md", file("Things").replace("${NOT_SET_ANYWHERE}", "plain"));
    dirs
}

#[test]
fn validate_names_what_a_local_description_lacks_and_does_not_fail() {
    let dirs = with_things();
    // What is imported needs no credential.
    dirs.write("config/things.md", file("Things"));
    let path = dirs.config().join("things.md");
    for words in [&["validate"][..], &["validate", path.to_str().unwrap()]] {
        let finished = run(&dirs, words);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        for said in [
            "warning[not-imported]: `things` does not import things.hole",
            "things.verb",
            "things.json",
        ] {
            assert!(finished.stdout.contains(said), "{said}: {}", finished.stdout);
        }
        assert!(finished.stderr.contains("with 2 warnings"), "{}", finished.stderr);
    }
    let items = json(&dirs, &["validate"])["items"].clone();
    assert_eq!(
        (&items[0]["severity"], &items[0]["code"]),
        (&json!("warning"), &json!("not-imported"))
    );

    dirs.write("config/things.json", "{ not json");
    let finished = run(&dirs, &["validate"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stdout.contains("nothing of `things` can be imported"), "{}", finished.stdout);
}

#[test]
fn everywhere_else_they_are_counted_and_why_lists_them() {
    let dirs = with_things();
    let checked = json(&dirs, &["check", "things"]);
    let report = &checked["items"][0];
    assert_eq!((&report["toolCount"], &report["importProblems"]), (&json!(1), &json!(2)));
    let table = run(&dirs, &["check", "things"]).success().stdout;
    assert!(
        table.contains("2 operations could not be imported; see: capdeck why things"),
        "{table}"
    );

    let listed = run(&dirs, &["list"]).success().stderr;
    assert!(
        listed.contains("`things`: 2 parts could not be imported; see: capdeck why things"),
        "{listed}"
    );
    assert_eq!(json(&dirs, &["list"])["items"][0]["importProblems"], 2);
    let card = run(&dirs, &["inspect", "things"]).success().stdout;
    assert!(card.contains("2 parts could not be imported: capdeck why things"), "{card}");
    assert_eq!(json(&dirs, &["inspect", "things"])["importProblems"], 2);

    let why = run(&dirs, &["why", "things"]).success().stdout;
    for said in ["2 parts could not be imported", "things.hole: ", "things.verb: "] {
        assert!(why.contains(said), "{said}: {why}");
    }
    let problems = json(&dirs, &["why", "things"])["problems"].clone();
    assert_eq!((problems.as_array().unwrap().len(), problems[0]["reason"].is_string()), (2, true));
}

#[test]
fn a_set_tells_of_its_members() {
    let dirs = TestDirs::new();
    let set = "---\nname: Kit\ndescription: A set of the test.\ncapletSet:\n  capletsRoot: ./members\n---\n";
    dirs.write("config/kit/CAPLET.md", set);
    dirs.write("config/kit/members/things.json", document().to_string());
    dirs.write(
        "config/kit/members/things.md",
        file("Things").replace("${NOT_SET_ANYWHERE}", "plain"),
    );
    dirs.write("config/kit/members/broken.md", "---\nname: Broken\n---\n");
    run(&dirs, &["check", "kit__things"]).success();
    let problems = json(&dirs, &["why", "kit"])["problems"].clone();
    let places: Vec<&str> =
        problems.as_array().unwrap().iter().map(|one| one["place"].as_str().unwrap()).collect();
    assert_eq!(places, ["things: things.hole", "things: things.verb", "broken"]);
}

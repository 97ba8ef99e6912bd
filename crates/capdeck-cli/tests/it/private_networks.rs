//! APIs in private networks: refused until a file, a deck or a person opens them, and never called available before.

use capdeck_test::TestDirs;
use serde_json::{Value, json};

use crate::{json, run};

fn api(address: &str) -> String {
    format!(
        "---\nname: Wiki\ndescription: The wiki of the office.\nhttpApi:\n  baseUrl: {address}\n  auth: {{type: none}}\n  actions:\n    read: {{method: GET, path: /}}\n---\n"
    )
}

fn check(dirs: &TestDirs) -> Value {
    run(dirs, &["check", "wiki", "--json"]).json()["items"][0].clone()
}

#[test]
fn what_would_be_denied_is_not_called_available() {
    let dirs = TestDirs::new();
    for address in ["https://10.11.12.13", "https://wiki.localhost"] {
        let path = dirs.write("config/wiki.md", api(address));
        let checked = check(&dirs);
        assert_eq!(checked["status"], "unavailable", "{checked}");
        assert_eq!(checked["error"]["code"], "DENIED", "{checked}");
        let expected = format!(
            "if the service is yours, add `network: private` to `httpApi` in {}; for the whole deck set `options.network` in its config file",
            path.canonicalize().unwrap().display()
        );
        let hint = checked["error"]["hint"].as_str().unwrap();
        assert!(hint == expected || hint.ends_with("in its config file"), "{hint}");
    }
    dirs.write("config/wiki.md", api("https://10.11.12.13"));
    let found = json(&dirs, &["validate"]);
    assert_eq!(found["items"][0]["code"], "private-address", "{found}");
}

#[test]
fn a_deck_opens_private_networks_for_its_own_files() {
    let dirs = TestDirs::new();
    dirs.write("config/wiki.md", api("https://10.11.12.13"));
    dirs.write_config(&json!({"options": {"network": "private"}}));
    assert_eq!(check(&dirs)["status"], "available");
    assert_eq!(json(&dirs, &["validate"])["items"], json!([]));

    // A file that says `public` stays there.
    let public = api("https://10.11.12.13").replace("  auth:", "  network: public\n  auth:");
    dirs.write("config/wiki.md", public);
    assert_eq!(check(&dirs)["status"], "unavailable");
}

#[test]
fn a_person_opens_private_networks_for_a_project() {
    let dirs = TestDirs::new();
    dirs.write("project/.capdeck/wiki.md", api("https://10.11.12.13"));
    // What the person's deck may do is not for the project.
    dirs.write_config(&json!({"options": {"network": "private"}}));
    run(&dirs, &["trust", "--yes"]).success();
    let checked = check(&dirs);
    assert_eq!(checked["status"], "unavailable", "{checked}");
    let hint = checked["error"]["hint"].as_str().unwrap();
    assert!(hint.ends_with("; for the whole project run: capdeck trust --network"), "{hint}");

    let trusted = json(&dirs, &["trust", "--yes", "--network"]);
    assert_eq!(trusted["privateNetworks"], true);
    assert_eq!(check(&dirs)["status"], "available");
    // It holds for the changed files of the same project, and ends with the trust.
    dirs.write("project/.capdeck/wiki.md", api("https://10.11.12.14"));
    assert_eq!(check(&dirs)["error"]["code"], "DENIED");
    assert_eq!(json(&dirs, &["trust", "--yes"])["privateNetworks"], true);
    assert_eq!(check(&dirs)["status"], "available");
    run(&dirs, &["untrust"]).success();
    run(&dirs, &["trust", "--yes"]).success();
    assert_eq!(check(&dirs)["status"], "unavailable");
}

#[test]
fn places_in_config_files_and_plural_files_are_named() {
    let dirs = TestDirs::new();
    let block = json!({"baseUrl": "https://10.0.0.1", "auth": {"type": "none"}, "actions": {"read": {"method": "GET", "path": "/"}}});
    let mut entry = block.clone();
    entry["name"] = json!("Wiki");
    entry["description"] = json!("The wiki of the office.");
    dirs.write_config(&json!({"httpApis": {"wiki": entry}}));
    let hint = check(&dirs)["error"]["hint"].to_string();
    assert!(hint.contains("add `network: private` to `httpApis.wiki` in "), "{hint}");

    dirs.write_config(&json!({}));
    dirs.write(
        "config/office.md",
        format!(
            "---\nname: Office\ndescription: All of the office.\nhttpApis: {}\n---\n",
            json!({"wiki": block})
        ),
    );
    let checked = run(&dirs, &["check", "office__wiki", "--json"]).json();
    let hint = checked["items"][0]["error"]["hint"].to_string();
    assert!(hint.contains("add `network: private` to `httpApis.wiki` in "), "{hint}");
}

//! Which folders are read: user decks, projects, and the variables that name them.

use capdeck_test::TestDirs;

use crate::{capdeck, echo_file, json};

fn ids(finished: capdeck_test::CapdeckOutput) -> Vec<String> {
    let listed = finished.success().json();
    listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_named_deck_is_the_only_user_deck() {
    let dirs = TestDirs::new();
    dirs.write("home/.config/capdeck/own.md", echo_file("Own"));
    dirs.write("home/.config/caplets/older.md", echo_file("Older"));
    dirs.write("other/flag.md", echo_file("Flag"));
    dirs.write("config/variable.md", echo_file("Variable"));
    let list = || capdeck(&dirs).args(["list", "--json"]);
    assert_eq!(ids(list().env("CAPDECK_CONFIG_DIR", "").run()), ["older", "own"]);
    assert_eq!(ids(list().run()), ["variable"]);
    assert_eq!(ids(list().args(["--config", "../other"]).run()), ["flag"]);
}

#[test]
fn an_existing_caplets_deck_lies_below() {
    let dirs = TestDirs::new();
    dirs.write("home/.config/capdeck/same.md", echo_file("Upper"));
    dirs.write("home/.config/caplets/same.md", echo_file("Lower"));
    let listed = capdeck(&dirs)
        .args(["list", "--json"])
        .env("CAPDECK_CONFIG_DIR", "")
        .run()
        .success()
        .json();
    assert_eq!(listed["items"][0]["name"], "Upper");
    assert!(listed["items"][0]["shadows"][0]["path"].as_str().unwrap().contains("/caplets/"));

    dirs.write("moved/config.json", "{}");
    dirs.write("moved/elsewhere.md", echo_file("Elsewhere"));
    let moved = capdeck(&dirs)
        .args(["list", "--json"])
        .env("CAPDECK_CONFIG_DIR", "")
        .env("CAPLETS_CONFIG", dirs.root().join("moved/config.json"));
    assert_eq!(ids(moved.run()), ["elsewhere", "same"]);
}

#[test]
fn a_project_is_found_from_below_and_by_name() {
    let dirs = TestDirs::new();
    dirs.write("project/.caplets/echo.md", echo_file("Echo"));
    dirs.write("project/deep/er/.keep", "");
    let list = || capdeck(&dirs).args(["list", "--all", "--json"]);
    let below = dirs.project().join("deep/er");
    for command in [
        list().current_dir(&below),
        list().current_dir(dirs.root()).args(["--project", "project"]),
        list()
            .current_dir(dirs.root())
            .env("CAPLETS_PROJECT_CONFIG", dirs.project().join(".caplets/config.json")),
    ] {
        assert_eq!(ids(command.run()), ["echo"]);
    }
}

#[test]
fn a_repository_is_a_project_for_what_is_bound_to_one() {
    let dirs = TestDirs::new();
    let bound =
        echo_file("Bound").replace("cliTools", "projectBinding: { required: true }\ncliTools");
    dirs.write(
        "config/bound.md",
        bound.replace("command: echo", "command: pwd").replace("args: [$input.text]", "args: []"),
    );
    assert_eq!(json(&dirs, &["list"])["items"][0]["status"], "hidden");
    dirs.write("project/.git/HEAD", "");
    dirs.write("project/src/.keep", "");
    let called = capdeck(&dirs)
        .current_dir(dirs.project().join("src"))
        .args(["call", "bound.say", "text=x"])
        .run();
    let root = dirs.project().canonicalize().unwrap();
    assert_eq!(called.success().stdout.trim_end(), root.to_str().unwrap());
}

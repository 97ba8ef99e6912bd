//! A catalogue of Caplets, as a repository: packages, and a set whose members are links to them.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use capdeck_test::TestDirs;
use serde_json::{Value, json};

use crate::{capdeck, echo_file, json as run_json, run};

/// A set of the folder `caplets` beside it.
const SET: &str = "---\nname: Kit\ndescription: Several capabilities in one.\ncapletSet:\n  capletsRoot: ./caplets\n---\n";

/// Makes a repository of a folder, and returns its address.
fn repository(dirs: &TestDirs) -> String {
    let folder = dirs.root().join("catalogue");
    for words in [&["init", "-q", "-b", "main"][..], &["add", "-A"], &["commit", "-q", "-m", "one"]]
    {
        let output = Command::new("git")
            .args(["-c", "user.name=Test", "-c", "user.email=test@example.com"])
            .args(words)
            .current_dir(&folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    format!("file://{}", folder.display())
}

/// Adds a set to the catalogue, whose members are links to packages beside it.
fn add_set(dirs: &TestDirs, members: &[&str]) {
    dirs.write("catalogue/caplets/kit/CAPLET.md", SET);
    let folder = dirs.root().join("catalogue/caplets/kit/caplets");
    fs::create_dir(&folder).unwrap();
    for member in members {
        symlink(format!("../../{member}"), folder.join(member)).unwrap();
    }
}

fn count_links(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let count = |entry: fs::DirEntry| {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() { count_links(&entry.path()) } else { usize::from(kind.is_symlink()) }
    };
    entries.map(count).sum()
}

#[test]
fn a_catalogue_installs_whole_and_its_set_is_used() {
    let dirs = TestDirs::new();
    dirs.write("catalogue/caplets/echo/CAPLET.md", echo_file("Echo"));
    dirs.write("catalogue/caplets/echo/notes.txt", "beside it");
    dirs.write("catalogue/caplets/other/CAPLET.md", echo_file("Other"));
    dirs.write("catalogue/README.md", "# A catalogue\n");
    add_set(&dirs, &["echo", "other"]);
    let address = repository(&dirs);
    let got = run_json(&dirs, &["get", &address, "--yes"]);
    let written = got["items"].as_array().unwrap().iter().filter(|item| item["written"] == true);
    assert_eq!(written.count(), 3, "{got:#}");
    assert_eq!(count_links(&dirs.config()), 0);
    fs::remove_dir_all(dirs.root().join("catalogue")).unwrap();

    let mut client = capdeck(&dirs).serve(&["--exposure", "direct"]);
    client.initialize();
    let through = json!({ "operation": "call_tool", "name": "say", "args": { "text": "hello" } });
    for (tool, arguments) in [
        ("echo__say", json!({ "text": "hello" })),
        ("kit__echo", through.clone()),
        ("kit__other", through),
    ] {
        let called = client.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert!(called["result"].to_string().contains("hello"), "{tool}: {called}");
    }
    client.close();
}

#[test]
fn a_link_that_leaves_the_catalogue_takes_nothing_in() {
    let dirs = TestDirs::new();
    dirs.write("outside/secret.txt", "canary");
    dirs.write("catalogue/caplets/echo/CAPLET.md", echo_file("Echo"));
    add_set(&dirs, &["echo"]);
    let link = dirs.root().join("catalogue/caplets/kit/caplets/out");
    symlink(dirs.root().join("outside"), link).unwrap();
    let address = repository(&dirs);
    let refused = run(&dirs, &["get", &address, "--yes"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("leads out of the source"), "{}", refused.stderr);
    assert_eq!(fs::read_dir(dirs.config()).unwrap().count(), 0);
}

#[test]
fn a_set_whose_members_cannot_be_read_is_not_available() {
    let dirs = TestDirs::new();
    dirs.write("elsewhere/echo/CAPLET.md", echo_file("Echo"));
    dirs.write("config/kit/CAPLET.md", SET);
    fs::create_dir(dirs.config().join("kit/caplets")).unwrap();
    symlink(dirs.root().join("elsewhere/echo"), dirs.config().join("kit/caplets/echo")).unwrap();
    let listed = run_json(&dirs, &["list", "--all"]);
    let items = listed["items"].as_array().unwrap();
    let kit: &Value = items.iter().find(|item| item["id"] == "kit").unwrap();
    assert_ne!(kit["status"], "available", "{kit:#}");
    let why = run(&dirs, &["why", "kit"]);
    let said = format!("{}{}", why.stdout, why.stderr);
    assert!(said.contains("none of the members of this set can be used"), "{said}");
}

/// The public Caplets that lie beside the checkout on some machines.
fn public_caplets() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|folder| folder.join("shared/data/caplets"));
    folder.into_iter().find(|folder| folder.is_dir())
}

#[test]
fn the_public_caplets_install_from_a_repository_of_the_same_layout() {
    let Some(source) = public_caplets() else {
        println!("skipped: no shared data");
        return;
    };
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
            let place = to.join(entry.file_name());
            match entry.file_type().unwrap().is_dir() {
                true => copy(&entry.path(), &place),
                false => fs::write(&place, fs::read(entry.path()).unwrap()).unwrap(),
            }
        }
    }
    let dirs = TestDirs::new();
    let folder = dirs.root().join("catalogue/caplets");
    copy(&source, &folder);
    let is_package = |entry: &fs::DirEntry| entry.path().join("CAPLET.md").is_file();
    let packages = fs::read_dir(&folder).unwrap().map(Result::unwrap).filter(is_package).count();
    let members = ["context7", "deepwiki", "lsp", "npm", "osv", "playwright", "pypi", "repo-cli"];
    let members = members.into_iter().filter(|id| folder.join(id).is_dir()).collect::<Vec<_>>();
    add_set(&dirs, &members);
    let got = run_json(&dirs, &["get", &repository(&dirs), "--yes"]);
    let written = got["items"].as_array().unwrap().iter().filter(|item| item["written"] == true);
    assert_eq!(written.count(), packages + 1, "{got:#}");
    let listed = run_json(&dirs, &["list", "--all"]);
    let ids: Vec<&str> =
        listed["items"].as_array().unwrap().iter().filter_map(|item| item["id"].as_str()).collect();
    for member in members {
        let id = format!("kit__{member}");
        assert!(ids.contains(&id.as_str()), "{id} in {ids:?}");
    }
}

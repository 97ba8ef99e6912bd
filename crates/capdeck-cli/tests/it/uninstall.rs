//! `capdeck uninstall`: what was written goes, and agents' files are as they were.

use std::fs;

use capdeck_test::{CapdeckRun, TestDirs};

use crate::{capdeck, echo_file, run};

/// The binary with the usual folders below the home.
fn at_home(dirs: &TestDirs) -> CapdeckRun {
    let home = |name: &str| dirs.home().join(name).join("capdeck");
    capdeck(dirs)
        .env("PATH", "/usr/bin:/bin")
        .env("CAPDECK_CONFIG_DIR", home(".config"))
        .env("CAPDECK_STATE_DIR", home(".state"))
        .env("CAPDECK_CACHE_DIR", home(".cache"))
        .env("CAPDECK_DATA_DIR", home(".data"))
}

#[test]
fn everything_goes_and_agents_have_their_former_files() {
    let dirs = TestDirs::new();
    fs::create_dir_all(dirs.project().join(".git")).unwrap();
    let before = "{\n  // mine\n  \"mcpServers\": { \"a\": { \"command\": \"x\" } }\n}\n";
    let file = dirs.write("home/.cursor/mcp.json", before);
    dirs.write("home/.config/other.txt", "not ours");
    at_home(&dirs).args(["import", "cursor", "--replace"]).run().success();
    at_home(&dirs).args(["connect", "codex", "claude-code"]).run().success();
    at_home(&dirs).args(["capsule", "new", "notes"]).run().success();
    at_home(&dirs).args(["vault", "set", "KEY"]).stdin("canary-4711").run().success();
    let listed = at_home(&dirs).args(["uninstall", "--dry-run"]).run().success();
    for line in
        ["Cursor: the entry `capdeck` in", ".codex/config.toml, which was made for the entry"]
    {
        assert!(listed.stdout.contains(line), "{}", listed.stdout);
    }
    for folder in [".config", ".state", ".data"] {
        let folder = dirs.home().join(folder).join("capdeck");
        assert!(listed.stdout.contains(folder.to_str().unwrap()), "{}", listed.stdout);
        assert!(folder.is_dir());
    }
    let refused = at_home(&dirs).args(["uninstall"]).run();
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("capdeck uninstall --yes"), "{}", refused.stderr);
    let done = at_home(&dirs).args(["uninstall", "--yes"]).run().success();
    assert!(done.stderr.contains("The program itself goes with: "), "{}", done.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    assert!(!dirs.home().join(".codex").exists() && !dirs.project().join(".mcp.json").exists());
    for folder in [".config", ".state", ".cache", ".data"] {
        assert!(!dirs.home().join(folder).join("capdeck").exists(), "{folder}");
    }
    assert!(dirs.home().join(".config/other.txt").exists());
    let again = at_home(&dirs).args(["uninstall", "--yes"]).run().success();
    assert!(again.stderr.contains("nothing to remove"), "{}", again.stderr);
}

#[test]
fn data_and_a_deck_in_a_folder_of_its_own_stay() {
    let dirs = TestDirs::new();
    dirs.write("config/echo.md", echo_file("Echo"));
    dirs.write("cache/x", "x");
    let kept = run(&dirs, &["uninstall", "--yes", "--keep-data", "--json"]).success().json();
    let items = kept["items"].as_array().unwrap();
    let removed: Vec<bool> = items.iter().map(|item| item["removed"] == true).collect();
    assert_eq!(removed, [true, false, false, false], "{kept}");
    assert!(!dirs.cache().exists() && dirs.state().exists() && dirs.data().exists());
    let listed = run(&dirs, &["uninstall", "--yes"]).success();
    assert!(listed.stdout.contains("a folder of your own choice"), "{}", listed.stdout);
    assert!(dirs.config().join("echo.md").exists() && !dirs.state().exists());
}

//! `capdeck validate`: many problems at once, each with a place and a fix.

use std::{fs, os::unix::fs::symlink};

use capdeck_test::TestDirs;
use serde_json::json;

use crate::{echo_file, run, shown};

#[test]
fn problems_are_shown_like_a_compilers() {
    let dirs = TestDirs::new();
    dirs.write(
        "config/time.md",
        "---\nname: Time\ndescription: Tells the time of day.\nmcpServer:\n  comand: uvx\n  args: [mcp-server-time]\n---\n",
    );
    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["validate"])), @r"
    exit 1
    --- stdout
    error[unknown-key]: unknown key `comand` in `mcpServer`
     --> [ROOT]/config/time.md:5:3
      |
    5 |   comand: uvx
      |   ^^^^^^
      = fix: did you mean `command`?
    --- stderr
    1 error; 0 capabilities OK
    ");
}

#[test]
fn a_view_names_what_the_deck_has() {
    let dirs = TestDirs::new();
    dirs.write("config/github.md", echo_file("GitHub"));
    dirs.write("config/config.yaml", "views:\n  reader:\n    capabilities: [gitub, git*]\n");
    insta::assert_snapshot!(shown(&dirs, &run(&dirs, &["validate"])), @r"
    exit 1
    --- stdout
    error[unknown-in-view]: the view `reader` names `gitub`, which the deck does not have
     --> [ROOT]/config/config.yaml:3:20
      |
    3 |     capabilities: [gitub, git*]
      |                    ^^^^^
      = fix: did you mean `github`? Correct it in the config
    --- stderr
    1 error; 1 capability OK
    ");
}

#[test]
fn an_item_has_exactly_the_promised_members() {
    let dirs = TestDirs::new();
    let file = dirs.write("bad.md", "---\nname: A\ndescription: Ten letters and more.\nmcpServer:\n  command: x\n  nope: 1\n---\n");
    let finished = run(&dirs, &["validate", file.to_str().unwrap(), "--json"]);
    assert_eq!(finished.code, Some(1));
    let answer = finished.json();
    let item = answer["items"][0].as_object().unwrap();
    let keys: Vec<_> = item.keys().map(String::as_str).collect();
    assert!(
        keys == ["file", "line", "column", "severity", "code", "message", "fix"]
            || keys == ["file", "line", "column", "severity", "code", "message"],
        "{keys:?}"
    );
    assert_eq!(
        (&item["file"], &item["line"], &item["severity"]),
        (&json!(file), &json!(6), &json!("error"))
    );
    assert_eq!(item["code"], "unknown-key");
}

#[test]
fn a_sound_deck_is_exit_0() {
    let dirs = TestDirs::new();
    let file = dirs.write("config/echo.md", echo_file("Echo"));
    let finished = run(&dirs, &["validate"]);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), ""));
    assert_eq!(finished.stderr, "1 capability OK\n");
    assert_eq!(
        run(&dirs, &["validate", file.to_str().unwrap(), "--json"]).success().json(),
        json!({"items": []})
    );
}

#[test]
fn what_cannot_be_read_is_a_problem_of_that_path() {
    let dirs = TestDirs::new();
    let other = dirs.write("notes.txt", "x");
    for path in ["nowhere.md", other.to_str().unwrap()] {
        let finished = run(&dirs, &["validate", path, "--json"]);
        assert_eq!(finished.code, Some(1), "{path}");
        assert_eq!(finished.json()["items"].as_array().unwrap().len(), 1, "{path}");
    }
}

/// Each hostile file costs its own entry and nothing else, quickly.
#[test]
fn hostile_files_are_one_problem_each() {
    let dirs = TestDirs::new();
    dirs.write("config/good.md", echo_file("Good"));
    dirs.write("config/none.md", "just text\n");
    dirs.write("config/empty.md", "");
    dirs.write("config/binary.md", [0xff_u8, 0xfe, 0x00, 0x80]);
    dirs.write("config/bomb.md", bomb());
    dirs.write("config/deep.md", format!("---\nname: {}\n---\n", "[".repeat(5_000)));
    dirs.write("config/bom.md", format!("\u{feff}{}", echo_file("Bom")));
    dirs.write("config/crlf.md", echo_file("Crlf").replace('\n', "\r\n"));
    let huge = fs::File::create(dirs.config().join("huge.md")).unwrap();
    huge.set_len(200 << 20).unwrap();
    symlink("loop", dirs.config().join("loop")).unwrap();
    dirs.write("config/cycle.md", "---\nname: Cycle\ndescription: A set that holds itself.\ncapletSet: { capletsRoot: . }\n---\n");
    dirs.write(
        "config/unknown.md",
        echo_file("Unknown").replace("cliTools", "surprise: 1\ncliTools"),
    );

    let finished = run(&dirs, &["validate", "--json"]);
    assert_eq!(finished.code, Some(1));
    let answer = finished.json();
    let broken: Vec<String> = answer["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["severity"] == "error")
        .map(|item| item["file"].as_str().unwrap().rsplit('/').next().unwrap().to_owned())
        .collect();
    for name in [
        "none.md",
        "empty.md",
        "binary.md",
        "bomb.md",
        "deep.md",
        "huge.md",
        "cycle.md",
        "unknown.md",
    ] {
        assert!(broken.iter().any(|file| file == name), "{name} is not among {broken:?}");
    }
    for name in ["good.md", "bom.md", "crlf.md"] {
        assert!(!broken.iter().any(|file| file == name), "{name} is sound");
    }
    // The text form quotes the same files without reading what is too large.
    let text = run(&dirs, &["validate"]);
    assert_eq!(text.code, Some(1));
    let listed = run(&dirs, &["list", "--json"]).success().json();
    let ids: Vec<_> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["bom", "crlf", "good"]);
}

/// YAML aliases that would unfold to billions of nodes.
fn bomb() -> String {
    let mut text = "---\na0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let before = format!("*a{}, ", level - 1).repeat(9);
        text.push_str(&format!("a{level}: &a{level} [{}]\n", before.trim_end_matches(", ")));
    }
    text + "---\n"
}

#[test]
fn a_set_may_name_the_folder_one_stands_in() {
    let dirs = TestDirs::new();
    let text =
        "---\nname: Set\ndescription: A nested collection.\ncapletSet:\n  capletsRoot: .\n---\n";
    dirs.write("project/set.md", text);
    let answer = run(&dirs, &["validate", "set.md", "--json"]).json();
    assert_eq!(answer["items"][0]["code"], "cyclic-set", "{answer}");
}

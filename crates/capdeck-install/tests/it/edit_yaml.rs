//! YAML: block and flow style, with comments and line ends as they were.

use capdeck_install::{ConfigDocument, EditError, FileFormat, keys};
use serde_json::json;

use crate::edited;

fn set(text: &str) -> String {
    edited(text, FileFormat::Yaml, |document| {
        let value = json!({ "cmd": "x", "args": ["a"], "envs": {}, "on": true });
        document.set(&keys(&["extensions", "deck"]), value).map(drop)
    })
}

fn remove(text: &str) -> String {
    edited(text, FileFormat::Yaml, |document| {
        document.remove(&keys(&["extensions", "deck"])).map(drop)
    })
}

const ENTRY: &str = "  deck:\n    cmd: x\n    args:\n      - a\n    envs: {}\n    \"on\": true\n";

#[test]
fn an_entry_is_added_in_the_layout_of_the_file() {
    for (before, after) in [
        (String::new(), format!("extensions:\n{ENTRY}")),
        ("# words\n".to_owned(), format!("# words\nextensions:\n{ENTRY}")),
        ("---\n".to_owned(), format!("---\nextensions:\n{ENTRY}")),
        ("a: 1".to_owned(), format!("a: 1\nextensions:\n{}", ENTRY.trim_end())),
        (
            "extensions:\n  a: {}  # a\n\n# end\nz: |\n  text\n\n".to_owned(),
            format!("extensions:\n  a: {{}}  # a\n{ENTRY}\n# end\nz: |\n  text\n\n"),
        ),
        (
            "extensions:\r\n  a:\r\n    b: 1\r\nz: 1\r\n".to_owned(),
            format!("extensions:\r\n  a:\r\n    b: 1\r\n{}z: 1\r\n", ENTRY.replace('\n', "\r\n")),
        ),
        ("extensions: # none\n".to_owned(), format!("extensions: # none\n{ENTRY}")),
        ("extensions:\nz: 1\n".to_owned(), format!("extensions:\n{ENTRY}z: 1\n")),
        (
            "extensions: {}\n".to_owned(),
            "extensions: { deck: { cmd: x, args: [a], envs: {}, \"on\": true } }\n".to_owned(),
        ),
        (
            "extensions: {a: {b: 1}} # c\n".to_owned(),
            "extensions: {a: {b: 1}, deck: { cmd: x, args: [a], envs: {}, \"on\": true }} # c\n"
                .to_owned(),
        ),
    ] {
        assert_eq!(set(&before), after, "{before:?}");
        assert_eq!(set(&after), after, "a second time changes nothing");
    }
}

#[test]
fn an_entry_is_replaced_and_taken_out() {
    for (before, replaced, removed) in [
        (
            "extensions:\n  a: 1\n  deck:\n    old: true # o\n  # about z\n  z: 1\n",
            format!("extensions:\n  a: 1\n{} # o\n  # about z\n  z: 1\n", ENTRY.trim_end()),
            "extensions:\n  a: 1\n  # about z\n  z: 1\n",
        ),
        (
            "extensions:\n  deck: 1",
            format!("extensions:\n{}", ENTRY.trim_end()),
            "extensions: {}\n",
        ),
        (
            "b: 2\nextensions:\n  c: 1\n  deck: 1",
            format!("b: 2\nextensions:\n  c: 1\n{}", ENTRY.trim_end()),
            "b: 2\nextensions:\n  c: 1",
        ),
    ] {
        assert_eq!(set(before), replaced, "{before:?}");
        assert_eq!(remove(before), removed, "{before:?}");
    }
}

#[test]
fn items_of_lists_come_and_go() {
    let list = keys(&["hooks"]);
    let push = |text: &str| {
        edited(text, FileFormat::Yaml, |document| {
            document.push(&list, json!({ "name": "ours", "n": 1 }))
        })
    };
    let ours = |document: &mut ConfigDocument| {
        document.remove_items(&list, |item| item["name"] == "ours").map(drop)
    };
    for (before, after) in [
        (
            "hooks:\n- name: theirs # t\nz: 1\n",
            "hooks:\n- name: theirs # t\n- name: ours\n  \"n\": 1\nz: 1\n",
        ),
        ("hooks: [1]\n", "hooks: [1, { name: ours, \"n\": 1 }]\n"),
        ("hooks: []\n", "hooks: [{ name: ours, \"n\": 1 }]\n"),
    ] {
        assert_eq!(push(before), after, "{before:?}");
        assert_eq!(edited(after, FileFormat::Yaml, ours), before, "{after:?}");
    }
}

#[test]
fn what_cannot_be_edited_safely_is_left_alone() {
    // The alias would lose its value.
    let text = "base:\n  deck: &it\n    a: 1\nother: *it\n";
    let mut document = ConfigDocument::parse(text, FileFormat::Yaml).unwrap();
    let refused = document.remove(&keys(&["base", "deck"])).unwrap_err();
    assert_eq!(refused, EditError::Unsafe { at: "base.deck".to_owned() });
    assert_eq!(document.text(), text);
}

#[test]
fn broken_texts_are_reported_with_their_place() {
    for (text, line) in
        [("a: 1\n b: 2\n", 2), ("a: [1\n", 1), ("a: 1\n---\nb: 2\n", 2), ("a: *x\n", 1)]
    {
        let error = ConfigDocument::parse(text, FileFormat::Yaml).unwrap_err();
        assert_eq!(error.line, line, "{error}");
    }
    let laughs = (0..20).fold("a0: &a0 [x, x]\n".to_owned(), |text, n| {
        format!("{text}a{0}: &a{0} [*a{n}, *a{n}]\n", n + 1)
    });
    let error = ConfigDocument::parse(&laughs, FileFormat::Yaml).unwrap_err();
    assert_eq!(error.message, "the aliases expand to too much");
}

//! JSON with comments: what an edit leaves as it was, and how new parts look.

use capdeck_install::{ConfigDocument, DocumentStep, EditError, FileFormat, keys};
use serde_json::json;

use crate::edited;

fn set(text: &str) -> String {
    edited(text, FileFormat::Json, |document| {
        document
            .set(&keys(&["servers", "deck"]), json!({ "command": "x", "args": ["a"] }))
            .map(drop)
    })
}

fn remove(text: &str) -> String {
    edited(text, FileFormat::Json, |document| {
        document.remove(&keys(&["servers", "deck"])).map(drop)
    })
}

#[test]
fn an_entry_is_added_in_the_layout_of_the_file() {
    for (before, after) in [
        (
            "",
            "{\n  \"servers\": {\n    \"deck\": {\n      \"command\": \"x\",\n      \"args\": [\"a\"]\n    }\n  }\n}\n",
        ),
        (
            "{}",
            "{\n  \"servers\": {\n    \"deck\": {\n      \"command\": \"x\",\n      \"args\": [\"a\"]\n    }\n  }\n}",
        ),
        (
            "{\"servers\":{\"a\":{}}}",
            "{\"servers\":{\"a\":{},\"deck\":{\"command\":\"x\",\"args\":[\"a\"]}}}",
        ),
        ("{\"servers\": {}}", "{\"servers\": {\"deck\":{\"command\":\"x\",\"args\":[\"a\"]}}}"),
        (
            "{\r\n\t\"servers\": {\r\n\t\t\"a\": 1 // one\r\n\t\t// two\r\n\t},\r\n\t\"z\": 0,\r\n}\r\n",
            "{\r\n\t\"servers\": {\r\n\t\t\"a\": 1, // one\r\n\t\t\"deck\": {\r\n\t\t\t\"command\": \"x\",\r\n\t\t\t\"args\": [\"a\"]\r\n\t\t}\r\n\t\t// two\r\n\t},\r\n\t\"z\": 0,\r\n}\r\n",
        ),
        (
            "{\n    \"servers\": {\n        \"a\": 1, /* x */ // y\n    }\n}",
            "{\n    \"servers\": {\n        \"a\": 1, /* x */ // y\n        \"deck\": {\n            \"command\": \"x\",\n            \"args\": [\"a\"]\n        },\n    }\n}",
        ),
        (
            "// only words\n",
            "// only words\n{\n  \"servers\": {\n    \"deck\": {\n      \"command\": \"x\",\n      \"args\": [\"a\"]\n    }\n  }\n}\n",
        ),
        (
            "{\n  \"servers\": {\n    // none yet\n  }\n}",
            "{\n  \"servers\": {\n    // none yet\n    \"deck\": {\n      \"command\": \"x\",\n      \"args\": [\"a\"]\n    }\n  }\n}",
        ),
        (
            "{\n  \"servers\": null\n}",
            "{\n  \"servers\": {\n    \"deck\": {\n      \"command\": \"x\",\n      \"args\": [\"a\"]\n    }\n  }\n}",
        ),
    ] {
        assert_eq!(set(before), after, "{before:?}");
    }
}

#[test]
fn an_entry_is_replaced_and_nothing_else() {
    let before =
        "\u{feff}{\"servers\": {\n  \"deck\": { \"old\": true }, // mine\n  \"b\": [1,2]}}";
    let after = "\u{feff}{\"servers\": {\n  \"deck\": {\n    \"command\": \"x\",\n    \"args\": [\"a\"]\n  }, // mine\n  \"b\": [1,2]}}";
    assert_eq!(set(before), after);
    assert_eq!(set(after), after, "a second time changes nothing");
}

#[test]
fn an_entry_is_taken_out_with_its_comma() {
    for (before, after) in [
        ("{\"servers\":{\"a\":1,\"deck\":2}}", "{\"servers\":{\"a\":1}}"),
        ("{\"servers\":{\"deck\":2, \"a\":1}}", "{\"servers\":{\"a\":1}}"),
        ("{\"servers\":{ \"deck\": 2 }}", "{\"servers\":{}}"),
        (
            "{\"servers\": {\n  \"a\": 1, // one\n  \"deck\": 2 // two\n}}",
            "{\"servers\": {\n  \"a\": 1 // one\n  // two\n}}",
        ),
        ("{\"servers\": {\n  \"deck\": 2,\n  \"a\": 1,\n}}", "{\"servers\": {\n  \"a\": 1,\n}}"),
        ("{\"servers\": {\n  \"a\": 1,\n  \"deck\": 2,\n}}", "{\"servers\": {\n  \"a\": 1,\n}}"),
        (
            "{\"servers\": {\r\n  \"a\": 1,\r\n  \"deck\": 2\r\n}}",
            "{\"servers\": {\r\n  \"a\": 1\r\n}}",
        ),
        ("{\"servers\":{\"deck\":1,\"a\":1,\"deck\":2}}", "{\"servers\":{\"a\":1}}"),
        ("{\"servers\":{}}", "{\"servers\":{}}"),
    ] {
        assert_eq!(remove(before), after, "{before:?}");
    }
}

#[test]
fn items_of_lists_come_and_go() {
    let list = keys(&["hooks", "stop"]);
    let push = |text: &str| {
        edited(text, FileFormat::Json, |document| document.push(&list, json!({ "name": "ours" })))
    };
    let ours = |document: &mut ConfigDocument| {
        document.remove_items(&list, |item| item["name"] == "ours").map(drop)
    };
    for (before, after) in [
        (
            "{\n  \"hooks\": {\n    \"stop\": [\n      { \"name\": \"theirs\" } // keep\n    ]\n  }\n}\n",
            "{\n  \"hooks\": {\n    \"stop\": [\n      { \"name\": \"theirs\" }, // keep\n      {\n        \"name\": \"ours\"\n      }\n    ]\n  }\n}\n",
        ),
        ("{\"hooks\":{\"stop\":[]}}", "{\"hooks\":{\"stop\":[{\"name\":\"ours\"}]}}"),
        ("{\"hooks\":{\"stop\":[1, 2]}}", "{\"hooks\":{\"stop\":[1, 2, { \"name\": \"ours\" }]}}"),
    ] {
        assert_eq!(push(before), after, "{before:?}");
        assert_eq!(edited(after, FileFormat::Json, ours), before, "{after:?}");
    }
    let inner = [DocumentStep::from("a"), DocumentStep::Index(1), DocumentStep::from("b")];
    let deep = edited("{\"a\": [0, {\"b\": [1]}]}", FileFormat::Json, |document| {
        document.push(&inner, json!(2))
    });
    assert_eq!(deep, "{\"a\": [0, {\"b\": [1, 2]}]}");
}

#[test]
fn broken_texts_are_reported_with_their_place() {
    for (text, line, column, message) in [
        ("{\n  \"a\": 1\n  \"b\": 2\n}", 3, 3, "expected `,` or `}`, found `\"`"),
        ("{\n  a: 1\n}", 2, 3, "expected a key in double quotes, found `a`"),
        ("{\"é\": nope}", 1, 7, "expected a value, found `n`"),
        ("{\"a\": \"x\n\"}", 1, 7, "this text has no closing quote on its line"),
        ("{\"a\": 1} x", 1, 10, "expected the end of the file, found `x`"),
        ("{\n\"a\": [1", 2, 6, "this bracket is never closed with `]`"),
        ("/* x", 1, 1, "this comment has no end"),
        ("{,}", 1, 2, "expected a key in double quotes, found `,`"),
        (
            "{\"a\": \"\\x\"}",
            1,
            7,
            "this text holds a character or an escape that JSON does not have",
        ),
    ] {
        let error = ConfigDocument::parse(text, FileFormat::Json).unwrap_err();
        assert_eq!(
            (error.line, error.column, error.message.as_str()),
            (line, column, message),
            "{text}"
        );
    }
    let deep = "[".repeat(5000);
    assert!(
        ConfigDocument::parse(&deep, FileFormat::Json).unwrap_err().message.contains("levels deep")
    );
}

#[test]
fn a_path_through_something_else_is_refused() {
    let mut document = ConfigDocument::parse("{\"servers\": [1]}", FileFormat::Json).unwrap();
    let refused = document.set(&keys(&["servers", "deck"]), json!(1)).unwrap_err();
    let expected =
        EditError::Mismatch { at: "servers".to_owned(), found: "a list", wanted: "a map" };
    assert_eq!(refused, expected);
    let refused = document.push(&[], json!(1)).unwrap_err();
    assert_eq!(refused.to_string(), "`the document` is a map, not a list");
    assert_eq!(document.text(), "{\"servers\": [1]}");
}

//! TOML: sections, dotted keys and inline values, with comments and line ends as they were.

use capdeck_install::{ConfigDocument, DocumentStep, FileFormat, keys};
use serde_json::json;

use crate::edited;

fn set(text: &str) -> String {
    edited(text, FileFormat::Toml, |document| {
        let value = json!({ "command": "x", "args": ["a"], "env": { "B": "c" } });
        document.set(&keys(&["servers", "deck"]), value).map(drop)
    })
}

fn remove(text: &str) -> String {
    edited(text, FileFormat::Toml, |document| {
        document.remove(&keys(&["servers", "deck"])).map(drop)
    })
}

const SECTION: &str = "[servers.deck]\ncommand = \"x\"\nargs = [\"a\"]\nenv = { B = \"c\" }\n";

#[test]
fn an_entry_is_added_where_its_kind_stands() {
    let inline = "deck = { command = \"x\", args = [\"a\"], env = { B = \"c\" } }";
    for (before, after) in [
        (String::new(), SECTION.to_owned()),
        ("# words\n".to_owned(), format!("# words\n\n{SECTION}")),
        ("model = \"m\"".to_owned(), format!("model = \"m\"\n\n{SECTION}")),
        (
            "[servers.a]\ncommand = \"y\" # y\n\n# about b\n[b]\n".to_owned(),
            format!("[servers.a]\ncommand = \"y\" # y\n\n{SECTION}\n# about b\n[b]\n"),
        ),
        (
            "servers.a.command = \"y\"\n".to_owned(),
            format!("servers.a.command = \"y\"\n\n{SECTION}"),
        ),
        (
            "servers = { a = { x = 1 } } # all\n".to_owned(),
            format!("servers = {{ a = {{ x = 1 }}, {inline} }} # all\n"),
        ),
        ("servers = {}\n".to_owned(), format!("servers = {{ {inline} }}\n")),
        (
            "[servers.a]\r\nx = '''\r\n[no.header]\r\n'''\r\n".to_owned(),
            format!(
                "[servers.a]\r\nx = '''\r\n[no.header]\r\n'''\r\n\r\n{}",
                SECTION.replace('\n', "\r\n")
            ),
        ),
    ] {
        assert_eq!(set(&before), after, "{before:?}");
    }
}

#[test]
fn an_entry_is_replaced_and_taken_out_however_it_is_written() {
    for (before, replaced, removed) in [
        (
            "[a]\nx = 1\n\n[servers.deck]\nold = [\n  1, # one\n]\n\n[servers.deck.env]\nC = 1\n\n[z]\n",
            format!("[a]\nx = 1\n\n{SECTION}\n[z]\n"),
            "[a]\nx = 1\n\n[z]\n",
        ),
        (
            "[servers]\ndeck.command = \"old\" # mine\na.x = 1\n",
            format!("[servers]\na.x = 1\n\n{SECTION}"),
            "[servers]\na.x = 1\n",
        ),
        (
            "servers = { deck = 1, a = 2 }\n",
            "servers = { deck = { command = \"x\", args = [\"a\"], env = { B = \"c\" } }, a = 2 }\n".to_owned(),
            "servers = { a = 2 }\n",
        ),
    ] {
        assert_eq!(set(before), replaced, "{before:?}");
        assert_eq!(set(&replaced), replaced, "a second time changes nothing");
        assert_eq!(remove(before), removed, "{before:?}");
    }
}

#[test]
fn items_of_arrays_of_tables_come_and_go() {
    let list = keys(&["hooks", "stop"]);
    let push = |text: &str| {
        edited(text, FileFormat::Toml, |document| {
            document.push(&list, json!({ "name": "ours", "run": [{ "a": 1 }] }))
        })
    };
    let ours = |document: &mut ConfigDocument| {
        document.remove_items(&list, |item| item["name"] == "ours").map(drop)
    };
    let item = "[[hooks.stop]]\nname = \"ours\"\nrun = [{ a = 1 }]\n";
    for (before, after) in [
        ("a = 1\n".to_owned(), format!("a = 1\n\n{item}")),
        (
            "[[hooks.stop]]\nname = \"theirs\"\n[hooks.stop.more]\nb = 1\n\n[z]\n".to_owned(),
            format!("[[hooks.stop]]\nname = \"theirs\"\n[hooks.stop.more]\nb = 1\n\n{item}\n[z]\n"),
        ),
        (
            "[hooks]\nstop = [\n  { name = \"theirs\" }, # keep\n]\n".to_owned(),
            "[hooks]\nstop = [\n  { name = \"theirs\" }, # keep\n  { name = \"ours\", run = [{ a = 1 }] },\n]\n".to_owned(),
        ),
    ] {
        assert_eq!(push(&before), after, "{before:?}");
        let back = edited(&after, FileFormat::Toml, ours);
        assert_eq!(back, before, "{after:?}");
    }
    let text = "[[h]]\nn = 1\n[[h.i]]\nm = 1\n[[h]]\nn = 2\n[[h.i]]\nm = 2\n[[h.i]]\nm = 3\n";
    let path = [
        DocumentStep::from("h"),
        DocumentStep::Index(1),
        DocumentStep::from("i"),
        DocumentStep::Index(0),
    ];
    let without = edited(text, FileFormat::Toml, |document| document.remove(&path).map(drop));
    assert_eq!(without, "[[h]]\nn = 1\n[[h.i]]\nm = 1\n[[h]]\nn = 2\n[[h.i]]\nm = 3\n");
}

#[test]
fn plain_values_go_to_their_section() {
    let put = |text: &str, path: &[&str]| {
        edited(text, FileFormat::Toml, |document| document.set(&keys(path), json!(true)).map(drop))
    };
    assert_eq!(put("[a]\n", &["x"]), "x = true\n\n[a]\n");
    assert_eq!(put("y = 1 # y\n[a]\n", &["x"]), "y = 1 # y\nx = true\n[a]\n");
    assert_eq!(put("[a]\nb = 1\n[c]\n", &["a", "x y"]), "[a]\nb = 1\n\"x y\" = true\n[c]\n");
    assert_eq!(put("[a.b]\n", &["a", "x"]), "[a.b]\n\n[a]\nx = true\n");
}

#[test]
fn broken_texts_are_reported_with_their_place() {
    for (text, line, column) in [("a = 1\nb = \n", 2, 5), ("[a\n", 1, 3), ("a = 1\na = 2\n", 2, 1)]
    {
        let error = ConfigDocument::parse(text, FileFormat::Toml).unwrap_err();
        assert_eq!((error.line, error.column), (line, column), "{error}");
    }
}

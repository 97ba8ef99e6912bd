//! Files with thousands of entries. What is read by searching all entries for each entry takes hours here.

use std::fmt::Write as _;

use capdeck_definition::{Backend, Deck, DeckRoot, RootOwner, find_project, parse_capability_file};

use crate::folder::Folder;

/// A short id, so that many entries fit into a file.
fn short_id(mut number: usize) -> String {
    let mut id = String::from("a");
    for _ in 0..3 {
        id.push(char::from_digit(u32::try_from(number % 36).unwrap(), 36).unwrap());
        number /= 36;
    }
    id.push(char::from_digit(u32::try_from(number).unwrap(), 36).unwrap());
    id
}

fn config(count: usize) -> String {
    let entries: Vec<String> =
        (0..count).map(|number| format!("\"{}\":{{\"url\":\"b\"}}", short_id(number))).collect();
    format!("{{\"mcpServers\":{{{}}}}}", entries.join(","))
}

fn codes(deck: &Deck) -> Vec<&str> {
    deck.diagnostics.iter().map(|found| found.code.as_ref()).collect()
}

#[test]
fn a_config_file_with_20_000_servers_is_read_and_one_with_50_000_is_not() {
    let folder =
        Folder::with(&[("config.json", &config(20_000).replace("\"b\"", "\"https://b\""))]);
    let deck = folder.deck();
    assert_eq!(deck.diagnostics, []);
    assert_eq!(deck.definitions.len(), 20_000);

    let folder = Folder::with(&[("config.json", &config(50_000))]);
    let deck = folder.deck();
    assert_eq!((deck.definitions.len(), codes(&deck)), (0, vec!["document-too-complex"]));
    assert_eq!(deck.quarantined.len(), 1);
    let found = &deck.diagnostics[0];
    assert!(found.message.contains("more than 200000 keys and values"), "{}", found.message);
    assert_eq!(found.fix.as_deref(), Some("split it into several files"));

    let yaml = (0..50_000).fold("mcpServers:\n".to_owned(), |mut text, number| {
        writeln!(text, " {}: {{url: b}}", short_id(number)).unwrap();
        text
    });
    let folder = Folder::with(&[("config.yaml", &yaml)]);
    assert_eq!(codes(&folder.deck()), ["document-too-complex"]);
}

#[test]
fn broken_entries_are_left_out_together() {
    // Two names become one id, five thousand times.
    let mut text = String::from("{\"mcpServers\":{");
    for number in 0..5_000 {
        write!(
            text,
            "\"s {number}\":{{\"url\":\"https://b\"}},\"s-{number}\":{{\"url\":\"https://b\"}},"
        )
        .unwrap();
    }
    text.push_str("\"last\":{\"url\":\"https://b\"}}}");
    let folder = Folder::with(&[("config.json", &text)]);
    let deck = folder.deck();
    assert_eq!(deck.definitions.len(), 5_001, "{:?}", deck.diagnostics.first());
}

#[test]
fn a_capability_file_may_have_thousands_of_everything() {
    let mut text = String::from("servers:\n");
    for number in 0..3_000 {
        // The ids of a pair differ only in a letter that capabilities cannot have.
        let separator = if number % 2 == 0 { "." } else { "_" };
        let id = format!("server{separator}{}", number / 2);
        writeln!(text, "- {{id: {id}, type: mcp, def: {{cmd: x}}}}").unwrap();
    }
    text.push_str("tools:\n");
    for number in 0..2_000 {
        writeln!(
            text,
            "- {{id: t{number}, type: mcp, def: {{server: server.{}, tool: x}}}}",
            number % 1_500
        )
        .unwrap();
        writeln!(
            text,
            "- {{id: c{number}, type: command, group: g{number}, def: {{run: {{cmd: x}}}}}}"
        )
        .unwrap();
    }
    text.push_str("subagents:\n- id: one\n  description: d\n  instructions: x\n  tools:\n");
    for number in 0..2_000 {
        writeln!(text, "  - '@server_{}.y'\n  - c{number}\n  - nowhere.z{number}", number % 1_500)
            .unwrap();
    }
    let folder = Folder::with(&[("capabilities.yaml", &text)]);
    let (file, _) = parse_capability_file(&text, &folder.path("capabilities.yaml"));
    let file = file.unwrap();
    assert_eq!((file.servers.len(), file.tools.len()), (3_000, 4_000));
    assert_eq!(file.ids.servers["server_7"].as_str(), "server_7_2");
    let (capability, tool) = file.locate("server_7.any").unwrap();
    assert_eq!((capability.as_str(), tool.as_str()), ("server_7_2", "any"));
    let project = find_project(&folder.dir(), None).unwrap();
    let deck = Deck::open(&[], Some(&project));
    assert_eq!(deck.definitions.len(), 5_000);
}

#[test]
fn a_reference_may_be_as_long_as_a_file() {
    let reference = "!".repeat(900_000);
    let text = format!(
        "servers:\n- {{id: a.b, type: mcp, def: {{cmd: x}}}}\nsubagents:\n- id: one\n  description: d\n  instructions: x\n  tools: ['{reference}', a.b.any]\n"
    );
    let folder = Folder::with(&[("capabilities.yaml", &text)]);
    let (file, _) = parse_capability_file(&text, &folder.path("capabilities.yaml"));
    let file = file.unwrap();
    assert!(file.locate(&reference).is_none());
    let (capability, tool) = file.locate("a.b.any").unwrap();
    assert_eq!((capability.as_str(), tool.as_str()), ("a_b", "any"));
}

#[test]
fn intents_of_one_phrase_are_numbered() {
    let intents: Vec<&str> =
        std::iter::repeat_n(r#"{"patterns":["x"],"command":"y"}"#, 10_000).collect();
    let folder = Folder::with(&[
        ("box/cmp/manifest.json", r#"{"domain":"d","name":"box","summary":"s","version":"1.0.0"}"#),
        ("box/cmp/capability.json", &format!("{{\"intents\":[{}]}}", intents.join(","))),
    ]);
    let deck = Deck::read(&[DeckRoot { dir: folder.dir(), owner: RootOwner::CmpTools }]);
    let Backend::Cmp(tool) = &deck.definitions[0].backend else { panic!("no CMP tool") };
    assert_eq!(tool.intents.len(), 10_000);
    assert_eq!(tool.intents.get_index(9_999).unwrap().0, "x_10000");
}

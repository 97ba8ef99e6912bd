//! CMP tools: two files in, one capability out; one broken tool costs nothing else.

use capdeck_definition::{
    Backend, CmpTool, Deck, DeckRoot, Definition, DiagnosticSeverity, RootOwner, SourceLayer,
    check_cmp_paths, check_paths,
};
use serde_json::json;

use crate::folder::{Folder, caplet, codes, ids, quarantined, user};

const MANIFEST: &str = r#"{
  "domain": "email", "name": "Mail Box", "summary": "Mail management: triage, delete",
  "version": "1.0.0", "binary": "mb", "tags": ["mail", "email"]
}"#;

const CAPABILITY: &str = r#"{
  "intents": [
    { "patterns": ["re:^how many", "check email", "unread count"], "command": "mb summary --json",
      "returns": { "type": "array" } },
    { "patterns": ["delete emails"], "command": "mb delete --ids {ids} --why {why}", "destructive": true,
      "idempotent": false,
      "params": { "ids": { "type": "array<string>", "required": true, "description": "Which" },
                  "why": { "type": "string", "enum": ["old", "spam"] } } },
    { "patterns": ["check email"], "command": "mb check" },
    { "patterns": ["re:x"], "command": "mb x", "confirm": true }
  ]
}"#;

fn tool(folder: &Folder, name: &str, manifest: &str, capability: &str) {
    folder.write(&format!("{name}/cmp/manifest.json"), manifest);
    folder.write(&format!("{name}/cmp/capability.json"), capability);
}

fn place(folder: &Folder) -> DeckRoot {
    DeckRoot { dir: folder.dir(), owner: RootOwner::CmpTools }
}

fn cmp(definition: &Definition) -> &CmpTool {
    match &definition.backend {
        Backend::Cmp(tool) => tool,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_tool_becomes_one_capability_and_each_intent_a_tool() {
    let folder = Folder::with(&[("box/bin/mb", "")]);
    tool(&folder, "box", MANIFEST, CAPABILITY);
    let deck = Deck::read(&[place(&folder)]);
    assert_eq!((codes(&deck), quarantined(&deck)), (vec![], vec![]));
    let [definition] = deck.definitions.as_slice() else { panic!("{:?}", ids(&deck)) };
    assert_eq!(definition.id.as_str(), "Mail-Box");
    assert_eq!(definition.name, "Mail Box");
    assert_eq!(definition.description, "Mail management: triage, delete");
    assert_eq!(definition.tags, ["email", "mail"]);
    assert_eq!(definition.source.layer, SourceLayer::Cmp);
    assert!(!definition.source.layer.needs_trust());
    let tool = cmp(definition);
    assert_eq!(tool.bin, Some(folder.path("box/bin")));
    let names: Vec<&String> = tool.intents.keys().collect();
    assert_eq!(names, ["check_email", "delete_emails", "check_email_2", "intent_4"]);
    let delete = &tool.intents["delete_emails"];
    assert!(delete.confirm && delete.destructive && !delete.idempotent);
    assert!(tool.intents["intent_4"].confirm && !tool.intents["intent_4"].destructive);
    assert_eq!(
        json!(delete.input_schema()),
        json!({
            "type": "object",
            "properties": {
                "ids": { "type": "array", "items": { "type": "string" }, "minItems": 1, "description": "Which" },
                "why": { "type": "string", "enum": ["old", "spam"] },
            },
            "required": ["ids"],
            "additionalProperties": false,
        })
    );
    let output = tool.intents["check_email"].output_schema();
    let wrapped = json!({
        "type": "object", "properties": { "result": { "type": "array" } }, "required": ["result"],
    });
    assert_eq!(json!(output), wrapped);
    for below in ["", "box", "box/cmp"] {
        assert!(deck.watched.contains(&folder.dir().join(below)), "{below}: {:?}", deck.watched);
    }
}

#[test]
fn hidden_folders_hold_the_files_too_and_others_are_reported() {
    let folder = Folder::with(&[
        ("box/.cmp/manifest.json", MANIFEST),
        ("box/.cmp/capability.json", CAPABILITY),
        ("empty/README.md", "nothing"),
        (".git/cmp/manifest.json", "{"),
        ("file.txt", ""),
    ]);
    let deck = Deck::read(&[place(&folder)]);
    assert_eq!((ids(&deck), codes(&deck)), (vec!["Mail-Box"], vec!["not-a-tool"]));
    assert_eq!(deck.diagnostics[0].severity, DiagnosticSeverity::Warning);
    let named = DeckRoot { dir: folder.path("empty"), owner: RootOwner::CmpTool };
    assert_eq!(Deck::read(&[named]).diagnostics[0].severity, DiagnosticSeverity::Error);
    let nowhere = DeckRoot { dir: folder.path("nowhere"), owner: RootOwner::CmpTools };
    assert_eq!(Deck::read(&[nowhere]).diagnostics, []);
    let one = DeckRoot { dir: folder.path("box"), owner: RootOwner::CmpTool };
    assert_eq!(ids(&Deck::read(&[one])), ["Mail-Box"]);
}

#[test]
fn everything_else_is_above_and_later_places_are_above_earlier_ones() {
    let folder = Folder::with(&[("deck/Mail-Box.md", &caplet("x"))]);
    tool(&folder, "shared/box", MANIFEST, CAPABILITY);
    tool(&folder, "own/box", MANIFEST, CAPABILITY);
    let cmp = |below: &str| DeckRoot { dir: folder.path(below), owner: RootOwner::CmpTools };
    let deck = Deck::read(&[cmp("shared"), cmp("own"), user(&folder.path("deck"))]);
    let layers: Vec<SourceLayer> =
        deck.definitions.iter().map(|definition| definition.source.layer).collect();
    assert_eq!(layers, [SourceLayer::Cmp, SourceLayer::Cmp, SourceLayer::UserFile]);
    assert!(SourceLayer::Cmp < SourceLayer::UserConfig);
    assert!(deck.definitions[1].source.path.starts_with(folder.path("own")));
    assert_eq!(deck.project_hash, None);
}

#[test]
fn a_name_is_unique_within_its_domain_only() {
    let folder = Folder::with(&[]);
    tool(&folder, "one", MANIFEST, CAPABILITY);
    tool(&folder, "two", &MANIFEST.replace(r#""email", "name""#, r#""post", "name""#), CAPABILITY);
    let deck = Deck::read(&[place(&folder)]);
    assert_eq!(ids(&deck), ["email-Mail-Box", "post-Mail-Box"]);
    assert_eq!(codes(&deck), ["renamed-id", "renamed-id"]);
    assert_ne!(deck.definitions[0].fingerprint, deck.definitions[1].fingerprint);
    tool(&folder, "two", MANIFEST, CAPABILITY);
    let deck = Deck::read(&[place(&folder)]);
    assert_eq!((ids(&deck), quarantined(&deck)), (vec![], vec!["Mail-Box"]));
}

#[test]
fn one_bad_tool_is_one_quarantined_entry() {
    let folder = Folder::with(&[("lone/cmp/manifest.json", MANIFEST)]);
    tool(&folder, "good", &MANIFEST.replace("Mail Box", "good"), CAPABILITY);
    tool(&folder, "bad", "{ \"domain\": \"x\",\n  oops }", CAPABILITY);
    tool(&folder, "empty", &MANIFEST.replace("Mail Box", "empty"), r#"{"intents": []}"#);
    std::fs::write(folder.path("bytes"), "").unwrap();
    folder.write("latin/cmp/manifest.json", MANIFEST);
    std::fs::write(folder.path("latin/cmp/capability.json"), b"\xff{}").unwrap();
    let deck = Deck::read(&[place(&folder)]);
    assert_eq!(ids(&deck), ["good"]);
    assert_eq!(quarantined(&deck), ["bad", "empty", "Mail-Box", "Mail-Box"]);
    assert_eq!(codes(&deck), ["invalid-json", "no-intents", "not-utf8", "missing-file"]);
    assert_eq!((deck.diagnostics[0].line, deck.diagnostics[0].column), (2, 3));
    assert!(deck.diagnostics[3].file.ends_with("lone/cmp/capability.json"));
}

#[test]
fn a_file_that_breaks_off_has_a_place() {
    let folder = Folder::with(&[]);
    tool(&folder, "cut", "{ \"domain\":\n", CAPABILITY);
    let deck = Deck::read(&[place(&folder)]);
    assert_eq!((deck.diagnostics[0].line, deck.diagnostics[0].column), (2, 1));
}

/// Each problem with its place, in a file where everything else is right.
#[track_caller]
fn check_intent(intent: &str, expected: &[(&str, &str, &str)]) -> Deck {
    let folder = Folder::with(&[]);
    tool(&folder, "box", MANIFEST, &format!("{{\"intents\": [\n{intent}\n]}}"));
    let deck = Deck::read(&[place(&folder)]);
    let at = |column: u32, length: usize| {
        let text: String = intent.chars().skip(column as usize - 1).take(length).collect();
        text
    };
    let found: Vec<(&str, String, &str)> = deck
        .diagnostics
        .iter()
        .enumerate()
        .map(|(index, found)| {
            let length = expected.get(index).map_or(9, |expected| expected.1.chars().count());
            (found.code.as_str(), at(found.column, length), found.message.as_str())
        })
        .collect();
    let expected: Vec<(&str, String, &str)> =
        expected.iter().map(|(code, at, message)| (*code, (*at).to_owned(), *message)).collect();
    assert_eq!(found, expected, "{intent}");
    assert!(deck.diagnostics.iter().all(|found| found.line == 2 && found.fix.is_some()));
    let broken = deck
        .diagnostics
        .iter()
        .any(|found| found.severity == DiagnosticSeverity::Error && found.code != "bad-pattern");
    assert_eq!(deck.definitions.is_empty(), broken, "{intent}");
    deck
}

#[test]
fn problems_of_intents_have_a_place_and_a_fix() {
    check_intent(
        r#"{"patterns": ["a"]}"#,
        &[("missing-key", "{\"patterns", "`intents[0]` needs the key `command`")],
    );
    check_intent(
        r#"{"patterns": ["a"], "command": "x 'a"}"#,
        &[("bad-command", "\"x 'a", "a quote is not closed: `'`")],
    );
    check_intent(
        r#"{"patterns": ["a"], "command": "x | y"}"#,
        &[("needs-shell", "\"x |", "`|` is for a shell, and commands are run without one")],
    );
    check_intent(
        r#"{"patterns": ["a"], "command": "x {a}", "params": {"a": {"type": "text"}}}"#,
        &[("unknown-type", "\"text\"", "there is no type `text`")],
    );
    check_intent(
        r#"{"patterns": ["a"], "command": "x {a}", "params": {"a": {"type": "number"}}}"#,
        &[("unlisted-type", "\"number\"", "the specification does not list the type `number`")],
    );
    check_intent(
        r#"{"patterns": ["a"], "command": "x {a}", "params": {"a": {"type": "integer", "default": "many"}}}"#,
        &[("bad-default", "\"many\"", "invalid default: `\"many\"` is no `integer`")],
    );
    check_intent(
        r#"{"patterns": ["a"], "command": "x {a}", "params": {"a": {"type": "string", "default": "b", "enum": ["a", 1]}}}"#,
        &[("bad-default", "\"b\"", "invalid default: `\"b\"` is not one of the choices")],
    );
    check_intent(
        r#"{"patterns": ["a"], "command": "x {b}", "params": {"a": {"type": "string"}}}"#,
        &[
            ("undeclared-parameter", "\"x {b}", "`{b}` is not declared"),
            ("unused-parameter", "\"a\": {\"type", "the command does not use `a`"),
        ],
    );
    check_intent(
        r#"{"patterns": ["a"], "command": "x -n {n}", "params": {"n": {"type": "integer"}}}"#,
        &[("loose-flag", "\"x -n", "`-n` stays when `{n}` is left out, and takes the next word")],
    );
    check_intent(
        r#"{"patterns": ["a"], "command": "x", "destructiv": true}"#,
        &[("unknown-key", "\"destructiv\"", "there is no key `destructiv`")],
    );
    check_intent(
        r#"{"patterns": ["a"], "command": "x", "cost": 3}"#,
        &[("unknown-key", "\"cost\"", "`cost` means nothing here")],
    );
}

#[test]
fn a_command_that_needs_a_shell_costs_that_intent() {
    let text = r#"{"intents": [
        {"patterns": ["count lines"], "command": "cat x | wc -l"},
        {"patterns": ["say it"], "command": "sh -c 'echo {x}'", "params": {"x": {"type": "string"}}},
        {"patterns": ["list"], "command": "ls"}
    ]}"#;
    let folder = Folder::with(&[]);
    tool(&folder, "box", MANIFEST, text);
    let deck = Deck::read(&[place(&folder)]);
    assert_eq!(codes(&deck), ["needs-shell", "shell-placeholder"]);
    let intents: Vec<&String> = cmp(&deck.definitions[0]).intents.keys().collect();
    assert_eq!(intents, ["list"]);
}

#[test]
fn a_bad_pattern_costs_that_pattern() {
    let deck = check_intent(
        r#"{"patterns": ["re:(?=a)", "fine", " "], "command": "x"}"#,
        &[
            (
                "bad-pattern",
                "\"re:(?=",
                "the regular expression cannot be used and is left out: look-around, including look-ahead and look-behind, is not supported",
            ),
            ("bad-pattern", "\" \"]", "the pattern is blank, and is left out"),
        ],
    );
    assert_eq!(cmp(&deck.definitions[0]).intents["fine"].patterns, ["fine"]);
    check_intent(
        r#"{"patterns": ["re:("], "command": "x"}"#,
        &[
            ("no-patterns", "\"patterns\"", "no usable phrase leads to this intent"),
            (
                "bad-pattern",
                "\"re:(\"",
                "the regular expression cannot be used and is left out: unclosed group",
            ),
        ],
    );
    check_intent(
        r#"{"patterns": ["re:(a{1000}){1000}", "b"], "command": "x"}"#,
        &[(
            "bad-pattern",
            "\"re:(a",
            "the regular expression cannot be used and is left out: it is too large",
        )],
    );
}

#[test]
fn problems_of_manifests_are_reported_at_once() {
    let folder = Folder::with(&[]);
    let manifest = r#"{"domain": "x", "name": "!!", "summary": "a\nb", "version": "1", "adapter": true, "author": "me", "tagz": []}"#;
    tool(&folder, "box", manifest, CAPABILITY);
    let deck = Deck::read(&[place(&folder)]);
    assert_eq!(
        codes(&deck),
        ["bad-id", "not-one-line", "bad-version", "missing-key", "unknown-key", "unknown-key"]
    );
    assert_eq!(deck.diagnostics[5].fix.as_deref(), Some("did you mean `tags`?"));
    let long = MANIFEST.replace("Mail management", &"x".repeat(100));
    tool(&folder, "box", &long, CAPABILITY);
    assert_eq!(codes(&Deck::read(&[place(&folder)])), ["long-summary"]);
}

#[test]
fn checks_know_tools_places_and_their_files() {
    let folder = Folder::with(&[("deck/a.md", &caplet("x"))]);
    tool(&folder, "tools/box", MANIFEST, CAPABILITY);
    for below in
        ["tools", "tools/box", "tools/box/cmp/manifest.json", "tools/box/cmp/capability.json"]
    {
        assert_eq!(ids(&check_paths(&[folder.path(below)])), ["Mail-Box"], "{below}");
        assert_eq!(ids(&check_cmp_paths(&[folder.path(below)])), ["Mail-Box"], "{below}");
    }
    assert_eq!(ids(&check_paths(&[folder.path("deck")])), ["a"]);
    for other in ["deck", "deck/a.md", "nowhere"] {
        let deck = check_cmp_paths(&[folder.path(other)]);
        assert_eq!(
            (codes(&deck), deck.diagnostics[0].severity),
            (vec!["not-a-tool"], DiagnosticSeverity::Error)
        );
    }
}

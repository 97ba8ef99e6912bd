//! The way back: what is exported and read again is the same tools.

use capdeck_definition::{
    Backend, CmpTool, Deck, DeckRoot, Definition, ExportError, RootOwner, export_cmp,
};

use crate::folder::{Folder, codes};

/// Exports a definition, reads the files and gives what they declare.
fn there_and_back(definition: &Definition) -> (Definition, Vec<String>) {
    let exported = export_cmp(definition).unwrap();
    let folder = Folder::with(&[
        ("t/cmp/manifest.json", &exported.manifest.to_string()),
        ("t/cmp/capability.json", &exported.capability.to_string()),
    ]);
    let deck = Deck::read(&[DeckRoot { dir: folder.path("t"), owner: RootOwner::CmpTool }]);
    assert_eq!(codes(&deck), Vec::<&str>::new(), "{:?}", deck.diagnostics);
    (Definition::clone(&deck.definitions[0]), exported.notes)
}

fn cmp(definition: &Definition) -> &CmpTool {
    match &definition.backend {
        Backend::Cmp(tool) => tool,
        other => panic!("{other:?}"),
    }
}

fn defined(actions: &str, more: &str) -> Definition {
    let text = format!(
        "---\nname: Files\ndescription: Works with files of all kinds.\ntags: [disk, files]\ncliTools:\n  actions:\n{actions}{more}---\n"
    );
    let folder = Folder::with(&[("files.md", &text)]);
    let deck = folder.deck();
    // What it says of arguments without a schema is for others to test.
    assert!(codes(&deck).iter().all(|code| *code == "unknown-input"), "{:?}", deck.diagnostics);
    Definition::clone(&deck.definitions[0])
}

#[test]
fn actions_become_intents_with_their_parameters() {
    let actions = r#"    find_files:
      command: find
      args: ["$input.where", -name, "it's $input.name", "--depth=$input.depth"]
      env: { LC_ALL: C }
      inputSchema:
        type: object
        properties:
          where: { type: string, description: Where to look, default: . }
          name: { type: string, enum: [a, b] }
          depth: { type: integer }
        required: [name, depth]
      annotations: { readOnlyHint: true }
    remove:
      command: rm
      args: [--, $input.path]
      timeoutMs: 60000
      annotations: { destructiveHint: true }
    Show-It:
      command: cat
      output: { type: json }
      outputSchema: { type: object, properties: { json: { type: object } } }
"#;
    let definition = defined(actions, "");
    let (back, notes) = there_and_back(&definition);
    assert_eq!(
        notes,
        [
            "`find_files` gets 30 seconds, as every CMP command",
            "`remove` gets 30 seconds, as every CMP command",
            "`Show-It` becomes `show_it`",
            "`Show-It` gets 30 seconds, as every CMP command"
        ]
    );
    assert_eq!((back.id.as_str(), back.tags), ("files", vec!["disk".into(), "files".into()]));
    let tool = match back.backend {
        Backend::Cmp(tool) => tool,
        other => panic!("{other:?}"),
    };
    assert_eq!((tool.domain.as_str(), tool.wraps), ("disk", None));
    let find = &tool.intents["find_files"];
    assert_eq!(
        find.command.text(),
        r"env LC_ALL=C find {where} -name 'it'\''s {name}' --depth={depth}"
    );
    assert!(find.idempotent && !find.confirm);
    let before = match &definition.backend {
        Backend::Cli(tools) => tools.actions["find_files"].schemas.input_schema.clone().unwrap(),
        other => panic!("{other:?}"),
    };
    let after = find.input_schema();
    for key in ["properties", "required", "type"] {
        assert_eq!(before[key], after[key], "{key}");
    }
    let remove = &tool.intents["remove"];
    assert!(remove.confirm && remove.destructive && !remove.idempotent);
    assert!(remove.params["path"].required);
    assert_eq!(tool.intents["show_it"].returns, Some(serde_json::json!({ "type": "object" })));
}

#[test]
fn a_tool_that_is_exported_and_read_is_the_same_tool() {
    let folder = Folder::with(&[
        (
            "mail/cmp/manifest.json",
            r#"{"domain": "email", "name": "Mail", "summary": "Mail.", "version": "2.1.0", "binary": "m",
                "requires": ["net"], "tags": ["x"], "adapter": true, "wraps": "mutt"}"#,
        ),
        (
            "mail/cmp/capability.json",
            r#"{"intents": [
                {"patterns": ["re:^a", "check mail"], "command": "m \"a {b}\" '{c}'", "confirm": true,
                 "params": {"b": {"type": "array<integer>", "default": [1]}, "c": {"type": "boolean", "required": true}},
                 "returns": {"type": "array"}},
                {"patterns": ["drop"], "command": "m drop", "destructive": true, "idempotent": false}
            ]}"#,
        ),
    ]);
    let deck = Deck::read(&[DeckRoot { dir: folder.path("mail"), owner: RootOwner::CmpTool }]);
    let (back, notes) = there_and_back(&deck.definitions[0]);
    assert_eq!(notes, Vec::<String>::new());
    let (before, after) = (cmp(&deck.definitions[0]), cmp(&back));
    assert_eq!((&before.intents, &before.requires), (&after.intents, &after.requires));
    assert_eq!(back.fingerprint, deck.definitions[0].fingerprint);
    assert_eq!((back.name.as_str(), &back.tags), ("Mail", &deck.definitions[0].tags));
}

#[test]
fn what_the_format_cannot_say_is_refused_whole() {
    let actions = r#"    one:
      command: x
      args: [$input.a.b]
    two:
      command: x
      args: ["${TOKEN}"]
    three:
      command: x
      args: ["stash@{0}"]
    four:
      command: $input.program
    five:
      command: x
      inputSchema: { type: object, properties: { deep: { anyOf: [{ type: string }] } } }
"#;
    let refused = export_cmp(&defined(actions, "  cwd: /tmp\n")).unwrap_err();
    let ExportError::Inexpressible { problems, .. } = refused else { panic!("{refused}") };
    for expected in [
        "`one` runs in a folder of its own (`cwd`)",
        "`one` takes a value from inside another: `$input.a.b`",
        "`two` refers to a variable or a secret in `${TOKEN}`",
        "`three` has a word that would be a placeholder: `stash@{0}`",
        "`four` has no command that can be written: the program itself is a placeholder: `{program}`",
        "`five` takes a value of a type that CMP does not have: `deep`",
    ] {
        assert!(problems.iter().any(|problem| problem == expected), "{expected}: {problems:?}");
    }
    let folder = Folder::with(&[("a.md", &crate::folder::caplet("x"))]);
    let refused = export_cmp(&folder.deck().definitions[0]).unwrap_err();
    assert_eq!(refused.to_string(), "`a` is no capability of commands, but `mcp`");
}

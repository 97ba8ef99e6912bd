//! `fixtures/capabilities/`: capability files, and what is said about them beside each.

use std::{fmt::Write as _, fs, path::Path};

use capdeck_definition::{
    CapabilityFile, Deck, DeckProject, Diagnostic, DiagnosticSeverity, SourceLayer,
    capability_file_schema, check_paths, find_project, parse_capability_file,
};

use crate::{
    fixtures::files,
    folder::{Folder, codes, quarantined, user},
};

fn parse(path: &Path) -> (Option<CapabilityFile>, Vec<Diagnostic>) {
    parse_capability_file(&fs::read_to_string(path).unwrap(), path)
}

fn render(path: &Path) -> String {
    let (file, diagnostics) = parse(path);
    let mut text = String::new();
    for found in &diagnostics {
        let severity = match found.severity {
            DiagnosticSeverity::Error => "error",
            DiagnosticSeverity::Warning => "warning",
        };
        let fix = found.fix.as_deref().unwrap();
        assert_eq!(found.file, path);
        assert!(!found.message.ends_with('.') && !found.message.starts_with(char::is_uppercase));
        writeln!(
            text,
            "{severity} {}:{} {}: {}",
            found.line, found.column, found.code, found.message
        )
        .unwrap();
        writeln!(text, "    fix: {fix}").unwrap();
    }
    let Some(file) = file else { return text + "nothing is used\n" };
    let ids = |name: &str, ids: Vec<String>| format!("{name}: {}\n", ids.join(" "));
    text += &ids("servers", file.servers.iter().map(|one| one.id.clone()).collect());
    text += &ids(
        "tools",
        file.tools
            .iter()
            .map(capdeck_definition::capability_file::ToolDeclaration::qualified_name)
            .collect(),
    );
    text += &ids("skills", file.skills.iter().map(|one| one.id.clone()).collect());
    text += &ids("rules", file.rules.iter().map(|one| one.id.clone()).collect());
    text += &ids("hooks", file.hooks.iter().map(|one| one.id.clone()).collect());
    text += &ids("subagents", file.subagents.iter().map(|one| one.id.clone()).collect());
    text += &ids("plugins", file.plugins.iter().map(|one| one.repo.name.clone()).collect());
    let snippets = file.agents.iter().flat_map(|agents| &agents.additional);
    text + &ids("snippets", snippets.map(|one| one.id.clone()).collect())
}

fn snapshots(folder: &str, text: impl Fn(&Path) -> String) {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(folder);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(&base);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for path in files(folder) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        settings.bind(|| insta::assert_snapshot!(name, text(&path)));
    }
}

#[test]
fn a_sound_file_says_nothing_and_keeps_everything() {
    snapshots("capabilities/valid", |path| {
        let (file, diagnostics) = parse(path);
        assert_eq!(diagnostics, [], "{}", path.display());
        let mut file = file.unwrap();
        file.path = "capabilities.yaml".into();
        format!("{file:#?}")
    });
}

#[test]
fn each_mistake_is_reported_with_its_place_and_costs_its_entry_only() {
    snapshots("capabilities/broken", render);
}

#[test]
fn yaml_and_json_mean_the_same() {
    for path in files("capabilities/valid") {
        let text = fs::read_to_string(&path).unwrap();
        let options = serde_saphyr::options! { strict_booleans: true };
        let value: serde_json::Value = serde_saphyr::from_str_with_options(&text, options).unwrap();
        let as_json = serde_json::to_string_pretty(&value).unwrap();
        let (json, found) = parse_capability_file(&as_json, Path::new("capabilities.json"));
        assert_eq!(found, []);
        let (yaml, _) = parse(&path);
        let mut yaml = yaml.unwrap();
        yaml.path = "capabilities.json".into();
        assert_eq!(Some(yaml), json);
        // What is read without complaint fits the schema, but for nulls and bare numbers.
        let mut strict = value;
        strip(&mut strict);
        let schema = jsonschema::validator_for(&capability_file_schema()).unwrap();
        let problems: Vec<String> =
            schema.iter_errors(&strict).map(|error| error.to_string()).collect();
        assert_eq!(problems, Vec::<String>::new());
    }
}

fn strip(value: &mut serde_json::Value) {
    use serde_json::Value;
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            for (key, value) in map {
                if matches!(key.as_str(), "env" | "args") {
                    match value {
                        Value::Object(map) => map.values_mut().for_each(quote),
                        Value::Array(items) => items.iter_mut().for_each(quote),
                        _ => {}
                    }
                }
                strip(value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

fn quote(value: &mut serde_json::Value) {
    if value.is_number() || value.is_boolean() {
        *value = serde_json::Value::String(value.to_string());
    }
}

const SMALL: &str = "tools:\n  - { id: hello, type: command, def: { run: { cmd: echo hello } } }\n";

fn open(folder: &Folder) -> Deck {
    let project = find_project(&folder.path("project"), None);
    Deck::open(&[user(&folder.path("user"))], project.as_ref())
}

#[test]
fn a_project_may_have_this_file_alone() {
    let folder = Folder::with(&[("project/capabilities.yaml", SMALL)]);
    let deck = open(&folder);
    assert_eq!(codes(&deck), [""; 0]);
    let file = deck.capability_file.as_ref().unwrap();
    assert_eq!(file.path, folder.path("project/capabilities.yaml"));
    assert_eq!(file.project_dir(), folder.path("project"));
    assert!(deck.project_hash.is_some());
    assert!(deck.watched.contains(&folder.path("project")));
    folder.write("project/capabilities.yaml", "tools: []\n");
    assert_ne!(open(&folder).project_hash, deck.project_hash);
}

#[test]
fn variables_count_into_the_hash_where_they_are_used() {
    let folder = Folder::with(&[("project/capabilities.yaml", SMALL)]);
    let plain = open(&folder).project_hash;
    folder.write("project/.env", "A=1\n");
    assert_eq!(open(&folder).project_hash, plain);
    let text = "servers:\n  - { id: a, type: mcp, def: { cmd: \"${A}\" } }\n";
    folder.write("project/capabilities.yaml", text);
    let first = open(&folder).project_hash;
    folder.write("project/.env", "A=2\n");
    assert_ne!(open(&folder).project_hash, first);
}

#[test]
fn without_a_project_there_is_no_file() {
    let folder = Folder::with(&[("project/.git/HEAD", "")]);
    let deck = open(&folder);
    assert_eq!((deck.capability_file, deck.project_hash), (None, None));
    let project = DeckProject { dir: folder.path("project"), roots: Vec::new() };
    assert!(!project.has_deck());
}

#[test]
fn two_files_are_an_error_and_neither_is_used() {
    let folder =
        Folder::with(&[("project/capabilities.yaml", SMALL), ("project/capabilities.json", "{}")]);
    let deck = open(&folder);
    assert_eq!(codes(&deck), ["several-capability-files"; 2]);
    assert_eq!(quarantined(&deck), ["capabilities.yaml", "capabilities.json"]);
    assert_eq!(deck.capability_file, None);
}

#[test]
fn a_file_can_be_checked_by_name_or_by_its_folder() {
    let text = "servers:\n  - { id: a, type: mcp, def: {} }\n";
    let folder = Folder::with(&[("project/capabilities.yaml", text)]);
    for path in ["project/capabilities.yaml", "project"] {
        let deck = check_paths(&[folder.path(path)]);
        assert_eq!(codes(&deck), ["missing-key"], "{path}");
        assert_eq!(quarantined(&deck), ["a"]);
        assert_eq!(deck.quarantined[0].source.layer, SourceLayer::ProjectCapabilityFile);
        assert_eq!(deck.project_hash, None);
    }
}

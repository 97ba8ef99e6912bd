//! What people wrote survives installing, changing and removing.

use std::fs;

use capdeck_install::{FileAction, OverwritePolicy};
use proptest::prelude::*;

use crate::{
    fixture::Fixture,
    golden::{EVERYTHING, with_skill},
};

const AGENTS: [&str; 7] =
    ["claude-code", "cursor", "codex", "gemini-cli", "github-copilot", "opencode", "windsurf"];

/// Files that people have, with what an installation adds to.
fn user_files() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let text = "[a-zA-Z #$&\\\\\n\r\t<>!-]{0,80}";
    let spaces = "[ \n]{0,3}";
    let json = (spaces, "[a-z]{1,6}", spaces, 0..4_usize, any::<bool>()).prop_map(
        |(before, key, after, shape, comma)| {
            let comma = if comma { "," } else { "" };
            let inner = match shape {
                0 => String::new(),
                1 => format!("\n  // mine\n  \"{key}\": 1{comma}\n"),
                2 => format!("\"mcpServers\": {{ \"{key}\": {{ \"command\": \"x\" }} /* here */ }}"),
                _ => format!("\"hooks\": {{ \"PreToolUse\": [ {{ \"matcher\": \"{key}\", \"hooks\": [] }} ] }}, \"mcp\": {{}}"),
            };
            format!("{before}{{{inner}}}{after}")
        },
    );
    let toml = ("[a-z]{1,6}", 0..3_usize).prop_map(|(key, shape)| match shape {
        0 => String::new(),
        1 => format!("# mine\n{key} = 1 # here\n\n[mcp_servers.{key}]\ncommand = \"x\"\n"),
        _ => format!("mcp_servers = {{ {key} = {{ command = \"x\" }} }}\n"),
    });
    let markdown = ["AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md"];
    let configs = [
        ".mcp.json",
        ".claude/settings.json",
        ".cursor/mcp.json",
        ".gemini/settings.json",
        "opencode.json",
        ".vscode/mcp.json",
    ];
    let one = prop_oneof![
        (prop::sample::select(markdown.to_vec()), text.prop_map(String::from)),
        (prop::sample::select(configs.to_vec()), json),
        (Just(".codex/config.toml"), toml),
    ];
    prop::collection::vec(one, 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn cleaning_restores_every_byte(files in user_files(), fewer in any::<bool>()) {
        let fixture = with_skill();
        for (path, text) in &files {
            fixture.put(path, text);
        }
        let before = fixture.tree();
        let (installer, plan) = fixture.plan(EVERYTHING, &AGENTS);
        if !plan.can_apply() {
            // A file that cannot be edited is named, and then nothing at all is written.
            prop_assert_eq!(fixture.tree(), before);
            return Ok(());
        }
        installer.apply(&plan).unwrap();
        let installed = fixture.tree();
        fixture.install(EVERYTHING, &AGENTS);
        prop_assert_eq!(fixture.tree(), installed);
        if fewer {
            fixture.install("skills: []", &["cursor"]);
            prop_assert_eq!(fixture.tree(), before.clone());
        }
        prop_assert_eq!(fixture.clean(), vec![]);
        prop_assert_eq!(fixture.tree(), before);
    }
}

#[test]
fn what_people_add_around_ours_stays() {
    let fixture = with_skill();
    fixture.put("AGENTS.md", "# Mine\n");
    fixture.put(".codex/config.toml", "model = \"x\" # mine\n");
    fixture.install(EVERYTHING, &["codex", "claude-code"]);
    let add = |path: &str, more: &str| fixture.put(path, &format!("{more}{}", fixture.read(path)));
    add("AGENTS.md", "# First\n\n");
    add(".codex/config.toml", "# new\n");
    let mcp = fixture.read(".mcp.json");
    fixture.put(".mcp.json", &mcp.replacen('{', "{\n  // mine\n  \"other\": true,", 1));
    fixture.put(".claude/skills/triage/notes.md", "my notes");
    fixture.install(EVERYTHING, &["codex", "claude-code"]);
    assert_eq!(fixture.clean(), []);
    assert_eq!(fixture.read("AGENTS.md"), "# First\n\n# Mine\n");
    assert_eq!(fixture.read(".codex/config.toml"), "# new\nmodel = \"x\" # mine\n");
    assert!(fixture.read(".mcp.json").contains("// mine"), "{}", fixture.read(".mcp.json"));
    assert!(!fixture.read(".mcp.json").contains("capdeck"));
    assert_eq!(fixture.read(".claude/skills/triage/notes.md"), "my notes");
    assert!(!fixture.project().join(".claude/skills/triage/SKILL.md").exists());
    assert!(!fixture.project().join("CLAUDE.md").exists());
}

#[test]
fn hooks_that_people_add_to_a_group_of_ours_stay_and_ours_go() {
    let yaml = r#"
hooks:
  - { id: guard, on: beforeShell, command: ./guard.sh }
  - { id: second, on: beforeShell, command: ./second.sh }
"#;
    let agents = ["claude-code", "codex"];
    let (json, toml) = (".claude/settings.json", ".codex/config.toml");
    let fixture = Fixture::new();
    fixture.install(yaml, &agents);
    let group = fixture.read(json).replace(
        r#""hooks": [
          {"#,
        r#""hooks": [
          { "type": "command", "command": "mine.sh" }, // mine
          {"#,
    );
    assert!(group.contains("// mine"), "{group}");
    fixture.put(json, &group);
    let config = fixture.read(toml);
    let mixed = config.replace("hooks = [{", "hooks = [{ command = \"mine.sh\" }, {");
    assert_ne!(mixed, config);
    fixture.put(toml, &mixed);
    let before = fixture.tree();

    // Nothing is missing, so nothing is written a second time.
    assert_eq!(fixture.install(yaml, &agents), []);
    assert_eq!(fixture.tree(), before);
    fixture.install(&yaml.replace("guard.sh", "watch.sh"), &agents);
    for file in [json, toml] {
        let text = fixture.read(file);
        assert_eq!(text.matches("watch.sh").count(), 1, "{text}");
        assert_eq!(text.matches("second.sh").count(), 1, "{text}");
        assert!(text.contains("mine.sh") && !text.contains("guard.sh"), "{text}");
    }
    assert_eq!(fixture.clean(), []);
    for file in [json, toml] {
        let text = fixture.read(file);
        assert!(text.contains("mine.sh") && !text.contains("capdeck:"), "{text}");
    }
    assert!(fixture.read(json).contains("// mine"));
}

#[test]
fn what_people_changed_of_ours_is_kept_until_forced() {
    let mut fixture = with_skill();
    fixture.install(EVERYTHING, &["claude-code"]);
    fixture.put(".claude/rules/always.md", "My own.\n");
    let claude = fixture.read("CLAUDE.md").replace("Be brief.", "Be long.");
    fixture.put("CLAUDE.md", &claude);
    let mcp = fixture.read(".mcp.json").replacen("\"serve\"", "\"serve\", \"-v\"", 1);
    fixture.put(".mcp.json", &mcp);
    let changed = EVERYTHING.replace("Never push", "Never ever push").replace("Costs", "Prices");

    let reported: Vec<_> =
        fixture.install(&changed, &["claude-code"]).into_iter().map(|one| one.about).collect();
    assert_eq!(reported.len(), 3, "{reported:?}");
    assert_eq!(fixture.read(".claude/rules/always.md"), "My own.\n");
    assert_eq!(fixture.read("CLAUDE.md"), claude);
    assert_eq!(fixture.read(".mcp.json"), mcp);
    assert_eq!(fixture.clean().len(), 3);
    assert_eq!(fixture.read(".claude/rules/always.md"), "My own.\n");
    assert!(fixture.read("CLAUDE.md").contains("Be long."));

    fixture.edited = OverwritePolicy::Overwrite;
    fixture.install(&changed, &["claude-code"]);
    assert!(fixture.read(".claude/rules/always.md").contains("Never ever push"));
    assert!(fixture.read("CLAUDE.md").contains("Be brief. Prices"));
    assert_eq!(fixture.clean(), []);
    assert!(!fixture.project().join("CLAUDE.md").exists());
    assert!(!fixture.project().join(".claude").exists());
}

#[test]
fn files_of_others_are_not_taken_over_unless_forced_and_then_come_back() {
    let mut fixture = with_skill();
    fixture.put(".claude/skills/triage/SKILL.md", "mine");
    fixture.put(".claude/rules/always.md", "mine too");
    let before = fixture.tree();
    let (_, plan) = fixture.plan(EVERYTHING, &["claude-code"]);
    let errors: Vec<&str> =
        plan.problems.iter().filter(|one| one.is_error()).map(|one| one.code).collect();
    assert_eq!(errors, ["not-ours", "not-ours"]);
    assert_eq!(fixture.tree(), before);
    fixture.edited = OverwritePolicy::Overwrite;
    fixture.install(EVERYTHING, &["claude-code"]);
    assert_ne!(fixture.read(".claude/skills/triage/SKILL.md"), "mine");
    fixture.clean();
    assert_eq!(fixture.tree(), before);
}

#[test]
fn what_is_no_longer_declared_goes() {
    let fixture = with_skill();
    fixture.install(EVERYTHING, &["claude-code", "cursor"]);
    let less = r#"
options: { toolExposure: none }
servers: [{ id: tracker, type: mcp, def: { url: "https://tracker.example.com/mcp" } }]
skills: [{ id: triage, type: inline, def: { content: "---\nname: triage\n---\n" } }]
"#;
    let (_, plan) = fixture.plan(less, &["claude-code"]);
    assert!(plan.changes.iter().any(|one| one.action == FileAction::Remove));
    fixture.install(less, &["claude-code"]);
    let tree = fixture.tree();
    let left: Vec<&String> = tree.keys().filter(|path| !path.starts_with("skills/")).collect();
    assert_eq!(left, [".claude/skills/triage/SKILL.md"]);
}

#[test]
fn entries_that_a_colleague_committed_go_when_tools_are_for_the_shell() {
    let (one, other) = (with_skill(), with_skill());
    one.install(EVERYTHING, &["claude-code"]);
    other.put(".mcp.json", &one.read(".mcp.json"));
    let shell = EVERYTHING.replacen("servers:", "options: { toolExposure: none }\nservers:", 1);
    other.install(&shell, &["claude-code"]);
    let mcp = other.tree().remove(".mcp.json").unwrap_or_default();
    assert!(!mcp.contains("capdeck"), "{mcp}");
}

#[test]
fn a_colleague_who_has_our_files_already_gets_no_conflict() {
    let (one, other) = (with_skill(), with_skill());
    one.install(EVERYTHING, &AGENTS);
    for (path, text) in one.tree() {
        // Scripts of hooks are in the state folder, which a colleague does not have.
        if !text.contains("/state/") {
            other.put(&path, &text);
        }
    }
    other.install(EVERYTHING, &AGENTS);
    let paths = |fixture: &Fixture| fixture.tree().into_keys().collect::<Vec<_>>();
    assert_eq!(paths(&other), paths(&one));
}

#[test]
fn an_interrupted_run_is_finished_first() {
    let fixture = with_skill();
    let (installer, plan) = fixture.plan(EVERYTHING, &["claude-code"]);
    // A folder in the way of one file stops the run in the middle.
    fs::create_dir_all(fixture.project().join("CLAUDE.md/in-the-way")).unwrap();
    assert!(installer.apply(&plan).is_err());
    fs::remove_dir_all(fixture.project().join("CLAUDE.md")).unwrap();
    let mut installer = fixture.installer();
    assert!(installer.is_interrupted().unwrap());
    installer.finish_interrupted().unwrap();
    drop(installer);
    let (_, plan) = fixture.plan(EVERYTHING, &["claude-code"]);
    assert!(plan.changes.is_empty(), "{:#?}", plan.changes);
}

#[test]
fn rules_for_folders_stand_in_the_folders() {
    let fixture = Fixture::new();
    fixture.put("src/api/AGENTS.md", "# Mine\n");
    fixture.put("docs/page.md", "x");
    let before = fixture.tree();
    let yaml = r#"
rules:
  - { id: api, type: inline, content: Answer with JSON., appliesTo: ["src/api/**", "docs/"] }
  - { id: files, type: inline, content: Whole words., appliesTo: ["**/*.rs"] }
  - { id: later, type: inline, content: Not yet., appliesTo: ["later/**"] }
  - { id: always, type: inline, content: Be kind., appliesTo: ["src/api/**"], alwaysApply: true }
"#;
    fixture.install(yaml, &["codex", "gemini-cli"]);
    let nested = fixture.read("src/api/AGENTS.md");
    assert!(nested.starts_with("# Mine\n") && nested.contains("Answer with JSON."), "{nested}");
    assert!(!nested.contains("For files that match"), "{nested}");
    assert!(fixture.read("docs/AGENTS.md").contains("capa:start:rule:api"));
    let root = fixture.read("AGENTS.md");
    assert!(!root.contains("rule:api"), "{root}");
    for id in ["files", "later", "always"] {
        assert!(root.contains(&format!("capa:start:rule:{id}")), "{root}");
    }
    assert!(!fixture.project().join("later").exists());
    let installed = fixture.tree();
    fixture.install(yaml, &["codex", "gemini-cli"]);
    assert_eq!(fixture.tree(), installed);

    // A rule that is gone leaves its folders.
    fixture.install(&yaml.replace("docs/", "src/api/"), &["codex", "gemini-cli"]);
    assert!(!fixture.project().join("docs/AGENTS.md").exists());
    assert_eq!(fixture.clean(), []);
    assert_eq!(fixture.tree(), before);
}

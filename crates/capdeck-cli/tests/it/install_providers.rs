//! `capdeck install` for each agent there is: which files it writes, and what each of them holds.

use std::{collections::BTreeSet, fs, path::Path};

use capdeck_install::AgentProvider;
use capdeck_test::TestDirs;
use serde_json::Value;

use crate::{json, run};

/// One of everything.
const FILE: &str = r#"
servers:
  - id: notes
    type: mcp
    def: { cmd: notes-server }
tools:
  - { id: add, type: mcp, def: { server: notes, tool: add } }
  - { id: drop, type: mcp, def: { server: notes, tool: drop } }
skills:
  - id: triage
    type: inline
    def: { content: "---\nname: triage\ndescription: Sorts\n---\nSort it.\n", requires: [notes.add] }
rules:
  - { id: style, type: inline, content: Whole words., appliesTo: ["src/**"] }
subagents:
  - { id: helper, description: Helps, skills: [triage], tools: [notes.add], instructions: Help. }
hooks:
  - { id: guard, on: beforeShell, command: ./guard.sh }
agents:
  additional: [{ id: intro, type: inline, content: Read this. }]
"#;

/// What an agent's places are. `-` is none.
struct Places {
    id: &'static str,
    /// The file of its MCP servers and the key that holds them, with `+` where sub-agents have entries of their own.
    mcp: &'static str,
    instructions: &'static str,
    /// The file of the rule; `=` where it is folded into the instructions.
    rule: &'static str,
    subagent: &'static str,
    skills: &'static str,
    hooks: &'static str,
}

const fn agent(
    id: &'static str,
    mcp: &'static str,
    instructions: &'static str,
    rule: &'static str,
    subagent: &'static str,
    skills: &'static str,
    hooks: &'static str,
) -> Places {
    Places { id, mcp, instructions, rule, subagent, skills, hooks }
}

const AGENTS: [Places; 39] = [
    agent("adal", "-", "AGENTS.md", "=", "-", ".adal/skills", "-"),
    agent("amp", "-", "-", "-", "-", ".agents/skills", "-"),
    agent("antigravity", "-", "AGENTS.md", ".agents/rules/style.md", "-", ".agent/skills", "-"),
    agent("augment", "-", "AGENTS.md", "=", ".augment/agents/helper.md", ".augment/skills", "-"),
    agent(
        "claude-code",
        ".mcp.json mcpServers +",
        "CLAUDE.md",
        ".claude/rules/style.md",
        ".claude/agents/helper.md",
        ".claude/skills",
        ".claude/settings.json",
    ),
    agent("cline", "-", "AGENTS.md", "=", "-", ".cline/skills", "-"),
    agent(
        "codebuddy",
        ".mcp.json mcpServers +",
        "CODEBUDDY.md",
        "=",
        "-",
        ".codebuddy/skills",
        "-",
    ),
    agent(
        "codex",
        ".codex/config.toml mcp_servers +",
        "AGENTS.md",
        "=",
        ".codex/agents/helper.toml",
        ".agents/skills",
        ".codex/config.toml",
    ),
    agent("command-code", "-", "-", "-", "-", ".commandcode/skills", "-"),
    agent("continue", "-", "-", "-", "-", ".continue/skills", "-"),
    agent("crush", ".crush.json mcp +", "AGENTS.md", "=", "-", ".crush/skills", "-"),
    agent(
        "cursor",
        ".cursor/mcp.json mcpServers",
        "AGENTS.md",
        ".cursor/rules/style.mdc",
        ".cursor/agents/helper.md",
        ".cursor/skills",
        ".cursor/hooks.json",
    ),
    agent(
        "droid",
        ".factory/mcp.json mcpServers +",
        "AGENTS.md",
        "=",
        ".factory/droids/helper.md",
        ".factory/skills",
        "-",
    ),
    agent(
        "gemini-cli",
        ".gemini/settings.json mcpServers +",
        "AGENTS.md",
        "=",
        ".gemini/agents/helper.md",
        ".agents/skills",
        ".gemini/settings.json",
    ),
    agent(
        "github-copilot",
        ".vscode/mcp.json servers",
        ".github/copilot-instructions.md",
        ".github/instructions/style.instructions.md",
        ".github/agents/helper.md",
        ".agents/skills",
        "-",
    ),
    agent("goose", "-", "AGENTS.md", "=", "-", ".goose/skills", "-"),
    agent(
        "iflow-cli",
        ".iflow/settings.json mcpServers +",
        "AGENTS.md",
        "=",
        "-",
        ".iflow/skills",
        "-",
    ),
    agent(
        "junie",
        ".junie/mcp/mcp.json mcpServers +",
        "AGENTS.md",
        "=",
        ".junie/agents/helper.md",
        ".junie/skills",
        "-",
    ),
    agent(
        "kilo",
        ".kilocode/mcp.json mcpServers +",
        "AGENTS.md",
        ".kilo/rules/style.md",
        ".kilo/agent/helper.md",
        ".kilocode/skills",
        "-",
    ),
    agent("kimi-cli", "-", "AGENTS.md", "=", "-", ".agents/skills", "-"),
    agent(
        "kiro-cli",
        ".kiro/settings/mcp.json mcpServers +",
        "AGENTS.md",
        ".kiro/steering/style.md",
        "-",
        ".kiro/skills",
        "-",
    ),
    agent(
        "kode",
        ".mcp.json mcpServers +",
        "AGENTS.md",
        "=",
        ".kode/agents/helper.md",
        ".kode/skills",
        "-",
    ),
    agent("mcpjam", "-", "-", "-", "-", ".mcpjam/skills", "-"),
    agent("mistral-vibe", "-", "AGENTS.md", "=", "-", ".vibe/skills", "-"),
    agent("mux", "-", "-", "-", "-", ".mux/skills", "-"),
    agent("neovate", ".neovate/config.json mcpServers +", "-", "-", "-", ".neovate/skills", "-"),
    agent("openclaw", "-", "-", "-", "-", "skills", "-"),
    agent(
        "opencode",
        "opencode.json mcp +",
        "AGENTS.md",
        "=",
        ".opencode/agents/helper.md",
        ".agents/skills",
        "-",
    ),
    agent("openhands", "-", "AGENTS.md", "=", "-", ".openhands/skills", "-"),
    agent("pi", "-", "AGENTS.md", "=", "-", ".pi/skills", "-"),
    agent(
        "pochi",
        ".pochi/config.jsonc mcp +",
        "README.pochi.md",
        "=",
        ".pochi/agents/helper.md",
        ".pochi/skills",
        "-",
    ),
    agent(
        "qoder",
        "-",
        "AGENTS.md",
        ".qoder/rules/style.md",
        ".qoder/agents/helper.md",
        ".qoder/skills",
        "-",
    ),
    agent(
        "qwen-code",
        ".qwen/settings.json mcpServers +",
        "AGENTS.md",
        "=",
        ".qwen/agents/helper.md",
        ".qwen/skills",
        "-",
    ),
    agent("replit", "-", "replit.md", "=", "-", ".agents/skills", "-"),
    agent("roo", ".roo/mcp.json mcpServers +", "-", "-", "-", ".roo/skills", "-"),
    agent(
        "trae",
        ".trae/mcp.json mcpServers +",
        "AGENTS.md",
        ".trae/rules/style.md",
        "-",
        ".trae/skills",
        "-",
    ),
    agent(
        "trae-cn",
        ".trae/mcp.json mcpServers +",
        "AGENTS.md",
        ".trae/rules/style.md",
        "-",
        ".trae/skills",
        "-",
    ),
    agent("windsurf", "-", "-", ".windsurf/rules/style.md", "-", ".windsurf/skills", "-"),
    agent("zencoder", "-", "-", "-", "-", ".zencoder/skills", "-"),
];

/// Every file below a folder, by its path.
fn files(folder: &Path, below: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        match entry.file_type().unwrap().is_dir() {
            true => files(&entry.path(), &format!("{name}/"), found),
            false => drop(found.insert(name)),
        }
    }
}

#[test]
fn the_table_has_every_agent() {
    let known: Vec<&str> = AgentProvider::all().iter().map(|one| one.id).collect();
    assert_eq!(AGENTS.map(|one| one.id).to_vec(), known);
}

#[test]
fn every_agent_gets_its_own_files_and_loses_them_again() {
    for places in &AGENTS {
        check(places);
    }
}

fn check(places: &Places) {
    let id = places.id;
    let dirs = TestDirs::new();
    dirs.write("project/capabilities.yaml", FILE);
    let project = dirs.project();
    let mut before = BTreeSet::new();
    files(&project, "", &mut before);
    let installed = json(&dirs, &["install", "--yes", "--provider", id]);
    assert_eq!(installed["applied"], true, "{id}: {installed}");
    let warned = installed["problems"].to_string();
    assert!(warned.contains("no skill requires `notes.drop`"), "{id}: {warned}");

    let read = |path: &str| {
        fs::read_to_string(project.join(path))
            .unwrap_or_else(|error| panic!("{id}: {path}: {error}"))
    };
    let has = |path: &str, text: &str| {
        let content = read(path);
        assert!(content.contains(text), "{id}: no `{text}` in {path}:\n{content}");
    };
    let mut expected = before.clone();
    let skill = format!("{}/triage/SKILL.md", places.skills);
    has(&skill, "Sort it.");
    expected.insert(skill);
    let mcp: Vec<&str> = places.mcp.split(' ').filter(|word| *word != "-").collect();
    if let [path, key, more @ ..] = mcp.as_slice() {
        expected.insert((*path).to_owned());
        has(path, "capdeck");
        has(path, key);
        assert_eq!(read(path).contains("capdeck-helper"), !more.is_empty(), "{id}: {path}");
        // An editor that may start programs anywhere says which folder is open in it.
        let is_editor = ["cursor", "github-copilot"].contains(&id);
        assert_eq!(read(path).contains("${workspaceFolder}"), is_editor, "{id}: {path}");
    }
    // Without a file of its own, what everyone reads is written.
    let instructions = match places.instructions {
        "-" => "AGENTS.md",
        file => file,
    };
    has(instructions, "Read this.");
    expected.insert(instructions.to_owned());
    match places.rule {
        "-" => {}
        "=" => has(instructions, "Whole words."),
        file => {
            has(file, "Whole words.");
            expected.insert(file.to_owned());
        }
    }
    if places.subagent != "-" {
        has(places.subagent, "helper");
        has(places.subagent, "Help.");
        expected.insert(places.subagent.to_owned());
    }
    if places.hooks != "-" {
        has(places.hooks, "./guard.sh");
        expected.insert(places.hooks.to_owned());
    }
    let mut found = BTreeSet::new();
    files(&project, "", &mut found);
    found.remove("capabilities.lock");
    assert_eq!(found, expected, "{id}");

    run(&dirs, &["clean"]).success();
    let mut after = BTreeSet::new();
    files(&project, "", &mut after);
    assert_eq!(after, before, "{id}");
}

/// A second run changes nothing, and says so.
#[test]
fn a_second_run_for_all_agents_changes_nothing() {
    let dirs = TestDirs::new();
    dirs.write("project/capabilities.yaml", FILE);
    let mut words = vec!["install", "--yes"];
    for places in &AGENTS {
        words.extend(["--provider", places.id]);
    }
    assert_eq!(json(&dirs, &words)["applied"], true);
    let again = json(&dirs, &["install"]);
    assert_eq!(again["items"], Value::Array(Vec::new()), "{again}");
}

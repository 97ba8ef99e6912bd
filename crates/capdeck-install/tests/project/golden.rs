//! What each agent's places hold after an installation, file by file.

use crate::fixture::Fixture;

/// Something of everything.
pub(crate) const EVERYTHING: &str = r##"
servers:
  - id: tracker
    type: mcp
    def: { url: "https://tracker.example.com/mcp" }
tools:
  - id: find
    type: mcp
    description: "Finds issues"
    def: { server: "@tracker", tool: search_issues }
skills:
  - id: triage
    type: inline
    def:
      description: "Sorts what comes in"
      requires: ["@tracker.find"]
      content: |
        ---
        name: triage
        description: Sorts what comes in
        ---
        Look at the newest issues first.
  - id: release
    type: local
    def: { path: ./skills/release }
agents:
  additional:
    - id: house
      type: inline
      content: "Be brief. Costs: $$5 and $& stay."
rules:
  - id: style
    type: inline
    description: 'How "we" write: plainly'
    appliesTo: ["src/**/*.ts", "*.md"]
    content: |
      ---
      globs: never this
      author: somebody
      ---
      Use whole words.
  - id: always
    type: inline
    content: Never push to main.
hooks:
  - id: guard
    on: beforeShell
    command: ./guard.sh --strict
    matcher: deploy
    timeout: 5
    failClosed: true
  - id: greet
    on: sessionStart
    source: { type: inline, content: "#!/bin/sh\necho hello\n" }
  - id: after
    on: afterFileEdit
    command: fmt
subagents:
  - id: triager
    description: 'Knows the tracker: "well"'
    skills: [triage]
    tools: ["@tracker.find"]
    instructions: Answer with numbers.
"##;

pub(crate) fn with_skill() -> Fixture {
    let fixture = Fixture::new();
    fixture.put(
        "skills/release/SKILL.md",
        "---\nname: release\ndescription: Releases\n---\nRun it.\n",
    );
    fixture.put("skills/release/run.sh", "#!/bin/sh\n");
    fixture
}

fn golden(provider: &str) {
    let fixture = with_skill();
    fixture.install(EVERYTHING, &[provider]);
    let first = fixture.tree();
    insta::assert_snapshot!(provider, fixture.shown());
    let (_, again) = fixture.plan(EVERYTHING, &[provider]);
    assert!(again.changes.is_empty(), "{:#?}", again.changes);
    fixture.install(EVERYTHING, &[provider]);
    assert_eq!(fixture.tree(), first);
}

#[test]
fn claude_code() {
    golden("claude-code");
}

#[test]
fn cursor() {
    golden("cursor");
}

#[test]
fn codex() {
    golden("codex");
}

#[test]
fn gemini_cli() {
    golden("gemini-cli");
}

#[test]
fn github_copilot() {
    golden("github-copilot");
}

#[test]
fn opencode() {
    golden("opencode");
}

#[test]
fn windsurf() {
    golden("windsurf");
}

#[test]
fn qwen_code() {
    golden("qwen-code");
}

#[test]
fn kilo() {
    golden("kilo");
}

#[test]
fn an_agent_with_skills_only() {
    golden("amp");
}

#[test]
fn every_provider_can_be_installed_for_and_cleaned() {
    let ids: Vec<&str> =
        capdeck_install::AgentProvider::all().iter().map(|provider| provider.id).collect();
    let fixture = with_skill();
    let before = fixture.tree();
    fixture.install(EVERYTHING, &ids);
    let first = fixture.tree();
    fixture.install(EVERYTHING, &ids);
    assert_eq!(fixture.tree(), first);
    assert_eq!(fixture.clean(), []);
    assert_eq!(fixture.tree(), before);
}

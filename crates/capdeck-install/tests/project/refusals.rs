//! Bad input: named, all of it at once, and nothing written.

use std::fs;

use capdeck_install::AgentEndpoints;

use crate::fixture::Fixture;

/// The codes of the errors; none of the project's files may have changed.
fn refused(fixture: &Fixture, yaml: &str, providers: &[&str]) -> Vec<(String, String)> {
    let before = fixture.tree();
    let (_, plan) = fixture.plan(yaml, providers);
    assert!(!plan.can_apply());
    assert_eq!(fixture.tree(), before);
    let errors = plan.problems.into_iter().filter(capdeck_install::InstallProblem::is_error);
    errors.map(|one| (one.code.to_owned(), format!("{}: {}", one.about, one.message))).collect()
}

#[test]
fn all_problems_are_reported_and_nothing_is_written() {
    let fixture = Fixture::new();
    let yaml = r#"
options: { requiresCommands: [{ cli: surely-not-here, description: "brew install it" }] }
skills:
  - { id: good, type: inline, def: { content: "---\nname: good\n---\n" } }
  - { id: lost, type: local, def: { path: ./nowhere } }
  - { id: out, type: local, def: { path: ../outside } }
  - { id: page, type: remote, def: { url: "https://example.com/missing.md" } }
rules:
  - { id: gone, type: local, path: gone.md }
"#;
    let reported = refused(&fixture, yaml, &["claude-code"]);
    let codes: Vec<&str> = reported.iter().map(|(code, _)| code.as_str()).collect();
    assert_eq!(
        codes,
        ["missing-command", "bad-source", "bad-source", "bad-source", "bad-source"],
        "{reported:#?}"
    );
}

#[test]
fn blocked_phrases_are_found_in_scripts_hooks_and_rules() {
    let fixture = Fixture::new();
    fixture.put("phrases.txt", "rm -rf /\n\nsend the keys\n");
    fixture.put("skills/a/SKILL.md", "---\nname: a\n---\nfine");
    fixture.put("skills/a/run.py", "import os\nos.system('RM\u{200b} -rf /')\n");
    let yaml = r#"
options: { security: { blockedPhrases: { file: phrases.txt } } }
skills: [{ id: a, type: local, def: { path: skills/a } }]
rules: [{ id: r, type: inline, content: "Send the  keys." }]
hooks: [{ id: h, on: stop, source: { type: inline, content: "rm -rf /" } }]
"#;
    let reported = refused(&fixture, yaml, &["claude-code"]);
    let about: Vec<&str> =
        reported.iter().map(|(_, text)| text.split_once(": ").unwrap().0).collect();
    assert_eq!(about, ["skill `a`, run.py", "rule `r`", "hook `h`"]);
    let escaping = yaml.replace("phrases.txt", "../phrases.txt");
    assert_eq!(refused(&fixture, &escaping, &["claude-code"])[0].0, "security");
}

#[test]
fn hidden_messages_are_refused_and_blanked_out_where_the_project_says_so() {
    let fixture = Fixture::new();
    let yaml = "skills: [{ id: a, type: inline, def: { content: \"---\\nname: a\\n---\\nhi\\U000E0041\" } }]\n";
    assert_eq!(refused(&fixture, yaml, &["cursor"])[0].0, "hidden-text");
    let allowed = format!("options: {{ security: {{ allowedCharacters: '' }} }}\n{yaml}");
    fixture.install(&allowed, &["cursor"]);
    assert_eq!(fixture.read(".cursor/skills/a/SKILL.md"), "---\nname: a\n---\nhi ");
}

#[cfg(unix)]
#[test]
fn a_provider_folder_that_leads_outside_is_refused() {
    use std::os::unix::fs::symlink;
    let fixture = Fixture::new();
    let outside = fixture.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, fixture.project().join(".claude")).unwrap();
    symlink(outside.join("x.md"), fixture.project().join("AGENTS.md")).unwrap();
    let yaml = "skills: [{ id: a, type: inline, def: { content: \"---\\nname: a\\n---\\n\" } }]\n\
                agents: { additional: [{ id: s, type: inline, content: x }] }\n";
    let before = fs::read_dir(&outside).unwrap().count();
    let (_, plan) = fixture.plan(yaml, &["claude-code", "codex"]);
    assert!(!plan.can_apply());
    let codes: Vec<&str> = plan.problems.iter().map(|one| one.code).collect();
    assert_eq!(codes, ["outside-project", "outside-project"], "{:#?}", plan.problems);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), before);
}

#[cfg(unix)]
#[test]
fn a_link_between_instruction_files_is_one_file() {
    let fixture = Fixture::new();
    fixture.put("AGENTS.md", "# Mine\n");
    std::os::unix::fs::symlink("AGENTS.md", fixture.project().join("CLAUDE.md")).unwrap();
    let yaml = "agents: { additional: [{ id: s, type: inline, content: x }] }\n";
    fixture.install(yaml, &["claude-code", "codex"]);
    assert_eq!(fixture.read("AGENTS.md").matches("capa:start:s").count(), 1);
    assert!(fs::symlink_metadata(fixture.project().join("CLAUDE.md")).unwrap().is_symlink());
    fixture.clean();
    assert_eq!(fixture.read("CLAUDE.md"), "# Mine\n");
}

#[test]
fn a_configuration_that_cannot_be_read_is_never_touched() {
    let fixture = Fixture::new();
    let yaml = "servers: [{ id: s, type: mcp, def: { url: 'https://example.com/mcp' } }]\n";
    for (path, provider, text) in [
        (".mcp.json", "claude-code", "{ broken"),
        (".mcp.json", "claude-code", "{\"mcpServers\": []}"),
        (".codex/config.toml", "codex", "[broken"),
    ] {
        fixture.put(path, text);
        assert_eq!(refused(&fixture, yaml, &[provider])[0].0, "unreadable", "{text}");
        fs::remove_file(fixture.project().join(path)).unwrap();
    }
}

#[test]
fn gemini_gets_the_name_of_the_instructions_unless_it_has_it() {
    let fixture = Fixture::new();
    let yaml = "agents: { additional: [{ id: s, type: inline, content: x }] }\n";
    let own = "{\"context\": {\"fileName\": \"AGENTS.md\"}}";
    fixture.put(".gemini/settings.json", own);
    assert_eq!(fixture.install(yaml, &["gemini-cli"]), []);
    assert_eq!(fixture.read(".gemini/settings.json"), own);
    fixture.put(".gemini/settings.json", "{\"context\": {\"fileName\": \"MINE.md\"}}");
    assert_eq!(fixture.install(yaml, &["gemini-cli"])[0].code, "edited");
    fixture.put(".gemini/settings.json", "{}\n");
    fixture.install(yaml, &["gemini-cli"]);
    assert!(fixture.read(".gemini/settings.json").contains("[\"AGENTS.md\", \"GEMINI.md\"]"));
    fixture.install(yaml, &["gemini-cli"]);
    fixture.clean();
    assert_eq!(fixture.read(".gemini/settings.json"), "{}\n");
}

#[test]
fn agents_can_be_pointed_at_a_running_host() {
    let mut fixture = Fixture::new();
    fixture.endpoints = AgentEndpoints::Host { base_url: "http://127.0.0.1:7717".to_owned() };
    let yaml = "servers: [{ id: s, type: mcp, def: { url: 'https://example.com/mcp' } }]\n\
                subagents: [{ id: one, skills: [], tools: [] }]\n";
    fixture.install(yaml, &["claude-code", "gemini-cli", "codex"]);
    let mcp = fixture.read(".mcp.json");
    assert!(mcp.contains("\"url\": \"http://127.0.0.1:7717/mcp\""), "{mcp}");
    assert!(mcp.contains("\"url\": \"http://127.0.0.1:7717/views/one/mcp\""), "{mcp}");
    assert!(fixture.read(".gemini/settings.json").contains("\"httpUrl\""));
    assert!(fixture.read(".codex/agents/one.toml").contains("/views/one/mcp"));
    // The other way replaces what this one wrote.
    fixture.endpoints = AgentEndpoints::Program { command: "capdeck".to_owned() };
    assert_eq!(fixture.install(yaml, &["claude-code", "gemini-cli", "codex"]), []);
    assert!(!fixture.read(".mcp.json").contains("7717"));
}

#[test]
fn rules_do_not_leak_and_are_not_delivered_twice() {
    let fixture = Fixture::new();
    let yaml = "rules: [{ id: r, type: inline, content: Only for one., providers: [codex] }]\n";
    let reported = fixture.install(yaml, &["codex", "cursor"]);
    assert_eq!(reported.iter().map(|one| one.code).collect::<Vec<_>>(), ["rule-conflict"]);
    assert!(fixture.read("AGENTS.md").contains("Only for one."));
    let strict = yaml.replace("providers:", "visibility: strict, providers:");
    fixture.install(&strict, &["codex", "cursor"]);
    assert!(!fixture.project().join("AGENTS.md").exists());
    let errors = format!("options: {{ rules: {{ conflicts: error }} }}\n{yaml}");
    assert_eq!(refused(&fixture, &errors, &["codex", "cursor"])[0].0, "rule-conflict");

    let both = "rules: [{ id: r, type: inline, content: Once. }]\n";
    fixture.install(both, &["codex", "cursor"]);
    assert!(fixture.read("AGENTS.md").contains("Once."));
    assert!(!fixture.project().join(".cursor").exists());
}

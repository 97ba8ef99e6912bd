//! Content from repositories and addresses.

use std::{fs, process::Command};

use capdeck_install::PinUse;

use crate::fixture::Fixture;

impl Fixture {
    fn git_in(&self, repo: &str, arguments: &[&str]) -> String {
        let folder = self.dir.path().join("hub").join(format!("{repo}.git"));
        fs::create_dir_all(&folder).unwrap();
        let output = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.com", "-C"])
            .arg(&folder)
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn commit(&self, repo: &str, files: &[(&str, &str)]) -> String {
        let folder = self.dir.path().join("hub").join(format!("{repo}.git"));
        if !folder.exists() {
            self.git_in(repo, &["init", "--quiet", "--initial-branch=main"]);
        }
        for (path, text) in files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        self.git_in(repo, &["add", "-A"]);
        self.git_in(repo, &["commit", "--quiet", "-m", "change"]);
        self.git_in(repo, &["rev-parse", "HEAD"])
    }
}

const YAML: &str = r#"
skills:
  - { id: web, type: github, def: { repo: "team/skills@web" } }
  - { id: exact, type: github, def: { repo: "team/skills::more/exact:v1.0.0" } }
rules: [{ id: style, type: github, def: { repo: "team/skills@style.md" } }]
agents: { additional: [{ type: github, def: { repo: "team/skills::snippets/house.md" } }] }
hooks: [{ id: h, on: stop, source: { type: github, def: { repo: "team/skills@hook.sh" } } }]
"#;

fn with_repository() -> Fixture {
    let fixture = Fixture::new();
    fixture.commit(
        "team/skills",
        &[
            ("skills/web/SKILL.md", "---\nname: web\n---\none\n"),
            ("skills/web/deep/more.md", "more"),
            ("more/exact/SKILL.md", "---\nname: exact\n---\n"),
            ("rules/style.md", "Whole words."),
            ("snippets/house.md", "Be brief."),
            ("hook.sh", "#!/bin/sh\n"),
        ],
    );
    fixture.git_in("team/skills", &["tag", "v1.0.0"]);
    fixture
}

#[test]
fn everything_can_come_from_a_repository() {
    let fixture = with_repository();
    assert_eq!(fixture.install(YAML, &["claude-code"]), []);
    assert_eq!(fixture.read(".claude/skills/web/SKILL.md"), "---\nname: web\n---\none\n");
    assert_eq!(fixture.read(".claude/skills/web/deep/more.md"), "more");
    assert_eq!(fixture.read(".claude/rules/style.md"), "Whole words.\n");
    assert!(fixture.read("CLAUDE.md").contains("capa:start:snippets_house_md"));
    assert!(fixture.read(".claude/settings.json").contains("capdeck:h"));
}

#[test]
fn the_lock_pins_everything_and_the_second_run_needs_no_network() {
    let fixture = with_repository();
    let url = "https://example.com/skill.md";
    fixture.web.pages.borrow_mut().insert(url.to_owned(), "---\nname: far\n---\n".to_owned());
    let yaml = YAML.replace(
        "skills:\n",
        &format!("skills:\n  - {{ id: far, type: remote, def: {{ url: '{url}' }} }}\n"),
    );
    fixture.install(&yaml, &["claude-code"]);
    let lock = fixture.read("capabilities.lock");
    let commit = fixture.git_in("team/skills", &["rev-parse", "HEAD"]);
    let shown = lock.replace(&format!("\"{commit}\""), "[commit]");
    insta::assert_snapshot!("lock", shown.replace(&commit, "[commit]"));

    // The repository moves on, then it and the address are gone.
    fixture.commit("team/skills", &[("skills/web/SKILL.md", "---\nname: web\n---\ntwo\n")]);
    fixture.git_in("team/skills", &["tag", "v2.0.0"]);
    fs::rename(fixture.dir.path().join("hub"), fixture.dir.path().join("away")).unwrap();
    fixture.web.pages.borrow_mut().clear();
    fixture.web.asked.borrow_mut().clear();
    fs::remove_dir_all(fixture.project().join(".claude")).unwrap();
    fixture.install(&yaml, &["claude-code"]);
    assert_eq!(fixture.read("capabilities.lock"), lock);
    assert!(fixture.read(".claude/skills/web/SKILL.md").ends_with("one\n"));
    assert!(fixture.web.asked.borrow().is_empty());
}

#[test]
fn pins_move_only_when_asked_and_never_when_frozen() {
    let mut fixture = with_repository();
    fixture.pin_use = PinUse::Frozen;
    let (_, plan) = fixture.plan(YAML, &["claude-code"]);
    assert!(plan.problems.iter().any(|one| one.code == "not-pinned"), "{:?}", plan.problems);
    fixture.pin_use = PinUse::Keep;
    fixture.install(YAML, &["claude-code"]);
    fixture.commit("team/skills", &[("skills/web/SKILL.md", "---\nname: web\n---\ntwo\n")]);
    fixture.git_in("team/skills", &["tag", "v2.0.0"]);
    fixture.pin_use = PinUse::Frozen;
    fixture.install(YAML, &["claude-code"]);
    assert!(fixture.read(".claude/skills/web/SKILL.md").ends_with("one\n"));
    let less = YAML.replace("hooks:", "x-hooks:");
    let (_, plan) = fixture.plan(&less, &["claude-code"]);
    assert!(plan.problems.iter().any(|one| one.code == "lock-changes"), "{:?}", plan.problems);
    fixture.pin_use = PinUse::Update;
    fixture.install(YAML, &["claude-code"]);
    assert!(fixture.read(".claude/skills/web/SKILL.md").ends_with("two\n"));
    assert!(fixture.read("capabilities.lock").contains("resolvedVersion: v2.0.0"));
    fixture.clean();
    assert_eq!(fixture.tree().into_keys().collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn what_changed_at_an_address_is_not_taken_over_silently() {
    let mut fixture = Fixture::new();
    let url = "https://example.com/rule.md";
    let yaml = format!("rules: [{{ id: r, type: remote, url: '{url}' }}]\n");
    let answer = |fixture: &Fixture, text: &str| {
        fixture.web.pages.borrow_mut().insert(url.to_owned(), text.to_owned());
    };
    answer(&fixture, "Be kind.");
    fixture.install(&yaml, &["windsurf"]);
    answer(&fixture, "Be cruel.");
    fs::remove_dir_all(fixture.dir.path().join("cache")).unwrap();
    let (_, plan) = fixture.plan(&yaml, &["windsurf"]);
    assert_eq!(plan.problems[0].code, "changed");
    fixture.pin_use = PinUse::Update;
    fixture.install(&yaml, &["windsurf"]);
    assert!(fixture.read(".windsurf/rules/r.md").ends_with("Be cruel.\n"));
}

#[test]
fn one_missing_skill_is_reported_with_what_there_is() {
    let fixture = with_repository();
    let yaml = YAML.replace("@web", "@wep").replace(":v1.0.0", ":v9.0.0");
    let (_, plan) = fixture.plan(&yaml, &["claude-code"]);
    let messages: Vec<String> =
        plan.problems.iter().map(|one| format!("{}: {}", one.about, one.message)).collect();
    assert_eq!(
        messages,
        [
            "skill `wep`: x".replace("wep`: x", "web`: team/skills: there is no skill `wep`; there are: exact, web"),
            "skill `exact`: `github.com/team/skills` has no tag, branch or commit `v9.0.0`; it has: v1.0.0, main".to_owned(),
        ]
    );
}

#[test]
fn a_plugin_is_taken_apart() {
    let fixture = Fixture::new();
    fixture.commit(
        "team/plugins",
        &[
            ("tools/.claude-plugin/plugin.json", r#"{"name": "Team Tools", "version": "1.0.0"}"#),
            ("tools/skills/web/SKILL.md", "---\nname: web\ndescription: Web\n---\n"),
            ("tools/commands/ship.md", "---\ndescription: Ships it\nmodel: x\n---\nShip.\n"),
            ("tools/agents/helper.md", "---\nname: helper\ndescription: Helps\ntools: Read\n---\nHelp.\n"),
            ("tools/rules/style.mdc", "---\nglobs: src/**,*.md\nalwaysApply: false\n---\nPlainly.\n"),
            (
                "tools/hooks/hooks.json",
                r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/stop.sh"}]}]}}"#,
            ),
            ("tools/stop.sh", "#!/bin/sh\n"),
            (
                "tools/.mcp.json",
                r#"{"mcpServers": {"local": {"command": "./serve.sh", "args": ["--x"]}, "far": {"url": "https://example.com/mcp"}}}"#,
            ),
            ("tools/serve.sh", "#!/bin/sh\n"),
            ("tools/themes/dark.json", "{}"),
        ],
    );
    let yaml = r#"
plugins: [{ type: github, def: { repo: "team/plugins@Team Tools" }, servers: { far: { as: away } } }]
skills: [{ id: web, type: plugin }, { id: none, type: plugin }]
"#;
    let before = fixture.tree();
    let reported = fixture.install(yaml, &["claude-code"]);
    let messages: Vec<&str> = reported.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "fields of the sub-agent `helper` are ignored: tools",
            "agents cannot be given its themes",
            "no plugin brings it",
        ]
    );
    let commit = fixture.git_in("team/plugins", &["rev-parse", "HEAD"]);
    let shown = fixture.shown().replace(&format!("\"{commit}\""), "[commit]");
    insta::assert_snapshot!("plugin", shown.replace(&commit, "[commit]"));
    let (_, again) = fixture.plan(yaml, &["claude-code"]);
    assert!(again.changes.is_empty(), "{:#?}", again.changes);
    let surface = again.surface.join("\n");
    assert!(surface.contains("server `away` connects to https://example.com/mcp"), "{surface}");
    fixture.clean();
    assert_eq!(fixture.tree(), before);

    let missing = yaml.replace("Team Tools", "Nothing");
    let reported = fixture.install(&missing, &["claude-code"]);
    assert!(reported[0].message.contains("there is no plugin `Nothing`"), "{reported:?}");
}

#[test]
fn addresses_are_fetched_and_web_pages_refused() {
    let fixture = Fixture::new();
    let url = "https://example.com/rule.md";
    let yaml = format!("rules: [{{ id: r, type: remote, url: '{url}' }}]\n");
    fixture.web.pages.borrow_mut().insert(url.to_owned(), "Be kind.".to_owned());
    fixture.install(&yaml, &["windsurf"]);
    assert!(fixture.read(".windsurf/rules/r.md").ends_with("Be kind.\n"));
    fixture.web.pages.borrow_mut().insert(url.to_owned(), "<!DOCTYPE html><p>".to_owned());
    let mut moved = fixture;
    moved.pin_use = PinUse::Update;
    let (_, plan) = moved.plan(&yaml, &["windsurf"]);
    assert!(plan.problems[0].message.contains("a web page"), "{:?}", plan.problems);
}

#[test]
fn raw_addresses_of_a_repository_are_pinned_by_commit() {
    let fixture = with_repository();
    let raw = "https://raw.githubusercontent.com/team/skills/main";
    let yaml = format!(
        "skills: [{{ id: web, type: remote, def: {{ url: {raw}/skills/web/SKILL.md }} }}]
rules: [{{ id: style, type: remote, url: {raw}/rules/style.md }}]
"
    );
    assert_eq!(fixture.install(&yaml, &["claude-code"]), []);
    assert!(fixture.web.asked.borrow().is_empty());
    assert!(!fixture.project().join(".claude/skills/web/deep").exists());
    let commit = fixture.git_in("team/skills", &["rev-parse", "HEAD"]);
    fixture.commit("team/skills", &[("rules/style.md", "Half words.")]);
    let lock = fixture.read("capabilities.lock");
    assert_eq!(lock.matches(&commit).count(), 2, "{lock}");
    fs::remove_dir_all(fixture.project().join(".claude")).unwrap();
    fixture.install(&yaml, &["claude-code"]);
    assert_eq!(fixture.read(".claude/rules/style.md"), "Whole words.\n");
    assert_eq!(fixture.read("capabilities.lock"), lock);
}

#[test]
fn what_cannot_be_had_for_once_stays_pinned_and_what_others_wrote_is_kept() {
    let fixture = Fixture::new();
    let plugin = [(".claude-plugin/plugin.json", r#"{"name": "Kit", "version": "1.2.3"}"#)];
    fixture.commit("team/kit", &plugin);
    let url = "https://example.com/skill.md";
    fixture.web.pages.borrow_mut().insert(url.to_owned(), "---\nname: far\n---\n".to_owned());
    let yaml = format!(
        "skills: [{{ id: far, type: remote, def: {{ url: '{url}' }} }}]
plugins: [{{ type: github, def: {{ repo: team/kit }} }}]
"
    );
    fixture.install(&yaml, &["claude-code"]);
    let lock = fixture.read("capabilities.lock");
    assert!(lock.contains("manifestName: Kit\n    manifestVersion: \"1.2.3\"\n"), "{lock}");
    assert!(lock.contains("  - id: kit\n"), "{lock}");

    // Another program adds a member, and the repository is away.
    fs::write(fixture.project().join("capabilities.lock"), format!("{lock}theirs: [1]\n")).unwrap();
    fs::rename(fixture.dir.path().join("hub"), fixture.dir.path().join("away")).unwrap();
    fs::remove_dir_all(fixture.dir.path().join("cache/git")).unwrap();
    let more = format!("{yaml}rules: [{{ id: r, type: remote, url: '{url}' }}]\n");
    let reported = fixture.install(&more, &["claude-code"]);
    assert!(reported.iter().any(|one| one.about == "plugin `team/kit`"), "{reported:?}");
    let after = fixture.read("capabilities.lock");
    let commit = lock.lines().find(|line| line.contains("resolvedRef")).unwrap();
    assert!(after.contains(commit) && after.contains("theirs: [1]\n"), "{after}");
    assert!(after.contains("rules:\n  - id: r\n"), "{after}");
}

#[test]
fn hooks_of_both_manifests_go_to_their_agents_and_servers_offer_what_is_chosen() {
    let fixture = Fixture::new();
    fixture.commit(
        "team/both",
        &[
            (
                ".claude-plugin/plugin.json",
                r#"{"name": "both", "hooks": {"Stop": [{"hooks": [{"command": "${CLAUDE_PLUGIN_ROOT}/a.sh"}]}]},
                    "mcpServers": {"one": {"command": "x"}, "two": {"command": "y"}, "three": {"command": "z"}}}"#,
            ),
            (".cursor-plugin/plugin.json", r#"{"name": "both", "hooks": "./cursor-hooks.json"}"#),
            ("cursor-hooks.json", r#"{"version": 1, "hooks": {"stop": [{"command": "./b.sh"}]}}"#),
            ("a.sh", "#!/bin/sh\n"),
        ],
    );
    let yaml = "plugins: [{ type: github, def: { repo: team/both }, servers: {
  one: { expose: exactly, tools: [find] }, two: { expose: except, tools: ['rm.all'] }, three: { expose: none } } }]\n";
    assert_eq!(fixture.install(yaml, &["claude-code", "cursor"]), []);
    let claude = fixture.read(".claude/settings.json");
    assert!(claude.contains("a.sh") && !claude.contains("b.sh"), "{claude}");
    let cursor = fixture.read(".cursor/hooks.json");
    assert!(cursor.contains("b.sh") && !cursor.contains("a.sh"), "{cursor}");
    let one = fixture.read(".capdeck/one.md");
    assert!(one.contains(r#""tools":{"exactly":["find"]}"#), "{one}");
    let two = fixture.read(".capdeck/two.md");
    assert!(two.contains(r#""tools":{"except":["rm.all"]}"#), "{two}");
    assert!(!fixture.project().join(".capdeck/three.md").exists());
}

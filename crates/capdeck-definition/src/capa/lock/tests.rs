use std::path::Path;

use super::*;
use crate::{
    Severity,
    capa::{GitHost, TextSource},
};

/// As another program writes it, with members that only it knows.
const FOREIGN: &str = "version: 1
generator: capa@2.1.0
generatedAt: 2026-08-05T10:00:00.000Z
skills:
  - id: web
    source: github
    repo: o/r
    skillName: web
    requestedVersion: null
    requestedRef: null
    resolvedRef: 0123456789abcdef0123456789abcdef01234567
    resolvedVersion: main
    note: [1, {a: b}]
plugins:
  - id: kit
    source: gitlab
    repo: g/s/kit
    subpath: null
    requestedSearchName: kit
    requestedVersion: v2
    requestedRef: null
    resolvedRef: 89abcdef0123456789abcdef0123456789abcdef
    resolvedVersion: v2
    manifestName: kit
    manifestVersion: null
hooks: []
geminiContext: {owned: true}
";

fn parse(text: &str) -> CapabilityLock {
    let (lock, found) = CapabilityLock::parse(text, Path::new(LOCK_FILE_NAME)).unwrap();
    assert_eq!(found, []);
    lock
}

fn repo(host: GitHost, text: &str) -> Repo {
    Repo::parse(host, text).unwrap()
}

fn text_pin(id: &str) -> TextPin {
    TextPin {
        id: id.to_owned(),
        source: PinSource::Remote,
        repo: None,
        url: Some("https://example.com/a#b: c".to_owned()),
        pin: Pin {
            requested_version: None,
            requested_ref: None,
            resolved_ref: None,
            resolved_version: None,
        },
        body_sha256: "ab".repeat(32),
        others: Map::new(),
    }
}

#[test]
fn what_others_wrote_is_kept_in_both_forms() {
    let lock = parse(FOREIGN);
    assert_eq!(lock.skills[0].others["note"].to_string(), r#"[1,{"a":"b"}]"#);
    assert_eq!(lock.others["geminiContext"].to_string(), r#"{"owned":true}"#);
    for form in [LockForm::Yaml, LockForm::Json] {
        let text = lock.to_text(form);
        assert_eq!(parse(&text), lock, "{text}");
        assert!(text.ends_with('\n') && !text.ends_with("\n\n"));
    }
    assert!(lock.to_text(LockForm::Json).starts_with('{'));
    assert!(lock.to_text(LockForm::Yaml).contains("    requestedVersion: null\n"));
}

#[test]
fn entries_are_sorted_and_own_lists_come_only_when_they_hold_something() {
    let mut lock = parse(FOREIGN);
    assert!(!lock.to_text(LockForm::Yaml).contains("rules"));
    lock.rules = vec![text_pin("b"), text_pin("a")];
    lock.remote_skills = vec![text_pin("on")];
    let text = lock.to_text(LockForm::Yaml);
    assert!(text.find("- id: a").unwrap() < text.find("- id: b").unwrap());
    let again = parse(&text);
    assert_eq!(again.remote_skills, lock.remote_skills);
    assert_eq!(again.rules.len(), 2);
}

#[test]
fn the_stamp_changes_only_with_the_rest() {
    let before = parse(FOREIGN);
    let same = before.clone().stamped(Some(&before), "capdeck@1.0.0", "now");
    assert_eq!(same, before);
    let mut changed = before.clone();
    changed.hooks.push(text_pin("h"));
    let changed = changed.stamped(Some(&before), "capdeck@1.0.0", "now");
    assert_eq!(
        (changed.generator.as_str(), changed.generated_at.as_str()),
        ("capdeck@1.0.0", "now")
    );
    let first = CapabilityLock::default().stamped(None, "capdeck@1.0.0", "now");
    assert!(first.is_empty() && first.generated_at == "now");
}

#[test]
fn a_pin_is_found_by_its_whole_source() {
    let lock = parse(FOREIGN);
    let found = |text: &str| lock.skill("web", &repo(GitHost::GitHub, text)).is_some();
    assert!(found("o/r@web"));
    assert!(!found("other/r@web") && !found("o/r@web:v1") && !found("o/r@web#abc"));
    assert!(lock.skill("other", &repo(GitHost::GitHub, "o/r@web")).is_none());
    assert!(lock.skill("web", &repo(GitHost::GitLab, "o/r@web")).is_none());
    let plugin = Repo {
        version: Some("v2".to_owned()),
        ..Repo::parse_whole(GitHost::GitLab, "g/s/kit@kit").unwrap()
    };
    assert!(lock.plugin(&plugin).is_some());
    assert!(lock.plugin(&Repo { target: RepoTarget::Root, ..plugin }).is_none());
    let pin = text_pin("a");
    let remote = |url: &str| TextSource::Remote { url: url.to_owned() };
    assert!(pin.is_of(&remote("https://example.com/a#b: c")));
    assert!(!pin.is_of(&remote("https://example.com/other")));
    assert!(!pin.is_of(&TextSource::Inline { content: String::new() }));
}

#[test]
fn a_broken_entry_costs_itself_and_a_broken_file_everything() {
    let text = FOREIGN.replace("    repo: o/r\n", "");
    let (lock, found) = CapabilityLock::parse(&text, Path::new(LOCK_FILE_NAME)).unwrap();
    assert!(lock.skills.is_empty() && lock.plugins.len() == 1);
    assert_eq!((found.len(), found[0].severity, found[0].line), (1, Severity::Warning, 5));
    for (text, code) in [
        ("version: 2\nskills: []\n", "unknown-value"),
        ("skills: []\n", "unknown-value"),
        ("version: 1\nskills: {}\n", "wrong-type"),
        ("[]", "wrong-type"),
        ("", "wrong-type"),
        ("{", "invalid-json"),
        ("a: [\n", "invalid-yaml"),
    ] {
        let problem = CapabilityLock::parse(text, Path::new(LOCK_FILE_NAME)).unwrap_err();
        assert_eq!(problem.code, code, "{text}");
        assert!(problem.fix.is_some());
    }
}

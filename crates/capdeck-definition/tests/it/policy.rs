//! `policy` and `pins`: what they say, how files are laid over each other, and that nothing broken opens anything.

use capdeck_definition::{
    CallPolicy, Deck, FlowMode, Glob, PinMode, PolicyEffect, PolicyRule, RuleCondition, RunConfig,
    ToolAnnotation,
};

use crate::folder::{Folder, codes, project, user};

fn rule(effect: PolicyEffect, about: RuleCondition) -> PolicyRule {
    PolicyRule { effect, about }
}

fn on_capability(effect: PolicyEffect, pattern: &str) -> PolicyRule {
    rule(effect, RuleCondition { capability: Some(Glob::new(pattern)), ..RuleCondition::default() })
}

fn anything(effect: PolicyEffect) -> PolicyRule {
    rule(effect, RuleCondition::default())
}

fn read(files: &[(&str, &str)]) -> Deck {
    let folder = Folder::with(files);
    let project_dir = folder.path("project");
    let roots = [user(&folder.path("caplets")), user(&folder.path("user")), project(&project_dir)];
    Deck::read(&roots)
}

#[test]
fn rules_are_read_in_the_order_they_are_written() {
    let deck = read(&[(
        "user/config.yaml",
        "policy:\n  - allow: { capability: 'git*', tool: 'read_*' }\n  - ask: { annotation: openWorld }\n  - deny: { principal: 'agent-*' }\n",
    )]);
    let expected = [
        rule(
            PolicyEffect::Allow,
            RuleCondition {
                capability: Some(Glob::new("git*")),
                tool: Some(Glob::new("read_*")),
                ..RuleCondition::default()
            },
        ),
        rule(
            PolicyEffect::Ask,
            RuleCondition {
                annotation: Some(ToolAnnotation::OpenWorld),
                ..RuleCondition::default()
            },
        ),
        rule(
            PolicyEffect::Deny,
            RuleCondition { principal: Some(Glob::new("agent-*")), ..RuleCondition::default() },
        ),
    ];
    assert_eq!(deck.config.policy.user, expected);
    assert!(!deck.config.policy.is_incomplete);
    assert_eq!(codes(&deck), [""; 0]);
}

#[test]
fn the_file_of_the_higher_precedence_comes_first() {
    let deck = read(&[
        ("caplets/config.json", r#"{ "policy": [{ "allow": { "capability": "a" } }] }"#),
        ("user/config.json", r#"{ "policy": [{ "deny": { "capability": "b" } }] }"#),
    ]);
    let expected =
        [on_capability(PolicyEffect::Deny, "b"), on_capability(PolicyEffect::Allow, "a")];
    assert_eq!(deck.config.policy.user, expected);
}

#[test]
fn a_project_adds_care_and_takes_none_away() {
    let deck = read(&[
        (
            "user/config.json",
            r#"{ "pins": "warn", "policy": [{ "deny": { "capability": "a" } }] }"#,
        ),
        (
            "project/config.json",
            r#"{ "pins": "block", "policy": [{ "allow": { "capability": "a" } }, { "ask": { "capability": "b" } }] }"#,
        ),
    ]);
    assert_eq!(deck.config.policy.user, [on_capability(PolicyEffect::Deny, "a")]);
    assert_eq!(deck.config.policy.project, [on_capability(PolicyEffect::Ask, "b")]);
    assert_eq!((deck.config.pins, deck.config.least_pins), (PinMode::Warn, PinMode::Block));
    // An untrusted project has no say at all.
    assert_eq!(deck.user_config.policy.project, []);
    assert_eq!(deck.user_config.least_pins, PinMode::Off);
    assert_eq!(codes(&deck), ["ignored-rule"]);
}

#[test]
fn a_rule_that_cannot_be_read_asks_where_it_stands() {
    let deck = read(&[(
        "user/config.yaml",
        "policy:\n  - allow: { capability: a }\n  - deny: { capabilty: b }\n  - deny: { capability: c }\n",
    )]);
    let expected = CallPolicy {
        user: vec![
            on_capability(PolicyEffect::Allow, "a"),
            anything(PolicyEffect::Ask),
            on_capability(PolicyEffect::Deny, "c"),
        ],
        project: Vec::new(),
        is_incomplete: true,
    };
    assert_eq!(deck.config.policy, expected);
}

#[test]
fn a_policy_or_a_file_that_cannot_be_read_asks_about_everything() {
    for text in ["policy: none\n", "policy: { deny: {} }\n", "policy: [\n", "- list\n"] {
        let deck = read(&[("user/config.yaml", text)]);
        assert_eq!(deck.config.policy.user, [anything(PolicyEffect::Ask)], "{text}");
        assert!(deck.config.policy.is_incomplete, "{text}");
        assert!(deck.user_config.policy.is_incomplete, "{text}");
    }
    assert_eq!(read(&[]).config.policy, CallPolicy::default());
}

#[test]
fn pins_that_cannot_be_read_are_the_strictest() {
    let deck = read(&[("user/config.yaml", "pins: blok\n")]);
    assert_eq!(deck.config.pins, PinMode::Block);
    assert_eq!(codes(&deck), ["unknown-value"]);
    assert_eq!(read(&[]).config.pins, PinMode::Warn);
}

#[test]
fn a_flow_that_cannot_be_read_asks_and_runs_that_cannot_be_read_are_not_recorded() {
    let deck = read(&[("user/config.yaml", "flow: of\nruns: { record: never }\n")]);
    assert_eq!(deck.config.flow_mode(), FlowMode::Ask);
    assert_eq!(deck.config.runs.record, Some(false));
    let usual = read(&[]).config;
    assert_eq!((usual.flow_mode(), usual.runs), (FlowMode::Off, RunConfig::default()));
}

#[test]
fn a_project_follows_data_more_closely_and_may_record_nothing_but_does_not_say_what_stays() {
    let deck = read(&[
        ("user/config.yaml", "flow: warn\nruns: { maxRuns: 9 }\n"),
        ("project/config.yaml", "flow: ask\nruns: { record: false, maxRuns: 1, maxAgeDays: 1 }\n"),
    ]);
    assert_eq!(deck.config.flow_mode(), FlowMode::Ask);
    let kept = RunConfig { record: Some(false), max_runs: Some(9), ..RunConfig::default() };
    assert_eq!(deck.config.runs, kept);
    assert_eq!(deck.user_config.flow_mode(), FlowMode::Warn);
    assert_eq!(deck.user_config.runs.record, None);
    let loose = read(&[
        ("user/config.yaml", "flow: ask\nruns: { record: false }\n"),
        ("project/config.yaml", "flow: off\nruns: { record: true }\n"),
    ]);
    assert_eq!(loose.config.flow_mode(), FlowMode::Ask);
    assert_eq!(loose.config.runs.record, Some(false));
}

#[test]
fn a_child_of_a_file_takes_its_pins_from_the_file_unless_it_says_otherwise() {
    let text = "---\nname: Two\ndescription: Two watched servers.\npins: block\nmcpServers:\n  strict: { command: one }\n  loose: { command: two, pins: off }\n---\n";
    let deck = read(&[("user/two.md", text)]);
    let pins: Vec<_> =
        deck.definitions.iter().map(|found| (found.id.as_str(), found.pins)).collect();
    let expected = [("two__strict", Some(PinMode::Block)), ("two__loose", Some(PinMode::Off))];
    assert_eq!(pins, expected);
}

use capdeck_definition::Glob;
use serde_json::{Value, json};

use super::*;

fn tool(definition: Value) -> Tool {
    Tool::new(serde_json::from_value(definition).unwrap()).unwrap()
}

fn rule(effect: Effect, about: &Value) -> PolicyRule {
    PolicyRule { effect, about: serde_json::from_value(about.clone()).unwrap() }
}

fn policy(user: &[(Effect, Value)], project: &[(Effect, Value)]) -> Policy {
    let rules = |rules: &[(Effect, Value)]| {
        rules.iter().map(|(effect, about)| rule(*effect, about)).collect()
    };
    Policy { user: rules(user), project: rules(project), is_incomplete: false }
}

fn decide(policy: &Policy, principal: &str, capability: &str, tool: &Tool) -> Ruling {
    let subject =
        Subject { capabilities: &[capability], tool: tool.name(), definition: Some(tool) };
    Clearance::of(policy, &[principal]).rule_on(policy, &subject)
}

#[test]
fn without_a_rule_only_what_says_it_is_destructive_is_asked_about() {
    let policy = Policy::default();
    for (annotations, expected) in [
        (json!({ "destructiveHint": true }), Because::SaysDestructive),
        (json!({ "destructiveHint": false }), Because::NoRule),
        (json!({ "readOnlyHint": false }), Because::NoRule),
        (json!({ "destructiveHint": "true" }), Because::NoRule),
        (json!({}), Because::NoRule),
    ] {
        let tool = tool(json!({ "name": "t", "annotations": annotations }));
        assert_eq!(decide(&policy, "anyone", "c", &tool).because, expected, "{annotations}");
    }
}

#[test]
fn the_first_rule_that_fits_decides() {
    let policy = policy(
        &[
            (Effect::Allow, json!({ "capability": "git*", "tool": "read_*" })),
            (Effect::Ask, json!({ "annotation": "destructive" })),
            (Effect::Deny, json!({ "capability": "prod", "principal": "agent-*" })),
        ],
        &[],
    );
    let read = tool(json!({ "name": "read_file", "annotations": { "destructiveHint": true } }));
    let drop = tool(json!({ "name": "drop", "annotations": { "destructiveHint": true } }));
    let plain = tool(json!({ "name": "plain" }));
    for (principal, capability, tool, effect, because) in [
        ("me", "github", &read, Effect::Allow, Because::UserRule(1)),
        ("me", "prod", &read, Effect::Ask, Because::UserRule(2)),
        ("agent-1", "prod", &drop, Effect::Ask, Because::UserRule(2)),
        ("agent-1", "prod", &plain, Effect::Deny, Because::UserRule(3)),
        ("me", "prod", &plain, Effect::Allow, Because::NoRule),
    ] {
        let ruling = decide(&policy, principal, capability, tool);
        assert_eq!(ruling, Ruling { effect, because }, "{principal} {capability}");
    }
}

#[test]
fn a_project_can_only_be_stricter() {
    let policy = policy(
        &[
            (Effect::Deny, json!({ "tool": "denied" })),
            (Effect::Allow, json!({ "tool": "allowed" })),
        ],
        &[(Effect::Ask, json!({}))],
    );
    for (name, effect, because) in [
        ("denied", Effect::Deny, Because::UserRule(1)),
        ("allowed", Effect::Ask, Because::ProjectRule(1)),
        ("other", Effect::Ask, Because::ProjectRule(1)),
    ] {
        let tool = tool(json!({ "name": name }));
        assert_eq!(decide(&policy, "me", "c", &tool), Ruling { effect, because }, "{name}");
    }
}

#[test]
fn a_rule_about_a_set_covers_its_members() {
    let policy = policy(&[(Effect::Deny, json!({ "capability": "toolkit" }))], &[]);
    let clearance = Clearance::of(&policy, &["me"]);
    let subject =
        Subject { capabilities: &["toolkit__osv", "toolkit"], tool: "query", definition: None };
    assert_eq!(clearance.rule_on(&policy, &subject).effect, Effect::Deny);
    assert!(clearance.denies_all_of(&policy, &["toolkit__osv", "toolkit"]));
    assert!(!clearance.denies_all_of(&policy, &["toolkit__osv"]));
}

#[test]
fn a_capability_is_gone_only_when_every_tool_is() {
    let deny = (Effect::Deny, json!({ "capability": "c" }));
    let partial = (Effect::Deny, json!({ "capability": "c", "tool": "x*" }));
    let allow = (Effect::Allow, json!({ "tool": "read" }));
    for (rules, expected) in [
        (vec![deny.clone()], true),
        (vec![partial.clone()], false),
        (vec![partial.clone(), deny.clone()], true),
        (vec![allow, deny], false),
    ] {
        let policy = policy(&rules, &[]);
        let clearance = Clearance::of(&policy, &["me"]);
        assert_eq!(clearance.denies_all_of(&policy, &["c"]), expected, "{rules:?}");
        assert!(clearance.may_deny_some_of(&policy, &["c"]));
        assert!(!clearance.may_deny_some_of(&policy, &["other"]));
    }
}

#[test]
fn clients_that_meet_the_same_rules_share_a_clearance() {
    let named = policy(&[(Effect::Deny, json!({ "principal": "agent-*" }))], &[]);
    assert_eq!(Clearance::of(&named, &["agent-1"]), Clearance::of(&named, &["agent-2"]));
    assert_ne!(Clearance::of(&named, &["agent-1"]), Clearance::of(&named, &["editor"]));
    let unnamed = policy(&[(Effect::Deny, json!({ "tool": "x" }))], &[]);
    assert_eq!(Clearance::of(&unnamed, &["agent-1"]), Clearance::of(&unnamed, &["editor"]));
    assert_eq!(unnamed.user.first().unwrap().about.tool, Some(Glob::new("x")));
}

use capdeck_definition::Glob;
use serde_json::{Value, json};

use super::*;

fn tool(definition: Value) -> Tool {
    Tool::new(serde_json::from_value(definition).unwrap()).unwrap()
}

fn rule(effect: PolicyEffect, about: &Value) -> PolicyRule {
    PolicyRule { effect, about: serde_json::from_value(about.clone()).unwrap() }
}

fn policy(user: &[(PolicyEffect, Value)], project: &[(PolicyEffect, Value)]) -> CallPolicy {
    let rules = |rules: &[(PolicyEffect, Value)]| {
        rules.iter().map(|(effect, about)| rule(*effect, about)).collect()
    };
    CallPolicy { user: rules(user), project: rules(project), is_incomplete: false }
}

fn decide(policy: &CallPolicy, principal: &str, capability: &str, tool: &Tool) -> PolicyDecision {
    let subject =
        CallSubject { capabilities: &[capability], tool: tool.name(), definition: Some(tool) };
    RuleClearance::for_client(policy, &[principal]).rule_on(policy, &subject)
}

#[test]
fn without_a_rule_only_what_says_it_is_destructive_is_asked_about() {
    let policy = CallPolicy::default();
    for (annotations, expected) in [
        (json!({ "destructiveHint": true }), DecisionReason::SaysDestructive),
        (json!({ "destructiveHint": false }), DecisionReason::NoRule),
        (json!({ "readOnlyHint": false }), DecisionReason::NoRule),
        (json!({ "destructiveHint": "true" }), DecisionReason::NoRule),
        (json!({}), DecisionReason::NoRule),
    ] {
        let tool = tool(json!({ "name": "t", "annotations": annotations }));
        assert_eq!(decide(&policy, "anyone", "c", &tool).because, expected, "{annotations}");
    }
}

#[test]
fn the_first_rule_that_fits_decides() {
    let policy = policy(
        &[
            (PolicyEffect::Allow, json!({ "capability": "git*", "tool": "read_*" })),
            (PolicyEffect::Ask, json!({ "annotation": "destructive" })),
            (PolicyEffect::Deny, json!({ "capability": "prod", "principal": "agent-*" })),
        ],
        &[],
    );
    let read = tool(json!({ "name": "read_file", "annotations": { "destructiveHint": true } }));
    let drop = tool(json!({ "name": "drop", "annotations": { "destructiveHint": true } }));
    let plain = tool(json!({ "name": "plain" }));
    for (principal, capability, tool, effect, because) in [
        ("me", "github", &read, PolicyEffect::Allow, DecisionReason::UserRule(1)),
        ("me", "prod", &read, PolicyEffect::Ask, DecisionReason::UserRule(2)),
        ("agent-1", "prod", &drop, PolicyEffect::Ask, DecisionReason::UserRule(2)),
        ("agent-1", "prod", &plain, PolicyEffect::Deny, DecisionReason::UserRule(3)),
        ("me", "prod", &plain, PolicyEffect::Allow, DecisionReason::NoRule),
    ] {
        let ruling = decide(&policy, principal, capability, tool);
        assert_eq!(ruling, PolicyDecision { effect, because }, "{principal} {capability}");
    }
}

#[test]
fn a_project_can_only_be_stricter() {
    let policy = policy(
        &[
            (PolicyEffect::Deny, json!({ "tool": "denied" })),
            (PolicyEffect::Allow, json!({ "tool": "allowed" })),
        ],
        &[(PolicyEffect::Ask, json!({}))],
    );
    for (name, effect, because) in [
        ("denied", PolicyEffect::Deny, DecisionReason::UserRule(1)),
        ("allowed", PolicyEffect::Ask, DecisionReason::ProjectRule(1)),
        ("other", PolicyEffect::Ask, DecisionReason::ProjectRule(1)),
    ] {
        let tool = tool(json!({ "name": name }));
        assert_eq!(decide(&policy, "me", "c", &tool), PolicyDecision { effect, because }, "{name}");
    }
}

#[test]
fn a_rule_about_a_set_covers_its_members() {
    let policy = policy(&[(PolicyEffect::Deny, json!({ "capability": "toolkit" }))], &[]);
    let clearance = RuleClearance::for_client(&policy, &["me"]);
    let subject =
        CallSubject { capabilities: &["toolkit__osv", "toolkit"], tool: "query", definition: None };
    assert_eq!(clearance.rule_on(&policy, &subject).effect, PolicyEffect::Deny);
    assert!(clearance.denies_all_of(&policy, &["toolkit__osv", "toolkit"]));
    assert!(!clearance.denies_all_of(&policy, &["toolkit__osv"]));
}

#[test]
fn a_capability_is_gone_only_when_every_tool_is() {
    let deny = (PolicyEffect::Deny, json!({ "capability": "c" }));
    let partial = (PolicyEffect::Deny, json!({ "capability": "c", "tool": "x*" }));
    let allow = (PolicyEffect::Allow, json!({ "tool": "read" }));
    for (rules, expected) in [
        (vec![deny.clone()], true),
        (vec![partial.clone()], false),
        (vec![partial.clone(), deny.clone()], true),
        (vec![allow, deny], false),
    ] {
        let policy = policy(&rules, &[]);
        let clearance = RuleClearance::for_client(&policy, &["me"]);
        assert_eq!(clearance.denies_all_of(&policy, &["c"]), expected, "{rules:?}");
        assert!(clearance.may_deny_some_of(&policy, &["c"]));
        assert!(!clearance.may_deny_some_of(&policy, &["other"]));
    }
}

#[test]
fn clients_that_meet_the_same_rules_share_a_clearance() {
    let named = policy(&[(PolicyEffect::Deny, json!({ "principal": "agent-*" }))], &[]);
    assert_eq!(
        RuleClearance::for_client(&named, &["agent-1"]),
        RuleClearance::for_client(&named, &["agent-2"])
    );
    assert_ne!(
        RuleClearance::for_client(&named, &["agent-1"]),
        RuleClearance::for_client(&named, &["editor"])
    );
    let unnamed = policy(&[(PolicyEffect::Deny, json!({ "tool": "x" }))], &[]);
    assert_eq!(
        RuleClearance::for_client(&unnamed, &["agent-1"]),
        RuleClearance::for_client(&unnamed, &["editor"])
    );
    assert_eq!(unnamed.user.first().unwrap().about.tool, Some(Glob::new("x")));
}

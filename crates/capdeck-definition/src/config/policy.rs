//! The `policy` of a config file and other settings that protect the person. What cannot be read must not open anything: a broken rule stands
//! for asking.

use std::collections::BTreeSet;

use crate::{
    FlowMode, PinMode, PolicyEffect, PolicyRule, SourceLayer,
    diagnostic::FileFindings,
    document::{MapEntries, NodeValue, PathStep, ValueNode},
    rules::exactly_one,
    shape::config_file::{ConfigOptions, RunFields},
    violation::SchemaViolation,
};

/// What is wrong with the settings that protect the person. Losing one of them is never the answer.
#[derive(Debug, Default)]
pub(super) struct GuardProblems {
    /// Rules that the schema refuses.
    broken_rules: BTreeSet<usize>,
    /// Settings that cannot be read at all.
    broken_settings: BTreeSet<&'static str>,
}

impl GuardProblems {
    /// Notes a violation of one of these settings. False when it is about something else.
    pub(super) fn record_violation(&mut self, violation: &SchemaViolation) -> bool {
        let mut settings = ["policy", "pins", "flow", "runs"].into_iter();
        let Some(setting) = settings.find(|setting| violation.is_below(setting)) else {
            return false;
        };
        match violation.steps.get(1) {
            Some(PathStep::Index(index)) if setting == "policy" => self.broken_rules.insert(*index),
            _ => self.broken_settings.insert(setting),
        };
        true
    }

    /// Makes the document readable: a broken rule becomes one that says nothing.
    pub(super) fn clear(&self, root: &mut ValueNode) {
        for setting in &self.broken_settings {
            root.remove(&[setting]);
        }
        let NodeValue::Map(entries) = &mut root.content else { return };
        let policy = entries.iter_mut().find(|entry| entry.key == "policy");
        let Some(NodeValue::List(rules)) = policy.map(|entry| &mut entry.value.content) else {
            return;
        };
        for index in &self.broken_rules {
            if let Some(rule) = rules.get_mut(*index) {
                rule.content = NodeValue::Map(MapEntries::default());
            }
        }
    }

    /// Fills in the rules of the file, and the strictest settings where the file's own cannot be read.
    pub(super) fn apply_strict_defaults(
        &self,
        file: &mut ConfigOptions,
        root: &ValueNode,
        layer: SourceLayer,
        findings: &mut FileFindings,
    ) {
        if self.broken_settings.contains("pins") {
            file.pins = Some(PinMode::Block);
        }
        if self.broken_settings.contains("flow") {
            file.flow = Some(FlowMode::Ask);
        }
        if self.broken_settings.contains("runs") {
            file.runs = Some(RunFields { record: Some(false), ..RunFields::default() });
        }
        if self.broken_settings.contains("policy") {
            file.rules.push(PolicyRule::unreadable());
            file.policy_is_incomplete = true;
        }
        let written = file.policy.take().unwrap_or_default();
        for (index, fields) in written.iter().enumerate() {
            let node = root.child("policy").item(index);
            if !self.broken_rules.contains(&index) {
                let present = [
                    ("allow", fields.allow.is_some()),
                    ("ask", fields.ask.is_some()),
                    ("deny", fields.deny.is_some()),
                ];
                exactly_one(&present, node, findings);
            }
            let rule = fields.rule();
            file.policy_is_incomplete |= rule.is_none();
            let rule = rule.unwrap_or_else(PolicyRule::unreadable);
            if layer.needs_trust() && rule.effect == PolicyEffect::Allow {
                findings.at(node.place).warning(
                    "ignored-rule",
                    "`allow` in a project's policy is ignored: a project can only make it stricter",
                    "allow it in your own config",
                );
            }
            file.rules.push(rule);
        }
    }
}

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
    policy_is_broken: bool,
    pins_are_broken: bool,
    flow_is_broken: bool,
    runs_are_broken: bool,
}

impl GuardProblems {
    /// Notes a violation of one of these settings. False when it is about something else.
    pub(super) fn record_violation(&mut self, violation: &SchemaViolation) -> bool {
        match violation.steps.as_slice() {
            [PathStep::Key(key), PathStep::Index(index), ..] if key == "policy" => {
                self.broken_rules.insert(*index);
            }
            [PathStep::Key(key), ..] if key == "policy" => self.policy_is_broken = true,
            [PathStep::Key(key), ..] if key == "pins" => self.pins_are_broken = true,
            [PathStep::Key(key), ..] if key == "flow" => self.flow_is_broken = true,
            [PathStep::Key(key), ..] if key == "runs" => self.runs_are_broken = true,
            _ => return false,
        }
        true
    }

    /// Makes the document readable: a broken rule becomes one that says nothing.
    pub(super) fn clear(&self, root: &mut ValueNode) {
        if self.policy_is_broken {
            root.remove(&["policy"]);
        }
        if self.pins_are_broken {
            root.remove(&["pins"]);
        }
        if self.flow_is_broken {
            root.remove(&["flow"]);
        }
        if self.runs_are_broken {
            root.remove(&["runs"]);
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
        if self.pins_are_broken {
            file.pins = Some(PinMode::Block);
        }
        if self.flow_is_broken {
            file.flow = Some(FlowMode::Ask);
        }
        if self.runs_are_broken {
            file.runs = Some(RunFields { record: Some(false), ..RunFields::default() });
        }
        if self.policy_is_broken {
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

//! What a policy says about a call, and about what a client may know.

use capdeck_definition::{CallPolicy, PolicyEffect, PolicyRule, RuleCondition, ToolAnnotation};

use crate::{RawMembers, Tool};

/// The member of a tool's `_meta` that is true when a person is asked before it runs. A server that sets it is asked about
/// more, never less.
pub const CONFIRM: &str = "capdeck/confirm";

/// Which rules a client can meet: one answer per rule, the person's own first. Clients with the same answers are
/// the same to the policy, so what is made for one serves them all.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RuleClearance(Box<[bool]>);

#[derive(Debug, Clone, Copy)]
pub struct CallSubject<'a> {
    /// The capability's id, then those of the sets around it.
    pub capabilities: &'a [&'a str],
    pub tool: &'a str,
    /// What the tool says about itself; `None` when it was not asked yet.
    pub definition: Option<&'a Tool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicyDecision {
    pub effect: PolicyEffect,
    pub because: DecisionReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionReason {
    /// A rule of the person's own policy, counted from 1.
    UserRule(usize),
    /// A rule among the project's `ask` and `deny` rules, counted from 1.
    ProjectRule(usize),
    /// No rule fits, and the tool says that it is destructive.
    SaysDestructive,
    /// No rule fits, and the tool's file wants a person asked first.
    WantsConfirmation,
    NoRule,
}

impl RuleClearance {
    /// The clearance of a client that goes by these names.
    pub fn for_client(policy: &CallPolicy, names: &[&str]) -> Self {
        let meets = |rule: &PolicyRule| match &rule.about.principal {
            Some(pattern) => names.iter().any(|name| pattern.matches(name)),
            None => true,
        };
        Self(policy.user.iter().chain(&policy.project).map(meets).collect())
    }

    /// The rules of the person and of the project that such a client can meet, each with its number.
    fn rules<'a>(&'a self, policy: &'a CallPolicy) -> [Vec<(usize, &'a PolicyRule)>; 2] {
        let (user, project) = self.0.split_at_checked(policy.user.len()).unwrap_or((&self.0, &[]));
        let met = |rules: &'a [PolicyRule], answers: &[bool]| {
            let numbered = rules.iter().enumerate().zip(answers);
            numbered
                .filter(|(_, meets)| **meets)
                .map(|((index, rule), _)| (index + 1, rule))
                .collect()
        };
        [met(&policy.user, user), met(&policy.project, project)]
    }

    /// What the policy says about a call: the stricter of the person's and the project's decision.
    pub fn rule_on(&self, policy: &CallPolicy, subject: &CallSubject<'_>) -> PolicyDecision {
        let [user, project] = self.rules(policy);
        let first = |rules: Vec<(usize, &PolicyRule)>| {
            let found = rules.into_iter().find(|(_, rule)| fits(&rule.about, subject));
            found.map(|(number, rule)| (number, rule.effect))
        };
        let (effect, because) = match first(user) {
            Some((number, effect)) => (effect, DecisionReason::UserRule(number)),
            None if has_annotation(subject.definition, ToolAnnotation::Destructive) => {
                (PolicyEffect::Ask, DecisionReason::SaysDestructive)
            }
            None if subject.definition.is_some_and(wants_confirmation) => {
                (PolicyEffect::Ask, DecisionReason::WantsConfirmation)
            }
            None => (PolicyEffect::Allow, DecisionReason::NoRule),
        };
        match first(project) {
            Some((number, stricter)) if stricter > effect => {
                PolicyDecision { effect: stricter, because: DecisionReason::ProjectRule(number) }
            }
            _ => PolicyDecision { effect, because },
        }
    }

    /// True when no tool of the capability can be anything but denied, whatever its name.
    pub fn denies_all_of(&self, policy: &CallPolicy, capabilities: &[&str]) -> bool {
        self.rules(policy).iter().any(|rules| {
            let about = |rule: &&(usize, &PolicyRule)| fits_capability(&rule.1.about, capabilities);
            for (_, rule) in rules.iter().filter(about) {
                let is_partial = rule.about.tool.is_some() || rule.about.annotation.is_some();
                match (rule.effect, is_partial) {
                    (PolicyEffect::Deny, false) => return true,
                    (PolicyEffect::Deny, true) => {}
                    (PolicyEffect::Allow | PolicyEffect::Ask, _) => return false,
                }
            }
            false
        })
    }

    /// True when some rule may deny some tool of the capability.
    pub fn may_deny_some_of(&self, policy: &CallPolicy, capabilities: &[&str]) -> bool {
        self.rules(policy).iter().flatten().any(|(_, rule)| {
            rule.effect == PolicyEffect::Deny && fits_capability(&rule.about, capabilities)
        })
    }

    /// True when nothing is denied to such a client.
    pub fn is_denied_nothing(&self, policy: &CallPolicy) -> bool {
        self.rules(policy).iter().flatten().all(|(_, rule)| rule.effect != PolicyEffect::Deny)
    }
}

fn fits(about: &RuleCondition, subject: &CallSubject<'_>) -> bool {
    fits_capability(about, subject.capabilities)
        && about.tool.as_ref().is_none_or(|pattern| pattern.matches(subject.tool))
        && about.annotation.is_none_or(|hint| has_annotation(subject.definition, hint))
}

fn fits_capability(about: &RuleCondition, capabilities: &[&str]) -> bool {
    let fits = |pattern: &capdeck_definition::Glob| {
        capabilities.iter().any(|capability| pattern.matches(capability))
    };
    about.capability.as_ref().is_none_or(fits)
}

fn wants_confirmation(tool: &Tool) -> bool {
    let meta = tool.raw().get("_meta");
    let meta = meta.and_then(|meta| serde_json::from_str::<RawMembers>(meta.get()).ok());
    meta.is_some_and(|meta| meta.get(CONFIRM).is_some_and(|value| value.get() == "true"))
}

/// Only what a tool says itself counts; a hint's default says nothing.
fn has_annotation(tool: Option<&Tool>, annotation: ToolAnnotation) -> bool {
    tool.and_then(|tool| tool.annotation(annotation.hint())) == Some(true)
}

#[cfg(test)]
mod tests;

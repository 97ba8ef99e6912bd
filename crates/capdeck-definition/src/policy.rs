//! Which calls may run, which a person is asked about and which do not exist for a client.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Glob;

/// What a rule, or the absence of one, says about a call. The later, the stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PolicyEffect {
    /// The call runs.
    Allow,
    /// A person is asked before the call runs.
    Ask,
    /// The tool does not exist for this client.
    Deny,
}

/// One rule: an effect and what it is about. The first rule that fits a call decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRule {
    pub effect: PolicyEffect,
    pub about: RuleCondition,
}

/// What a rule is about. Everything that is given must fit; a rule that gives nothing fits every call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "About")]
pub struct RuleCondition {
    /// The capability's id, or that of a set around it. `*` matches any letters.
    pub capability: Option<Glob>,
    /// The tool's own name. `*` matches any letters.
    pub tool: Option<Glob>,
    /// What the tool itself says it is.
    pub annotation: Option<ToolAnnotation>,
    /// What the client calls itself. `*` matches any letters.
    pub principal: Option<Glob>,
}

/// A hint in a tool's annotations that is set to true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Annotation")]
pub enum ToolAnnotation {
    ReadOnly,
    Destructive,
    Idempotent,
    OpenWorld,
}

/// The rules of a deck. A project's rules can make a decision stricter and never looser.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallPolicy {
    /// The person's own rules, the file of the highest precedence first.
    pub user: Vec<PolicyRule>,
    /// The project's `ask` and `deny` rules.
    pub project: Vec<PolicyRule>,
    /// True when a file or a rule could not be read, so that a rule may be missing.
    pub is_incomplete: bool,
}

impl PolicyRule {
    /// Replaces a rule that cannot be read: a person decides about everything it may have covered.
    pub(crate) fn unreadable() -> Self {
        Self { effect: PolicyEffect::Ask, about: RuleCondition::default() }
    }
}

impl ToolAnnotation {
    /// The member of `annotations` that says so.
    pub fn hint(self) -> &'static str {
        match self {
            Self::ReadOnly => "readOnlyHint",
            Self::Destructive => "destructiveHint",
            Self::Idempotent => "idempotentHint",
            Self::OpenWorld => "openWorldHint",
        }
    }
}

impl CallPolicy {
    /// Lays the rules of one file over what is known so far.
    pub(crate) fn add_user(&mut self, rules: &[PolicyRule]) {
        self.user.splice(0..0, rules.iter().cloned());
    }

    pub(crate) fn add_project(&mut self, rules: &[PolicyRule]) {
        let strict = rules.iter().filter(|rule| rule.effect > PolicyEffect::Allow);
        self.project.splice(0..0, strict.cloned());
    }

    /// A file that may hold rules cannot be read. Until it can, a person decides about everything.
    pub(crate) fn distrust(&mut self) {
        self.is_incomplete = true;
        self.user.insert(0, PolicyRule::unreadable());
    }
}

//! `rules`: texts that agents always, or for some files, follow.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    names::{is_safe_id, skip_unsafe_id},
    text_source::{ContentSource, SourceFields, SourceType},
};
use crate::{diagnostic::FileFindings, document::ValueNode};

/// A rule of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleDeclaration {
    /// Safe as the name of a file.
    pub id: String,
    pub source: ContentSource,
    /// The agents it is for; `None` means all.
    pub providers: Option<Vec<String>>,
    /// Globs of the files it is about.
    pub applies_to: Vec<String>,
    pub description: Option<String>,
    pub always_apply: Option<bool>,
    /// How strictly `providers` is held where agents share a file.
    pub visibility: Option<RuleVisibility>,
}

/// How strictly a rule is kept from agents it is not for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Visibility")]
pub enum RuleVisibility {
    Strict,
    BestEffort,
}

/// One entry of `rules`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Rule", deny_unknown_fields)]
pub(super) struct RuleShape {
    #[schemars(length(min = 1))]
    id: String,
    #[serde(rename = "type")]
    kind: SourceType,
    providers: Option<Vec<String>>,
    /// Globs of the files it is about.
    #[serde(default)]
    applies_to: Vec<String>,
    description: Option<String>,
    always_apply: Option<bool>,
    visibility: Option<RuleVisibility>,
    /// Another name of `visibility`.
    scope: Option<RuleVisibility>,
    #[serde(flatten)]
    source: SourceFields,
}

impl RuleShape {
    pub(super) fn read(
        self,
        node: &ValueNode,
        findings: &mut FileFindings,
    ) -> Option<RuleDeclaration> {
        let what = format!("the rule `{}`", self.id);
        skip_unsafe_id(is_safe_id(&self.id), &what, node, findings)?;
        Some(RuleDeclaration {
            source: self.source.read(self.kind, &what, node, findings)?,
            id: self.id,
            providers: self.providers,
            applies_to: self.applies_to,
            description: self.description,
            always_apply: self.always_apply,
            visibility: self.visibility.or(self.scope),
        })
    }
}

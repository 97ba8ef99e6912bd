//! An operation that failed, as it is passed to the one who asked.

use std::error::Error;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;

use super::AmbiguousName;
use crate::{CapsuleErrorCode, CapsuleInfo, EntryUri, StoreError, WriteConflict};

pub type CapsuleResult<T> = Result<T, CapsuleError>;

/// What failed, on what, and what to do next.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct CapsuleError {
    pub code: CapsuleErrorCode,
    pub message: String,
    pub hint: Option<String>,
    pub details: Option<ErrorDetails>,
}

/// Facts about a failure, for programs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorDetails {
    /// Another client wrote first.
    Conflict(Box<WriteConflict>),
    /// The entry exists in this version.
    Existing { uri: EntryUri, current_version: u64 },
    /// The schemes that there are.
    Schemes(Vec<String>),
    /// The capsules to choose from.
    Choices(Vec<CapsuleChoice>),
    /// The ids of the capsules that have the requested name.
    Ids(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapsuleChoice {
    pub id: String,
    pub name: String,
    pub description: String,
}

impl ErrorDetails {
    /// The facts as clients are given them.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Conflict(conflict) => json!(conflict),
            Self::Existing { uri, current_version } => {
                json!({ "uri": uri, "current_version": current_version })
            }
            Self::Schemes(schemes) => json!({ "schemes": schemes }),
            Self::Choices(capsules) => json!({ "capsules": capsules }),
            Self::Ids(ids) => json!({ "ids": ids }),
        }
    }
}

impl CapsuleError {
    /// A failure without a hint.
    pub fn new(code: CapsuleErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, details: None }
    }

    /// Input that cannot be taken.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(CapsuleErrorCode::InvalidInput, message)
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The details as clients are given them.
    pub fn data(&self) -> Option<Value> {
        self.details.as_ref().map(ErrorDetails::to_json)
    }

    fn details(mut self, details: ErrorDetails) -> Self {
        self.details = Some(details);
        self
    }

    /// Only the person at this machine may do this.
    pub(super) fn owner_of_machine_only(access: &str, what: &str) -> Self {
        Self::new(CapsuleErrorCode::ForbiddenRole, format!("a {access} may not {what}"))
            .hint("ask the person who runs the host")
    }

    /// No capsule was named, and there is not exactly one to take.
    pub(super) fn capsule_required<'a>(
        choices: impl Iterator<Item = &'a CapsuleInfo>,
        may_create: bool,
    ) -> Self {
        let choices: Vec<CapsuleChoice> = choices
            .map(|CapsuleInfo { id, name, description, .. }| CapsuleChoice {
                id: id.clone(),
                name: name.clone(),
                description: description.clone(),
            })
            .collect();
        let names: Vec<String> = choices.iter().map(|one| format!("`{}`", one.id)).collect();
        let (message, hint) = match (names.is_empty(), may_create) {
            (false, _) => {
                (format!("say which capsule: {}", names.join(", ")), "name one with `capsule`")
            }
            (true, true) => {
                ("there is no capsule yet".to_owned(), "make one with `capdeck capsule new NAME`")
            }
            (true, false) => (
                "no capsule is open to this access".to_owned(),
                "ask the person who runs the host for access",
            ),
        };
        let error = Self::new(CapsuleErrorCode::CapsuleRequired, message).hint(hint);
        error.details(ErrorDetails::Choices(choices))
    }
}

impl From<AmbiguousName> for CapsuleError {
    fn from(AmbiguousName { name, ids }: AmbiguousName) -> Self {
        let names: Vec<String> = ids.iter().map(|id| format!("`{id}`")).collect();
        let message = format!("several capsules are called `{name}`: {}", names.join(", "));
        Self::new(CapsuleErrorCode::AmbiguousCapsule, message)
            .hint("use the id of one")
            .details(ErrorDetails::Ids(ids))
    }
}

impl From<StoreError> for CapsuleError {
    fn from(error: StoreError) -> Self {
        let failure = Self::new(error.code(), with_causes(&error));
        match error {
            StoreError::VersionConflict(conflict) => {
                let has_proposal = conflict.proposal.is_some();
                let failure = failure.details(ErrorDetails::Conflict(conflict));
                match has_proposal {
                    true => failure.hint("`proposal` has both changes merged where they can be"),
                    false => failure,
                }
            }
            StoreError::Exists { uri, version } => {
                failure.details(ErrorDetails::Existing { uri, current_version: version })
            }
            StoreError::UnknownScheme { known, .. } => {
                failure.details(ErrorDetails::Schemes(known))
            }
            StoreError::NotFound { .. } => {
                failure.hint("list or search the capsule for what is there")
            }
            StoreError::CapsuleNotFound { .. } => {
                failure.hint("list the capsules that are open to you")
            }
            StoreError::NoSuchKey { .. } => failure.hint("list the memory's keys"),
            _ => failure,
        }
    }
}

fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

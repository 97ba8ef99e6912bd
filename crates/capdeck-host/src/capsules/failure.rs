//! An operation that was refused or went wrong, as it travels to the one who asked.

use std::error::Error;

use super::AmbiguousName;
use capdeck_capsule::{CapsuleInfo, RegistryError, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What failed, on what, and what to do next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct CapsuleFailure {
    /// A short name that programs can rely on, such as `not_found` or `version_conflict`.
    pub code: String,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Facts for programs: the conflict and its merge proposal, the capsules to choose from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl CapsuleFailure {
    /// A failure with nothing but what it is.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), hint: None, data: None }
    }

    /// With what to do next.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// With facts.
    pub fn data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// Input that cannot be taken.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new("invalid_input", message)
    }

    /// Only the person at this machine may do this.
    pub(super) fn owner_of_machine_only(way: &str, what: &str) -> Self {
        Self::new("forbidden_role", format!("a {way} may not {what}"))
            .hint("ask the person who runs the host")
    }

    /// No capsule was named, and there is not exactly one to take.
    pub(super) fn capsule_required(choices: &[CapsuleInfo], may_create: bool) -> Self {
        let data = json!({ "capsules": choices.iter().map(choice).collect::<Vec<_>>() });
        let names: Vec<String> = choices.iter().map(|one| format!("`{}`", one.id)).collect();
        let failure = |message: String| Self::new("capsule_required", message).data(data);
        match (names.is_empty(), may_create) {
            (false, _) => failure(format!("say which capsule: {}", names.join(", ")))
                .hint("name one with `capsule`"),
            (true, true) => failure("there is no capsule yet".to_owned())
                .hint("make one with `capdeck capsule new NAME`"),
            (true, false) => failure("no capsule is open to this access".to_owned())
                .hint("ask the person who runs the host for access"),
        }
    }
}

fn choice(capsule: &CapsuleInfo) -> Value {
    json!({ "id": capsule.id, "name": capsule.name, "description": capsule.description })
}

impl From<AmbiguousName> for CapsuleFailure {
    fn from(AmbiguousName { name, ids }: AmbiguousName) -> Self {
        let names: Vec<String> = ids.iter().map(|id| format!("`{id}`")).collect();
        let message = format!("several capsules are called `{name}`: {}", names.join(", "));
        Self::new("ambiguous_capsule", message)
            .hint("use the id of one")
            .data(json!({ "ids": ids }))
    }
}

impl From<StoreError> for CapsuleFailure {
    fn from(error: StoreError) -> Self {
        let failure = Self::new(error.code(), with_causes(&error));
        match error {
            StoreError::VersionConflict(conflict) => {
                let data = serde_json::to_value(&conflict).unwrap_or_default();
                let failure = failure.data(data);
                match conflict.proposal {
                    Some(_) => failure.hint("`proposal` has both changes merged where they can be"),
                    None => failure,
                }
            }
            StoreError::Exists { uri, version } => {
                failure.data(json!({ "uri": uri, "current_version": version }))
            }
            StoreError::UnknownScheme { known, .. } => failure.data(json!({ "schemes": known })),
            StoreError::NotFound { .. } => {
                failure.hint("list or search the capsule for what is there")
            }
            StoreError::NoSuchKey { .. } => failure.hint("list the memory's keys"),
            _ => failure,
        }
    }
}

impl From<RegistryError> for CapsuleFailure {
    fn from(error: RegistryError) -> Self {
        match error {
            RegistryError::Store(error) => error.into(),
            RegistryError::NotFound { .. } => Self::new(error.code(), with_causes(&error))
                .hint("list the capsules that are open to you"),
            error => Self::new(error.code(), with_causes(&error)),
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

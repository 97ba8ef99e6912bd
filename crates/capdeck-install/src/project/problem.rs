//! What is wrong with an installation, many things at once.

use capdeck_definition::Severity;
use serde::Serialize;

/// One problem. An error keeps the whole run from writing anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub severity: Severity,
    /// A stable name for the kind of problem.
    pub code: &'static str,
    /// What it is about, such as ``skill `web` `` or a path.
    pub about: String,
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Problem {
    pub(crate) fn error(
        code: &'static str,
        about: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            severity: Severity::Error,
            code,
            about: about.into(),
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn warning(
        code: &'static str,
        about: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, about, message) }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether nothing may be written because of it.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

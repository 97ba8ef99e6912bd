//! A problem in a file, told the way a compiler would.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One problem at one place. Lines and columns count from 1; 0 means the whole file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    pub file: PathBuf,
    pub line: u32,
    pub column: u32,
    pub severity: Severity,
    /// A stable kebab-case name for the kind of problem, such as `unknown-key`.
    pub code: String,
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// Errors quarantine what they are about; warnings only inform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Warning,
    Error,
}

//! A problem in a file, reported the way a compiler does.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// One problem at one place. Lines and columns count from 1; 0 means the whole file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    pub file: PathBuf,
    pub line: u32,
    pub column: u32,
    pub severity: DiagnosticSeverity,
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
pub enum DiagnosticSeverity {
    Warning,
    Error,
}

/// A place in a text. Lines and columns count from 1; the default, 0, means the whole file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TextPosition {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// The problems found so far in one file.
#[derive(Debug)]
pub(crate) struct FileFindings {
    file: PathBuf,
    diagnostics: Vec<Diagnostic>,
}

/// A place of a file that a problem is found at.
pub(crate) struct FindingPlace<'a> {
    findings: &'a mut FileFindings,
    place: TextPosition,
}

impl FindingPlace<'_> {
    pub(crate) fn error(self, code: &str, message: impl Into<String>, fix: impl Into<String>) {
        self.findings.add(Diagnostic::error(code, message, fix).at(self.place));
    }

    pub(crate) fn warning(self, code: &str, message: impl Into<String>, fix: impl Into<String>) {
        self.findings.add(Diagnostic::warning(code, message, fix).at(self.place));
    }
}

impl Diagnostic {
    /// An error about a whole file, until [`Diagnostic::at`] and [`FileFindings::add`] place it. `fix` is what to do.
    pub(crate) fn error(code: &str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            file: PathBuf::new(),
            line: 0,
            column: 0,
            severity: DiagnosticSeverity::Error,
            code: code.to_owned(),
            message: message.into(),
            fix: Some(fix.into()),
        }
    }

    pub(crate) fn warning(code: &str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { severity: DiagnosticSeverity::Warning, ..Self::error(code, message, fix) }
    }

    pub(crate) fn at(mut self, place: TextPosition) -> Self {
        self.line = place.line;
        self.column = place.column;
        self
    }

    pub(crate) fn in_file(mut self, file: &Path) -> Self {
        self.file = file.to_owned();
        self
    }
}

impl FileFindings {
    pub(crate) fn new(file: &Path) -> Self {
        Self { file: file.to_owned(), diagnostics: Vec::new() }
    }

    /// The place of the next problem.
    pub(crate) fn at(&mut self, place: TextPosition) -> FindingPlace<'_> {
        FindingPlace { findings: self, place }
    }

    /// Records a problem of this file.
    pub(crate) fn add(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic.in_file(&self.file));
    }

    /// The text of a file, or its problem recorded.
    pub(crate) fn readable<'t>(&mut self, text: &'t Result<String, Diagnostic>) -> Option<&'t str> {
        text.as_deref().map_err(|problem| self.add(problem.clone())).ok()
    }

    /// How many problems are recorded, to ask [`FileFindings::first_error_since`] later.
    pub(crate) fn mark(&self) -> usize {
        self.diagnostics.len()
    }

    /// The message of the first error recorded after `mark`, if there is one.
    pub(crate) fn first_error_since(&self, mark: usize) -> Option<&str> {
        self.diagnostics
            .iter()
            .skip(mark)
            .find(|diagnostic| diagnostic.severity == DiagnosticSeverity::Error)
            .map(|diagnostic| diagnostic.message.as_str())
    }

    /// Whether an error of another kind than these was recorded after `mark`.
    pub(crate) fn has_error_since(&self, mark: usize, besides: &[&str]) -> bool {
        let is_another = |found: &Diagnostic| !besides.iter().any(|code| found.code == *code);
        self.diagnostics
            .iter()
            .skip(mark)
            .any(|found| found.severity == DiagnosticSeverity::Error && is_another(found))
    }

    /// Makes warnings of what was recorded after `mark`, where a mistake costs only the entry it is in.
    pub(crate) fn soften_since(&mut self, mark: usize) {
        for diagnostic in self.diagnostics.iter_mut().skip(mark) {
            diagnostic.severity = DiagnosticSeverity::Warning;
        }
    }

    /// The problems in reading order.
    pub(crate) fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        self.diagnostics.sort_by_key(|diagnostic| (diagnostic.line, diagnostic.column));
        self.diagnostics
    }
}

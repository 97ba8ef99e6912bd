//! Validates a document against the schema.

use std::fmt;

use apollo_compiler::{
    ExecutableDocument,
    diagnostic::Diagnostic,
    parser::Parser,
    validation::{DiagnosticData, DiagnosticList, Valid},
};

use super::schema::ApiSchema;

/// Far above any document that a person or a model writes.
const MAX_TOKENS: usize = 20_000;
const MAX_DEPTH: usize = 100;

const MAX_FINDINGS: usize = 20;
const MAX_SHOWN_FINDINGS: usize = 5;

/// The problems of a document, in the order of its lines.
#[derive(Debug)]
pub(super) struct GraphQlDocumentError {
    pub(super) findings: Vec<GraphQlFinding>,
    total: usize,
}

/// One problem and its position. Lines and columns start at one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct GraphQlFinding {
    pub(super) place: Option<(usize, usize)>,
    pub(super) message: String,
}

pub(super) fn check_document(
    schema: &ApiSchema,
    text: &str,
) -> Result<Valid<ExecutableDocument>, GraphQlDocumentError> {
    let mut parser = Parser::new().token_limit(MAX_TOKENS).recursion_limit(MAX_DEPTH);
    let document = parser
        .parse_executable(schema.valid(), text, "document")
        .map_err(|broken| GraphQlDocumentError::new(&broken.errors))?;
    document.validate(schema.valid()).map_err(|broken| GraphQlDocumentError::new(&broken.errors))
}

impl GraphQlDocumentError {
    pub(super) fn from_message(message: impl Into<String>) -> Self {
        Self { findings: vec![GraphQlFinding { place: None, message: message.into() }], total: 1 }
    }

    fn new(errors: &DiagnosticList) -> Self {
        let finding = |diagnostic: Diagnostic<'_, DiagnosticData>| GraphQlFinding {
            place: diagnostic
                .line_column_range()
                .map(|range| (range.start.line, range.start.column)),
            message: diagnostic.error.to_string(),
        };
        let findings = errors.iter().take(MAX_FINDINGS).map(finding).collect();
        Self { findings, total: errors.len() }
    }
}

impl fmt::Display for GraphQlDocumentError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, finding) in self.findings.iter().take(MAX_SHOWN_FINDINGS).enumerate() {
            let separator = if number > 0 { "; " } else { "" };
            write!(formatter, "{separator}{finding}")?;
        }
        match self.total.saturating_sub(MAX_SHOWN_FINDINGS) {
            0 => Ok(()),
            more => write!(formatter, "; and {more} more"),
        }
    }
}

impl fmt::Display for GraphQlFinding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => {
                write!(formatter, "line {line}, column {column}: {}", self.message)
            }
            None => formatter.write_str(&self.message),
        }
    }
}

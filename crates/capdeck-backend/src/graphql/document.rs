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
const MOST_TOKENS: usize = 20_000;
const DEEPEST: usize = 100;

const MOST_FINDINGS: usize = 20;
const MOST_SHOWN: usize = 5;

/// The problems of a document, in the order of its lines.
#[derive(Debug)]
pub(super) struct BadDocument {
    pub(super) findings: Vec<Finding>,
    total: usize,
}

/// One problem and its position. Lines and columns start at one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) place: Option<(usize, usize)>,
    pub(super) message: String,
}

pub(super) fn check_document(
    schema: &ApiSchema,
    text: &str,
) -> Result<Valid<ExecutableDocument>, BadDocument> {
    let mut parser = Parser::new().token_limit(MOST_TOKENS).recursion_limit(DEEPEST);
    let document = parser
        .parse_executable(schema.valid(), text, "document")
        .map_err(|broken| BadDocument::new(&broken.errors))?;
    document.validate(schema.valid()).map_err(|broken| BadDocument::new(&broken.errors))
}

impl BadDocument {
    pub(super) fn because(message: impl Into<String>) -> Self {
        Self { findings: vec![Finding { place: None, message: message.into() }], total: 1 }
    }

    fn new(errors: &DiagnosticList) -> Self {
        let finding = |diagnostic: Diagnostic<'_, DiagnosticData>| Finding {
            place: diagnostic
                .line_column_range()
                .map(|range| (range.start.line, range.start.column)),
            message: diagnostic.error.to_string(),
        };
        let findings = errors.iter().take(MOST_FINDINGS).map(finding).collect();
        Self { findings, total: errors.len() }
    }
}

impl fmt::Display for BadDocument {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, finding) in self.findings.iter().take(MOST_SHOWN).enumerate() {
            let separator = if number > 0 { "; " } else { "" };
            write!(formatter, "{separator}{finding}")?;
        }
        match self.total.saturating_sub(MOST_SHOWN) {
            0 => Ok(()),
            more => write!(formatter, "; and {more} more"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => {
                write!(formatter, "line {line}, column {column}: {}", self.message)
            }
            None => formatter.write_str(&self.message),
        }
    }
}

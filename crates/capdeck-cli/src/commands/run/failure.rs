//! A run that failed, told with the line that did it.

use capdeck_host::{Diagnostic, RunError, Severity};
use serde_json::Value;

use super::code_text::Source;
use crate::{
    errors::{ExitStatus, Failure, to_person},
    plain_text,
};

/// How the process ends: a call that wants a sign-in is told apart, as it is for `call`.
pub(super) fn status(error: &RunError) -> ExitStatus {
    let code = error.details.as_ref().and_then(|details| details.get("code"));
    match code.and_then(Value::as_str) {
        Some("AUTH_REQUIRED") => ExitStatus::SignInNeeded,
        _ => ExitStatus::RequestFailed,
    }
}

/// The failure with every place it is about.
pub(super) fn told(error: &RunError, diagnostics: &[Diagnostic], source: &Source) -> Failure {
    let errors = diagnostics.iter().filter(|found| found.severity == Severity::Error);
    let mut said = String::new();
    for found in errors.clone() {
        said.push_str(&place(source, found.line, found.column, Some(&found.message)));
    }
    if said.is_empty() {
        let at = error.location.as_ref();
        said = place(source, at.map(|at| at.line), at.map(|at| at.column), None);
    }
    let count = errors.count();
    let is_blocked = count > 0;
    let message = match count {
        0 => error.message.clone(),
        1 => "the code was not run".to_owned(),
        count => format!("the code was not run: {count} problems"),
    };
    let failure = Failure {
        status: status(error),
        details: error.details.clone(),
        ..Failure::request(error.code.as_str(), message)
    };
    let failure = if said.is_empty() { failure } else { failure.said(said) };
    match &error.hint {
        // What is wrong has just been shown.
        Some(hint) if !is_blocked => failure.hint(to_person(hint)),
        _ => failure,
    }
}

/// `file.ts:2:7: message`, the line, and a caret below the column.
fn place(source: &Source, line: Option<u32>, column: Option<u32>, message: Option<&str>) -> String {
    let message = message.map(plain_text::one_line).unwrap_or_default();
    let (Some(line), Some(column)) = (line, column) else {
        return if message.is_empty() { message } else { format!("{message}\n") };
    };
    let head = format!("{}:{line}:{column}: {message}", source.name);
    let mut text = format!("{}\n", head.trim_end_matches([':', ' ']));
    let number = usize::try_from(line).unwrap_or_default();
    if let Some(shown) = source.text.lines().nth(number.saturating_sub(1)) {
        let before: usize = usize::try_from(column).unwrap_or_default().saturating_sub(1);
        // Tabs stay tabs, so that the caret stands where the line breaks off.
        let blank = |letter: char| if letter == '\t' { '\t' } else { ' ' };
        let indent: String = shown.chars().take(before).map(blank).collect();
        text.push_str(&format!("  {}\n  {indent}^\n", plain_text::lines(shown)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_shows_its_line_and_column() {
        let text = "const a = 1;\n\tthrow b;\n".to_owned();
        let source = Source { name: "x.ts".to_owned(), text };
        let shown = place(&source, Some(2), Some(8), Some("there is no b"));
        assert_eq!(shown, "x.ts:2:8: there is no b\n  \tthrow b;\n  \t      ^\n");
        assert_eq!(place(&source, Some(9), Some(1), None), "x.ts:9:1\n");
        assert_eq!(place(&source, None, None, Some("too long")), "too long\n");
        assert_eq!(place(&source, None, None, None), "");
    }
}

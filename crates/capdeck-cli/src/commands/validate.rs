//! `capdeck validate [PATH…]`: definition files, checked the way a compiler checks.

use std::path::PathBuf;

use capdeck_definition::{Deck, Diagnostic, Severity, check_paths};
use serde_json::json;

use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
    frames::Frames,
};

/// Check definition files
///
/// Shows every problem with its place and a fix. Fails when there is an error; warnings only inform.
#[derive(Debug, clap::Args)]
pub(crate) struct ValidateArgs {
    /// Capability files, config files or folders of them; the decks in use if none is named.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

pub(crate) fn run(args: &ValidateArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let ValidateArgs { paths } = args;
    let printer = context.printer;
    let deck = match paths.as_slice() {
        [] => Deck::clone(&context.open_host()?.deck()),
        paths => check_paths(paths),
    };
    if printer.wants_json() {
        printer.json(&json!({ "items": deck.diagnostics }));
    } else {
        let mut frames = Frames::default();
        let shown: Vec<String> = deck
            .diagnostics
            .iter()
            .map(|diagnostic| frames.render(diagnostic, printer.palette()))
            .collect();
        printer.data(&shown.join("\n"));
        printer.note(&summary(&deck));
    }
    let has_error = deck.diagnostics.iter().any(|found| found.severity == Severity::Error);
    Ok(if has_error { ExitStatus::RequestFailed } else { ExitStatus::Done })
}

fn summary(deck: &Deck) -> String {
    let count = |severity: Severity| {
        deck.diagnostics.iter().filter(|found: &&Diagnostic| found.severity == severity).count()
    };
    let sound = counted(deck.definitions.len(), "capability is", "capabilities are");
    match (count(Severity::Error), count(Severity::Warning)) {
        (0, 0) => format!("{sound} sound"),
        (0, warnings) => {
            format!("{sound} sound, with {}", counted(warnings, "warning", "warnings"))
        }
        (errors, 0) => format!("{}; {sound} sound", counted(errors, "error", "errors")),
        (errors, warnings) => format!(
            "{} and {}; {sound} sound",
            counted(errors, "error", "errors"),
            counted(warnings, "warning", "warnings")
        ),
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

//! `capdeck validate [PATH…]`: definition files, checked the way a compiler checks.

use std::path::PathBuf;

use capdeck_definition::{Backend, Deck, Diagnostic, DiagnosticSeverity, check_paths};
use capdeck_host::Host;
use serde_json::json;

use crate::{
    commands::budget::TokenCounter,
    context::CommandContext,
    errors::{CommandResult, ExitStatus},
    plain_text::counted,
    runtime::single_thread,
    source_frames::SourceFrames,
};

/// What a CMP manifest should cost at most, without white space.
const MANIFEST_TOKENS: usize = 50;

/// Check definition files
///
/// Shows every problem with its place and a fix, also the parts of local descriptions (OpenAPI, GraphQL, Google Discovery)
/// that cannot be imported. Fails when there is an error; warnings only inform. Nothing is fetched.
#[derive(Debug, clap::Args)]
pub(crate) struct ValidateArgs {
    /// Capability files, config files, CMP tools or folders of them; the decks in use if none is named.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

pub(crate) fn run(args: &ValidateArgs, context: &CommandContext<'_>) -> CommandResult {
    let ValidateArgs { paths } = args;
    let (mut deck, host) = match paths.as_slice() {
        [] => {
            let host = context.open_host()?;
            (Deck::clone(&host.deck()), Some(host))
        }
        paths => (check_paths(paths), context.open_host().ok()),
    };
    // Files can be checked where there is no deck at all; what they describe is then left to the connection.
    if let Some(host) = host {
        deck.diagnostics.extend(single_thread()?.block_on(left_out(&host, &deck)));
    }
    let sizes = manifest_sizes(&deck);
    deck.diagnostics.extend(sizes);
    Ok(report(&deck, context))
}

/// Shows what was found. Errors fail the command.
pub(super) fn report(deck: &Deck, context: &CommandContext<'_>) -> ExitStatus {
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&json!({ "items": deck.diagnostics }));
    } else {
        let mut frames = SourceFrames::default();
        let shown: Vec<String> = deck
            .diagnostics
            .iter()
            .map(|diagnostic| frames.render(diagnostic, printer.palette()))
            .collect();
        printer.data(&shown.join("\n"));
        printer.note(&summary(deck));
    }
    let has_error =
        deck.diagnostics.iter().any(|found| found.severity == DiagnosticSeverity::Error);
    if has_error { ExitStatus::RequestFailed } else { ExitStatus::Done }
}

/// Warns of CMP manifests that cost more than the format wants them to.
pub(super) fn manifest_sizes(deck: &Deck) -> Vec<Diagnostic> {
    let tools: Vec<_> = deck
        .definitions
        .iter()
        .filter_map(|definition| match &definition.backend {
            Backend::Cmp(tool) => Some((definition, tool)),
            _ => None,
        })
        .collect();
    if tools.is_empty() {
        return Vec::new();
    }
    let tokens = TokenCounter::new();
    let counted = tools.iter().map(|(definition, tool)| (definition, tokens.count(&tool.manifest)));
    let large = counted.filter(|(_, count)| *count > MANIFEST_TOKENS);
    large
        .map(|(definition, count)| Diagnostic {
            file: definition.source.path.clone(),
            line: 0,
            column: 0,
            severity: DiagnosticSeverity::Warning,
            code: "manifest-tokens".to_owned(),
            message: format!(
                "the manifest costs {count} tokens; it should stay under {MANIFEST_TOKENS}"
            ),
            fix: Some("shorten the summary, or leave out tags".to_owned()),
        })
        .collect()
}

/// What of local descriptions cannot be imported.
async fn left_out(host: &Host, deck: &Deck) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for definition in &deck.definitions {
        let Some(import) = host.import_local(definition).await else { continue };
        let id = &definition.id;
        let warning = |code: &str, message: String, fix: Option<String>| Diagnostic {
            file: import.file.clone(),
            line: 0,
            column: 0,
            severity: DiagnosticSeverity::Warning,
            code: code.to_owned(),
            message,
            fix,
        };
        match &import.outcome {
            Ok(discovery) => found.extend(discovery.problems.iter().map(|problem| {
                let message =
                    format!("`{id}` does not import {}: {}", problem.place, problem.reason);
                warning("not-imported", message, None)
            })),
            Err(error) => {
                let message = format!("nothing of `{id}` can be imported: {error}");
                found.push(warning("not-imported", message, error.hint.clone()));
            }
        }
    }
    found
}

fn summary(deck: &Deck) -> String {
    let count = |severity: DiagnosticSeverity| {
        deck.diagnostics.iter().filter(|found: &&Diagnostic| found.severity == severity).count()
    };
    let valid = counted(deck.definitions.len(), "capability OK", "capabilities OK");
    match (count(DiagnosticSeverity::Error), count(DiagnosticSeverity::Warning)) {
        (0, 0) => valid.to_string(),
        (0, warnings) => {
            format!("{valid}, with {}", counted(warnings, "warning", "warnings"))
        }
        (errors, 0) => format!("{}; {valid}", counted(errors, "error", "errors")),
        (errors, warnings) => format!(
            "{} and {}; {valid}",
            counted(errors, "error", "errors"),
            counted(warnings, "warning", "warnings")
        ),
    }
}

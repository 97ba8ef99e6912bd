//! `capdeck validate [PATH…]`: definition files, checked the way a compiler checks.

use std::{path::PathBuf, sync::Arc};

use capdeck_catalog::{Capability, Catalog, ImportProblem};
use capdeck_definition::{CapabilityId, Deck, Diagnostic, Severity, check_paths};
use serde::Serialize;
use serde_json::json;

use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
    frames::Frames,
    plain_text::one_line,
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
    let (deck, left_out) = match paths.as_slice() {
        [] => {
            let host = context.open_host()?;
            (Deck::clone(&host.deck()), left_out(&host.catalog()))
        }
        paths => (check_paths(paths), Vec::new()),
    };
    if printer.wants_json() {
        let mut shown = json!({ "items": deck.diagnostics });
        if !left_out.is_empty() {
            shown["leftOut"] = json!(left_out);
        }
        printer.json(&shown);
    } else {
        let mut frames = Frames::default();
        let shown: Vec<String> = deck
            .diagnostics
            .iter()
            .map(|diagnostic| frames.render(diagnostic, printer.palette()))
            .collect();
        printer.data(&shown.join("\n"));
        for LeftOut { id, problem } in &left_out {
            printer
                .warn(&one_line(&format!("{id}: left out {}: {}", problem.place, problem.reason)));
        }
        printer.note(&summary(&deck));
    }
    let has_error = deck.diagnostics.iter().any(|found| found.severity == Severity::Error);
    Ok(if has_error { ExitStatus::RequestFailed } else { ExitStatus::Done })
}

/// A part of a capability's description that could not be made into a tool.
#[derive(Debug, Serialize)]
struct LeftOut {
    id: CapabilityId,
    #[serde(flatten)]
    problem: ImportProblem,
}

/// Everything left out of the descriptions that have been read so far.
fn left_out(catalog: &Catalog) -> Vec<LeftOut> {
    let of = |capability: &Arc<Capability>| {
        let id = capability.definition.id.clone();
        let problems = capability.discovery.iter().flat_map(|known| known.problems.clone());
        problems.map(|problem| LeftOut { id: id.clone(), problem }).collect::<Vec<_>>()
    };
    catalog.capabilities().flat_map(of).collect()
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

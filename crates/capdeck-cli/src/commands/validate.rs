//! `capdeck validate` and `schema`: definition files, checked the way a compiler checks, and the schemas of their formats.

use std::{
    fs,
    path::{Path, PathBuf},
};

use capdeck_definition::{
    Backend, CONFIG_NAMES, Deck, Diagnostic, DiagnosticSeverity, Glob, capability_file_schema,
    caplet_schema, check_paths, cmp_schema, config_schema,
};
use capdeck_host::Host;
use serde_json::{Value, json};

use crate::{
    args::{ChoiceRow, choice},
    commands::{
        CommandContext, check::token_counter, connect::view_problems, withheld::WithheldReport,
    },
    errors::{CommandResult, ExitStatus},
    plain_text::counted,
    runtime::single_thread,
    source_frames::SourceFrames,
};

/// What a CMP manifest should cost at most, without white space.
const MANIFEST_TOKENS: usize = 50;

/// Check the files of a deck and say how to correct them
///
/// After editing a file, and in continuous integration. Shows every problem with its place and a fix, also the parts of local descriptions (OpenAPI, GraphQL, Google Discovery)
/// that cannot be imported. Fails when there is an error; warnings only inform. Nothing is fetched.
#[derive(Debug, clap::Args)]
pub(crate) struct ValidateArgs {
    /// Capability files, config files, CMP tools or folders of them; the decks in use if none is named.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

pub(crate) fn run(args: &ValidateArgs, context: &CommandContext<'_>) -> CommandResult {
    let (mut deck, host) = match args.paths.as_slice() {
        [] => {
            let host = context.open_host()?;
            (Deck::clone(&host.deck()), Some(host))
        }
        paths => (check_paths(paths), context.open_host().ok()),
    };
    // Files can be checked where there is no deck at all; what they describe is then left to the connection.
    if let Some(host) = host {
        deck.diagnostics.extend(single_thread()?.block_on(left_out(&host, &deck)));
        deck.diagnostics.extend(withheld(&host, &deck));
        if args.paths.is_empty() {
            let unknown = unknown_in_views(&host, &deck);
            deck.diagnostics.extend(unknown);
        }
    }
    // A single file does not show what its views may name.
    if args.paths.is_empty() || args.paths.iter().any(|path| path.is_dir()) {
        deck.diagnostics.extend(views_of_nothing(&deck, args.paths.is_empty()));
    }
    let sizes = manifest_sizes(&deck);
    deck.diagnostics.extend(sizes);
    report(&deck, context)
}

/// Shows what was found. Errors fail the command.
pub(super) fn report(deck: &Deck, context: &CommandContext<'_>) -> CommandResult {
    let printer = context.printer;
    let diagnostics = &deck.diagnostics;
    printer.json_or(&json!({ "items": diagnostics }), || {
        let mut frames = SourceFrames::default();
        let shown: Vec<String> =
            diagnostics.iter().map(|one| frames.render(one, printer.palette)).collect();
        printer.data(&shown.join("\n"));
        printer.note(&summary(deck));
    })?;
    let is_error = |found: &Diagnostic| found.severity == DiagnosticSeverity::Error;
    Ok(ExitStatus::done_unless(diagnostics.iter().any(is_error)))
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
    let tokens = token_counter();
    let counted = tools.iter().map(|(definition, tool)| (definition, tokens.count(&tool.manifest)));
    let large = counted.filter(|(_, count)| *count > MANIFEST_TOKENS);
    large
        .map(|(definition, count)| {
            let message = format!(
                "the manifest costs {count} tokens; it should stay under {MANIFEST_TOKENS}"
            );
            let fix = Some("shorten the summary, or leave out tags".to_owned());
            warning(&definition.source.path, "manifest-tokens", message, fix)
        })
        .collect()
}

/// A warning about a file as a whole.
fn warning(file: &Path, code: &str, message: String, fix: Option<String>) -> Diagnostic {
    Diagnostic {
        file: file.to_owned(),
        line: 0,
        column: 0,
        severity: DiagnosticSeverity::Warning,
        code: code.to_owned(),
        message,
        fix,
    }
}

/// What of local descriptions cannot be imported.
async fn left_out(host: &Host, deck: &Deck) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for definition in &deck.definitions {
        let Some(import) = host.import_local(definition).await else { continue };
        let id = &definition.id;
        match &import.outcome {
            Ok(discovery) => found.extend(discovery.problems.iter().map(|problem| {
                let message =
                    format!("`{id}` does not import {}: {}", problem.place, problem.reason);
                warning(&import.file, "not-imported", message, None)
            })),
            Err(error) => {
                let message = format!("nothing of `{id}` can be imported: {error}");
                found.push(warning(&import.file, "not-imported", message, error.hint.clone()));
            }
        }
    }
    found
}

/// Variables of this environment that programs seem to use and do not get.
fn withheld(host: &Host, deck: &Deck) -> Vec<Diagnostic> {
    let programs = deck.definitions.iter().filter_map(|definition| {
        let report = WithheldReport::of(definition, &host.withheld_variables(definition))?;
        let file = &definition.source.path;
        Some(warning(file, "variable-not-given", report.message, Some(report.fix)))
    });
    programs.collect()
}

/// Names in views that the deck does not have.
fn unknown_in_views(host: &Host, deck: &Deck) -> Vec<Diagnostic> {
    let catalog = host.catalog();
    let mut found = Vec::new();
    for view in catalog.config().views.keys() {
        for problem in view_problems(&catalog, view) {
            let (file, line, column) = place_in_config(deck, &problem.name).unwrap_or_default();
            found.push(Diagnostic {
                file,
                line,
                column,
                severity: DiagnosticSeverity::Error,
                code: "unknown-in-view".to_owned(),
                message: problem.message(view),
                fix: Some(problem.fix()),
            });
        }
    }
    found
}

/// Views that name nothing at all, and names in views that fit nothing of the deck. Plain names of the deck in use are
/// compared with its catalog instead.
fn views_of_nothing(deck: &Deck, has_host: bool) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let ids: Vec<&str> = deck
        .definitions
        .iter()
        .map(|definition| definition.id.as_str())
        .chain(deck.quarantined.iter().map(|entry| entry.id.as_str()))
        .collect();
    for (name, view) in &deck.config.views {
        let mut warn = |about: &str, code: &str, message: String, fix: &str| {
            let (file, line, column) = place_in_config(deck, about).unwrap_or_default();
            let warning = warning(&file, code, message, Some(fix.to_owned()));
            found.push(Diagnostic { line, column, ..warning });
        };
        if view.capabilities.is_empty() && view.tools.is_empty() {
            let message = format!("the view `{name}` names nothing, so its clients see no tool");
            warn(name, "empty-view", message, "add `capabilities` or `tools`, or remove the view");
        }
        for glob in view.capabilities.iter().chain(&view.tools) {
            let id = glob.as_str().split('.').next().unwrap_or_default();
            let id = Glob::new(id);
            let is_reported = has_host && id.is_plain();
            if !is_reported && !ids.iter().any(|known| id.matches(known)) {
                let message = format!("`{}` in the view `{name}` fits nothing", glob.as_str());
                let fix = "correct it; see what there is with: capdeck list";
                warn(glob.as_str(), "nothing-in-view", message, fix);
            }
        }
    }
    found
}

/// The config file that names something, with line and column.
fn place_in_config(deck: &Deck, name: &str) -> Option<(PathBuf, u32, u32)> {
    let files = deck.watched.iter().flat_map(|folder| CONFIG_NAMES.map(|file| folder.join(file)));
    files.into_iter().find_map(|file| {
        let text = fs::read_to_string(&file).ok()?;
        let (number, line) = text.lines().enumerate().find(|(_, line)| line.contains(name))?;
        let column = line.split(name).next().unwrap_or_default().chars().count();
        Some((file, u32::try_from(number + 1).ok()?, u32::try_from(column + 1).ok()?))
    })
}

fn summary(deck: &Deck) -> String {
    let count = |severity: DiagnosticSeverity| {
        deck.diagnostics.iter().filter(|found: &&Diagnostic| found.severity == severity).count()
    };
    let valid = counted(deck.definitions.len(), "capability OK", "capabilities OK");
    let (errors, warnings) = (count(DiagnosticSeverity::Error), count(DiagnosticSeverity::Warning));
    let shown_errors = counted(errors, "error", "errors");
    let shown_warnings = counted(warnings, "warning", "warnings");
    match (errors, warnings) {
        (0, 0) => valid,
        (0, _) => format!("{valid}, with {shown_warnings}"),
        (_, 0) => format!("{shown_errors}; {valid}"),
        _ => format!("{shown_errors} and {shown_warnings}; {valid}"),
    }
}

/// Print the JSON Schema of a file format
///
/// For editors that check and complete such files while you write, and for programs that make them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  capdeck schema config > capdeck.schema.json")]
pub(crate) struct SchemaArgs {
    /// Which format.
    #[arg(value_parser = choice(SCHEMAS))]
    format: fn() -> Value,
}

const SCHEMAS: [ChoiceRow<fn() -> Value>; 4] = [
    ("caplet", "The frontmatter of a capability file", caplet_schema),
    ("config", "A deck's config file", config_schema),
    (
        "capabilities",
        "A project's `capabilities.yaml` or `capabilities.json`",
        capability_file_schema,
    ),
    ("cmp", "The two files of a CMP tool", cmp_schema),
];

pub(crate) fn schema(args: &SchemaArgs, context: &CommandContext<'_>) -> CommandResult {
    context.printer.json(&(args.format)());
    Ok(ExitStatus::Done)
}

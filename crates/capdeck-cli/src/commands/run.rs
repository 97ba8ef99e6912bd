//! `capdeck run`: code against every capability, from the shell.

mod code_text;
mod failure;

use std::{path::PathBuf, sync::Arc, time::Duration};

use capdeck_host::{
    CodeRequest, Consent, Envelope, RunReport, SessionChoice, Severity, TypeCheck, code_mode,
};
use serde_json::{Value, value::RawValue};

pub(super) use code_text::Source;

use super::call::Watcher;
use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text,
    printer::Printer,
    runtime::with_caller,
};

/// Run TypeScript against your capabilities
///
/// The code reaches every capability as `caplets.ID`: `await caplets.github.list_issues({ state: "open" })`. It has no
/// network, files or modules. Prints what the code returns, or the value of its last line; with --json the whole answer.
/// What the code logs goes to stderr.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck run -e 'await caplets.machine.now({ zone: \"Europe/Berlin\" })'
  capdeck run triage.ts --timeout-ms 60000
  echo 'Object.keys(caplets)' | capdeck run -")]
pub(crate) struct RunArgs {
    /// The file with the code, or `-` for stdin.
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath, conflicts_with = "code")]
    file: Option<PathBuf>,
    /// The code itself.
    #[arg(short = 'e', long = "eval", value_name = "CODE", allow_hyphen_values = true)]
    code: Option<String>,
    /// Longest time of the whole run, in milliseconds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    timeout_ms: Option<u64>,
    /// Check types first: `warn` reports what is wrong, `full` does not run such code.
    #[arg(long, value_enum, value_name = "HOW")]
    check: Option<CheckArg>,
    /// For a person at the keyboard: approve every call that your policy asks about. Agents leave that to their person.
    #[arg(long, short)]
    yes: bool,
}

/// What a type check does.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum CheckArg {
    Warn,
    Full,
}

pub(crate) fn run(args: &RunArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let printer = context.printer;
    let source = code_text::read(args.file.as_deref(), args.code.as_deref(), printer)?;
    let watcher = Arc::new(Watcher::new("the code", printer.asker()));
    let (client, caller) = (watcher.profile(), watcher.clone());
    let request = CodeRequest {
        code: source.text.clone(),
        timeout: args.timeout_ms.map(Duration::from_millis),
        session: SessionChoice::Once,
        check: match args.check {
            None => TypeCheck::Off,
            Some(CheckArg::Warn) => TypeCheck::Warn,
            Some(CheckArg::Full) => TypeCheck::Full,
        },
        consent: if args.yes { Consent::Given } else { Consent::NotAsked },
    };
    let report = with_caller(context.open_host()?, client, caller, async |session, call| {
        watcher.show(printer.progress("running"));
        let report = code_mode::run(&session.request(call), request).await;
        watcher.hide();
        Ok(report?)
    })?;
    show(&report, &source, printer)
}

/// Prints what came of a run.
pub(super) fn show(
    report: &RunReport,
    source: &Source,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let Envelope { outcome, diagnostics, .. } = &report.envelope;
    if printer.wants_json() {
        printer.json(&report.envelope);
        return Ok(outcome.as_ref().map_or_else(failure::status, |_| ExitStatus::Done));
    }
    for entry in &report.logs {
        printer.note(&plain_text::lines(&entry.message));
    }
    for remark in diagnostics.iter().filter(|remark| remark.severity != Severity::Error) {
        printer.warn(&plain_text::one_line(&remark.message));
    }
    match outcome {
        Ok(value) => print(value, printer),
        Err(error) => return Err(failure::told(error, diagnostics, source)),
    }
    Ok(ExitStatus::Done)
}

/// A text as it reads, anything else as JSON, nothing for nothing.
fn print(value: &RawValue, printer: &Printer) {
    match serde_json::from_str(value.get()).unwrap_or_default() {
        Value::Null => {}
        Value::String(text) if printer.stdout_is_terminal() => {
            printer.data(&plain_text::lines(&text));
        }
        Value::String(text) => printer.data(&text),
        other => printer.json(&other),
    }
}

//! `capdeck run`: code against every capability, from the shell.

use std::{
    fs::File,
    io::{IsTerminal as _, Read},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use capdeck_host::{
    CallConsent, CodeDiagnostic, CodeRequest, CodeSeverity, RunEnvelope, RunError, RunReport,
    SessionChoice, TypeCheck, code_mode,
};
use serde_json::{Value, value::RawValue};

use super::call::CallWatcher;
use crate::{
    args::choice,
    commands::CommandContext,
    errors::{CommandFailure, CommandResult, ExitStatus, to_person},
    plain_text,
    printer::Printer,
    runtime::with_caller,
};

/// Run TypeScript that calls your tools
///
/// For work that takes many calls, or needs only a part of large results. Agents do the same in code mode. The code reaches every capability as `caplets.ID`: `await caplets.github.list_issues({ state: "open" })`. It has no
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
    /// Timeout of the whole run, in milliseconds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    timeout_ms: Option<u64>,
    /// Check types first: `warn` reports what is wrong, `full` does not run such code.
    #[arg(long, value_name = "HOW", value_parser = choice([("warn", "", TypeCheck::Warn), ("full", "", TypeCheck::Full)]))]
    check: Option<TypeCheck>,
    /// For a person at the keyboard: approve every call that your policy asks about. Agents leave that to their person.
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(args: &RunArgs, context: &CommandContext<'_>) -> CommandResult {
    let printer = context.printer;
    let source = read_code(args.file.as_deref(), args.code.as_deref(), printer)?;
    let watcher = Arc::new(CallWatcher::new("the code", printer.asker()));
    let (client, caller) = (watcher.profile(), watcher.clone());
    let request = CodeRequest {
        code: source.text.clone(),
        timeout: args.timeout_ms.map(Duration::from_millis),
        session: SessionChoice::Once,
        check: args.check.unwrap_or(TypeCheck::Off),
        consent: if args.yes { CallConsent::Given } else { CallConsent::NotAsked },
    };
    let report = with_caller(context.open_host()?, client, caller, async |session, call| {
        watcher.show(printer.progress("running").following(session.host()));
        let report = code_mode::run(&session.request(call), request).await;
        watcher.hide();
        Ok(report?)
    })?;
    show_report(&report, &source, printer)
}

/// Prints what came of a run.
pub(super) fn show_report(
    report: &RunReport,
    source: &CodeSource,
    printer: &Printer,
) -> CommandResult {
    let RunEnvelope { outcome, diagnostics, .. } = &report.envelope;
    if printer.wants_json() {
        printer.json(&report.envelope);
        return Ok(outcome.as_ref().map_or_else(exit_status, |_| ExitStatus::Done));
    }
    for entry in &report.logs {
        printer.note(&plain_text::lines(&entry.message));
    }
    for remark in diagnostics.iter().filter(|remark| remark.severity != CodeSeverity::Error) {
        printer.warn(&plain_text::one_line(&remark.message));
    }
    match outcome {
        Ok(value) => print(value, printer),
        Err(error) => return Err(to_failure(error, diagnostics, source)),
    }
    Ok(ExitStatus::Done)
}

/// A text as it reads, anything else as JSON, nothing for nothing.
fn print(value: &RawValue, printer: &Printer) {
    match serde_json::from_str(value.get()).unwrap_or_default() {
        Value::Null => {}
        Value::String(text) => printer.foreign(&text),
        other => printer.json(&other),
    }
}

/// More than a run accepts, so that the run itself says what is too long.
const MAX_CODE_BYTES: u64 = 4 << 20;

/// Code, and what to call it when something is wrong with it.
pub(super) struct CodeSource {
    pub(super) name: String,
    pub(super) text: String,
}

/// The code itself, a file's, or stdin's.
fn read_code(
    file: Option<&Path>,
    code: Option<&str>,
    printer: &Printer,
) -> Result<CodeSource, CommandFailure> {
    let (name, text) = match (code, file) {
        (Some(code), _) => ("the code".to_owned(), Ok(code.to_owned())),
        (None, Some(path)) if path != Path::new("-") => {
            let name = path.display().to_string();
            (name, File::open(path).and_then(|mut file| read_all(&mut file)))
        }
        (None, None) if std::io::stdin().is_terminal() => {
            return Err(CommandFailure::usage("there is no code to run")
                .hint("name a file, write the code after -e, or pipe it in"));
        }
        (None, _) => {
            if std::io::stdin().is_terminal() {
                printer.note("reading the code from the terminal; end it with Ctrl-D");
            }
            ("stdin".to_owned(), read_all(&mut std::io::stdin().lock()))
        }
    };
    match text {
        Ok(text) => Ok(CodeSource { name, text }),
        Err(error) => Err(CommandFailure::usage(format!("cannot read {name}: {error}"))),
    }
}

fn read_all(reader: &mut dyn Read) -> std::io::Result<String> {
    let mut text = String::new();
    reader.take(MAX_CODE_BYTES).read_to_string(&mut text).map(|_| text)
}

/// How the process ends: a call that wants a sign-in has its own status, as for `call`.
fn exit_status(error: &RunError) -> ExitStatus {
    let code = error.details.as_ref().and_then(|details| details.get("code"));
    match code.and_then(Value::as_str) {
        Some("AUTH_REQUIRED") => ExitStatus::SignInNeeded,
        _ => ExitStatus::RequestFailed,
    }
}

/// The failure with every place it is about.
fn to_failure(
    error: &RunError,
    diagnostics: &[CodeDiagnostic],
    source: &CodeSource,
) -> CommandFailure {
    let errors = diagnostics.iter().filter(|found| found.severity == CodeSeverity::Error);
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
    let failure = CommandFailure {
        status: exit_status(error),
        details: error.details.clone(),
        said: (!said.is_empty()).then_some(said),
        ..CommandFailure::request(error.code.as_str(), message)
    };
    match &error.hint {
        // What is wrong has just been shown.
        Some(hint) if !is_blocked => failure.hint(to_person(hint)),
        _ => failure,
    }
}

/// `file.ts:2:7: message`, the line, and a caret below the column.
fn place(
    source: &CodeSource,
    line: Option<u32>,
    column: Option<u32>,
    message: Option<&str>,
) -> String {
    let message = message.map(plain_text::one_line).unwrap_or_default();
    let (Some(line), Some(column)) = (line, column) else {
        return if message.is_empty() { message } else { format!("{message}\n") };
    };
    let head = format!("{}:{line}:{column}: {message}", source.name);
    let mut text = format!("{}\n", head.trim_end_matches([':', ' ']));
    let number = usize::try_from(line).unwrap_or_default();
    if let Some(shown) = source.text.lines().nth(number.saturating_sub(1)) {
        let before: usize = usize::try_from(column).unwrap_or_default().saturating_sub(1);
        // Tabs stay tabs, so that the caret is below the column.
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
        let source = CodeSource { name: "x.ts".to_owned(), text };
        let shown = place(&source, Some(2), Some(8), Some("there is no b"));
        assert_eq!(shown, "x.ts:2:8: there is no b\n  \tthrow b;\n  \t      ^\n");
        assert_eq!(place(&source, Some(9), Some(1), None), "x.ts:9:1\n");
        assert_eq!(place(&source, None, None, Some("too long")), "too long\n");
        assert_eq!(place(&source, None, None, None), "");
    }
}

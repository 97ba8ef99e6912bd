//! `capdeck runs` and `test`: recorded runs of code mode, and tests of code, without any server.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use capdeck_host::{CallConsent, RunRecord, RunReplayer, RunState, TestFile, code_mode};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    call::CallWatcher,
    command_table,
    run::{CodeSource, show_report},
};
use crate::{
    commands::CommandContext,
    errors::{CommandFailure, CommandResult, ExitStatus},
    plain_text::{counted, lines, one_line, time},
    printer::{Printer, TextStyle},
    runtime::{single_thread, with_session},
    table::{TextTable, cell, cell_or, styled},
};

command_table! {
    /// List, show, resume and replay recorded runs of code
    ///
    /// Every run of code is recorded: its code, its calls with their answers, and what came of it. A run that waits for your
    /// approval resumes where it stopped. Records are kept for some days; `runs` in your config says how long, or turns them off.
    pub(crate) enum RunsCommand default List {
        List(RunListArgs) => list,
        Show(RunShowArgs) => show,
        Resume(RunResumeArgs) => resume,
        Replay(RunReplayArgs) => replay,
    }
}

/// Show recorded runs, the newest first
#[derive(Debug, Default, clap::Args)]
pub(crate) struct RunListArgs {
    /// Only runs that wait for a person.
    #[arg(long)]
    paused: bool,
}

fn list(args: &RunListArgs, context: &CommandContext<'_>) -> CommandResult {
    let printer = context.printer;
    let listing = context.settings()?.runs().list()?;
    let wanted = |run: &&RunRecord| !args.paused || run.state == RunState::Paused;
    let runs: Vec<&RunRecord> = listing.runs.iter().filter(wanted).collect();
    let problems: Vec<String> = listing.problems.iter().map(ToString::to_string).collect();
    let items: Vec<Value> = runs.iter().map(|run| run.summary()).collect();
    printer.json_or(&json!({ "items": items, "problems": problems }), || {
        for problem in &problems {
            printer.warn(problem);
        }
        let heading = ["ID", "AT", "STATE", "CALLS", "CLIENT", "CODE"];
        let table = TextTable::new(heading, &runs, |run| {
            [
                styled(TextStyle::Strong, &run.id),
                cell(time(run.at)),
                styled(style(run.state), run.state.as_str()),
                cell(run.calls.len()),
                cell(&run.client),
                cell(run.headline()),
            ]
        });
        table.print_or("no runs are recorded", printer);
        if runs.iter().any(|run| run.state == RunState::Paused) {
            printer.note("resume a paused run: capdeck runs resume ID");
        }
    })
}

fn style(state: RunState) -> TextStyle {
    match state {
        RunState::Done => TextStyle::Good,
        RunState::Paused | RunState::Resuming => TextStyle::Careful,
        RunState::Failed => TextStyle::Bad,
        RunState::Cancelled => TextStyle::Dim,
    }
}

/// Show one recorded run: its code, its calls, what came of it
///
/// Answers of tools are not shown, and what looks like a secret is taken out. With --as-test the run is printed as a file for
/// `capdeck test`, with the answers it had: look through it before you pass it on.
#[derive(Debug, clap::Args)]
pub(crate) struct RunShowArgs {
    /// The run's id, or its beginning or end.
    #[arg(value_name = "ID")]
    id: String,
    /// Print it as a test: code, answers and the outcome as the expectation.
    #[arg(long)]
    as_test: bool,
}

fn show(args: &RunShowArgs, context: &CommandContext<'_>) -> CommandResult {
    let printer = context.printer;
    let store = context.settings()?.runs();
    let run = store.find(&args.id)?;
    if args.as_test {
        let test = TestFile::from_runs(&store.chain(run)?);
        return printer.show(&test, &test.to_yaml());
    }
    let shown = run.to_json();
    printer.json_or(&shown, || print_run(&run, &shown, printer))
}

fn print_run(run: &RunRecord, shown: &Value, printer: &Printer) {
    let text = |key: &str| shown.get(key).and_then(Value::as_str).unwrap_or_default();
    let line = |name: &str, value: &str| printer.data(&format!("{name:<8}  {value}\n"));
    line("run", &run.id);
    line("at", &time(run.at));
    line("state", run.state.as_str());
    line("client", &one_line(&run.client));
    if let Some(after) = &run.after {
        line("after", after);
    }
    if let Some(reason) = &run.unrepeatable {
        line("repeat", &format!("not possible: {reason}"));
    }
    printer.data(&format!("\n{}\n", lines(text("code")).trim_end()));
    let calls = shown.get("calls").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if !calls.is_empty() {
        printer.data("\n");
        let table = TextTable::new(["CALL", "OUTCOME", "ARGUMENTS"], calls, |call| {
            let text = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default();
            let args = call.get("args");
            let args = args.and_then(|args| args.get("args")).or(args);
            [cell(text("call")), cell(text("outcome")), cell_or("", args)]
        });
        table.print(printer);
    }
    if let Some(value) = shown.get("value") {
        printer.data(&format!("\nvalue     {}\n", one_line(&value.to_string())));
    }
    if let Some(error) = shown.get("error") {
        let part = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
        printer.data(&format!("\nerror     {}: {}\n", part("code"), one_line(part("message"))));
        if !part("hint").is_empty() {
            printer.note(&one_line(part("hint")));
        }
    }
}

/// Resume a paused run
///
/// The code runs again from its start with the answers it had, and goes on from where it stopped; nothing that was called is
/// called again. Approve its calls first with `capdeck approve`, or answer here.
#[derive(Debug, clap::Args)]
pub(crate) struct RunResumeArgs {
    /// The run's id, or its beginning or end.
    #[arg(value_name = "ID")]
    id: String,
    /// For a person at the keyboard: approve every call of a run that you started. Agents leave that to their person.
    #[arg(long, short)]
    yes: bool,
}

fn resume(args: &RunResumeArgs, context: &CommandContext<'_>) -> CommandResult {
    let printer = context.printer;
    let run = context.settings()?.runs().find(&args.id)?;
    let watcher = Arc::new(CallWatcher::new("the code", printer.asker()));
    let host = context.open_host()?;
    // The run keeps the rights of the client that began it.
    let session = run.session(&host, watcher.profile()).ok_or_else(|| {
        let message = format!("run `{}` cannot be resumed here", run.id);
        CommandFailure::request("REQUEST_INVALID", message)
    })?;
    let consent = if args.yes { CallConsent::Given } else { CallConsent::NotAsked };
    let report = with_session(host, session, watcher.clone(), async |session, call| {
        watcher.show(printer.progress("running").following(session.host()));
        let report = code_mode::resume(&session.request(call), &run.id, consent).await;
        watcher.hide();
        Ok(report?)
    })?;
    let source = CodeSource { name: format!("run {}", run.id), text: run.code.clone() };
    show_report(&report, &source, printer)
}

/// Repeat a recorded run without calling anything, and compare
///
/// The code runs again with the same clock, the same random numbers and the recorded answers. Nothing is connected.
#[derive(Debug, clap::Args)]
pub(crate) struct RunReplayArgs {
    /// The run's id, or its beginning or end.
    #[arg(value_name = "ID")]
    id: String,
}

fn replay(args: &RunReplayArgs, context: &CommandContext<'_>) -> CommandResult {
    let printer = context.printer;
    let settings = context.settings()?;
    let store = settings.runs();
    let run = store.find(&args.id)?;
    let id = run.id.clone();
    let chain = store.chain(run)?;
    let rehearsal = RunReplayer::new(settings.sandbox_worker()?);
    let replayed = single_thread()?.block_on(rehearsal.replay(&chain))?;
    let differences = replayed.map(|replayed| replayed.differences).unwrap_or_default();
    let is_same = differences.is_empty();
    if !is_same && !printer.wants_json() {
        let text: String = differences.iter().map(|one| format!("{one}\n")).collect();
        return Err(CommandFailure::request("RUN_DIVERGED", format!("run `{id}` does not repeat"))
            .with_details(text.trim_end()));
    }
    let report = json!({ "id": id, "isSame": is_same, "differences": differences });
    printer.show(&report, "the same calls and the same outcome\n")?;
    Ok(ExitStatus::done_unless(!is_same))
}

/// Test code against recorded answers, without any server
///
/// A test has code, the answers its calls get, and what is expected of it. Nothing is connected, so it runs the same
/// anywhere. Make one of a recorded run with: capdeck runs show ID --as-test > name.test.yaml
#[derive(Debug, clap::Args)]
pub(crate) struct TestArgs {
    /// Test files, YAML or JSON.
    #[arg(value_name = "FILE", required = true, value_hint = clap::ValueHint::FilePath)]
    files: Vec<PathBuf>,
}

/// What came of one file.
#[derive(Serialize)]
struct CodeTestOutcome {
    file: String,
    test: String,
    passed: bool,
    failures: Vec<String>,
}

pub(crate) fn test(args: &TestArgs, context: &CommandContext<'_>) -> CommandResult {
    let printer = context.printer;
    let tests =
        args.files.iter().map(|file| read(file)).collect::<Result<Vec<_>, CommandFailure>>()?;
    let rehearsal = RunReplayer::new(context.settings()?.sandbox_worker()?);
    let outcomes: Vec<CodeTestOutcome> = single_thread()?.block_on(async {
        let mut outcomes = Vec::new();
        for (file, test) in args.files.iter().zip(tests) {
            let failures = rehearsal.test(&test).await;
            let (file, passed) = (file.display().to_string(), failures.is_empty());
            outcomes.push(CodeTestOutcome { file, test: test.test, passed, failures });
        }
        outcomes
    });
    let failed = outcomes.iter().filter(|one| !one.passed).count();
    let passed = outcomes.len() - failed;
    printer.json_or(&json!({ "items": outcomes, "passed": passed, "failed": failed }), || {
        for one in &outcomes {
            let word = match one.passed {
                true => printer.palette.paint(TextStyle::Good, "pass"),
                false => printer.palette.paint(TextStyle::Bad, "FAIL"),
            };
            printer.data(&format!("{word}  {}: {}\n", one.file, one.test));
            for failure in &one.failures {
                printer.data(&format!("      {failure}\n"));
            }
        }
        let total = counted(outcomes.len(), "test", "tests");
        printer.note(&format!("{total}, {failed} failed"));
    })?;
    Ok(ExitStatus::done_unless(failed > 0))
}

fn read(path: &Path) -> Result<TestFile, CommandFailure> {
    let text =
        fs::read_to_string(path).map_err(|error| CommandFailure::file("read", path, &error))?;
    let unreadable = |reason: String| {
        CommandFailure::setup("TEST_INVALID", format!("`{}` is no test: {reason}", path.display()))
            .hint("make one of a recorded run with: capdeck runs show ID --as-test")
    };
    let value: Value = serde_saphyr::from_str(&text).map_err(|error| {
        // The lines below the first are a picture of the place.
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        unreadable(first.trim_start_matches("error: ").to_owned())
    })?;
    serde_json::from_value(value).map_err(|error| unreadable(error.to_string()))
}

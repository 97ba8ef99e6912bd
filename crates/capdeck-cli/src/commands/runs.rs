//! `capdeck runs`: recorded runs of code mode.

use std::sync::Arc;

use capdeck_host::{CallConsent, RunRecord, RunReplayer, RunState, TestFile, code_mode};
use serde_json::{Value, json};

use super::{
    call::CallWatcher,
    command_table,
    run::{CodeSource, show_report},
};
use crate::{
    context::CommandContext,
    errors::{CommandFailure, CommandResult, ExitStatus},
    plain_text::{lines, one_line},
    printer::{Printer, TextStyle},
    runtime::{single_thread, with_session},
    table::{TableCell, TextTable},
};

/// Recorded runs of code: list, show, resume and replay them
///
/// Every run of code is recorded: its code, its calls with their answers, and what came of it. A run that waits for your
/// approval resumes where it stopped. Records are kept for some days; `runs` in your config says how long, or turns them off.
#[derive(Debug, clap::Args)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    command: RunsCommand,
}

command_table! {
    enum RunsCommand {
        List(RunListArgs) => list,
        Show(RunShowArgs) => show,
        Resume(RunResumeArgs) => resume,
        Replay(RunReplayArgs) => replay,
    }
}

pub(crate) fn run(args: &RunsArgs, context: &CommandContext<'_>) -> CommandResult {
    args.command.run(context)
}

/// Show recorded runs, the newest first
#[derive(Debug, clap::Args)]
struct RunListArgs {
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
    if printer.wants_json() {
        let items: Vec<Value> = runs.iter().map(|run| run.summary()).collect();
        printer.json(&json!({ "items": items, "problems": problems }));
        return Ok(ExitStatus::Done);
    }
    for problem in &problems {
        printer.warn(problem);
    }
    if runs.is_empty() {
        printer.note("no runs are recorded");
        return Ok(ExitStatus::Done);
    }
    let mut table = TextTable::new(["ID", "AT", "STATE", "CALLS", "CLIENT", "CODE"]);
    for run in &runs {
        table.row([
            TableCell::styled(TextStyle::Strong, &run.id),
            TableCell::plain(run.at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()),
            TableCell::styled(style(run.state), run.state.as_str()),
            TableCell::plain(run.calls.len().to_string()),
            TableCell::plain(&run.client),
            TableCell::plain(run.headline()),
        ]);
    }
    table.print(printer);
    if runs.iter().any(|run| run.state == RunState::Paused) {
        printer.note("resume a paused run: capdeck runs resume ID");
    }
    Ok(ExitStatus::Done)
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
struct RunShowArgs {
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
        let test = TestFile::of(&store.chain(run)?);
        if printer.wants_json() {
            printer.json(&test);
        } else {
            printer.data(&test.to_yaml());
        }
        return Ok(ExitStatus::Done);
    }
    let shown = run.shown();
    if printer.wants_json() {
        printer.json(&shown);
    } else {
        print_run(&run, &shown, printer);
    }
    Ok(ExitStatus::Done)
}

fn print_run(run: &RunRecord, shown: &Value, printer: &Printer) {
    let text = |key: &str| shown.get(key).and_then(Value::as_str).unwrap_or_default();
    let line = |name: &str, value: &str| printer.data(&format!("{name:<8}  {value}\n"));
    line("run", &run.id);
    line("at", &run.at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string());
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
        let mut table = TextTable::new(["CALL", "OUTCOME", "ARGUMENTS"]);
        for call in calls {
            let text = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default();
            let args = call.get("args");
            let args = args.and_then(|args| args.get("args")).or(args);
            table.row([
                TableCell::plain(text("call")),
                TableCell::plain(text("outcome")),
                TableCell::plain(args.map(ToString::to_string).unwrap_or_default()),
            ]);
        }
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
struct RunResumeArgs {
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
    let session = host.session_for_run(&run, watcher.profile()).ok_or_else(|| {
        CommandFailure::request(
            "REQUEST_INVALID",
            format!("run `{}` cannot be resumed here", run.id),
        )
    })?;
    let consent = if args.yes { CallConsent::Given } else { CallConsent::NotAsked };
    let report = with_session(host, session, watcher.clone(), async |session, call| {
        watcher.show(printer.progress("running"));
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
struct RunReplayArgs {
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
    if printer.wants_json() {
        printer.json(&json!({
            "id": id,
            "isSame": differences.is_empty(),
            "differences": differences,
        }));
    } else if differences.is_empty() {
        printer.data("the same calls and the same outcome\n");
    } else {
        let text: String = differences.iter().map(|one| format!("{one}\n")).collect();
        return Err(CommandFailure::request("RUN_DIVERGED", format!("run `{id}` does not repeat"))
            .with_details(text.trim_end()));
    }
    Ok(if differences.is_empty() { ExitStatus::Done } else { ExitStatus::RequestFailed })
}

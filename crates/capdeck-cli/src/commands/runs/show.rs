//! `capdeck runs show ID`.

use capdeck_host::{RunRecord, TestFile};
use serde_json::Value;

use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text::{lines, one_line},
    printer::Printer,
    table::{Cell, Table},
};

/// Show one recorded run: its code, its calls, what came of it
///
/// Answers of tools are not shown, and what looks like a secret is taken out. With --as-test the run is printed as a file for
/// `capdeck test`, with the answers it had: look through it before you pass it on.
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// The run's id, or its beginning or end.
    #[arg(value_name = "ID")]
    id: String,
    /// Print it as a test: code, answers and the outcome as the expectation.
    #[arg(long)]
    as_test: bool,
}

pub(crate) fn run(args: &ShowArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
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
        print(&run, &shown, printer);
    }
    Ok(ExitStatus::Done)
}

fn print(run: &RunRecord, shown: &Value, printer: &Printer) {
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
        let mut table = Table::new(["CALL", "OUTCOME", "ARGUMENTS"]);
        for call in calls {
            let text = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default();
            let args = call.get("args");
            let args = args.and_then(|args| args.get("args")).or(args);
            table.row([
                Cell::plain(text("call")),
                Cell::plain(text("outcome")),
                Cell::plain(args.map(ToString::to_string).unwrap_or_default()),
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

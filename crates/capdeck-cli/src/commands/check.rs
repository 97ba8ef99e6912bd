//! `capdeck check [ID…]`: live readiness.

use capdeck_host::{CallContext, CallError, CheckReport, ErrorKind, Session, check};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use crate::{
    completion::ids,
    context::CommandContext,
    errors::{CommandResult, ExitStatus, to_person},
    plain_text::counted,
    printer::TextStyle,
    runtime::with_operator,
    table::{TextTable, cell, styled},
};

/// How many capabilities are asked at once.
const MAX_CONCURRENT_CHECKS: usize = 8;

/// Connect to capabilities and check that they answer
///
/// Fails when one of them does not.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// Which ones; all usable ones if none is named.
    #[arg(value_name = "ID", add = ids())]
    ids: Vec<String>,
}

pub(crate) fn run(args: &CheckArgs, context: &CommandContext<'_>) -> CommandResult {
    let CheckArgs { ids } = args;
    let printer = context.printer;
    let reports = with_operator(context, async |session, call| {
        let ids = match ids.as_slice() {
            [] => {
                let catalog = session.catalog();
                let usable = catalog.capabilities().filter(|capability| capability.is_usable());
                usable.map(|capability| capability.definition.id.to_string()).collect()
            }
            named => named.to_vec(),
        };
        let asked = counted(ids.len(), "capability", "capabilities");
        let progress = printer.progress(&format!("checking {asked}"));
        let done = std::cell::Cell::new(0);
        let reports = check_all(session, call, &ids, || {
            done.set(done.get() + 1);
            progress.say(&format!("checked {} of {}", done.get(), ids.len()));
        });
        Ok(reports.await)
    })?;
    let items: Vec<Value> = reports.iter().map(CheckReport::to_json).collect();
    printer.json_or(&json!({ "items": items }), || {
        table(&reports).print_or("there is nothing to check; see: capdeck list --all", printer);
        for report in &reports {
            if let Err(error) = &report.outcome
                && let Some(hint) = &error.hint
            {
                printer.note(&format!("{}: {}", report.id, to_person(hint)));
            }
        }
    })?;
    Ok(status(&reports))
}

/// Asks capabilities for what they offer, a few at a time. `done` is called after each.
pub(super) async fn check_all(
    session: &Session,
    call: &CallContext,
    ids: &[String],
    done: impl Fn(),
) -> Vec<CheckReport> {
    let checks = ids.iter().map(async |id| {
        let report = check::check(&session.request(call), id).await;
        done();
        report
    });
    stream::iter(checks).buffered(MAX_CONCURRENT_CHECKS).collect().await
}

fn table(reports: &[CheckReport]) -> TextTable {
    TextTable::new(["ID", "STATUS", "TOOLS", "TIME", "DETAIL"], reports, |report| {
        let (status, tools, detail) = match &report.outcome {
            Ok(known) => {
                let detail = left_out(&report.id, known.problems.len());
                (styled(TextStyle::Good, "available"), cell(known.tools.len()), detail)
            }
            Err(error) => (styled(TextStyle::Bad, "unavailable"), cell("-"), error.message.clone()),
        };
        let time = cell(format!("{} ms", report.elapsed.as_millis()));
        [cell(&report.id), status, tools, time, cell(detail)]
    })
}

/// What could not be imported, and where to read about it.
fn left_out(id: &str, count: usize) -> String {
    if count == 0 {
        return String::new();
    }
    let operations = counted(count, "operation", "operations");
    format!("{operations} could not be imported; see: capdeck why {id}")
}

/// Sign-in is asked for only when nothing else is wrong.
fn status(reports: &[CheckReport]) -> ExitStatus {
    let failures: Vec<ErrorKind> = reports
        .iter()
        .filter_map(|report| report.outcome.as_ref().err())
        .map(CallError::kind)
        .collect();
    match failures.as_slice() {
        [] => ExitStatus::Done,
        kinds if kinds.iter().all(|kind| *kind == ErrorKind::NeedsLogin) => {
            ExitStatus::SignInNeeded
        }
        _ => ExitStatus::RequestFailed,
    }
}

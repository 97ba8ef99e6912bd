//! `capdeck check` and `budget`: what capabilities answer, and what they cost an agent.

use capdeck_catalog::Catalog;
use capdeck_host::{
    BudgetItem, CallContext, CallError, CheckReport, ErrorKind, Session, View, ViewPolicy,
    budget_items, check,
};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use crate::{
    commands::CommandContext,
    completion::ids,
    errors::{CommandResult, ExitStatus, to_person},
    plain_text::{counted, one_line},
    printer::{Printer, TextStyle},
    runtime::with_operator,
    table::{TextTable, cell, cell_or, styled},
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
    let printer = context.printer;
    let reports = with_operator(context, async |session, call| {
        let ids = match args.ids.as_slice() {
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

/// Count what each capability costs an agent, in tokens
///
/// Counts the exact o200k tokens of the tool list in each way of offering it.
#[derive(Debug, clap::Args)]
pub(crate) struct BudgetArgs {
    /// Use only what is already known, and connect to nothing.
    #[arg(long)]
    cached: bool,
}

pub(crate) fn budget(args: &BudgetArgs, context: &CommandContext<'_>) -> CommandResult {
    let printer = context.printer;
    let (catalog, view) = if args.cached {
        let host = context.open_host()?;
        (host.catalog(), host.view(&ViewPolicy::default(), "capdeck"))
    } else {
        with_operator(context, async |session, call| {
            discover_all(session, call, printer).await;
            Ok((session.catalog(), session.view()))
        })?
    };
    let tokens = token_counter();
    let count = |view: &View| match view.tools().get() {
        "[]" => 0,
        listed => tokens.count(listed),
    };
    let items = budget_items(&catalog, &count);
    let total = count(&view);
    let page = json!({ "items": items, "total": total, "encoding": ENCODING });
    printer.json_or(&page, || print_budget(&items, total, &catalog, printer))
}

/// Asks every capability whose tools are not known. One that does not answer is reported and not counted.
async fn discover_all(session: &Session, call: &CallContext, printer: &Printer) {
    let catalog = session.catalog();
    let unknown: Vec<String> = catalog
        .capabilities()
        .filter(|capability| capability.is_usable() && capability.discovery.is_none())
        .map(|capability| capability.definition.id.to_string())
        .collect();
    if unknown.is_empty() {
        return;
    }
    let asked = counted(unknown.len(), "capability", "capabilities");
    let _progress = printer.progress(&format!("asking {asked} for tools"));
    for report in check_all(session, call, &unknown, || ()).await {
        if let Err(error) = &report.outcome {
            printer.warn(&format!(
                "the tools of `{}` are not known: {}",
                report.id,
                one_line(&error.message)
            ));
        }
    }
}

fn print_budget(items: &[BudgetItem], total: usize, catalog: &Catalog, printer: &Printer) {
    let heading = ["ID", "TOOLS", "DIRECT", "PROGRESSIVE", "SEARCH", "ON DEMAND", "CODE MODE"];
    let table = TextTable::new(heading, items, |item| {
        [
            cell(&item.id),
            cell_or("-", item.tools),
            cell_or("-", item.direct),
            cell_or("-", item.progressive),
            cell_or("-", item.search),
            cell_or("-", item.on_demand),
            cell_or("-", item.code_mode),
        ]
    });
    table.print(printer);
    printer.data(&format!("\nan agent's standing tool list costs {total} tokens"));
    if let Some(limit) = catalog.config().surface_tokens {
        printer.data(&format!("the deck's `surfaceTokens` allows {limit}"));
    }
    printer.note("search, on demand and code mode cost about the same however much they reach");
}

/// The name of the encoding, as output shows it.
pub(crate) const ENCODING: &str = "o200k";

pub(crate) fn token_counter() -> tiktoken::CoreBpe {
    // By its own function and not by its name: a lookup by name has the words of every encoding put into the binary.
    tiktoken::encoding::o200k_base()
}

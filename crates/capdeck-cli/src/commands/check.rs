//! `capdeck check` and `budget`: what capabilities answer, and what they cost an agent.

use std::time::Duration;

use capdeck_catalog::Catalog;
use capdeck_host::{
    BudgetItem, CallContext, CallError, CheckReport, DeckSize, ErrorKind, Session, View,
    ViewPolicy, budget_items, check,
};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use crate::{
    commands::{CommandContext, withheld::WithheldReport},
    completion::ids,
    errors::{CommandFailure, CommandResult, ExitStatus, to_person},
    plain_text::{counted, deck_size, grouped, one_line},
    printer::{Printer, TextStyle},
    runtime::with_operator,
    table::{TextTable, cell, cell_or, styled},
};

/// How many capabilities are asked at once.
const MAX_CONCURRENT_CHECKS: usize = 8;

/// Start each capability and check that it answers
///
/// After adding or importing one, and when something does not work. Shows how many tools each has, how long it took, or why it does
/// not answer. Exits with 1 when one does not, with 3 when all that is missing is a sign-in.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct CheckArgs {
    /// Which ones; all usable ones if none is named.
    #[arg(value_name = "ID", add = ids())]
    ids: Vec<String>,
    /// How long each may take to start and to answer; what its definition says by default.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,
}

pub(crate) fn run(args: &CheckArgs, context: &CommandContext<'_>) -> CommandResult {
    let printer = context.printer;
    let reports = reports(args, context)?;
    let items: Vec<Value> = reports.iter().map(CheckReport::to_json).collect();
    printer.json_or(&json!({ "items": items }), || {
        table(&reports).print_or("there is nothing to check; see: capdeck list --all", printer);
        for report in &reports {
            if let Err(error) = &report.outcome
                && let Some(hint) = &error.hint
            {
                printer.note(&format!("{}: {}", report.id, to_person(hint)));
            }
            let definition = report.definition.as_deref();
            let withheld = definition.and_then(|one| WithheldReport::of(one, &report.withheld));
            if let Some(WithheldReport { message, fix }) = withheld {
                printer.note(&format!("{}: {message}; {fix}", report.id));
            }
        }
    })?;
    Ok(status(&reports))
}

/// Asks the named capabilities for what they offer, or all usable ones if none is named.
pub(super) fn reports(
    args: &CheckArgs,
    context: &CommandContext<'_>,
) -> Result<Vec<CheckReport>, CommandFailure> {
    let printer = context.printer;
    with_operator(context, async |session, call| {
        let ids = match args.ids.as_slice() {
            [] => {
                let catalog = session.catalog();
                let usable = catalog.capabilities().filter(|capability| capability.is_usable());
                usable.map(|capability| capability.definition.id.to_string()).collect()
            }
            named => named.to_vec(),
        };
        let asked = counted(ids.len(), "capability", "capabilities");
        let progress = printer.progress(&format!("checking {asked}")).following(session.host());
        let done = std::cell::Cell::new(0);
        let timeout = args.timeout.map(Duration::from_secs);
        let call = CallContext { timeout, start_timeout: timeout, ..call.clone() };
        let reports = check_all(session, &call, &ids, || {
            done.set(done.get() + 1);
            progress.say(&format!("checked {} of {}", done.get(), ids.len()));
        });
        Ok(reports.await)
    })
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
    // In the order of their answers, so that a slow one holds up no other.
    let checks = checks.enumerate().map(async |(place, check)| (place, check.await));
    let mut reports: Vec<_> =
        stream::iter(checks).buffer_unordered(MAX_CONCURRENT_CHECKS).collect().await;
    reports.sort_by_key(|(place, _)| *place);
    reports.into_iter().map(|(_, report)| report).collect()
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

/// Count what tools cost an agent, in tokens
///
/// Shows the exact o200k tokens of the tool list for each capability in each way of offering it. The last line compares all tools
/// listed directly, as without Capdeck, with the list that an agent of this deck really gets at its start.
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
    let counter = token_counter();
    let count = |view: &View| count_tokens(&counter, view);
    let items = budget_items(&catalog, &count);
    let total = count(&view);
    let size = DeckSize::of(&catalog);
    let direct: usize = items.iter().filter_map(|item| item.direct).sum();
    let page = json!({
        "items": items,
        "total": total,
        "encoding": ENCODING,
        "capabilities": size.capabilities,
        "tools": size.tools,
        "direct": direct,
    });
    printer.json_or(&page, || {
        print_budget(&items, &catalog, printer);
        let (size, direct, total) = (deck_size(&size), grouped(direct), grouped(total));
        printer.data(&format!("{size}: {direct} → {total} tokens"));
    })
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
    let _progress =
        printer.progress(&format!("asking {asked} for tools")).following(session.host());
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

fn print_budget(items: &[BudgetItem], catalog: &Catalog, printer: &Printer) {
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
    table.print_or("the deck is empty; put something into it with: capdeck import --help", printer);
    printer.note("search, on demand and code mode cost about the same however much they reach");
    if let Some(limit) = catalog.config().surface_tokens {
        printer.data(&format!("\nThe deck's `surfaceTokens` allows {limit} tokens."));
    }
    printer.data("\n");
}

/// The name of the encoding, as output shows it.
pub(crate) const ENCODING: &str = "o200k";

/// What the list of a view costs an agent; nothing where it has no tools.
pub(super) fn count_tokens(counter: &tiktoken::CoreBpe, view: &View) -> usize {
    match view.tools().get() {
        "[]" => 0,
        listed => counter.count(listed),
    }
}

pub(crate) fn token_counter() -> tiktoken::CoreBpe {
    // By its own function and not by its name: a lookup by name has the words of every encoding put into the binary.
    tiktoken::encoding::o200k_base()
}

//! `capdeck budget`: what each capability costs an agent, counted exactly.

use capdeck_catalog::Catalog;
use capdeck_host::{BudgetItem, CallContext, Session, View, ViewPolicy, budget_items};
use serde_json::json;

use super::check::check_all;
use crate::{
    context::CommandContext,
    errors::CommandResult,
    plain_text::{counted, one_line},
    printer::Printer,
    runtime::with_operator,
    table::{TextTable, cell, cell_or},
};

/// Count what each capability costs an agent, in tokens
///
/// Counts the exact o200k tokens of the tool list in each way of offering it.
#[derive(Debug, clap::Args)]
pub(crate) struct BudgetArgs {
    /// Use only what is already known, and connect to nothing.
    #[arg(long)]
    cached: bool,
}

pub(crate) fn run(args: &BudgetArgs, context: &CommandContext<'_>) -> CommandResult {
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
    let tokens = TokenCounter::new();
    let count = |view: &View| match view.tools().get() {
        "[]" => 0,
        listed => tokens.count(listed),
    };
    let items = budget_items(&catalog, &count);
    let total = count(&view);
    let page = json!({ "items": items, "total": total, "encoding": TokenCounter::ENCODING });
    printer.json_or(&page, || print(&items, total, &catalog, printer))
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

fn print(items: &[BudgetItem], total: usize, catalog: &Catalog, printer: &Printer) {
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

/// A counter of tokens.
pub(crate) struct TokenCounter(tiktoken::CoreBpe);

impl TokenCounter {
    /// The name of the encoding, as output shows it.
    pub(crate) const ENCODING: &'static str = "o200k";

    pub(crate) fn new() -> Self {
        // By its own function and not by its name: the way by name has the words of every encoding put into the binary.
        Self(tiktoken::encoding::o200k_base())
    }

    pub(crate) fn count(&self, text: &str) -> usize {
        self.0.count(text)
    }
}

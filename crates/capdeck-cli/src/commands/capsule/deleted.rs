//! `capdeck capsule deleted NAME`: what can be restored.

use capdeck_host::CapsuleOperation;

use super::{
    facts::{items, number, page, text},
    moment::time,
};
use crate::{
    capsule_desk::ask,
    completion::capsules,
    context::Context,
    errors::{ExitStatus, Failure},
    printer::Style,
    table::{Cell, Table},
};

/// List entries that were deleted and can be restored
#[derive(Debug, clap::Args)]
pub(crate) struct DeletedArgs {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
}

pub(crate) fn run(args: &DeletedArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let answer = ask(context, Some(&args.name), CapsuleOperation::Deleted)?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&page(&answer, "deleted", &["capsule"]));
        return Ok(ExitStatus::Done);
    }
    let deleted = items(&answer, "deleted");
    if deleted.is_empty() {
        printer.note("nothing is deleted");
        return Ok(ExitStatus::Done);
    }
    let mut table = Table::new(["URI", "VERSION", "DELETED", "BY"]);
    for entry in deleted {
        table.row([
            Cell::styled(Style::Strong, text(entry, "uri")),
            Cell::plain(number(entry, "version").to_string()),
            Cell::plain(time(text(entry, "deleted_at"))),
            Cell::plain(text(entry, "deleted_by")),
        ]);
    }
    table.print(printer);
    Ok(ExitStatus::Done)
}

//! `capdeck capsule deleted NAME`: what can be restored.

use capdeck_host::DeletedRequest;

use super::{display::ListingPage, moment::time};
use crate::{
    capsule_client::ask,
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
    let answer = ask(context, Some(&args.name), DeletedRequest)?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&ListingPage::whole(Some(&answer.capsule), &answer.deleted));
        return Ok(ExitStatus::Done);
    }
    if answer.deleted.is_empty() {
        printer.note("nothing is deleted");
        return Ok(ExitStatus::Done);
    }
    let mut table = Table::new(["URI", "VERSION", "DELETED", "BY"]);
    for entry in &answer.deleted {
        table.row([
            Cell::styled(Style::Strong, entry.uri.as_str()),
            Cell::plain(entry.version.to_string()),
            Cell::plain(time(entry.deleted_at)),
            Cell::plain(entry.deleted_by.as_str()),
        ]);
    }
    table.print(printer);
    Ok(ExitStatus::Done)
}

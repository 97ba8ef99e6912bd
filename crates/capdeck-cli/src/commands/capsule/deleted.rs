//! `capdeck capsule deleted NAME`: what can be restored.

use capdeck_host::DeletedRequest;

use super::{display::ListingPage, time::time};
use crate::{
    capsule_client::ask,
    completion::capsules,
    context::CommandContext,
    errors::{CommandFailure, ExitStatus},
    printer::TextStyle,
    table::{TableCell, TextTable},
};

/// List entries that were deleted and can be restored
#[derive(Debug, clap::Args)]
pub(crate) struct CapsuleDeletedArgs {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
}

pub(crate) fn run(
    args: &CapsuleDeletedArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus, CommandFailure> {
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
    let mut table = TextTable::new(["URI", "VERSION", "DELETED", "BY"]);
    for entry in &answer.deleted {
        table.row([
            TableCell::styled(TextStyle::Strong, entry.uri.as_str()),
            TableCell::plain(entry.version.to_string()),
            TableCell::plain(time(entry.deleted_at)),
            TableCell::plain(entry.deleted_by.as_str()),
        ]);
    }
    table.print(printer);
    Ok(ExitStatus::Done)
}

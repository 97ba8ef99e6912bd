//! `capdeck capsule rm NAME [URI]`: takes an entry or a whole capsule away.

use capdeck_host::{DeleteCapsuleRequest, DeleteRequest, PurgeCapsuleRequest, PurgeRequest};
use serde::Serialize;

use crate::{
    capsule_client::ask,
    completion::{capsules, entries},
    context::CommandContext,
    errors::{CommandFailure, ExitStatus},
    printer::Printer,
};

/// Delete an entry, or a whole capsule
///
/// A deleted entry can be restored, until it is purged. A deleted capsule is moved to `deleted` in the data folder; its
/// owner, grants and shares end with it, and a later capsule of the same name has none of them. Purged, also later by its
/// id, it is gone for good.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck capsule rm team notes://old
  capdeck capsule rm team notes://leaked-key --purge --yes
  capdeck capsule rm team --yes
  capdeck capsule rm team --purge --yes")]
pub(crate) struct CapsuleRmArgs {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
    /// The entry; without it the whole capsule is deleted.
    #[arg(value_name = "URI", add = entries())]
    uri: Option<String>,
    /// Take it away with everything it ever was. It cannot be restored.
    #[arg(long)]
    purge: bool,
    /// Only when this is the current version.
    #[arg(long, value_name = "N", requires = "uri", conflicts_with = "purge")]
    if_version: Option<u64>,
    /// Do not ask.
    #[arg(short, long)]
    yes: bool,
}

pub(crate) fn run(
    args: &CapsuleRmArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus, CommandFailure> {
    let CapsuleRmArgs { name, uri, purge, if_version, yes } = args;
    let question = match uri {
        Some(uri) if *purge => Some(format!("Take `{uri}` away with all its versions, for good?")),
        Some(_) => None,
        None if *purge => {
            Some(format!("Remove the capsule `{name}` for good, with all it ever held?"))
        }
        None => Some(format!("Delete the capsule `{name}` with all its entries?")),
    };
    if let Some(question) = question.filter(|_| !yes) {
        let printer = context.printer;
        if !printer.can_ask() {
            return Err(CommandFailure::usage("confirmation required").hint("pass --yes"));
        }
        if !printer.confirm(&question) {
            return Err(CommandFailure::request("CANCELLED", "nothing was deleted"));
        }
    }
    let printer = context.printer;
    match uri.clone() {
        None if *purge => {
            let purged = ask(context, Some(name), PurgeCapsuleRequest)?;
            show(&purged, &[format!("purged the capsule {}", purged.id())], printer);
        }
        None => {
            let deleted = ask(context, Some(name), DeleteCapsuleRequest)?;
            show(&deleted, &[format!("deleted the capsule {}", deleted.id)], printer);
        }
        Some(uri) if *purge => {
            let note = format!("purged {uri}");
            show(&ask(context, Some(name), PurgeRequest { uri })?, &[note], printer);
        }
        Some(uri) => {
            let delete = DeleteRequest { uri: uri.clone(), if_version: *if_version };
            let deleted = ask(context, Some(name), delete)?;
            let version = deleted.entry.version;
            let notes = [
                format!("deleted {uri}, which was in version {version}"),
                format!("bring it back with: capdeck capsule restore {name} {uri}"),
            ];
            show(&deleted, &notes, printer);
        }
    }
    Ok(ExitStatus::Done)
}

fn show(response: &impl Serialize, notes: &[String], printer: &Printer) {
    if printer.wants_json() {
        printer.json(response);
    } else {
        notes.iter().for_each(|note| printer.note(note));
    }
}

//! `capdeck capsule rm NAME [URI]`: takes an entry or a whole capsule away.

use capdeck_host::CapsuleOperation;

use super::facts::{number, text};
use crate::{
    capsule_desk::ask,
    completion::{capsules, entries},
    context::Context,
    errors::{ExitStatus, Failure},
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
pub(crate) struct RmArgs {
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

pub(crate) fn run(args: &RmArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let RmArgs { name, uri, purge, if_version, yes } = args;
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
            return Err(Failure::usage("confirmation required").hint("pass --yes"));
        }
        if !printer.confirm(&question) {
            return Err(Failure::request("CANCELLED", "nothing was deleted"));
        }
    }
    let operation = match uri.clone() {
        None if *purge => CapsuleOperation::PurgeCapsule,
        None => CapsuleOperation::DeleteCapsule,
        Some(uri) if *purge => CapsuleOperation::Purge { uri },
        Some(uri) => CapsuleOperation::Delete { uri, if_version: *if_version },
    };
    let answer = ask(context, Some(name), operation)?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&answer);
        return Ok(ExitStatus::Done);
    }
    match uri {
        None if *purge => printer.note(&format!("purged the capsule {}", text(&answer, "id"))),
        None => printer.note(&format!("deleted the capsule {}", text(&answer, "id"))),
        Some(uri) if *purge => printer.note(&format!("purged {uri}")),
        Some(uri) => {
            let version = number(&answer, "version");
            printer.note(&format!("deleted {uri}, which was in version {version}"));
            printer.note(&format!("bring it back with: capdeck capsule restore {name} {uri}"));
        }
    }
    Ok(ExitStatus::Done)
}

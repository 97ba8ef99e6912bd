//! `capdeck capsule collect NAME`: removes blobs that nothing has any more.

use capdeck_host::CapsuleOperation;

use super::facts::number;
use crate::{
    capsule_desk::ask,
    completion::capsules,
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Remove attached bytes that no version of any entry has, and that are older than a minute
#[derive(Debug, clap::Args)]
pub(crate) struct CollectArgs {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
}

pub(crate) fn run(args: &CollectArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let answer = ask(context, Some(&args.name), CapsuleOperation::CollectBlobs)?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&answer);
    } else {
        let (removed, kept) = (number(&answer, "removed"), number(&answer, "kept"));
        let bytes = number(&answer, "bytes");
        printer.note(&format!("removed {removed} ({bytes} bytes), kept {kept}"));
    }
    Ok(ExitStatus::Done)
}

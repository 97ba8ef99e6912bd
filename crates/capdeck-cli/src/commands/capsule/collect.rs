//! `capdeck capsule collect NAME`: removes blobs that nothing has any more.

use capdeck_host::{BlobCollection, CollectBlobsRequest};

use crate::{
    capsule_client::ask,
    completion::capsules,
    context::CommandContext,
    errors::{CommandFailure, ExitStatus},
};

/// Remove attached bytes that no version of any entry has, and that are older than a minute
#[derive(Debug, clap::Args)]
pub(crate) struct CapsuleCollectArgs {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
}

pub(crate) fn run(
    args: &CapsuleCollectArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus, CommandFailure> {
    let answer = ask(context, Some(&args.name), CollectBlobsRequest)?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&answer);
    } else {
        let BlobCollection { removed, bytes, kept } = answer.collection;
        printer.note(&format!("removed {removed} ({bytes} bytes), kept {kept}"));
    }
    Ok(ExitStatus::Done)
}

//! `capdeck capsule restore NAME URI [VERSION]`: an old version, written again as a new one.

use capdeck_host::CapsuleOperation;

use super::facts::{items, number, text, written_line};
use crate::{
    capsule_desk::with_desk,
    completion::{capsules, entries},
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Write an old version again, as a new one
///
/// Brings back what was deleted, too; then the last version is taken if none is named.
#[derive(Debug, clap::Args)]
pub(crate) struct RestoreArgs {
    /// The capsule.
    #[arg(value_name = "NAME", add = capsules())]
    name: String,
    /// The entry.
    #[arg(value_name = "URI", add = entries())]
    uri: String,
    /// The version to write again.
    #[arg(value_name = "VERSION")]
    version: Option<u64>,
    /// Only when this is the current version; 0: only when there is none.
    #[arg(long, value_name = "N")]
    if_version: Option<u64>,
}

pub(crate) fn run(args: &RestoreArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let RestoreArgs { name, uri, version, if_version } = args;
    let answer = with_desk(context, async |desk| {
        let version = match version {
            Some(version) => *version,
            None => {
                let deleted = desk.ask(Some(name), CapsuleOperation::Deleted).await?;
                let found =
                    items(&deleted, "deleted").iter().find(|entry| text(entry, "uri") == uri);
                found.map(|entry| number(entry, "version")).ok_or_else(|| {
                    Failure::usage(format!(
                        "`{uri}` is not deleted; say which version to write again"
                    ))
                    .hint(format!("see them with: capdeck capsule history {name} {uri}"))
                })?
            }
        };
        let (uri, if_version) = (uri.clone(), *if_version);
        desk.ask(Some(name), CapsuleOperation::Restore { uri, version, if_version }).await
    })?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&answer);
    } else {
        printer.note(&written_line("restored as", &answer));
    }
    Ok(ExitStatus::Done)
}

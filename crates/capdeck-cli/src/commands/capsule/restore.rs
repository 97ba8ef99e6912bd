//! `capdeck capsule restore NAME URI [VERSION]`: an old version, written again as a new one.

use capdeck_host::{DeletedRequest, RestoreRequest};

use super::display::written_line;
use crate::{
    capsule_client::with_capsules,
    completion::{capsules, entries},
    context::CommandContext,
    errors::{CommandFailure, ExitStatus},
};

/// Write an old version again, as a new one
///
/// Brings back what was deleted, too; then the last version is taken if none is named.
#[derive(Debug, clap::Args)]
pub(crate) struct CapsuleRestoreArgs {
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

pub(crate) fn run(
    args: &CapsuleRestoreArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus, CommandFailure> {
    let CapsuleRestoreArgs { name, uri, version, if_version } = args;
    let answer = with_capsules(context, async |capsules| {
        let version = match version {
            Some(version) => *version,
            None => {
                let deleted = capsules.ask(Some(name), DeletedRequest).await?;
                let found = deleted.deleted.iter().find(|entry| entry.uri.as_str() == uri);
                found.map(|entry| entry.version).ok_or_else(|| {
                    CommandFailure::usage(format!(
                        "`{uri}` is not deleted; say which version to write again"
                    ))
                    .hint(format!("see them with: capdeck capsule history {name} {uri}"))
                })?
            }
        };
        let (uri, if_version) = (uri.clone(), *if_version);
        capsules.ask(Some(name), RestoreRequest { uri, version, if_version }).await
    })?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&answer);
    } else {
        printer.note(&written_line("restored as", &answer.outcome));
    }
    Ok(ExitStatus::Done)
}

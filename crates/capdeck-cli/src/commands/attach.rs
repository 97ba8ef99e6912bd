//! `capdeck attach URL`: a running host's deck and the local one, as one MCP server on stdio.

use std::{
    fs,
    path::{Path, PathBuf},
};

use capdeck_auth::Secret;
use capdeck_definition::Exposure;
use capdeck_host::{
    CapabilityId, ClientProfile, Host, HostAttachment, RemoteHost, SessionScope, SessionSettings,
    ViewPolicy, list_items,
};
use serde_json::json;

use super::serve::{EXPOSURES, serve_on_stdio};
use crate::{
    args::choice,
    commands::{CommandContext, list::style},
    errors::{CommandFailure, CommandResult, ExitStatus},
    runtime::single_thread,
    table::{TextTable, cell, styled},
};

/// Serve a running host's deck together with the local one, as an MCP server on stdio
///
/// For an agent of this machine that also works with the deck of another host, such as a team's. Everything of the running host passes as it is: schemas, resources, prompts, tasks, progress and questions. Where both have a
/// capability of the same id, the remote one's `shadowing` decides: `forbid` (the default) hides the local one, `allow` lets the local
/// one replace it, `namespace` offers both under names of their own. Changes on either side are followed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck attach http://127.0.0.1:7717
  capdeck attach https://deck.example.com --key-file ~/.deck-key")]
pub(crate) struct AttachArgs {
    /// The address that `capdeck up` shows.
    #[arg(value_name = "URL")]
    url: String,
    /// The file with the running host's key. Without it the key is taken from CAPDECK_ATTACH_KEY.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Serve only this capability, with its own names, as if it were connected directly.
    #[arg(long, value_name = "ID", conflicts_with_all = ["exposure", "dry_run"])]
    only: Option<String>,
    /// Offer every capability this way, regardless of its file.
    #[arg(long, value_name = "MODE", value_parser = choice(EXPOSURES))]
    exposure: Option<Exposure>,
    /// Show what would be offered and where it comes from, and exit.
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &AttachArgs, context: &CommandContext<'_>) -> CommandResult {
    let AttachArgs { url, key_file, only, exposure, dry_run } = args;
    let scope = match only {
        Some(id) => SessionScope::Transparent(
            CapabilityId::new(id).map_err(|error| CommandFailure::usage(error.to_string()))?,
        ),
        None => SessionScope::Deck(ViewPolicy::offering(*exposure)),
    };
    let (host, attachment) = open(url, key_file.as_deref(), context)?;
    if *dry_run {
        return single_thread()?.block_on(async {
            attachment.attach_to(&host).await?;
            let items = list_items(&host, &host.catalog());
            host.close().await;
            let printer = context.printer;
            printer.json_or(&json!({ "items": items }), || {
                let heading = ["CAPABILITY", "FROM", "HIDES", "STATUS"];
                let table = TextTable::new(heading, &items, |item| {
                    let hidden: Vec<String> = item
                        .shadows
                        .iter()
                        .map(|source| source.path.display().to_string())
                        .collect();
                    [
                        cell(&item.id),
                        cell(item.source.path.display()),
                        cell(hidden.join(", ")),
                        styled(style(item), item.word()),
                    ]
                });
                table.print(printer);
            })
        });
    }
    serve_on_stdio(&host, scope.clone(), context.printer, async || {
        attachment.attach_to(&host).await?;
        if let SessionScope::Transparent(id) = &scope {
            host.session(SessionSettings::local(scope.clone(), ClientProfile::default()))
                .snapshot()
                .capability(id.as_str())?;
        }
        Ok(())
    })
}

/// The local host, and the running one that is to be attached to it.
pub(super) fn open(
    url: &str,
    key_file: Option<&Path>,
    context: &CommandContext<'_>,
) -> Result<(Host, HostAttachment), CommandFailure> {
    let settings = context.settings()?;
    let key = match key_file {
        Some(file) => Some(read_key(&settings.start_dir.join(file))?),
        None => context.env.attach_key.clone(),
    };
    let remote = RemoteHost::new(url, key.clone(), env!("CARGO_PKG_VERSION")).map_err(|error| {
        CommandFailure { status: ExitStatus::WrongUsage, ..CommandFailure::from(error) }
    })?;
    let (host, key_variable) = settings.open_host_with(key.as_ref())?;
    Ok((host, HostAttachment::new(remote, key_variable)))
}

fn read_key(path: &Path) -> Result<Secret, CommandFailure> {
    let text = fs::read_to_string(path).map_err(|error| {
        CommandFailure::usage(format!("--key-file: cannot read `{}`: {error}", path.display()))
    })?;
    let key = text.trim();
    if key.is_empty() {
        return Err(CommandFailure::usage(format!("--key-file: `{}` is empty", path.display())));
    }
    Ok(Secret::new(key.to_owned()))
}

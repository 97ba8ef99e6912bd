//! `capdeck serve`: the deck as an MCP server on stdio.

use std::io;

use capdeck_definition::Exposure;
use capdeck_host::{
    CapabilityId, ClientProfile, Host, SessionScope, SessionSettings, ViewPolicy, watch_files,
};
use capdeck_serve::CapsuleReference;

use crate::{
    args::{ChoiceRow, choice},
    commands::CommandContext,
    completion::ids,
    errors::{CommandFailure, CommandResult, ExitStatus},
    runtime::{single_thread, stop_signal},
    service_memory::{give_back_later, return_large_blocks},
};

/// Serve the deck, or one capability, as an MCP server on stdio
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// Serve only this capability, with its own names, as if it were connected directly.
    #[arg(long, value_name = "ID", add = ids(), conflicts_with_all = ["exposure", "view"])]
    only: Option<String>,
    /// Serve only this capsule: its entries, prompts and tools.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["only", "exposure", "view"])]
    capsule: Option<String>,
    /// Serve only what this view has: a sub-agent of the project, or an entry of `views` in a config.
    #[arg(long, value_name = "NAME")]
    view: Option<String>,
    /// Offer every capability this way, regardless of its file.
    #[arg(long, value_name = "MODE", value_parser = choice(EXPOSURES))]
    exposure: Option<Exposure>,
}

/// The ways to offer tools, under the names that files have for them. Other spellings are those of capability files and
/// of flags in general.
pub(super) const EXPOSURES: [ChoiceRow<Exposure>; 9] = [
    ("direct|expose-all", "Every tool under its own name", Exposure::Direct),
    ("progressive", "One wrapper tool per capability", Exposure::Progressive),
    ("search", "Three tools that find and call everything", Exposure::Search),
    ("code_mode|code-mode", "One tool that runs TypeScript against everything", Exposure::CodeMode),
    (
        "code_mode_and_search|code-mode-and-search",
        "Both of the last two",
        Exposure::CodeModeAndSearch,
    ),
    (
        "direct_and_code_mode|direct-and-code-mode",
        "`direct` and `code_mode`",
        Exposure::DirectAndCodeMode,
    ),
    (
        "progressive_and_code_mode|progressive-and-code-mode",
        "`progressive` and `code_mode`",
        Exposure::ProgressiveAndCodeMode,
    ),
    (
        "on_demand|on-demand",
        "Two tools: one sets up what the task needs, one calls it",
        Exposure::OnDemand,
    ),
    ("none", "Nothing; tools are reached by `capdeck sh`", Exposure::None),
];

pub(crate) fn run(args: &ServeArgs, context: &CommandContext<'_>) -> CommandResult {
    let ServeArgs { only, capsule, view, exposure } = args;
    let host = context.settings()?.open_lasting_host()?;
    if let Some(name) = capsule {
        return serve_capsule(&host, name);
    }
    let scope = match only {
        Some(id) => {
            // What the gate would refuse at every request is better refused at the start.
            let id =
                CapabilityId::new(id).map_err(|error| CommandFailure::usage(error.to_string()))?;
            let scope = SessionScope::Transparent(id.clone());
            host.session(SessionSettings::local(scope.clone(), ClientProfile::default()))
                .snapshot()
                .capability(id.as_str())?;
            scope
        }
        None => {
            if let Some(name) = view.as_deref().filter(|name| !host.has_view(name, None)) {
                return Err(no_view(&host, name));
            }
            let view = view.as_deref().map(Into::into);
            SessionScope::Deck(ViewPolicy { exposure: *exposure, view })
        }
    };
    serve_on_stdio(&host, scope, async || Ok(()))
}

/// Serves one client on stdin and stdout, once the host is `ready`.
pub(super) fn serve_on_stdio(
    host: &Host,
    scope: SessionScope,
    ready: impl AsyncFnOnce() -> Result<(), CommandFailure>,
) -> CommandResult {
    until_stopped(host, async || {
        ready().await?;
        if let Err(error) = watch_files(host) {
            tracing::warn!(%error);
        }
        Ok(capdeck_serve::serve_stdio(host.clone(), scope).await)
    })
}

/// Serves one capsule to one client on stdin and stdout.
fn serve_capsule(host: &Host, name: &str) -> CommandResult {
    until_stopped(host, async || {
        let found = CapsuleReference::find(host, name).await.map_err(|failure| {
            let refused = CommandFailure::request("CAPSULE", failure.message);
            CommandFailure { hint: failure.hint, ..refused }
        })?;
        let place = found.ok_or_else(|| {
            CommandFailure::usage(format!("there is no capsule `{name}`")).hint(
                "see them with: capdeck capsule list; make one with: capdeck capsule new NAME",
            )
        })?;
        Ok(capdeck_serve::serve_capsule_stdio(host.clone(), &place).await)
    })
}

/// Serves until the client is gone or the process is asked to stop.
fn until_stopped(
    host: &Host,
    serve: impl AsyncFnOnce() -> Result<io::Result<()>, CommandFailure>,
) -> CommandResult {
    return_large_blocks();
    // One client: a second thread would only add the price of waking it to every message.
    let runtime = single_thread()?;
    let outcome = runtime.block_on(async {
        give_back_later();
        let outcome = tokio::select! {
            outcome = serve() => outcome?,
            () = stop_signal() => {
                host.close().await;
                Ok(())
            }
        };
        outcome.map_err(|error| {
            CommandFailure::request("TRANSPORT", format!("the client is gone: {error}"))
        })
    });
    // A read of stdin cannot be interrupted, and waiting for it would hold up the exit.
    runtime.shutdown_background();
    outcome.map(|()| ExitStatus::Done)
}

fn no_view(host: &Host, name: &str) -> CommandFailure {
    let failure = CommandFailure::usage(format!("there is no view `{name}`"));
    match host.catalog().nearest_view(name) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint("views are sub-agents of a capability file, and `views` of a config"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::plain_text::written;

    #[test]
    fn the_flag_takes_every_exposure_by_the_name_that_files_have_for_it() {
        let schema = capdeck_definition::caplet_schema();
        let listed = schema["$defs"]["Exposure"]["oneOf"].as_array().unwrap().iter();
        let of_files: BTreeSet<&str> = listed.map(|one| one["const"].as_str().unwrap()).collect();
        let of_flag: BTreeSet<&str> = EXPOSURES
            .iter()
            .map(|(words, _, mode)| {
                let name = words.split('|').next().unwrap();
                assert_eq!(written(mode), name);
                name
            })
            .collect();
        assert_eq!(of_flag, of_files);
    }
}

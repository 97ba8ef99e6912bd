//! `capdeck serve`: the deck as an MCP server on stdio.

use std::{
    io::{self, IsTerminal as _},
    sync::Arc,
};

use capdeck_catalog::{Capability, Catalog, listed_view};
use capdeck_definition::Exposure;
use capdeck_host::{
    CapabilityId, ClientProfile, Host, SessionScope, SessionSettings, ViewPolicy, watch_files,
};
use capdeck_serve::CapsuleReference;

use super::connect::view_problems;
use crate::{
    args::{ChoiceRow, choice},
    commands::CommandContext,
    completion::ids,
    errors::{CommandFailure, CommandResult, ExitStatus},
    printer::Printer,
    runtime::{single_thread, stop_signal},
    service_memory::{give_back_later, return_large_blocks},
};

/// Serve the deck, or one capability, as an MCP server on stdio
///
/// What agents start; `capdeck connect AGENT` writes this command into their configuration. Typed by a person it waits for MCP
/// messages on stdin. For many clients at once, use `capdeck up`.
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// Serve only these capabilities. A single one has its own tool names, as if it were connected directly.
    #[arg(long, value_name = "ID", value_delimiter = ',', add = ids(), conflicts_with = "view")]
    only: Vec<String>,
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
    ("search", "Four tools that find and call everything", Exposure::Search),
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

impl ServeArgs {
    /// What a client of this command line is given. None where that is a capsule.
    pub(super) fn scope(&self) -> Option<SessionScope> {
        let Self { only, capsule, view, exposure } = self;
        if capsule.is_some() {
            return None;
        }
        let named = match (only.as_slice(), exposure) {
            ([id], None) => return Some(SessionScope::Transparent(CapabilityId::new(id).ok()?)),
            ([], _) => view.as_deref().map(Into::into),
            (ids, _) => Some(listed_view(ids).into()),
        };
        Some(SessionScope::Deck(ViewPolicy { exposure: *exposure, view: named }))
    }
}

pub(crate) fn run(args: &ServeArgs, context: &CommandContext<'_>) -> CommandResult {
    let ServeArgs { only, capsule, view, exposure } = args;
    let host = context.settings()?.open_lasting_host()?;
    if let Some(name) = capsule {
        explain_to_person(context.printer);
        return serve_capsule(&host, name);
    }
    if let Some(name) = view {
        check_view(&host, name, context)?;
    }
    let catalog = host.catalog();
    if only.len() > 1 || exposure.is_some() {
        only.iter().try_for_each(|id| unknown_capability(&catalog, id))?;
    }
    let Some(scope) = args.scope() else {
        return Err(CommandFailure::usage(format!("`{}` is not an id", only.join(","))));
    };
    if let SessionScope::Transparent(id) = &scope {
        // What the gate would refuse at every request is better refused at the start.
        host.session(SessionSettings::local(scope.clone(), ClientProfile::default()))
            .snapshot()
            .capability(id.as_str())?;
    }
    serve_on_stdio(&host, scope, context.printer, async || Ok(()))
}

/// Agents start this and talk to it; a person who typed it sees nothing and wonders.
fn explain_to_person(printer: &Printer) {
    if io::stdin().is_terminal() {
        printer.note(
            "waiting for an MCP client on stdin; agents start this command themselves, end it with Ctrl-C
put it into an agent's configuration with: capdeck connect AGENT
or serve over HTTP with: capdeck up",
        );
    }
}

/// Refuses a view that does not exist. One with an unknown name in it serves the rest, so that an agent keeps its tools.
fn check_view(host: &Host, name: &str, context: &CommandContext<'_>) -> Result<(), CommandFailure> {
    if !host.has_view(name, None) {
        return Err(no_view(host, name));
    }
    for problem in view_problems(&host.catalog(), name) {
        context.printer.warn(&problem.message(name));
    }
    Ok(())
}

/// Refuses an id that the deck does not have.
pub(super) fn unknown_capability(catalog: &Catalog, id: &str) -> Result<(), CommandFailure> {
    let has = |one: &Arc<Capability>| one.definition.id.as_str() == id;
    if catalog.get(id).is_some() || catalog.untrusted().iter().any(has) {
        return Ok(());
    }
    let message = format!("there is no capability `{id}`");
    let failure = CommandFailure::request("SERVER_NOT_FOUND", message);
    Err(match catalog.nearest_capability(id) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint("see what there is with: capdeck list"),
    })
}

/// Serves one client on stdin and stdout, once the host is `ready`.
pub(super) fn serve_on_stdio(
    host: &Host,
    scope: SessionScope,
    printer: &Printer,
    ready: impl AsyncFnOnce() -> Result<(), CommandFailure>,
) -> CommandResult {
    until_stopped(host, async || {
        // Ctrl-C is heard from here on.
        explain_to_person(printer);
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
            outcome = serve() => outcome?.map(|()| ExitStatus::Done),
            signal = stop_signal() => {
                host.close().await;
                Ok(signal.server_status())
            }
        };
        outcome.map_err(|error| {
            CommandFailure::request("TRANSPORT", format!("the client is gone: {error}"))
        })
    });
    // A read of stdin cannot be interrupted, and waiting for it would hold up the exit.
    runtime.shutdown_background();
    outcome
}

pub(super) fn no_view(host: &Host, name: &str) -> CommandFailure {
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

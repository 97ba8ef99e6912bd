//! `capdeck runs resume ID`.

use std::sync::Arc;

use capdeck_host::{Consent, code_mode};

use crate::{
    commands::{
        call::Watcher,
        run::{Source, show},
    },
    context::Context,
    errors::{ExitStatus, Failure},
    runtime::with_session,
};

/// Go on with a run that waits for you
///
/// The code runs again from its start with the answers it had, and goes on from where it stopped; nothing that was called is
/// called again. Approve its calls first with `capdeck approve`, or answer here.
#[derive(Debug, clap::Args)]
pub(crate) struct ResumeArgs {
    /// The run's id, or its beginning or end.
    #[arg(value_name = "ID")]
    id: String,
    /// For a person at the keyboard: approve every call of a run that you started. Agents leave that to their person.
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(args: &ResumeArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let printer = context.printer;
    let run = context.settings()?.runs().find(&args.id)?;
    let watcher = Arc::new(Watcher::new("the code", printer.asker()));
    let host = context.open_host()?;
    // The run keeps the rights of the client that began it, whoever takes it up.
    let session = host.session_for_run(&run, watcher.profile()).ok_or_else(|| {
        Failure::request("REQUEST_INVALID", format!("run `{}` cannot be resumed here", run.id))
    })?;
    let consent = if args.yes { Consent::Given } else { Consent::NotAsked };
    let report = with_session(host, session, watcher.clone(), async |session, call| {
        watcher.show(printer.progress("running"));
        let report = code_mode::resume(&session.request(call), &run.id, consent).await;
        watcher.hide();
        Ok(report?)
    })?;
    let source = Source { name: format!("run {}", run.id), text: run.code.clone() };
    show(&report, &source, printer)
}

//! `capdeck install`: what a project's capability file declares, in the files of the agents that work there.

mod agents;
mod project;
mod report;
mod servers;
mod texts;

use std::path::PathBuf;

use capdeck_auth::Reach;
use capdeck_catalog::Trust;
use capdeck_host::{Host, TrustStore};
use capdeck_install::{Edited, Endpoints, Git, InstallRequest, Installer, PinUse, Provider};

use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
    printer::Printer,
    settings::Settings,
};

pub(crate) use project::{capability_file, open_installer};
pub(crate) use report::{Outcome, Report, apply_failed, finish_interrupted};

/// Install what a project's capability file declares
///
/// Writes skills, rules, instructions, hooks, sub-agents and the MCP entry into the files of the agents that work in the
/// project. Shows what changes and what becomes able to run; files that you changed since are kept. Take everything back
/// with `capdeck clean`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct InstallArgs {
    /// An agent to install for; several may be given. The capability file's own list if left out.
    #[arg(long, short, value_name = "ID")]
    provider: Vec<String>,
    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Fail when the lock would change, as in continuous integration.
    #[arg(long, conflicts_with = "update")]
    frozen: bool,
    /// Move what the lock pins to what is newest.
    #[arg(long, alias = "no-cache")]
    update: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    /// Overwrite what was changed by hand, and files that were there before.
    #[arg(long)]
    force: bool,
    /// Connect to the file's servers afterwards; fail when one does not answer.
    #[arg(long)]
    check: bool,
    /// Let agents connect to a running host at this address instead of starting one themselves.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Accepted for existing scripts: variables come from `.env` when a server is started.
    #[arg(long, short, value_name = "FILE", num_args = 0..=1)]
    env: Option<Option<PathBuf>>,
}

pub(crate) fn run(args: &InstallArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let InstallArgs { provider, dry_run, frozen, update, yes, force, check, url, env: _ } = args;
    let printer = context.printer;
    let settings = context.settings()?;
    let file = capability_file(&settings, printer)?;
    let mut installer = open_installer(&settings, file.project_dir())?;
    finish_interrupted(&mut installer, *dry_run, printer)?;
    let providers = agents::choose(provider, &file, &installer, printer)?;
    let host = settings.open_host()?;
    let is_trusted = host.trust() == Trust::Trusted;

    let request = InstallRequest {
        file: &file,
        providers: &providers,
        endpoints: &endpoints(url.as_deref())?,
        edited: if *force { Edited::Overwrite } else { Edited::Keep },
        pin_use: match (frozen, update) {
            (true, _) => PinUse::Frozen,
            (false, true) => PinUse::Update,
            (false, false) => PinUse::Keep,
        },
        search_path: &search_path(&settings),
        now: &jiff::Timestamp::now().to_string(),
    };
    // Nobody has agreed yet to what an unknown project makes us ask inside our own network.
    let reach = if is_trusted { Reach::Inside } else { Reach::Public };
    let planned = {
        let _progress = printer.progress("fetching and comparing");
        installer.plan(&request, &Git::new(&settings.cache_dir), &texts::Texts { reach })
    };
    let report = Report::new(&installer, &planned, &providers);
    report.refuse_unsound(printer)?;
    if *dry_run {
        report.print(Outcome::Planned, printer);
        return Ok(ExitStatus::Done);
    }
    // Servers of plugins become files of the project's deck, which need trust like any other.
    let deck_dir = installer.project().join(".capdeck");
    let adds_to_deck = planned.changes.iter().any(|change| change.path.starts_with(&deck_dir));
    let needs_trust = !is_trusted || adds_to_deck;
    if needs_trust {
        agree(&report, *yes, printer)?;
    }
    let skipped = installer.apply(planned).map_err(|error| apply_failed(&error))?;
    if adds_to_deck {
        let settings = context.settings()?;
        trust(&settings.open_host()?, &settings)?;
    } else if needs_trust {
        // Exactly what was shown, even if somebody changed the file since.
        trust(&host, &settings)?;
    }
    report.print(Outcome::Done { skipped }, printer);
    if *check { servers::check(context) } else { Ok(ExitStatus::Done) }
}

/// Where the written entries lead.
fn endpoints(url: Option<&str>) -> Result<Endpoints, Failure> {
    match url {
        None => Ok(Endpoints::Program { command: "capdeck".to_owned() }),
        Some(url) if url.starts_with("http://") || url.starts_with("https://") => {
            let base_url = url.trim_end_matches('/').trim_end_matches("/mcp").to_owned();
            Ok(Endpoints::Host { base_url })
        }
        Some(url) => Err(Failure::usage(format!("--url: `{url}` is not an address"))
            .hint("such as: --url http://127.0.0.1:7717")),
    }
}

fn search_path(settings: &Settings) -> Vec<PathBuf> {
    let path = settings.environment.get("PATH").unwrap_or_default();
    std::env::split_paths(path).collect()
}

fn agree(report: &Report<'_>, yes: bool, printer: &Printer) -> Result<(), Failure> {
    report.show(printer);
    if yes {
        return Ok(());
    }
    if !printer.can_ask() {
        return Err(Failure::request(
            "NOT_TRUSTED",
            "this project is not trusted in its present state, so nothing was installed",
        )
        .hint("the person reads the list above, then runs in a terminal: capdeck install"));
    }
    if printer.confirm("Install this, and trust the project?") {
        Ok(())
    } else {
        Err(Failure::request("CANCELLED", "nothing was installed"))
    }
}

/// Installing is agreeing to what was shown, as `capdeck trust` is.
fn trust(host: &Host, settings: &Settings) -> Result<(), Failure> {
    let deck = host.deck();
    let (Some(project), Some(hash)) = (&settings.project, &deck.project_hash) else {
        return Ok(());
    };
    TrustStore::new(&settings.state_dir)
        .trust(&project.dir, hash)
        .map_err(|error| Failure::file("remember the trust in", &settings.state_dir, &error))
}

/// Ids, for messages.
pub(crate) fn ids(providers: &[&Provider]) -> String {
    providers.iter().map(|provider| provider.id).collect::<Vec<_>>().join(", ")
}

pub(crate) fn interrupted(installer: &Installer) -> Result<bool, Failure> {
    installer.is_interrupted().map_err(|error| apply_failed(&error))
}

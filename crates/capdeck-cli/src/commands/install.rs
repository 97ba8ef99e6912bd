//! `capdeck install`: what a project's capability file declares, in the files of the agents that work there.

mod report;

use std::path::{Path, PathBuf};

use capdeck_auth::NetworkReach;
use capdeck_catalog::ProjectTrust;
use capdeck_definition::{CapabilityFile, SourceLayer};
use capdeck_host::{ErrorKind, Host, fetch_text};
use capdeck_install::{
    AgentEndpoints, AgentProvider, FetchError, GitClient, InstallPlan, InstallRequest,
    OverwritePolicy, PinUse, ProjectInstaller,
};

use self::report::{InstallReport, capability_file, finish_interrupted};
pub(super) use self::report::{apply_failed, open_installer};
use super::check::check_all;
use crate::{
    commands::CommandContext,
    errors::{CommandFailure, CommandResult, ExitStatus, to_person},
    printer::{Printer, TerminalUser as _},
    runtime::{single_thread, with_operator},
    settings::CommandSettings,
};

/// Install what a project's capability file declares
///
/// For a project with a `capabilities.yaml`; servers for a deck of your own are added with `capdeck import` and `capdeck add`. Writes
/// skills, rules, instructions, hooks, sub-agents and the MCP entry into the files of the agents that work in the
/// project. Shows what changes and what becomes able to run; files that you changed since are kept. Take everything back
/// with `capdeck clean`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct InstallArgs {
    /// An agent to install for; several may be given. The capability file's own list by default.
    #[arg(long, short, value_name = "ID")]
    provider: Vec<String>,
    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Fail when the lock would change, as in continuous integration.
    #[arg(long, conflicts_with = "update")]
    frozen: bool,
    /// Move what the lock file pins to the newest versions.
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

pub(crate) fn install(args: &InstallArgs, context: &CommandContext<'_>) -> CommandResult {
    let InstallArgs { provider, dry_run, frozen, update, yes, force, check, url, env: _ } = args;
    let printer = context.printer;
    let settings = context.settings()?;
    let options = InstallOptions {
        providers: provider,
        edited: OverwritePolicy::from_force(*force),
        pin_use: match (frozen, update) {
            (true, _) => PinUse::Frozen,
            (false, true) => PinUse::Update,
            (false, false) => PinUse::Keep,
        },
        url: url.as_deref(),
        dry_run: *dry_run,
    };
    let PreparedInstall { step, planned, providers } =
        PreparedInstall::new(&options, &settings, printer)?;
    let report = InstallReport::new(&step.installer, &planned, &providers);
    report.check_errors(printer)?;
    if *dry_run {
        return report.print(None, printer);
    }
    if step.needs_trust(&planned) {
        confirm_plan(&report, *yes, printer)?;
    }
    let skipped = step.carry_out(&planned, FailurePolicy::FinishLater, &settings, context)?;
    report.print(Some(skipped), printer)?;
    if *check { check_servers(context) } else { Ok(ExitStatus::Done) }
}

/// What an installation is made with.
pub(super) struct InstallOptions<'a> {
    pub(super) providers: &'a [String],
    pub(super) edited: OverwritePolicy,
    pub(super) pin_use: PinUse,
    pub(super) url: Option<&'a str>,
    pub(super) dry_run: bool,
}

/// An installation that was planned and not yet made.
pub(super) struct PreparedInstall {
    pub(super) step: InstallStep,
    pub(super) planned: InstallPlan,
    pub(super) providers: Vec<&'static AgentProvider>,
}

/// What carries an installation out.
pub(super) struct InstallStep {
    installer: ProjectInstaller,
    host: Host,
    is_trusted: bool,
}

/// What becomes of an installation that fails in the middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailurePolicy {
    /// The next run goes on where this one stopped.
    FinishLater,
    /// Everything is as it was before.
    TakeBack,
}

impl PreparedInstall {
    pub(super) fn new(
        options: &InstallOptions<'_>,
        settings: &CommandSettings,
        printer: &Printer,
    ) -> Result<Self, CommandFailure> {
        let InstallOptions { providers, edited, pin_use, url, dry_run } = options;
        let file = capability_file(settings, printer)?;
        let mut installer = open_installer(settings, file.project_dir())?;
        finish_interrupted(&mut installer, *dry_run, printer)?;
        let providers = choose_agents(providers, &file, &installer, printer)?;
        let host = settings.open_host()?;
        let is_trusted = host.trust() == ProjectTrust::Trusted;
        let request = InstallRequest {
            file: &file,
            providers: &providers,
            endpoints: &endpoints(*url)?,
            edited: *edited,
            pin_use: *pin_use,
            search_path: &search_path(settings),
            now: &jiff::Timestamp::now().to_string(),
        };
        // An untrusted project must not make requests inside our own network.
        let reach = if is_trusted { NetworkReach::Inside } else { NetworkReach::Public };
        let planned = {
            let _progress = printer.progress("fetching and comparing");
            let git = GitClient::new(&settings.cache_dir);
            installer.plan(&request, &git, &|url| fetch(url, reach))
        };
        let step = InstallStep { installer, host, is_trusted };
        Ok(Self { step, planned, providers })
    }

    /// Fails when the plan has an error.
    pub(super) fn check_errors(&self, printer: &Printer) -> Result<(), CommandFailure> {
        let report = InstallReport::new(&self.step.installer, &self.planned, &self.providers);
        report.check_errors(printer)
    }
}

impl InstallStep {
    /// Servers of plugins become files of the project's deck, which need trust like any other.
    fn adds_to_deck(&self, planned: &InstallPlan) -> bool {
        let deck_dir = self.installer.project().join(".capdeck");
        planned.changes.iter().any(|change| change.path.starts_with(&deck_dir))
    }

    fn needs_trust(&self, planned: &InstallPlan) -> bool {
        !self.is_trusted || self.adds_to_deck(planned)
    }

    /// Makes it, and trusts the project as it was shown. Returns the files that changed in between.
    pub(super) fn carry_out(
        self,
        planned: &InstallPlan,
        on_failure: FailurePolicy,
        settings: &CommandSettings,
        context: &CommandContext<'_>,
    ) -> Result<Vec<PathBuf>, CommandFailure> {
        let (adds_to_deck, needs_trust) = (self.adds_to_deck(planned), self.needs_trust(planned));
        let Self { installer, host, .. } = self;
        let skipped = match on_failure {
            FailurePolicy::FinishLater => {
                installer.apply(planned).map_err(|error| apply_failed(&error))?
            }
            FailurePolicy::TakeBack => installer.apply_whole(planned)?,
        };
        if adds_to_deck {
            let settings = context.settings()?;
            trust(&settings.open_host()?, &settings)?;
        } else if needs_trust {
            // Exactly what was shown, even if the file changed since.
            trust(&host, settings)?;
        }
        Ok(skipped)
    }
}

/// Where the written entries lead.
fn endpoints(url: Option<&str>) -> Result<AgentEndpoints, CommandFailure> {
    match url {
        None => Ok(AgentEndpoints::Program { command: "capdeck".to_owned() }),
        Some(url) if url.starts_with("http://") || url.starts_with("https://") => {
            let base_url = url.trim_end_matches('/').trim_end_matches("/mcp").to_owned();
            Ok(AgentEndpoints::Host { base_url })
        }
        Some(url) => Err(CommandFailure::usage(format!("--url: `{url}` is not an address"))
            .hint("such as: --url http://127.0.0.1:7717")),
    }
}

fn search_path(settings: &CommandSettings) -> Vec<PathBuf> {
    let path = settings.environment.get("PATH").unwrap_or_default();
    std::env::split_paths(path).collect()
}

fn confirm_plan(
    report: &InstallReport<'_>,
    yes: bool,
    printer: &Printer,
) -> Result<(), CommandFailure> {
    report.show(printer);
    if yes {
        return Ok(());
    }
    let refused = || {
        let message = "this project is not trusted in its present state, so nothing was installed";
        CommandFailure::request("NOT_TRUSTED", message)
            .hint("the person reads the list above, then runs in a terminal: capdeck install")
    };
    printer.require("Install this, and trust the project?", refused, "nothing was installed")
}

/// Installing is agreeing to what was shown, as `capdeck trust` is.
fn trust(host: &Host, settings: &CommandSettings) -> Result<(), CommandFailure> {
    match (&settings.project, &host.deck().project_hash) {
        (Some(project), Some(hash)) => settings.trust(project, hash),
        _ => Ok(()),
    }
}

pub(crate) fn ids<'a>(providers: impl IntoIterator<Item = &'a AgentProvider>) -> String {
    providers.into_iter().map(|provider| provider.id).collect::<Vec<_>>().join(", ")
}

/// The providers of this run, in the order they were named.
fn choose_agents(
    named: &[String],
    file: &CapabilityFile,
    installer: &ProjectInstaller,
    printer: &Printer,
) -> Result<Vec<&'static AgentProvider>, CommandFailure> {
    let listed = file.providers.clone().unwrap_or_default();
    let lists = [named, &listed, installer.earlier_providers()];
    if let Some(list) = lists.into_iter().find(|list| !list.is_empty()) {
        return find_agents(list.iter().map(String::as_str));
    }
    let likely = likely_agents(file.project_dir());
    let Some(mut asker) = printer.asker() else {
        let hint = match &likely[..] {
            [] => "name one with --provider, or list some under `providers` in the file".to_owned(),
            [first, ..] => format!("run, for example: capdeck install --provider {}", first.id),
        };
        return Err(
            CommandFailure::request("NO_PROVIDER", "no agent to install for was named").hint(hint)
        );
    };
    asker.say(&format!("Agents that can be installed for: {}", ids(AgentProvider::all())));
    let prompt = match &likely[..] {
        [] => "Which ones? ".to_owned(),
        likely => format!("Which ones? [{}] ", ids(likely.iter().copied())),
    };
    let answer = asker.line(&prompt).unwrap_or_default();
    let words: Vec<&str> =
        answer.split([',', ' ']).map(str::trim).filter(|word| !word.is_empty()).collect();
    match words.is_empty() {
        true if likely.is_empty() => {
            Err(CommandFailure::request("CANCELLED", "nothing was installed"))
        }
        true => Ok(likely),
        false => find_agents(words.into_iter()),
    }
}

fn find_agents<'a>(
    names: impl Iterator<Item = &'a str>,
) -> Result<Vec<&'static AgentProvider>, CommandFailure> {
    let mut found: Vec<&'static AgentProvider> = Vec::new();
    for name in names {
        let provider = AgentProvider::find(name).ok_or_else(|| {
            CommandFailure::request("UNKNOWN_PROVIDER", format!("there is no agent `{name}`"))
                .hint(format!("one of: {}", ids(AgentProvider::all())))
        })?;
        if !found.contains(&provider) {
            found.push(provider);
        }
    }
    Ok(found)
}

/// Agents that left traces in the project.
fn likely_agents(project: &Path) -> Vec<&'static AgentProvider> {
    let has_traces = |provider: &&AgentProvider| {
        let home = provider.skills.split('/').next().unwrap_or_default();
        // Folders that many share tell nothing.
        let is_own = home.starts_with('.') && home != ".agents";
        (is_own && project.join(home).is_dir())
            || provider.mcp.as_ref().is_some_and(|mcp| project.join(mcp.path()).is_file())
    };
    AgentProvider::all().iter().filter(has_traces).collect()
}

/// Asks each server. What does not answer is a warning: the files are as they should be, and only its calls fail.
fn check_servers(context: &CommandContext<'_>) -> CommandResult {
    let printer = context.printer;
    let reports = with_operator(context, async |session, call| {
        let catalog = session.catalog();
        let own = catalog.capabilities().filter(|one| {
            one.definition.source.layer == SourceLayer::ProjectCapabilityFile && one.is_usable()
        });
        let ids: Vec<String> = own.map(|one| one.definition.id.to_string()).collect();
        let _progress = printer.progress(&format!("asking {} servers", ids.len()));
        Ok(check_all(session, call, &ids, || ()).await)
    })?;
    let mut status = ExitStatus::Done;
    for report in &reports {
        let Err(error) = &report.outcome else { continue };
        let check = || format!("capdeck check {}", report.id);
        let hint = error.hint.as_deref().map_or_else(check, to_person);
        printer.warn(&format!("`{}` does not answer: {} ({hint})", report.id, error.message));
        // Signing in comes after installing.
        if error.kind() != ErrorKind::NeedsLogin {
            status = ExitStatus::RequestFailed;
        }
    }
    Ok(status)
}

const MAX_FETCHED_BYTES: u64 = 10 << 20;

fn fetch(url: &str, reach: NetworkReach) -> Result<Vec<u8>, FetchError> {
    let failed = |message: String, hint| FetchError { message, hint };
    let runtime = single_thread().map_err(|failure| failed(failure.message, failure.hint))?;
    let fetching = fetch_text(url, reach, MAX_FETCHED_BYTES, env!("CARGO_PKG_VERSION"));
    runtime.block_on(fetching).map_err(|error| failed(error.message, error.hint))
}

/// Take back what `capdeck install` wrote into a project
///
/// Files are restored to what they were, byte for byte. What you changed since is kept and named.
#[derive(Debug, clap::Args)]
pub(crate) struct CleanArgs {
    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Remove what was changed by hand, too.
    #[arg(long)]
    force: bool,
}

pub(crate) fn clean(args: &CleanArgs, context: &CommandContext<'_>) -> CommandResult {
    let CleanArgs { dry_run, force } = args;
    let printer = context.printer;
    let settings = context.settings()?;
    let mut installer = open_installer(&settings, settings.project_dir())?;
    finish_interrupted(&mut installer, *dry_run, printer)?;
    let plan = installer.plan_clean(OverwritePolicy::from_force(*force));
    let report = InstallReport::new(&installer, &plan, &[]);
    report.check_errors(printer)?;
    if *dry_run {
        return report.print(None, printer);
    }
    let skipped = installer.apply(&plan).map_err(|error| apply_failed(&error))?;
    report.print(Some(skipped), printer)
}

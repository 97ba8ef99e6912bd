//! `capdeck audit` and `capdeck log`: what agents did, in the deck and in capsules, in one report.

use std::{io, time::Duration};

use capdeck_host::{
    AuditFilter, AuditFollower, AuditLogLine, AuditOutcome, CallTrail, TrailFollower, TrailLine,
};
use jiff::Timestamp;
use serde::Serialize;
use tokio::time::MissedTickBehavior;

use super::{AuditCommand, OUTCOMES, lines};
use crate::{
    args::choice,
    commands::{CommandContext, capsule::past},
    completion::{ids_and_tools, tools_of_id},
    errors::{CommandFailure, CommandResult, ExitStatus},
    plain_text::time,
    printer::{Printer, TextStyle},
    runtime::{single_thread, stop_signal},
    settings::CommandSettings,
    table::{TextTable, cell, styled},
    tool_target,
};

/// How often a followed trail is looked at.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(250);

/// MCP's name of a tool call.
const TOOL_CALL: &str = "tools/call";

/// What the audits write about being read.
const AUDIT_READ: &str = "audit.query";

/// Show what agents called, read and changed
///
/// For the questions "what did my agent do?" and "why did that fail?". The calls of every agent that uses this deck are here, and
/// what was done in capsules, refused ones too: who, what, how it ended, how long it took. Arguments and results are not. With --json every line is one JSON object. `audit tail`, `query`, `verify` and `prune` are about the record of
/// capsules, which is protected against changes.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  capdeck log
  capdeck log --agent cursor --since 2h
  capdeck log --capability github.create_issue --outcome error
  capdeck log -f"
)]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    report: AuditReportArgs,
    #[command(subcommand)]
    command: Option<AuditCommand>,
}

#[derive(Debug, clap::Args)]
struct AuditReportArgs {
    /// Only calls of this capability, or of `ID.TOOL`.
    #[arg(long, visible_alias = "in", value_name = "ID", add = ids_and_tools())]
    capability: Option<String>,
    /// Only calls of tools of this name.
    #[arg(long, value_name = "TOOL", add = tools_of_id())]
    tool: Option<String>,
    /// Only what this agent did, by the name it gives itself.
    #[arg(long, visible_alias = "client", value_name = "NAME")]
    agent: Option<String>,
    /// Only what ended so.
    #[arg(long, value_name = "OUTCOME", value_parser = choice(OUTCOMES))]
    outcome: Option<AuditOutcome>,
    /// Only what happened after a time, a day or a span such as 2h or 7d.
    #[arg(long, value_name = "WHEN", value_parser = past)]
    since: Option<Timestamp>,
    /// Only what happened before a time, a day or a span such as 2h or 7d.
    #[arg(long, value_name = "WHEN", value_parser = past)]
    until: Option<Timestamp>,
    /// How many lines, the last ones.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Go on with what happens, until Ctrl-C.
    #[arg(short, long, conflicts_with = "until")]
    follow: bool,
}

/// One line of the report. The names are a public shape.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ReportLine {
    at: Timestamp,
    /// The name the client gives itself; not an identity.
    agent: String,
    /// `tools/call` and other methods of MCP, or what was done with a capsule.
    action: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    capability: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capsule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
    outcome: AuditOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<String>,
    /// How a call was approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    approved: Option<String>,
    /// The capabilities whose data a script passed into the call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    data_from: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elapsed_ms: Option<u64>,
}

pub(crate) fn run(args: &AuditArgs, context: &CommandContext<'_>) -> CommandResult {
    let AuditArgs { report, command } = args;
    match command {
        Some(command) => command.run(context),
        None => show(report, context),
    }
}

fn show(args: &AuditReportArgs, context: &CommandContext<'_>) -> CommandResult {
    let settings = context.settings()?;
    let printer = context.printer;
    let trail = CallTrail::new(&settings.state_dir);
    let unreadable = |error: io::Error| {
        CommandFailure::file("read the calls in", &settings.state_dir.join("audit"), &error)
    };
    let filter = ReportFilter::new(args);
    let limit = args.limit as usize;
    // Followed from before it is read, so that no line is lost in between.
    let following = match args.follow {
        true => Some(ReportFollower::new(&filter, &settings).map_err(unreadable)?),
        false => None,
    };
    let calls = trail.latest(args.since, limit, |line| filter.fits(line)).map_err(unreadable)?;
    let mut found: Vec<ReportLine> = calls.into_iter().map(ReportLine::of_call).collect();
    if filter.takes_capsules() && settings.data_dir.is_dir() {
        found.extend(capsule_lines(args, context)?);
    }
    found.sort_by_key(|line| line.at);
    let found = found.split_off(found.len().saturating_sub(limit));
    if found.is_empty() && !args.follow {
        printer.note("no calls; agents that are connected are shown by: capdeck connect --list");
        return Ok(ExitStatus::Done);
    }
    print(&found, true, printer);
    let Some(mut following) = following else { return Ok(ExitStatus::Done) };
    single_thread()?.block_on(async {
        let mut ticks = tokio::time::interval(FOLLOW_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut stop = std::pin::pin!(stop_signal());
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = &mut stop => return Ok(ExitStatus::Interrupted),
            }
            print(&following.news(&filter).map_err(unreadable)?, false, printer);
        }
    })
}

/// The lines that are written from now on.
struct ReportFollower {
    calls: TrailFollower,
    capsules: Option<AuditFollower>,
}

impl ReportFollower {
    fn new(filter: &ReportFilter<'_>, settings: &CommandSettings) -> io::Result<Self> {
        let capsules = match filter.takes_capsules() {
            true => Some(AuditFollower::new(&settings.data_dir)?),
            false => None,
        };
        Ok(Self { calls: CallTrail::new(&settings.state_dir).follow()?, capsules })
    }

    fn news(&mut self, filter: &ReportFilter<'_>) -> io::Result<Vec<ReportLine>> {
        let calls = self.calls.news()?.into_iter().filter(|line| filter.fits(line));
        let mut found: Vec<ReportLine> = calls.map(ReportLine::of_call).collect();
        if let Some(capsules) = &mut self.capsules {
            let lines = capsules.news()?.into_iter().filter(|line| filter.fits_capsule(line));
            found.extend(lines.map(ReportLine::of_capsule));
        }
        found.sort_by_key(|line| line.at);
        Ok(found)
    }
}

/// Lines of all capsules, but for those about reading the record.
fn capsule_lines(
    args: &AuditReportArgs,
    context: &CommandContext<'_>,
) -> Result<Vec<ReportLine>, CommandFailure> {
    let filter = AuditFilter {
        since: args.since,
        until: args.until,
        agent: args.agent.clone(),
        outcome: args.outcome,
        // Some of them are about reading the record.
        limit: args.limit as usize * 2,
        ..AuditFilter::default()
    };
    let found = lines(None, filter, context)?.into_iter();
    Ok(found.filter(|line| line.action != AUDIT_READ).map(ReportLine::of_capsule).collect())
}

/// What of the trail is shown.
struct ReportFilter<'a> {
    args: &'a AuditReportArgs,
    capability: Option<String>,
    tool: Option<String>,
}

impl<'a> ReportFilter<'a> {
    fn new(args: &'a AuditReportArgs) -> Self {
        let (capability, tool) = match args.capability.as_deref().map(tool_target::split) {
            Some((id, tool)) => (Some(id), tool),
            None => (None, None),
        };
        Self { args, capability, tool: args.tool.clone().or(tool) }
    }

    fn fits(&self, line: &TrailLine) -> bool {
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(found))
        };
        let AuditReportArgs { agent, outcome, since, until, .. } = self.args;
        since.is_none_or(|since| since <= line.at)
            && until.is_none_or(|until| line.at < until)
            && is(agent, &line.client)
            && is(&self.capability, &line.capability)
            && is(&self.tool, &line.tool)
            && outcome.is_none_or(|outcome| outcome == outcome_of(line))
    }

    /// For lines of capsules that were not queried for.
    fn fits_capsule(&self, line: &AuditLogLine) -> bool {
        let AuditReportArgs { agent, outcome, since, .. } = self.args;
        line.action != AUDIT_READ
            && since.is_none_or(|since| since <= line.ts)
            && agent.as_ref().is_none_or(|agent| *agent == line.agent)
            && outcome.is_none_or(|outcome| outcome == line.outcome)
    }

    fn takes_capsules(&self) -> bool {
        self.capability.is_none() && self.tool.is_none()
    }
}

fn outcome_of(line: &TrailLine) -> AuditOutcome {
    match (line.is_ok(), line.is_denied()) {
        (true, _) => AuditOutcome::Ok,
        (false, true) => AuditOutcome::Denied,
        (false, false) => AuditOutcome::Error,
    }
}

impl ReportLine {
    fn of_call(line: TrailLine) -> Self {
        let outcome = outcome_of(&line);
        let named = |name: String| (!name.is_empty()).then_some(name);
        Self {
            at: line.at,
            agent: line.client,
            action: line.method,
            capability: named(line.capability),
            tool: named(line.tool),
            capsule: None,
            uri: None,
            outcome,
            error_code: (outcome != AuditOutcome::Ok).then_some(line.outcome),
            approved: line.approved,
            data_from: line.data_from,
            elapsed_ms: Some(line.elapsed_ms),
        }
    }

    fn of_capsule(line: AuditLogLine) -> Self {
        Self {
            at: line.ts,
            agent: line.agent,
            action: line.action,
            capability: None,
            tool: None,
            capsule: line.capsule,
            uri: line.uri.map(|uri| uri.to_string()),
            outcome: line.outcome,
            error_code: line.error_code,
            approved: None,
            data_from: Vec::new(),
            elapsed_ms: None,
        }
    }

    /// `github.create_issue`, or `team docs://plan`.
    fn target(&self) -> String {
        let of_deck = [self.capability.as_deref(), self.tool.as_deref()].into_iter().flatten();
        let of_capsule = [self.capsule.as_deref(), self.uri.as_deref()].into_iter().flatten();
        let (deck, capsule) =
            (of_deck.collect::<Vec<_>>().join("."), of_capsule.collect::<Vec<_>>().join(" "));
        if deck.is_empty() { capsule } else { deck }
    }
}

fn print(lines: &[ReportLine], with_heading: bool, printer: &Printer) {
    if printer.wants_json() {
        lines.iter().for_each(|line| printer.json_line(line));
        return;
    }
    let heading = ["AT", "AGENT", "ACTION", "TIME", "OUTCOME", "TARGET"];
    let table = TextTable::new(heading, lines, |line| {
        let code = line.error_code.as_deref().unwrap_or_default();
        let (outcome, style) = match line.outcome {
            AuditOutcome::Ok => ("ok".to_owned(), TextStyle::Good),
            AuditOutcome::Denied => (format!("denied: {code}"), TextStyle::Bad),
            AuditOutcome::Error => (format!("error: {code}"), TextStyle::Careful),
        };
        let action = if line.action == TOOL_CALL { "call" } else { &line.action };
        [
            cell(time(line.at)),
            cell(&line.agent),
            cell(action),
            cell(line.elapsed_ms.map(|millis| format!("{millis} ms")).unwrap_or_default()),
            styled(style, outcome),
            cell(line.target()),
        ]
    });
    match with_heading {
        true => table.print(printer),
        false => table.print_rows(printer),
    }
}

//! `capdeck audit query [NAME]`: calls that fit.

use capdeck_host::{AuditFilter, AuditOutcome};
use jiff::Timestamp;

use super::lines::{lines, show};
use crate::{
    commands::capsule::past,
    completion::{capsules, entry_prefixes},
    context::Context,
    errors::{ExitStatus, Failure},
};

/// Find calls by who made them, what they did and how they ended
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck audit query team --outcome denied --since 7d
  capdeck audit query team --action write --prefix docs://api")]
pub(crate) struct QueryArgs {
    /// The capsule; all of them if left out, and what happened to capsules as a whole and to shares.
    #[arg(value_name = "NAME", add = capsules())]
    name: Option<String>,
    /// Only calls of this client.
    #[arg(long, value_name = "CLIENT")]
    agent: Option<String>,
    /// Only calls with the credential of this principal.
    #[arg(long, value_name = "PRINCIPAL")]
    principal: Option<String>,
    /// Only this action, or all that begin with it: `write` takes `write.create`, too.
    #[arg(long, value_name = "ACTION")]
    action: Option<String>,
    /// Only calls on entries at or below this address.
    #[arg(long, value_name = "PREFIX", add = entry_prefixes())]
    prefix: Option<String>,
    /// Only calls that ended so.
    #[arg(long, value_name = "OUTCOME")]
    outcome: Option<Ended>,
    /// Only calls after a time, a day or a span such as 7d.
    #[arg(long, value_name = "WHEN", value_parser = past)]
    since: Option<Timestamp>,
    /// Only calls before a time, a day or a span such as 7d.
    #[arg(long, value_name = "WHEN", value_parser = past)]
    until: Option<Timestamp>,
    /// Only lines after this number.
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
    /// How many lines at most, the last ones.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Ended {
    Ok,
    /// Refused: the caller may not do it, or not there.
    Denied,
    Error,
}

pub(crate) fn run(args: &QueryArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let QueryArgs { name, agent, principal, action, prefix, outcome, since, until, after, limit } =
        args;
    let filter = AuditFilter {
        since: *since,
        until: *until,
        agent: agent.clone(),
        principal: principal.clone(),
        action: action.clone(),
        prefix: prefix.clone(),
        outcome: outcome.map(|ended| match ended {
            Ended::Ok => AuditOutcome::Ok,
            Ended::Denied => AuditOutcome::Denied,
            Ended::Error => AuditOutcome::Error,
        }),
        after_seq: *after,
        limit: *limit as usize,
    };
    show(&lines(name.as_deref(), filter, context)?, context);
    Ok(ExitStatus::Done)
}

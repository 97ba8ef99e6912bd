//! `capdeck capsule share NAME`: a role on a part of a capsule for whoever holds a token.

use capdeck_host::{
    AddShareRequest, EntryScope, ListCapsulesRequest, RevokeShareRequest, Role, ShareExpiry,
    SharesRequest,
};
use clap::Subcommand;

use super::{
    display::ListingPage,
    time::{future, time},
};
use crate::{
    capsule_client::{ask, with_capsules},
    completion::{capsules, entry_prefixes},
    context::CommandContext,
    errors::{CommandFailure, ExitStatus},
    printer::TextStyle,
    table::{TableCell, TextTable},
};

/// Give others access to a capsule, list that access, and revoke it
///
/// Prints a token that opens the capsule at `/mcp/NAME` of a running host. It is shown this once and kept only as a hash.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = "Examples:
  capdeck capsule share team --role reader --allow docs:// --deny docs://internal --expires 30d
  capdeck capsule share list
  capdeck capsule share revoke shr_0123456789ab"
)]
pub(crate) struct CapsuleShareArgs {
    /// The capsule.
    #[arg(value_name = "NAME", required = true, add = capsules())]
    name: Option<String>,
    /// What the holder may do.
    #[arg(long, value_name = "ROLE", required = true)]
    role: Option<ShareRoleArg>,
    /// An address with everything below it that is open, instead of everything. Can be repeated.
    #[arg(long, value_name = "PREFIX", add = entry_prefixes())]
    allow: Vec<String>,
    /// An address with everything below it that is not, whatever is allowed. Can be repeated.
    #[arg(long, value_name = "PREFIX", add = entry_prefixes())]
    deny: Vec<String>,
    /// When it ends: a time, a day, a span such as 30d, or `never`. Default: 90 days.
    #[arg(long, value_name = "WHEN", value_parser = expiry)]
    expires: Option<ShareExpiry>,
    /// What it is for, to tell shares apart.
    #[arg(long = "for", value_name = "TEXT")]
    purpose: Option<String>,
    #[command(subcommand)]
    command: Option<ShareCommand>,
}

#[derive(Debug, Subcommand)]
enum ShareCommand {
    List(ShareListArgs),
    Revoke(ShareRevokeArgs),
}

/// List the shares of a capsule or of all, without their tokens
#[derive(Debug, clap::Args)]
struct ShareListArgs {
    /// The capsule. Default: all capsules.
    #[arg(value_name = "NAME", add = capsules())]
    name: Option<String>,
}

/// Revoke a share; its token opens nothing from then on
#[derive(Debug, clap::Args)]
struct ShareRevokeArgs {
    /// The share's id.
    #[arg(value_name = "ID")]
    id: String,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum ShareRoleArg {
    /// Reads, lists, searches.
    Reader,
    /// Adds new entries, too.
    Appender,
    /// Changes entries, too.
    Writer,
    /// Deletes entries, adds schemes, reads the audit, too.
    Owner,
}

pub(crate) fn run(
    args: &CapsuleShareArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus, CommandFailure> {
    match &args.command {
        Some(ShareCommand::List(args)) => list(args, context),
        Some(ShareCommand::Revoke(args)) => revoke(args, context),
        None => add(args, context),
    }
}

fn add(
    args: &CapsuleShareArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus, CommandFailure> {
    let CapsuleShareArgs { name, role, allow, deny, expires, purpose, command: _ } = args;
    let role = match role {
        Some(ShareRoleArg::Reader) | None => Role::Reader,
        Some(ShareRoleArg::Appender) => Role::Appender,
        Some(ShareRoleArg::Writer) => Role::Writer,
        Some(ShareRoleArg::Owner) => Role::Owner,
    };
    let operation = AddShareRequest {
        name: purpose.clone().unwrap_or_else(|| role.as_str().to_owned()),
        role,
        uri_prefixes: allow.clone(),
        denied_prefixes: deny.clone(),
        expires_at: expires.unwrap_or_default(),
    };
    let answer = ask(context, name.as_deref(), operation)?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&answer);
        return Ok(ExitStatus::Done);
    }
    // The token alone is data, so that it can be piped to where it is kept.
    printer.data(&answer.token);
    let (id, capsule) = (&answer.share.id, &answer.share.capsule);
    printer
        .note(&format!("this token is shown only now; it opens /mcp/{capsule} as a bearer token"));
    printer.note(&match answer.share.expires_at {
        None => "it never expires".to_owned(),
        Some(moment) => format!("it expires at {}", time(moment)),
    });
    printer.note(&format!("revoke it with: capdeck capsule share revoke {id}"));
    Ok(ExitStatus::Done)
}

fn list(args: &ShareListArgs, context: &CommandContext<'_>) -> Result<ExitStatus, CommandFailure> {
    let shares = with_capsules(context, async |capsules| {
        let names = match &args.name {
            Some(name) => vec![name.clone()],
            None => {
                let all = capsules.ask(None, ListCapsulesRequest::default()).await?.capsules;
                all.into_iter().map(|one| one.info.id).collect()
            }
        };
        let mut shares = Vec::new();
        for name in names {
            shares.extend(capsules.ask(Some(&name), SharesRequest).await?.shares);
        }
        Ok(shares)
    })?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&ListingPage::whole(None, &shares));
        return Ok(ExitStatus::Done);
    }
    if shares.is_empty() {
        printer.note("no shares");
        return Ok(ExitStatus::Done);
    }
    let mut table = TextTable::new([
        "ID",
        "CAPSULE",
        "FOR",
        "TOKEN",
        "ROLE",
        "CREATED",
        "BY",
        "ENDS",
        "LAST USED",
        "REACHES",
    ]);
    for share in &shares {
        table.row([
            TableCell::styled(TextStyle::Strong, share.id.as_str()),
            TableCell::plain(share.capsule.as_str()),
            TableCell::plain(share.name.as_str()),
            TableCell::plain(format!("{}…", share.hint)),
            TableCell::plain(share.access.role.as_str()),
            TableCell::plain(time(share.created_at)),
            TableCell::plain(share.created_by.as_deref().unwrap_or_default()),
            TableCell::plain(share.expires_at.map_or_else(|| "never".to_owned(), time)),
            TableCell::plain(share.last_used_at.map_or_else(|| "unknown".to_owned(), time)),
            TableCell::plain(reach(&share.access.scope)),
        ]);
    }
    table.print(printer);
    Ok(ExitStatus::Done)
}

/// When a share ends, as it is typed.
fn expiry(typed: &str) -> Result<ShareExpiry, String> {
    match typed {
        "never" => Ok(ShareExpiry::Never),
        typed => future(typed).map(ShareExpiry::At),
    }
}

/// `docs://, notes:// but not docs://secret`.
fn reach(scope: &EntryScope) -> String {
    let allowed = match scope.allow.is_empty() {
        true => "everything".to_owned(),
        false => joined(&scope.allow),
    };
    match scope.deny.is_empty() {
        true => allowed,
        false => format!("{allowed} but not {}", joined(&scope.deny)),
    }
}

fn revoke(
    args: &ShareRevokeArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus, CommandFailure> {
    let operation = RevokeShareRequest { id: args.id.clone() };
    let answer = ask(context, None, operation)?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&answer);
    } else {
        printer.note(&format!("revoked {}", args.id));
    }
    Ok(ExitStatus::Done)
}

fn joined(prefixes: &[impl ToString]) -> String {
    prefixes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

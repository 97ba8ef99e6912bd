//! `capdeck capsule share NAME`: a role on a part of a capsule for whoever holds a token.

use capdeck_host::{CapsuleOperation, Role, ShareExpiry};
use clap::Subcommand;
use serde_json::{Value, json};

use super::{
    facts::{items, joined, text},
    moment::{future, time},
};
use crate::{
    capsule_desk::{ask, with_desk},
    completion::{capsules, entry_prefixes},
    context::Context,
    errors::{ExitStatus, Failure},
    printer::Style,
    table::{Cell, Table},
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
pub(crate) struct ShareArgs {
    /// The capsule.
    #[arg(value_name = "NAME", required = true, add = capsules())]
    name: Option<String>,
    /// What the holder may do.
    #[arg(long, value_name = "ROLE", required = true)]
    role: Option<Allowed>,
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
    List(ListArgs),
    Revoke(RevokeArgs),
}

/// List the shares of a capsule or of all, without their tokens
#[derive(Debug, clap::Args)]
struct ListArgs {
    /// The capsule. Default: all capsules.
    #[arg(value_name = "NAME", add = capsules())]
    name: Option<String>,
}

/// Revoke a share; its token opens nothing from then on
#[derive(Debug, clap::Args)]
struct RevokeArgs {
    /// The share's id.
    #[arg(value_name = "ID")]
    id: String,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Allowed {
    /// Reads, lists, searches.
    Reader,
    /// Adds new entries, too.
    Appender,
    /// Changes entries, too.
    Writer,
    /// Deletes entries, adds schemes, reads the audit, too.
    Owner,
}

pub(crate) fn run(args: &ShareArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    match &args.command {
        Some(ShareCommand::List(args)) => list(args, context),
        Some(ShareCommand::Revoke(args)) => revoke(args, context),
        None => add(args, context),
    }
}

fn add(args: &ShareArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let ShareArgs { name, role, allow, deny, expires, purpose, command: _ } = args;
    let role = match role {
        Some(Allowed::Reader) | None => Role::Reader,
        Some(Allowed::Appender) => Role::Appender,
        Some(Allowed::Writer) => Role::Writer,
        Some(Allowed::Owner) => Role::Owner,
    };
    let operation = CapsuleOperation::AddShare {
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
    printer.data(text(&answer, "token"));
    let (id, capsule) = (text(&answer, "id"), text(&answer, "capsule"));
    printer
        .note(&format!("this token is shown only now; it opens /mcp/{capsule} as a bearer token"));
    printer.note(&match text(&answer, "expires_at") {
        "" => "it never expires".to_owned(),
        moment => format!("it expires at {}", time(moment)),
    });
    printer.note(&format!("revoke it with: capdeck capsule share revoke {id}"));
    Ok(ExitStatus::Done)
}

fn list(args: &ListArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let shares = with_desk(context, async |desk| {
        let names = match &args.name {
            Some(name) => vec![name.clone()],
            None => {
                let list = CapsuleOperation::ListCapsules { with_counts: false };
                let all = desk.ask(None, list).await?;
                items(&all, "capsules").iter().map(|one| text(one, "id").to_owned()).collect()
            }
        };
        let mut shares = Vec::new();
        for name in names {
            let answer = desk.ask(Some(&name), CapsuleOperation::Shares).await?;
            shares.extend_from_slice(items(&answer, "shares"));
        }
        Ok(shares)
    })?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&json!({ "items": shares }));
        return Ok(ExitStatus::Done);
    }
    if shares.is_empty() {
        printer.note("no shares");
        return Ok(ExitStatus::Done);
    }
    let mut table = Table::new([
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
        let moment = |field: &str, none: &str| match text(share, field) {
            "" => none.to_owned(),
            moment => time(moment),
        };
        table.row([
            Cell::styled(Style::Strong, text(share, "id")),
            Cell::plain(text(share, "capsule")),
            Cell::plain(text(share, "name")),
            Cell::plain(format!("{}…", text(share, "hint"))),
            Cell::plain(text(share, "role")),
            Cell::plain(moment("created_at", "")),
            Cell::plain(text(share, "created_by")),
            Cell::plain(moment("expires_at", "never")),
            Cell::plain(moment("last_used_at", "unknown")),
            Cell::plain(reach(share)),
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
fn reach(share: &Value) -> String {
    let allowed = match joined(share, "uri_prefixes") {
        nothing if nothing.is_empty() => "everything".to_owned(),
        prefixes => prefixes,
    };
    match joined(share, "denied_prefixes") {
        nothing if nothing.is_empty() => allowed,
        prefixes => format!("{allowed} but not {prefixes}"),
    }
}

fn revoke(args: &RevokeArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let operation = CapsuleOperation::RevokeShare { id: args.id.clone() };
    let answer = ask(context, None, operation)?;
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&answer);
    } else {
        printer.note(&format!("revoked {}", args.id));
    }
    Ok(ExitStatus::Done)
}

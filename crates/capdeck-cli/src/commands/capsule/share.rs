//! `capdeck capsule share NAME`: a role on a part of a capsule for the holder of a token.

use capdeck_host::{
    AddShareRequest, EntryScope, RevokeShareRequest, Role, ShareExpiry, SharesRequest,
};
use serde_json::json;

use super::{command_table, display::future, verify::names};
use crate::{
    args::{ChoiceRow, choice},
    capsule_client::{ask_and_show, with_capsules},
    commands::CommandContext,
    completion::{capsules, entries},
    errors::CommandResult,
    plain_text::time,
    printer::TextStyle,
    table::{TextTable, cell, cell_or, styled},
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
    #[arg(long, value_name = "ROLE", required = true, value_parser = choice(ROLES))]
    role: Option<Role>,
    /// An address with everything below it that is open, instead of everything. Can be repeated.
    #[arg(long, value_name = "PREFIX", add = entries())]
    allow: Vec<String>,
    /// Exclude an address with everything below it, even from allowed prefixes. Can be repeated.
    #[arg(long, value_name = "PREFIX", add = entries())]
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

command_table! {
    enum ShareCommand {
        List(ShareListArgs) => list,
        Revoke(ShareRevokeArgs) => revoke,
    }
}

/// List the shares of a capsule or of all, without their tokens
#[derive(Debug, clap::Args)]
pub(super) struct ShareListArgs {
    /// The capsule. Default: all capsules.
    #[arg(value_name = "NAME", add = capsules())]
    name: Option<String>,
}

/// Revoke a share; its token opens nothing from then on
#[derive(Debug, clap::Args)]
pub(super) struct ShareRevokeArgs {
    /// The share's id.
    #[arg(value_name = "ID")]
    id: String,
}

const ROLES: [ChoiceRow<Role>; 4] = [
    ("reader", "Reads, lists, searches", Role::Reader),
    ("appender", "Adds new entries, too", Role::Appender),
    ("writer", "Changes entries, too", Role::Writer),
    ("owner", "Deletes entries, adds schemes, reads the audit, too", Role::Owner),
];

pub(super) fn run(args: &CapsuleShareArgs, context: &CommandContext<'_>) -> CommandResult {
    let CapsuleShareArgs { name, role, allow, deny, expires, purpose, command } = args;
    if let Some(command) = command {
        return command.run(context);
    }
    let role = role.unwrap_or(Role::Reader);
    let request = AddShareRequest {
        name: purpose.clone().unwrap_or_else(|| role.as_str().to_owned()),
        role,
        uri_prefixes: allow.clone(),
        denied_prefixes: deny.clone(),
        expires_at: expires.unwrap_or_default(),
    };
    ask_and_show(context, name.as_deref(), request, |answer, printer| {
        // The token alone is data, so that it can be piped to where it is kept.
        printer.data(&answer.token);
        let (id, capsule) = (&answer.share.id, &answer.share.capsule);
        printer.note(&format!(
            "this token is shown only now; it opens /mcp/{capsule} as a bearer token"
        ));
        printer.note(&match answer.share.expires_at {
            None => "it never expires".to_owned(),
            Some(moment) => format!("it expires at {}", time(moment)),
        });
        printer.note(&format!("revoke it with: capdeck capsule share revoke {id}"));
    })
}

fn list(args: &ShareListArgs, context: &CommandContext<'_>) -> CommandResult {
    let shares = with_capsules(context, async |capsules| {
        let mut shares = Vec::new();
        for name in names(args.name.as_deref(), capsules).await? {
            shares.extend(capsules.ask(Some(&name), SharesRequest).await?.shares);
        }
        Ok(shares)
    })?;
    context.printer.json_or(&json!({ "items": shares }), || {
        let heading = [
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
        ];
        let table = TextTable::new(heading, &shares, |share| {
            [
                styled(TextStyle::Strong, &share.id),
                cell(&share.capsule),
                cell(&share.name),
                cell(format!("{}…", share.hint)),
                cell(share.access.role.as_str()),
                cell(time(share.created_at)),
                cell_or("", share.created_by.as_ref()),
                cell_or("never", share.expires_at.map(time)),
                cell_or("unknown", share.last_used_at.map(time)),
                cell(reach(&share.access.scope)),
            ]
        });
        table.print_or("no shares", context.printer);
    })
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

fn revoke(args: &ShareRevokeArgs, context: &CommandContext<'_>) -> CommandResult {
    ask_and_show(context, None, RevokeShareRequest { id: args.id.clone() }, |_, printer| {
        printer.note(&format!("revoked {}", args.id));
    })
}

fn joined(prefixes: &[impl ToString]) -> String {
    prefixes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

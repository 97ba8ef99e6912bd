//! `capdeck approvals`: calls that wait for a person, and what was approved.

use capdeck_host::{Approval, ApprovalDuration, ApprovalState};
use jiff::Timestamp;
use serde_json::json;

use crate::{
    context::CommandContext,
    errors::CommandResult,
    plain_text::{one_line, time},
    printer::TextStyle,
    table::{TextTable, cell, cell_or, styled},
};

/// List calls that wait for your approval, and what you approved
///
/// A waiting call is approved with `capdeck approve ID`. Standing approvals hold until the tool's definition changes or you
/// take them back.
#[derive(Debug, clap::Args)]
pub(crate) struct ApprovalsArgs {}

pub(crate) fn list(_: &ApprovalsArgs, context: &CommandContext<'_>) -> CommandResult {
    let printer = context.printer;
    let items = context.settings()?.approvals().list(Timestamp::now())?;
    printer.json_or(&json!({ "items": items }), || {
        let heading = ["ID", "STATE", "CALL", "ASKED BY", "UNTIL", "ARGUMENTS"];
        let table = TextTable::new(heading, &items, |item| {
            [
                styled(TextStyle::Strong, &item.id),
                styled(style(item.state), item.state.as_str()),
                cell(target(item)),
                cell(asked_by(item)),
                cell_or("its definition changes", item.expires_at.map(time)),
                cell(&item.arguments),
            ]
        });
        table.print_or("No pending or standing approvals", printer);
        if items.iter().any(|item| item.state == ApprovalState::Waiting) {
            printer.note("approve one with: capdeck approve ID");
        }
    })
}

/// The tool an approval is about.
fn target(approval: &Approval) -> String {
    format!("{}.{}", approval.capability, approval.tool)
}

/// The client's own name, and who is behind it when that is not the person at this machine.
fn asked_by(approval: &Approval) -> String {
    match approval.principal.as_str() {
        "local" => approval.client.clone(),
        principal => format!("{} ({principal})", approval.client),
    }
}

fn style(state: ApprovalState) -> TextStyle {
    match state {
        ApprovalState::Waiting => TextStyle::Careful,
        ApprovalState::Approved | ApprovalState::Standing => TextStyle::Good,
    }
}

/// Approve a call that waits for you
///
/// The client can then repeat the same call, with the same arguments, once within ten minutes. A running host notices by
/// itself.
#[derive(Debug, clap::Args)]
pub(crate) struct ApproveArgs {
    /// The id that the refused call named; see `capdeck approvals`.
    #[arg(value_name = "ID")]
    id: String,
    /// Approve the tool for good: any call of it, by any client, until its definition changes.
    #[arg(long)]
    always: bool,
    /// Take the approval back, or drop the waiting call.
    #[arg(long, conflicts_with = "always")]
    revoke: bool,
}

pub(crate) fn approve(args: &ApproveArgs, context: &CommandContext<'_>) -> CommandResult {
    let ApproveArgs { id, always, revoke } = args;
    let printer = context.printer;
    let store = context.settings()?.approvals();
    let now = Timestamp::now();
    let (approval, done) = match (revoke, always) {
        (true, _) => (store.revoke(id, now)?, "revoked"),
        (false, true) => (store.approve(id, ApprovalDuration::Always, now)?, "approved for good"),
        (false, false) => (store.approve(id, ApprovalDuration::Once, now)?, "approved once"),
    };
    printer.json_or(&json!({ "done": done, "approval": approval }), || {
        printer.note(&format!("{done}: {}", one_line(&target(&approval))));
        if !approval.arguments.is_empty() {
            printer.note(&format!("arguments: {}", one_line(&approval.arguments)));
        }
        if !revoke && !always {
            printer.note("the same call can now be repeated, once within ten minutes");
        }
    })
}

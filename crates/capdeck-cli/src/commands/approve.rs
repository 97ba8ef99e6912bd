//! `capdeck approve ID`: lets a call run that waits for a person, or takes an approval back.

use capdeck_host::Hold;
use jiff::Timestamp;
use serde_json::json;

use super::approvals::target;
use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text::one_line,
};

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

pub(crate) fn run(args: &ApproveArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let ApproveArgs { id, always, revoke } = args;
    let printer = context.printer;
    let store = context.settings()?.approvals();
    let now = Timestamp::now();
    let (approval, done) = match (revoke, always) {
        (true, _) => (store.revoke(id, now)?, "revoked"),
        (false, true) => (store.approve(id, Hold::Always, now)?, "approved for good"),
        (false, false) => (store.approve(id, Hold::Once, now)?, "approved once"),
    };
    if printer.wants_json() {
        printer.json(&json!({ "done": done, "approval": approval }));
        return Ok(ExitStatus::Done);
    }
    printer.note(&format!("{done}: {}", one_line(&target(&approval))));
    if !approval.arguments.is_empty() {
        printer.note(&format!("arguments: {}", one_line(&approval.arguments)));
    }
    if !revoke && !always {
        printer.note("the same call can now be repeated, once within ten minutes");
    }
    Ok(ExitStatus::Done)
}

//! `capdeck setup`: runs what capabilities declare as their set-up, once a person agrees.

use std::sync::Arc;

use capdeck_catalog::{Capability, CapabilityStatus};
use capdeck_definition::Definition;
use capdeck_host::{
    Host, SetupEvent, SetupReport, SetupState, StepReport, StepStatus, known_capability,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    commands::CommandContext,
    completion::ids,
    errors::{CommandFailure, CommandResult, ExitStatus},
    plain_text::lines,
    plan::setup_plan,
    printer::{Printer, TextStyle},
    runtime::{single_thread, stop_signal},
};

/// Run the set-up that a capability declares
///
/// Needed once for a capability that `capdeck list` shows as hidden because of it. Shows the plan first. Once the checks in it succeed, agents see the capability. The id of a set or of a file with several capabilities sets up each of them.
#[derive(Debug, clap::Args)]
pub(crate) struct SetupArgs {
    /// The id of a capability, of a set, or of a file with several capabilities.
    #[arg(value_name = "ID", add = ids())]
    id: String,
    /// Approve the plan without being asked.
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(args: &SetupArgs, context: &CommandContext<'_>) -> CommandResult {
    let SetupArgs { id, yes } = args;
    let printer = context.printer;
    let host = context.open_host()?;
    let targets = targets(&host, id)?;
    for (id, plan) in &targets {
        printer.note(&format!("The set-up of {id}:\n  {}\n", plan.join("\n  ")));
    }
    if !yes {
        let hint =
            format!("the person reads the plan above, then runs in a terminal: capdeck setup {id}");
        let refused =
            || CommandFailure::request("APPROVAL_NEEDED", "the set-up was not approved").hint(hint);
        printer.require("Run it?", refused, "nothing was run")?;
    }
    let reports = single_thread()?.block_on(async {
        let outcome = run_all(&host, &targets, printer).await;
        host.close().await;
        outcome
    })?;
    if printer.wants_json() {
        let succeeded = reports.iter().all(|(_, report)| report.succeeded());
        let mut rows: Vec<Value> = reports.iter().map(row).collect();
        let answer = match rows.len() {
            1 => rows.remove(0),
            _ => json!({ "id": id, "succeeded": succeeded, "items": rows }),
        };
        printer.json(&answer);
        return Ok(ExitStatus::done_unless(!succeeded));
    }
    for (id, report) in &reports {
        print_outcome(id, report, printer)?;
    }
    Ok(ExitStatus::Done)
}

/// What is to be set up, with its plan: the capability, and those inside of it.
fn targets(host: &Host, id: &str) -> Result<Vec<(String, Vec<String>)>, CommandFailure> {
    let catalog = host.catalog();
    let is_meant = |one: &&Arc<Capability>| {
        let Definition { id: own, parent, member_of, .. } = &*one.definition;
        [Some(own), parent.as_ref(), member_of.as_ref()]
            .into_iter()
            .flatten()
            .any(|name| name.as_str() == id)
    };
    let meant: Vec<String> = catalog
        .capabilities()
        .chain(catalog.untrusted())
        .filter(is_meant)
        .map(|one| one.definition.id.to_string())
        .collect();
    if meant.is_empty() {
        known_capability(host, id)?;
    }
    let mut targets = Vec::new();
    for name in &meant {
        let capability = known_capability(host, name)?;
        let Some(setup) = &capability.definition.setup else { continue };
        let is_inside = name != id;
        match capability.status {
            // One that is switched off does not stop the others.
            CapabilityStatus::Disabled if is_inside => continue,
            // The gate knows the words for it; set-up does not bypass it.
            CapabilityStatus::Untrusted { .. } | CapabilityStatus::Disabled => {
                host.operator().snapshot().capability(name)?;
            }
            _ => {}
        }
        targets.push((name.clone(), setup_plan(setup)));
    }
    if targets.is_empty() {
        return Err(CommandFailure::request("NO_SETUP", format!("`{id}` declares no set-up"))
            .hint(format!("it needs none; see: capdeck why {id}")));
    }
    Ok(targets)
}

/// Sets up one after another, and ends with the first that fails.
async fn run_all(
    host: &Host,
    targets: &[(String, Vec<String>)],
    printer: &Printer,
) -> Result<Vec<(String, SetupReport)>, CommandFailure> {
    let cancel = CancellationToken::new();
    let mut reports = Vec::new();
    for (id, _) in targets {
        let mut progress = None;
        let mut report_event = |event: SetupEvent<'_>| match event {
            SetupEvent::Started { index, count, step, .. } => {
                progress = Some(printer.progress(&format!("{}/{count} {}", index + 1, step.label)));
            }
            SetupEvent::Finished { index, count, report } => {
                progress = None;
                let mark = match report.status {
                    StepStatus::Done => printer.note_palette.paint(TextStyle::Good, "done"),
                    StepStatus::Failed { .. } => {
                        printer.note_palette.paint(TextStyle::Bad, "failed")
                    }
                };
                printer.note(&format!("{}/{count} {}: {mark}", index + 1, report.label));
            }
        };
        let outcome = tokio::select! {
            report = SetupState::run(host, id, &cancel, &mut report_event) => {
                report.map_err(CommandFailure::from)
            }
            _ = stop_signal() => Err(CommandFailure::interrupted()),
        };
        if outcome.is_err() {
            cancel.cancel();
        }
        let report = outcome?;
        let succeeded = report.succeeded();
        reports.push((id.clone(), report));
        if !succeeded {
            break;
        }
    }
    Ok(reports)
}

fn row((id, report): &(String, SetupReport)) -> Value {
    json!({ "id": id, "succeeded": report.succeeded(), "report": report })
}

fn print_outcome(id: &str, report: &SetupReport, printer: &Printer) -> Result<(), CommandFailure> {
    if report.succeeded() {
        printer.note(&format!("{id} is set up"));
        return Ok(());
    }
    let failed = report.steps.iter().find_map(|step| match &step.status {
        StepStatus::Failed { reason, hint } => Some((step, reason, hint)),
        StepStatus::Done => None,
    });
    let Some((step, reason, hint)) = failed else {
        let message = format!("the set-up of `{id}` did not finish");
        return Err(CommandFailure::request("SETUP_FAILED", message));
    };
    let message = format!("the set-up of `{id}` failed at `{}`: {reason}", step.label);
    let failure = CommandFailure::request("SETUP_FAILED", message).with_details(output(step));
    Err(CommandFailure { hint: hint.clone(), ..failure })
}

fn output(step: &StepReport) -> String {
    let parts = [step.stdout.trim_end(), step.stderr.trim_end()];
    let shown: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).map(lines).collect();
    shown.join("\n")
}

//! `capdeck setup ID`: runs what a capability declares as its set-up.

use capdeck_catalog::CapabilityStatus;
use capdeck_host::{SetupEvent, SetupReport, StepReport, StepStatus, known_capability};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    completion::ids,
    context::CommandContext,
    errors::{CommandFailure, CommandResult, ExitStatus},
    plain_text::lines,
    plan::setup_plan,
    printer::{Printer, ProgressSpinner, TextStyle},
    runtime::{single_thread, stop_signal},
};

/// Run the set-up a capability declares
///
/// Shows the plan first. Once the checks in it succeed, agents see the capability.
#[derive(Debug, clap::Args)]
pub(crate) struct SetupArgs {
    /// The capability's id.
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
    let capability = known_capability(&host, id)?;
    if matches!(capability.status, CapabilityStatus::Untrusted { .. } | CapabilityStatus::Disabled)
    {
        // The gate knows the words for it; set-up is no way around it.
        host.operator().snapshot().capability(id)?;
    }
    let Some(setup) = &capability.definition.setup else {
        return Err(CommandFailure::request("NO_SETUP", format!("`{id}` declares no set-up"))
            .hint(format!("it needs none; see: capdeck why {id}")));
    };
    let plan = setup_plan(setup);
    printer.note(&format!("The set-up of {id}:\n  {}\n", plan.join("\n  ")));
    if !yes {
        let hint =
            format!("the person reads the plan above, then runs in a terminal: capdeck setup {id}");
        let refused =
            || CommandFailure::request("APPROVAL_NEEDED", "the set-up was not approved").hint(hint);
        printer.require("Run it?", refused, "nothing was run")?;
    }
    let mut teller = SetupReporter { printer, progress: None };
    let report = single_thread()?.block_on(async {
        let cancel = CancellationToken::new();
        let outcome = tokio::select! {
            report = host.run_setup(id, &cancel, |event| teller.report_event(&event)) => report.map_err(CommandFailure::from),
            () = stop_signal() => Err(CommandFailure::request("CANCELLED", "interrupted")),
        };
        cancel.cancel();
        host.close().await;
        outcome
    })?;
    if printer.wants_json() {
        let succeeded = report.succeeded();
        printer.json(&json!({ "id": id, "succeeded": succeeded, "report": report }));
        return Ok(ExitStatus::done_unless(!succeeded));
    }
    print_outcome(id, &report, printer)
}

fn print_outcome(id: &str, report: &SetupReport, printer: &Printer) -> CommandResult {
    if report.succeeded() {
        printer.note(&format!("{id} is set up"));
        return Ok(ExitStatus::Done);
    }
    let failed = report.steps.iter().find_map(|step| match &step.status {
        StepStatus::Failed { reason, hint } => Some((step, reason, hint)),
        StepStatus::Done => None,
    });
    let Some((step, reason, hint)) = failed else {
        return Err(CommandFailure::request(
            "SETUP_FAILED",
            format!("the set-up of `{id}` did not finish"),
        ));
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

/// Tells the person what is being run.
struct SetupReporter<'a> {
    printer: &'a Printer,
    progress: Option<ProgressSpinner>,
}

impl SetupReporter<'_> {
    fn report_event(&mut self, event: &SetupEvent<'_>) {
        match event {
            SetupEvent::Started { index, count, step, .. } => {
                let text = format!("{}/{count} {}", index + 1, step.label);
                self.progress = Some(self.printer.progress(&text));
            }
            SetupEvent::Finished { index, count, report } => {
                self.progress = None;
                let palette = self.printer.note_palette();
                let mark = match report.status {
                    StepStatus::Done => palette.paint(TextStyle::Good, "done"),
                    StepStatus::Failed { .. } => palette.paint(TextStyle::Bad, "failed"),
                };
                let number = index + 1;
                self.printer.note(&format!("{number}/{count} {}: {mark}", report.label));
            }
        }
    }
}

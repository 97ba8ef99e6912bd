//! Runs the set-up steps of a definition after their approval.
//!
//! First `commands`, then `verify`, in order, up to the first failure. No shell, no input, the minimal environment of
//! every child, secrets removed from the output.

use std::{path::Path, time::Duration};

use capdeck_auth::{Secret, SecretScrubber, is_secret_name, resolve_value};
use capdeck_definition::{Definition, SetupCommands, SetupStep};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::{
    CallError, Connector,
    capture::{CapturedStream, MAX_TOTAL},
    child_environment::{PassedVariables, WorkingFolder, child_environment, passed_secrets},
    command_run::{CommandEnd, CommandRun, capture, run},
    connector_context::vault_holder,
    process::ChildCommand,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SetupPhase {
    Commands,
    Verify,
}

/// The progress of a set-up. `index` counts from 0 through both phases.
#[derive(Debug)]
pub enum SetupEvent<'a> {
    Started { phase: SetupPhase, index: usize, count: usize, step: &'a SetupStep },
    Finished { index: usize, count: usize, report: &'a StepReport },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepReport {
    pub phase: SetupPhase,
    pub label: String,
    #[serde(flatten)]
    pub status: StepStatus,
    /// Scrubbed, and truncated at the step's `maxOutputBytes`.
    pub stdout: String,
    pub stderr: String,
    pub elapsed_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum StepStatus {
    Done,
    Failed {
        reason: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetupReport {
    /// The steps that ran; the last one may have failed.
    pub steps: Vec<StepReport>,
    /// The number of steps after a failed one.
    pub not_run: usize,
}

impl SetupReport {
    pub fn succeeded(&self) -> bool {
        self.not_run == 0 && self.steps.iter().all(|step| step.status == StepStatus::Done)
    }
}

impl Connector {
    /// Runs a definition's set-up. The caller asks for approval.
    pub async fn run_setup(
        &self,
        definition: &Definition,
        cancel: &CancellationToken,
        mut tell: impl FnMut(SetupEvent<'_>) + Send,
    ) -> Result<SetupReport, CallError> {
        let setup = definition.setup.as_ref().ok_or_else(|| {
            CallError::invalid_request(format!("`{}` declares no set-up", definition.id))
        })?;
        let surroundings = self.surroundings();
        let holder = vault_holder(definition);
        let resolved = resolve_value::<SetupCommands>(setup, surroundings.lookup(&holder))?;
        let folder =
            WorkingFolder::new(definition.project_bound, surroundings.settings.project.as_deref())?;
        let SetupCommands { commands, verify } = resolved.value;
        let steps: Vec<(SetupPhase, SetupStep)> = commands
            .into_iter()
            .map(|step| (SetupPhase::Commands, step))
            .chain(verify.into_iter().map(|step| (SetupPhase::Verify, step)))
            .collect();
        let count = steps.len();
        let host = &surroundings.settings.environment;
        let passed = passed_secrets(host, definition.backend.pass_env());
        let mut report = SetupReport { steps: Vec::new(), not_run: 0 };
        for (index, (phase, step)) in steps.into_iter().enumerate() {
            tell(SetupEvent::Started { phase, index, count, step: &step });
            let substituted = resolved.substitutions.iter().map(|one| &one.value);
            let declared: Vec<Secret> = secrets_of(&step).collect();
            let scrubber = SecretScrubber::new(substituted.chain(&declared).chain(&passed));
            let result = self.run_step(definition, &folder, phase, &step, &scrubber, cancel).await;
            let step_report = result.unwrap_or_else(|error| {
                let CallError { message: reason, hint, .. } = error.scrubbed(&scrubber);
                StepReport {
                    phase,
                    label: step.label.clone(),
                    status: StepStatus::Failed { reason, hint },
                    stdout: String::new(),
                    stderr: String::new(),
                    elapsed_ms: 0,
                }
            });
            tell(SetupEvent::Finished { index, count, report: &step_report });
            let failed = step_report.status != StepStatus::Done;
            report.steps.push(step_report);
            if failed {
                report.not_run = count - index - 1;
                break;
            }
        }
        Ok(report)
    }

    async fn run_step(
        &self,
        definition: &Definition,
        folder: &WorkingFolder,
        phase: SetupPhase,
        step: &SetupStep,
        scrubber: &SecretScrubber,
        cancel: &CancellationToken,
    ) -> Result<StepReport, CallError> {
        if let Some(cwd) = step.program.cwd.as_deref().filter(|cwd| !Path::new(cwd).is_absolute()) {
            return Err(CallError::invalid_config(format!(
                "the working folder of a set-up step must be an absolute path: `{cwd}`"
            )));
        }
        let surroundings = self.surroundings();
        let (program, args) = (&step.program.command, &step.program.args);
        let passed = PassedVariables::of_command(definition.backend.pass_env(), program, args);
        let host = &surroundings.settings.environment;
        let command = ChildCommand {
            program: step.program.command.clone(),
            args: step.program.args.clone(),
            env: child_environment(host, &passed, [&step.program.env]),
            folder: folder.resolve(step.program.cwd.as_deref())?,
            ..ChildCommand::default()
        };
        let take_in =
            |name| capture(surroundings, &definition.id, name, step.max_output_bytes, scrubber);
        let timeout = Duration::from_millis(step.timeout_ms);
        let (stdout, stderr) = (take_in("stdout.txt"), take_in("stderr.txt"));
        let (max_total, cancel) = (MAX_TOTAL, cancel.cancelled());
        let run_once = CommandRun { command: &command, timeout, cancel, stdout, stderr, max_total };
        let outcome = run(&surroundings.spawner, run_once).await?;
        Ok(StepReport {
            phase,
            label: step.label.clone(),
            status: match outcome.ending {
                CommandEnd::Exited(exit) if exit.code == Some(0) => StepStatus::Done,
                CommandEnd::Exited(exit) => failed(exit.to_string()),
                CommandEnd::TimedOut => {
                    failed(format!("did not end within {} ms", step.timeout_ms))
                }
                CommandEnd::Cancelled => failed("cancelled".to_owned()),
                CommandEnd::TooMuchOutput => failed("wrote too much output".to_owned()),
            },
            stdout: output_text(&outcome.stdout, step.max_output_bytes),
            stderr: output_text(&outcome.stderr, step.max_output_bytes),
            elapsed_ms: u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX),
        })
    }
}

fn failed(reason: String) -> StepStatus {
    StepStatus::Failed { reason, hint: None }
}

fn output_text(captured: &CapturedStream, limit: u64) -> String {
    let text = captured.text(limit);
    if captured.total() <= limit {
        return text;
    }
    format!("{text}\n[cut at {limit} of {} bytes]", captured.total())
}

fn secrets_of(step: &SetupStep) -> impl Iterator<Item = Secret> {
    step.program
        .env
        .iter()
        .filter(|(name, _)| is_secret_name(name))
        .map(|(_, value)| Secret::new(value.as_str()))
}

//! `capdeck doctor`: the whole set-up in one report, with fixes.

mod agents;
mod examine;
mod peers;

use std::net::TcpListener;

use capdeck_definition::ServeConfig;
use capdeck_host::{CheckReport, StorageStatusRequest};
use serde::Serialize;
use serde_json::json;

use crate::{
    capsule_client::ask,
    commands::{
        CommandContext,
        check::{self, CheckArgs},
        up::{UpArgs, configured_headers, settings::UpSettings},
    },
    env_vars::EnvVars,
    errors::{CommandFailure, CommandResult, ExitStatus, to_person},
    plain_text::{counted, one_line},
    printer::{ColorPalette, TextStyle},
    settings::CommandSettings,
};

/// Examine the whole set-up and say what to fix
///
/// The first thing to run when something does not work. Looks at folders, files, programs, variables, agents and the port, and at
/// how servers did when they were last used. Nothing is connected, unless with --live, which also does what `capdeck check` does.
/// Exits with 1 when there is an error.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Also connect to every capability and show whether it answers.
    #[arg(long)]
    live: bool,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct DoctorFinding {
    /// What was looked at.
    check: &'static str,
    status: FindingStatus,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum FindingStatus {
    Ok,
    Warning,
    Error,
}

pub(crate) fn run(args: &DoctorArgs, context: &CommandContext<'_>) -> CommandResult {
    // First, so that what is known of their health is what they answer now.
    let live = if args.live { Some(check_all(context)?) } else { None };
    let settings = context.settings()?;
    let host = settings.open_host()?;
    let mut findings = examine::folders(&settings);
    findings.extend(examine_capsules(context));
    findings.extend(examine::deck(&settings, &host));
    findings.extend(examine::capabilities(&settings, &host));
    findings.extend(live.into_iter().flatten());
    findings.extend(examine::pending_decisions(&settings, &host));
    findings.extend(agents::agents(&settings, context));
    findings.extend(peers::peers(&settings, context));
    findings.extend(examine_serving(&settings, &context.env, &host.deck().config.serve));
    let count = |status| findings.iter().filter(|finding| finding.status == status).count();
    let (errors, warnings) = (count(FindingStatus::Error), count(FindingStatus::Warning));
    let printer = context.printer;
    let version = env!("CARGO_PKG_VERSION");
    let report = json!({ "version": version, "platform": platform(), "items": findings });
    printer.json_or(&report, || {
        let lines = findings.iter().map(|finding| finding.render(printer.palette));
        let text = format!("capdeck {version} on {}\n{}", platform(), lines.collect::<String>());
        printer.data(&text);
        printer.note(&match (errors, warnings) {
            (0, 0) => "No problems found".to_owned(),
            (errors, warnings) => format!("errors: {errors}, warnings: {warnings}"),
        });
    })?;
    Ok(ExitStatus::done_unless(errors > 0))
}

/// What `capdeck check` reports, as findings.
fn check_all(context: &CommandContext<'_>) -> Result<Vec<DoctorFinding>, CommandFailure> {
    let finding = |report: &CheckReport| {
        let (id, millis) = (&report.id, report.elapsed.as_millis());
        match &report.outcome {
            Ok(known) => {
                let tools = counted(known.tools.len(), "tool", "tools");
                DoctorFinding::ok("live", format!("{id} answers: {tools}, {millis} ms"))
            }
            Err(error) => {
                let hint = error.hint.as_deref().map(to_person);
                let fix = hint.unwrap_or_else(|| format!("capdeck why {id}"));
                DoctorFinding::error("live", format!("{id}: {}", error.message), fix)
            }
        }
    };
    Ok(check::reports(&CheckArgs::default(), context)?.iter().map(finding).collect())
}

fn platform() -> String {
    format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)
}

impl DoctorFinding {
    fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, status: FindingStatus::Ok, message: message.into(), fix: None }
    }

    fn warning(check: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { status: FindingStatus::Warning, ..Self::error(check, message, fix) }
    }

    fn error(check: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { status: FindingStatus::Error, fix: Some(fix.into()), ..Self::ok(check, message) }
    }

    fn render(&self, palette: ColorPalette) -> String {
        let (mark, style) = match self.status {
            FindingStatus::Ok => ("ok     ", TextStyle::Good),
            FindingStatus::Warning => ("warning", TextStyle::Careful),
            FindingStatus::Error => ("error  ", TextStyle::Bad),
        };
        let mut text = format!(
            "{}  {:<12}  {}\n",
            palette.paint(style, mark),
            self.check,
            one_line(&self.message)
        );
        if let Some(fix) = &self.fix {
            text.push_str(&format!("{:23}fix: {}\n", "", one_line(fix)));
        }
        text
    }
}

const CHECK: &str = "capsules";

/// Opens every capsule, here or in the process that has them.
fn examine_capsules(context: &CommandContext<'_>) -> Vec<DoctorFinding> {
    let status = match ask(context, None, StorageStatusRequest) {
        Ok(status) => status,
        Err(failure) => {
            let fix = failure.hint.unwrap_or_default();
            return vec![DoctorFinding::error(CHECK, failure.message, fix)];
        }
    };
    let mut findings = Vec::new();
    if let Some(reason) = status.reason {
        let fix = "make room on the disk, or make the data folder writable";
        findings.push(DoctorFinding::error(CHECK, reason, fix));
    }
    for capsule in status.capsules {
        let id = capsule.id;
        let message = format!("{id}: {}", capsule.problem);
        let fix = format!("see all of it with: capdeck capsule verify {id}");
        findings.push(match capsule.is_open {
            true => DoctorFinding::warning(CHECK, message, fix),
            false => DoctorFinding::error(CHECK, message, fix),
        });
    }
    findings
}

/// Resolves what `up` would start with, so that errors of its start are found here.
fn examine_serving(
    settings: &CommandSettings,
    env: &EnvVars,
    serve: &ServeConfig,
) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    match UpSettings::resolve(&UpArgs::default(), env, serve, settings) {
        Ok(up) => {
            if let Some(oidc) = &serve.oidc {
                let message = format!("operators may sign in at {}", oidc.issuer);
                findings.push(DoctorFinding::ok("sign-in", message));
            }
            findings.push(examine_port(&up.http.host, up.http.port));
        }
        Err(failure) => {
            let message = format!("`capdeck up` does not start: {}", failure.message);
            let fix = failure.hint.unwrap_or_else(|| "see: capdeck up --help".to_owned());
            findings.push(DoctorFinding::error("up", message, fix));
        }
    }
    if let Some(otlp) = &serve.otlp
        && let Err(one) = configured_headers(otlp, settings)
    {
        let message = format!("`serve.otlp.headers` cannot be used: {one}");
        findings.push(DoctorFinding::warning("traces", message, one.hint()));
    }
    findings
}

/// Whether the host could listen.
fn examine_port(host: &str, port: u16) -> DoctorFinding {
    match TcpListener::bind((host, port)) {
        Ok(_) => DoctorFinding::ok("port", format!("{host}:{port} is free")),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => DoctorFinding::warning(
            "port",
            format!("{host}:{port} is in use, perhaps by a running capdeck"),
            "another port: capdeck up --port 0",
        ),
        Err(error) => DoctorFinding::warning(
            "port",
            format!("cannot listen on {host}:{port}: {error}"),
            "another address: capdeck up --host 127.0.0.1",
        ),
    }
}

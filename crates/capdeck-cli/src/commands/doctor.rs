//! `capdeck doctor`: the whole set-up at a glance, with what to do about it.

mod capsules;
mod examine;
mod serving;

use serde::Serialize;
use serde_json::json;

use crate::{
    context::Context,
    errors::{ExitStatus, Failure},
    plain_text::one_line,
    printer::{Palette, Style},
};

/// Examine the whole set-up and say what to fix
///
/// Looks at folders, files, programs, variables and the port; nothing is connected.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
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

pub(crate) fn run(args: &DoctorArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let DoctorArgs {} = args;
    let settings = context.settings()?;
    let host = settings.open_host()?;
    let mut findings = examine::folders(&settings);
    findings.extend(capsules::examine(context));
    findings.extend(examine::deck(&settings, &host));
    findings.extend(examine::capabilities(&settings, &host));
    findings.extend(examine::decisions(&settings, &host));
    findings.extend(serving::examine(&settings, &context.env, &host.deck().config.serve));
    let count = |status| findings.iter().filter(|finding| finding.status == status).count();
    let (errors, warnings) = (count(FindingStatus::Error), count(FindingStatus::Warning));
    let printer = context.printer;
    if printer.wants_json() {
        printer.json(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "platform": platform(),
            "items": findings,
        }));
    } else {
        let mut text = format!("capdeck {} on {}\n", env!("CARGO_PKG_VERSION"), platform());
        for finding in &findings {
            text.push_str(&finding.render(printer.palette()));
        }
        printer.data(&text);
        printer.note(&match (errors, warnings) {
            (0, 0) => "all is well".to_owned(),
            (errors, warnings) => format!("errors: {errors}, warnings: {warnings}"),
        });
    }
    Ok(if errors > 0 { ExitStatus::RequestFailed } else { ExitStatus::Done })
}

fn platform() -> String {
    format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)
}

impl Finding {
    fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, status: FindingStatus::Ok, message: message.into(), fix: None }
    }

    fn warning(check: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            check,
            status: FindingStatus::Warning,
            message: message.into(),
            fix: Some(fix.into()),
        }
    }

    fn error(check: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { check, status: FindingStatus::Error, message: message.into(), fix: Some(fix.into()) }
    }

    fn render(&self, palette: Palette) -> String {
        let (mark, style) = match self.status {
            FindingStatus::Ok => ("ok     ", Style::Good),
            FindingStatus::Warning => ("warning", Style::Careful),
            FindingStatus::Error => ("error  ", Style::Bad),
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

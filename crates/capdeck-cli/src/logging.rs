//! The log on stderr: what `CAPDECK_LOG` or `-v` asks for, warnings while serving, else nothing.

use std::io;

use tracing_subscriber::EnvFilter;

use crate::errors::Failure;

/// How much is logged when nobody says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DefaultLog {
    Nothing,
    Warnings,
}

/// Starts the log. Does nothing at all when there is nothing to log.
pub(crate) fn start(
    variable: Option<&str>,
    verbosity: u8,
    quiet: bool,
    default: DefaultLog,
    color: bool,
) -> Result<(), Failure> {
    let directives = match (variable, verbosity, default) {
        (Some(directives), _, _) => directives,
        (None, 1, _) => "info",
        (None, 2.., _) => "debug",
        (None, 0, DefaultLog::Warnings) if !quiet => "warn",
        (None, 0, _) => return Ok(()),
    };
    let filter = EnvFilter::builder().parse(directives).map_err(|error| {
        Failure::setup("BAD_LOG_FILTER", format!("CAPDECK_LOG is not a log filter: {error}"))
            .hint("use a level such as `info`, or `capdeck_host=debug`")
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(color)
        .with_target(false)
        .init();
    Ok(())
}

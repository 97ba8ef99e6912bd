//! The exit of a program.

use std::{fmt, os::unix::process::ExitStatusExt, process::ExitStatus};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessExit {
    /// `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
}

impl ProcessExit {
    pub(super) const UNKNOWN: Self = Self { code: None, signal: None };

    pub(crate) fn signal_name(self) -> Option<String> {
        let name = match self.signal? {
            1 => "SIGHUP",
            2 => "SIGINT",
            3 => "SIGQUIT",
            4 => "SIGILL",
            6 => "SIGABRT",
            8 => "SIGFPE",
            9 => "SIGKILL",
            11 => "SIGSEGV",
            13 => "SIGPIPE",
            14 => "SIGALRM",
            15 => "SIGTERM",
            other => return Some(format!("signal {other}")),
        };
        Some(name.to_owned())
    }
}

impl From<ExitStatus> for ProcessExit {
    fn from(status: ExitStatus) -> Self {
        Self { code: status.code(), signal: status.signal() }
    }
}

impl fmt::Display for ProcessExit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal_name()) {
            (Some(code), _) => write!(formatter, "exit code {code}"),
            (None, Some(signal)) => write!(formatter, "ended by {signal}"),
            (None, None) => formatter.write_str("ended with an unknown status"),
        }
    }
}

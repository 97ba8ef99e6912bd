//! Why a command did not do what it was asked, and the one table from causes to exit codes.

use std::{borrow::Cow, fmt, io, path::Path, process::ExitCode};

use capdeck_host::{
    ApprovalError, CallError, ErrorKind, ReplayError, RunStoreError, UNKNOWN_ID_HINT,
};
use serde_json::{Value, json};

use crate::plain_text::without_nulls;

/// What to do when something cannot be written or read.
pub(crate) const FOLDERS_HINT: &str = "see which folders can be used with: capdeck doctor";

/// What comes after a change to the files of a project.
pub(crate) const TRUST_NEXT: &str =
    "review the project's files and allow them to act with: capdeck trust";

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    Done,
    RequestFailed,
    /// Wrong usage, or a set-up that cannot be read.
    WrongUsage,
    SignInNeeded,
    /// Another write came first.
    Conflict,
    /// Ctrl-C, or the system asked the process to end.
    Interrupted,
    Bug,
}

impl ExitStatus {
    /// For commands that tell what is wrong themselves.
    pub(crate) fn done_unless(has_failed: bool) -> Self {
        if has_failed { Self::RequestFailed } else { Self::Done }
    }
}

/// What a command comes to.
pub(crate) type CommandResult = Result<ExitStatus, CommandFailure>;

/// A failed command: what failed, on what, and what to do next.
#[derive(Debug)]
pub(crate) struct CommandFailure {
    pub(crate) status: ExitStatus,
    /// A stable upper-case name for programs.
    pub(crate) code: Cow<'static, str>,
    pub(crate) message: String,
    /// What to do next, preferably a command that can be run.
    pub(crate) hint: Option<String>,
    pub(crate) details: Option<Value>,
    /// More lines to show, such as what a tool itself said.
    pub(crate) said: Option<String>,
}

impl CommandFailure {
    /// The request made sense and failed.
    pub(crate) fn request(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(ExitStatus::RequestFailed, code, message.into())
    }

    /// The command was not understood.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(ExitStatus::WrongUsage, "USAGE", message.into())
    }

    /// Something the command depends on (a folder, a port, a variable) is not usable.
    pub(crate) fn setup(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(ExitStatus::WrongUsage, code, message.into())
    }

    /// The person ended the command with Ctrl-C.
    pub(crate) fn interrupted() -> Self {
        Self::new(ExitStatus::Interrupted, "CANCELLED", "interrupted".to_owned())
    }

    pub(crate) fn bug(message: impl Into<String>) -> Self {
        Self::new(ExitStatus::Bug, "INTERNAL_ERROR", message.into())
            .hint("this is a bug in capdeck; please report it with the command you ran")
    }

    /// A file operation that failed, with the path that `io::Error` does not know.
    pub(crate) fn file(doing: &str, path: &Path, error: &io::Error) -> Self {
        let message = format!("cannot {doing} `{}`: {error}", path.display());
        let failure = Self::request("FILE_ERROR", message);
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                failure.hint(FOLDERS_HINT)
            }
            io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
                failure.hint("a file is where a folder should be; move it away")
            }
            _ => failure,
        }
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds lines to show under the message.
    #[must_use]
    pub(crate) fn with_details(mut self, text: impl Into<String>) -> Self {
        self.said = Some(text.into());
        self
    }

    /// Adds data for programs.
    #[must_use]
    pub(crate) fn with_data(mut self, data: Value) -> Self {
        self.details = Some(data);
        self
    }

    /// `{"error": {code, message, hint?, details?}}`.
    pub(crate) fn to_json(&self) -> Value {
        let Self { code, message, hint, details, .. } = self;
        let error = json!({ "code": code, "message": message, "hint": hint, "details": details });
        json!({ "error": without_nulls(error) })
    }

    fn new(status: ExitStatus, code: &'static str, message: String) -> Self {
        let code = Cow::Borrowed(code);
        Self { status, code, message, hint: None, details: None, said: None }
    }
}

/// Commands by which a person lets something run. What types here may be an agent, which must not be asked to use them.
const APPROVAL_COMMANDS: [&str; 4] =
    ["capdeck approve ", "capdeck trust", "capdeck pins approve ", "capdeck setup "];

/// A hint of the host in words for the reader of a terminal. The host speaks to agents, which pass a hint on to their
/// person; what only the person may do stays in these words.
pub(crate) fn to_person(hint: &str) -> String {
    if APPROVAL_COMMANDS.iter().any(|command| hint.contains(command)) {
        return hint.to_owned();
    }
    if hint == UNKNOWN_ID_HINT {
        return "see what there is with: capdeck list".to_owned();
    }
    let spoken = [("the person runs: ", "run: "), ("the person sees ", "see ")];
    let said = spoken.iter().find_map(|(from, to)| Some((to, hint.strip_prefix(from)?)));
    said.map_or_else(|| hint.to_owned(), |(said, rest)| format!("{said}{rest}"))
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl From<CallError> for CommandFailure {
    fn from(error: CallError) -> Self {
        let status = ExitStatus::from(error.kind());
        Self {
            status,
            code: Cow::Borrowed(error.code.as_str()),
            message: error.message,
            hint: error.hint.as_deref().map(to_person),
            details: error.data,
            said: None,
        }
    }
}

impl From<ApprovalError> for CommandFailure {
    fn from(error: ApprovalError) -> Self {
        let message = error.to_string();
        match error {
            ApprovalError::Unknown { .. } => Self::request("APPROVAL_NOT_FOUND", message)
                .hint("see what waits with: capdeck approvals"),
            ApprovalError::NoDefinition { id } => Self::request("APPROVAL_REFUSED", message)
                .hint(format!("approve this one call with: capdeck approve {id}")),
            ApprovalError::Storage { path, source } => {
                Self::request("FILE_ERROR", format!("{message}: {source}"))
                    .hint(format!("repair or remove `{}`", path.display()))
            }
        }
    }
}

impl From<RunStoreError> for CommandFailure {
    fn from(error: RunStoreError) -> Self {
        let message = error.to_string();
        match error {
            RunStoreError::Unknown { .. } => Self::request("RUN_NOT_FOUND", message)
                .hint("see what is recorded with: capdeck runs list"),
            RunStoreError::Ambiguous { found, .. } => Self::request("RUN_AMBIGUOUS", message)
                .hint(format!("one of: {}", found.join(", "))),
            RunStoreError::Unreadable { path, .. } => Self::request("RUN_UNREADABLE", message)
                .hint(format!("remove `{}`", path.display())),
            RunStoreError::Busy { .. } => Self::request("RUN_BUSY", message),
            RunStoreError::Storage { source, .. } => {
                Self::request("FILE_ERROR", format!("{message}: {source}"))
            }
        }
    }
}

impl From<ReplayError> for CommandFailure {
    fn from(error: ReplayError) -> Self {
        let message = error.to_string();
        match error {
            ReplayError::Unrepeatable { .. } | ReplayError::Missing { .. } => {
                Self::request("RUN_UNREPEATABLE", message)
            }
            ReplayError::Diverged { .. } => Self::request("RUN_DIVERGED", message),
            ReplayError::Store(error) => error.into(),
        }
    }
}

impl From<ErrorKind> for ExitStatus {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::NotFound
            | ErrorKind::BadInput
            | ErrorKind::Denied
            | ErrorKind::Unavailable
            | ErrorKind::TimedOut
            | ErrorKind::Cancelled
            | ErrorKind::BackendFailed
            | ErrorKind::Unsupported => Self::RequestFailed,
            ErrorKind::NeedsLogin => Self::SignInNeeded,
            ErrorKind::Bug => Self::Bug,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(match status {
            ExitStatus::Done => 0,
            ExitStatus::RequestFailed => 1,
            ExitStatus::WrongUsage => 2,
            ExitStatus::SignInNeeded => 3,
            ExitStatus::Conflict => 4,
            // As a shell reports a process that Ctrl-C ended.
            ExitStatus::Interrupted => 130,
            ExitStatus::Bug => 255,
        })
    }
}

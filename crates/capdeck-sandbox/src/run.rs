//! The request for a run: one cell of code, in a new or an existing session.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::settings::SandboxLimits;

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(String);

impl SessionId {
    pub(crate) fn random() -> Self {
        Self(uuid::Uuid::new_v4().to_string())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for SessionId {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for SessionId {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChoice {
    /// A new one for later runs too.
    New,
    /// A new one that ends with the run.
    Once,
    Earlier(SessionId),
}

#[derive(Debug, Clone, PartialEq)]
pub struct CellRun {
    pub code: String,
    /// Wall-clock time, including waits. `None` means the pool's default.
    pub timeout: Option<Duration>,
    pub session: SessionChoice,
    /// Only the owner that started a session can find it.
    pub owner: String,
    pub limits: SandboxLimits,
    /// A repeatable clock and random numbers.
    pub determinism: Option<DeterminismSettings>,
    pub check: TypeCheck,
    /// An earlier run to repeat; [`crate::CallHandler`] returns its responses.
    pub repeat: Option<EarlierRun>,
}

impl CellRun {
    /// A run of this code in a new session, with the default limits.
    pub fn new(code: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            timeout: None,
            session: SessionChoice::New,
            owner: String::new(),
            limits: SandboxLimits::default(),
            determinism: None,
            check: TypeCheck::default(),
            repeat: None,
        }
    }

    #[must_use]
    pub fn in_session(self, id: SessionId) -> Self {
        Self { session: SessionChoice::Earlier(id), ..self }
    }
}

/// Whether a cell is type-checked before it runs. Syntax, names and literal arguments are always checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TypeCheck {
    /// Not checked: the first check takes a second, and arguments are checked at every call anyway.
    #[default]
    Off,
    Warn,
    /// Type errors prevent the run; so does a failed check.
    Full,
}

/// Makes a run repeatable: the same code with the same responses has the same result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeterminismSettings {
    /// The start time in milliseconds since 1970. It advances when a timer fires and when a response arrives.
    pub now_ms: i64,
    /// The seed of `Math.random` and `crypto`.
    pub seed: u64,
    /// Whether timers wait. A replay does not wait for them.
    pub timers: TimerPace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimerPace {
    Wait,
    /// They fire in order, immediately, when no call is running.
    Skip,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayMoment {
    /// The number of timers that fired before.
    pub timers: u32,
    /// Milliseconds of the script's clock since the start of the run.
    pub clock_ms: f64,
}

/// An earlier run that this one repeats, up to its last response.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EarlierRun {
    pub moments: Vec<ReplayMoment>,
    /// Milliseconds since the start of the earlier run; the clock continues from there after the last moment.
    pub elapsed_ms: f64,
}

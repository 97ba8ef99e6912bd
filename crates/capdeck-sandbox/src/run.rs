//! What the caller asks for: one cell of code, in a session of its own or in an earlier one.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{limits::Limits, moment::Repeat};

/// The name of a session, as the client holds it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(String);

impl SessionId {
    /// A name nobody can guess.
    pub(crate) fn random() -> Self {
        Self(uuid::Uuid::new_v4().to_string())
    }

    /// The name as text.
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

/// Which session a run belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChoice {
    /// A new one that stays for later runs.
    New,
    /// A new one that ends with the run.
    Once,
    /// An earlier one.
    Earlier(SessionId),
}

/// One cell of code and the frame it runs in.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub code: String,
    /// Wall-clock time, waiting included. `None` means the pool's default.
    pub timeout: Option<Duration>,
    pub session: SessionChoice,
    /// Who asks. A session is found only by the owner that started it.
    pub owner: String,
    pub limits: Limits,
    /// A clock and chance that can be repeated.
    pub determinism: Option<Determinism>,
    pub check: TypeCheck,
    /// An earlier run to repeat; its answers come from the one who answers calls.
    pub repeat: Option<Repeat>,
}

impl Run {
    /// A run of this code in a new session, with the usual limits.
    pub fn new(code: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            timeout: None,
            session: SessionChoice::New,
            owner: String::new(),
            limits: Limits::default(),
            determinism: None,
            check: TypeCheck::default(),
            repeat: None,
        }
    }

    /// The same run in an earlier session.
    #[must_use]
    pub fn in_session(self, id: SessionId) -> Self {
        Self { session: SessionChoice::Earlier(id), ..self }
    }
}

/// Whether a cell passes the type checker before it runs. Syntax, names and literal arguments are looked at in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TypeCheck {
    /// It does not: the first check takes a second, and arguments are checked at every call anyway.
    #[default]
    Off,
    /// What the checker finds are warnings.
    Warn,
    /// What the checker finds keeps the cell from running; so does a check that could not be made.
    Full,
}

/// Makes a run repeatable: the same code with the same answers computes the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Determinism {
    /// The time at the start, in milliseconds since 1970. It moves on when a timer fires and when an answer comes.
    pub now_ms: i64,
    /// Where `Math.random` and `crypto` start.
    pub seed: u64,
    /// Whether timers take their time. A replay does not wait for them.
    pub timers: TimerPace,
}

/// Whether a timer of a repeatable run waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimerPace {
    Wait,
    /// They fire in order, at once, as soon as no call is under way.
    Skip,
}

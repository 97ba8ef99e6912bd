//! Capsules as tools, the same at the endpoint of one capsule and in a deck.
//!
//! A call is translated into operations of a [`CapsuleDesk`] and the answer into a tool result: text for a model, facts
//! for a program. Who calls is never part of a call's arguments.

mod answer;
mod capsules;
mod definition;
mod manage;
mod memory;
mod mount;
mod read;
mod signal;
mod watched_desk;
mod write;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

pub use self::mount::Mount;
use self::{
    answer::{Answer, tool_result},
    watched_desk::{WatchedDesk, WatchedGrants},
};
use super::{CapsuleCaller, CapsuleDesk, CapsuleFailure, CapsuleOperation};
use crate::{GrantDesk, GrantTools};

/// One of the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CapsuleTool {
    Read,
    Write,
    Signal,
    /// Not offered at the endpoint of one capsule.
    Capsules,
    Memory,
    /// Only for those who may decide about the access of others.
    Manage,
}

/// For whom a tool is called, and where it looks when a call does not say.
pub struct ToolCaller<'a> {
    pub desk: &'a dyn CapsuleDesk,
    pub caller: &'a CapsuleCaller,
    pub mount: &'a Mount,
    /// Where the caller asks for more access, if anywhere.
    pub grants: Option<&'a dyn GrantDesk>,
}

impl CapsuleTool {
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Write, Self::Signal, Self::Capsules, Self::Memory, Self::Manage];

    /// The name it is listed and called by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "capsol_read",
            Self::Write => "capsol_write",
            Self::Signal => "capsol_signal",
            Self::Capsules => "capsol_capsules",
            Self::Memory => "capsol_memory",
            Self::Manage => "capsol_manage",
        }
    }

    /// The tool of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Whether the tool is offered to callers with this mount, who have these tools for asking.
    pub fn is_offered(self, mount: &Mount, grants: GrantTools) -> bool {
        match self {
            Self::Capsules => !mount.is_bound(),
            Self::Manage => grants == GrantTools::Manage && !mount.is_bound(),
            Self::Read | Self::Write | Self::Signal | Self::Memory => true,
        }
    }

    /// The tool as it is listed to such callers.
    pub fn definition(self, mount: &Mount, grants: GrantTools) -> Value {
        definition::definition(self, mount.is_bound(), grants)
    }

    /// Calls the tool. What fails is a result, too: its model reads it and corrects the call.
    pub async fn call(self, by: &ToolCaller<'_>, arguments: Option<&RawValue>) -> Box<RawValue> {
        let desk = WatchedDesk::new(by.desk);
        let grants = by.grants.map(WatchedGrants::new);
        let watched = &ToolCaller {
            desk: &desk,
            grants: grants.as_ref().map(|grants| grants as &dyn GrantDesk),
            ..*by
        };
        let outcome = match self {
            Self::Read => read::call(watched, arguments).await,
            Self::Write => write::call(watched, arguments).await,
            Self::Signal => signal::call(watched, arguments).await,
            Self::Capsules => capsules::call(watched, arguments).await,
            Self::Memory => memory::call(watched, arguments).await,
            Self::Manage => manage::call(watched, arguments).await,
        };
        let was_asked = desk.was_asked() || grants.as_ref().is_some_and(WatchedGrants::was_asked);
        if outcome.is_err() && !was_asked {
            self.note_refusal(by, arguments).await;
        }
        tool_result(outcome)
    }

    /// Has a call recorded whose arguments kept it from the desk, in the capsule that it was about as far as can be told.
    async fn note_refusal(self, by: &ToolCaller<'_>, arguments: Option<&RawValue>) {
        if let (Self::Manage, Some(grants)) = (self, by.grants) {
            return grants.note_unfit().await;
        }
        #[derive(Default, Deserialize)]
        struct About {
            capsule: Option<String>,
        }
        let text = arguments.map_or("{}", RawValue::get);
        let About { capsule } = serde_json::from_str(text).unwrap_or_default();
        let refused = CapsuleOperation::Refused { tool: self.name().to_owned() };
        for capsule in [capsule.as_deref(), None] {
            match by.ask(capsule, refused.clone()).await {
                Ok(_) => return,
                Err(error) => tracing::debug!(%error, "a refused call could not be recorded"),
            }
        }
    }
}

impl ToolCaller<'_> {
    /// Does an operation in the capsule that the call names, else in the mounted one, else in the only one.
    async fn ask(
        &self,
        capsule: Option<&str>,
        operation: CapsuleOperation,
    ) -> Result<Value, CapsuleFailure> {
        let capsule = self.mount.resolve(capsule)?;
        self.desk.ask(self.caller.request(capsule.as_deref(), operation)).await
    }
}

/// The arguments of a call, of which nothing may be left over.
fn parse<T: DeserializeOwned>(arguments: Option<&RawValue>) -> Result<T, CapsuleFailure> {
    let text = arguments.map(RawValue::get).filter(|text| *text != "null").unwrap_or("{}");
    serde_json::from_str(text)
        .map_err(|error| invalid(format!("the arguments do not fit: {error}")))
}

/// The caller used a tool in a way that it does not have.
fn invalid(message: impl Into<String>) -> CapsuleFailure {
    CapsuleFailure::invalid(message)
}

/// An argument that this action cannot do without.
fn needed<T>(argument: Option<T>, name: &str, action: &str) -> Result<T, CapsuleFailure> {
    argument.ok_or_else(|| invalid(format!("`{action}` needs `{name}`")))
}

#[cfg(test)]
mod tests;

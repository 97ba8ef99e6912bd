//! Capsules as tools, the same at the endpoint of one capsule and in a deck.
//!
//! A call is translated into operations of a [`CapsuleService`] and the response into a tool result: text for a model,
//! facts for a program. Who calls is never part of a call's arguments.

mod capsules;
mod definition;
mod manage;
mod memory;
mod mount;
mod read;
mod signal;
mod tool_result;
mod write;

use std::sync::atomic::{AtomicBool, Ordering};

use capdeck_catalog::RawMembers;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

pub use self::mount::CapsuleMount;
use self::tool_result::{ToolAnswer, tool_result};
use super::{
    CapsuleCall, CapsuleCaller, CapsuleError, CapsuleErrorCode, CapsuleService,
    CapsuleServiceExt as _, NoteRefusalRequest,
};
use crate::{AccessRequest, GrantService, GrantTools};

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

/// The caller of a tool, and where it looks when a call does not say.
pub struct CapsuleToolContext<'a> {
    pub service: &'a dyn CapsuleService,
    pub caller: &'a CapsuleCaller,
    pub mount: &'a CapsuleMount,
    /// Where the caller asks for more access, if anywhere.
    pub grants: Option<&'a dyn GrantService>,
}

/// One call of a tool.
struct ToolRun<'a> {
    by: &'a CapsuleToolContext<'a>,
    /// Whether the call got as far as a service, which records it then.
    was_asked: AtomicBool,
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
    pub fn is_offered(self, mount: &CapsuleMount, grants: GrantTools) -> bool {
        match self {
            Self::Capsules => !mount.is_bound(),
            Self::Manage => grants == GrantTools::Manage && !mount.is_bound(),
            Self::Read | Self::Write | Self::Signal | Self::Memory => true,
        }
    }

    /// The tool as it is listed to such callers.
    pub fn definition(self, mount: &CapsuleMount, grants: GrantTools) -> Value {
        definition::definition(self, mount.is_bound(), grants)
    }

    /// Calls the tool. What fails is a result, too: its model reads it and corrects the call.
    pub async fn call(
        self,
        by: &CapsuleToolContext<'_>,
        arguments: Option<&RawValue>,
    ) -> Box<RawValue> {
        let run = ToolRun { by, was_asked: AtomicBool::new(false) };
        let outcome = match self {
            Self::Read => read::call(&run, arguments).await,
            Self::Write => write::call(&run, arguments).await,
            Self::Signal => signal::call(&run, arguments).await,
            Self::Capsules => capsules::call(&run, arguments).await,
            Self::Memory => memory::call(&run, arguments).await,
            Self::Manage => manage::call(&run, arguments).await,
        };
        if outcome.is_err() && !run.was_asked.load(Ordering::Relaxed) {
            self.note_refusal(&run, arguments).await;
        }
        tool_result(outcome)
    }

    /// Has a call recorded whose arguments kept it from the service, in the capsule that it was about as far as is known.
    async fn note_refusal(self, run: &ToolRun<'_>, arguments: Option<&RawValue>) {
        if let (Self::Manage, Some(grants)) = (self, run.by.grants) {
            return grants.record_invalid_request().await;
        }
        #[derive(Default, Deserialize)]
        struct CapsuleArgument {
            capsule: Option<String>,
        }
        let text = arguments.map_or("{}", RawValue::get);
        let CapsuleArgument { capsule } = serde_json::from_str(text).unwrap_or_default();
        let action = self.name().trim_start_matches("capsol_").to_owned();
        for capsule in [capsule.as_deref(), None] {
            match run.ask(capsule, NoteRefusalRequest { action: action.clone() }).await {
                Ok(()) => return,
                Err(error) => tracing::debug!(%error, "a refused call could not be recorded"),
            }
        }
    }
}

impl ToolRun<'_> {
    /// Does an operation in the capsule that the call names, else in the mounted one, else in the only one.
    async fn ask<C: CapsuleCall>(
        &self,
        capsule: Option<&str>,
        call: C,
    ) -> Result<C::Response, CapsuleError> {
        let capsule = self.by.mount.resolve(capsule)?;
        self.ask_in(capsule.as_deref(), call).await
    }

    /// Does an operation in exactly this capsule, or in none.
    async fn ask_in<C: CapsuleCall>(
        &self,
        capsule: Option<&str>,
        call: C,
    ) -> Result<C::Response, CapsuleError> {
        self.was_asked.store(true, Ordering::Relaxed);
        self.by.service.ask(self.by.caller.request(capsule, call)).await
    }

    /// Asks for access, or decides about it. `absent` is what to say where that is not possible.
    async fn ask_access(
        &self,
        request: AccessRequest,
        absent: &str,
    ) -> Result<Value, CapsuleError> {
        let grants = self.by.grants.ok_or_else(|| invalid(absent))?;
        self.was_asked.store(true, Ordering::Relaxed);
        let response = grants.run(request).await?;
        serde_json::to_value(response)
            .map_err(|error| CapsuleError::new(CapsuleErrorCode::Internal, error.to_string()))
    }
}

/// Arguments whose empty text is a value, or an address that is refused.
const TEXTS_THAT_MAY_BE_EMPTY: [&str; 4] = ["content", "text", "uri", "value"];

/// The arguments of a call, of which nothing may be left over.
fn parse<T: DeserializeOwned>(arguments: Option<&RawValue>) -> Result<T, CapsuleError> {
    let text = arguments.map(RawValue::get).filter(|text| *text != "null").unwrap_or("{}");
    let read = match text.contains("null") || text.contains("\"\"") {
        true => serde_json::from_str::<RawMembers>(text).and_then(|mut members| {
            members.retain(|key, value| match value.get() {
                "null" => false,
                "\"\"" => TEXTS_THAT_MAY_BE_EMPTY.contains(&key.as_str()),
                _ => true,
            });
            serde_json::from_str(&serde_json::to_string(&members)?)
        }),
        false => serde_json::from_str(text),
    };
    read.map_err(|error| invalid(format!("invalid arguments: {error}")))
}

/// The caller used a tool in a way that it does not have.
fn invalid(message: impl Into<String>) -> CapsuleError {
    CapsuleError::invalid(message)
}

/// An argument that this action cannot do without.
fn needed<T>(argument: Option<T>, name: &str, action: &str) -> Result<T, CapsuleError> {
    argument.ok_or_else(|| invalid(format!("`{action}` needs `{name}`")))
}

#[cfg(test)]
mod tests;

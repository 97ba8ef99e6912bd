//! `hooks`: what agents run or read at their events. A broken hook is skipped with a warning, never more.

use schemars::JsonSchema;
use serde::Deserialize;
use strum::{EnumString, IntoStaticStr, VariantNames};

use super::{
    entry::EntryReader,
    names::is_safe_id,
    text_source::{ContentSource, SourceFields, SourceType},
};
use crate::suggest::did_you_mean;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookDeclaration {
    /// Safe as the name of a file.
    pub id: String,
    pub event: HookEvent,
    pub body: HookBody,
    /// Which tools or commands it is about, in the agent's own notation.
    pub matcher: Option<String>,
    pub timeout_seconds: Option<u64>,
    /// Whether a hook that fails stops what it guards.
    pub fail_closed: Option<bool>,
    pub sequential: Option<bool>,
    /// The agents it is for; `None` means all.
    pub providers: Option<Vec<String>>,
    pub description: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookEvent {
    /// An event that every agent has under some name.
    Any(AgentEvent),
    /// An event of one agent, by that agent's name for it. The provider is in lower case.
    Native { provider: String, event: String },
}

/// An event that every agent knows under some name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "camelCase")]
pub enum AgentEvent {
    SessionStart,
    SessionEnd,
    UserPromptSubmit,
    BeforeTool,
    AfterTool,
    AfterToolFailure,
    BeforeShell,
    AfterShell,
    BeforeFileRead,
    AfterFileEdit,
    BeforeMcpCall,
    AfterMcpCall,
    SubagentStart,
    SubagentStop,
    PreCompact,
    Stop,
}

impl AgentEvent {
    /// The name as files write it.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    pub fn find(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookBody {
    /// A command line for the agent to run.
    Command(String),
    /// A text for the agent to read.
    Prompt(String),
    /// A script or a prompt from elsewhere.
    Sourced { source: ContentSource, is_prompt: bool },
}

/// One entry of `hooks`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Hook", deny_unknown_fields)]
pub(super) struct HookShape {
    #[schemars(length(min = 1))]
    id: String,
    /// An event, or `provider:event` for one that only that agent has.
    on: String,
    #[serde(default, rename = "type")]
    kind: Option<HookType>,
    command: Option<String>,
    prompt: Option<String>,
    matcher: Option<String>,
    /// In seconds.
    #[schemars(range(min = 0))]
    timeout: Option<f64>,
    fail_closed: Option<bool>,
    sequential: Option<bool>,
    providers: Option<Vec<String>>,
    description: Option<String>,
    /// Where the body comes from; wins over `command` and `prompt`.
    source: Option<SourceShape>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum HookType {
    Command,
    Prompt,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "HookSource", deny_unknown_fields)]
struct SourceShape {
    #[serde(rename = "type")]
    kind: SourceType,
    #[serde(flatten)]
    fields: SourceFields,
}

impl HookShape {
    pub(super) fn read(self, entry: &mut EntryReader<'_>) -> Option<HookDeclaration> {
        let what = entry.what;
        entry.skip_unsafe_id(is_safe_id(&self.id))?;
        let Some(event) = HookEvent::read(&self.on) else {
            let names = AgentEvent::VARIANTS;
            let otherwise = format!("use one of {}, or `provider:event`", names.join(", "));
            let fix = did_you_mean(&self.on, names.iter().copied(), otherwise);
            let message = format!("{what} has an unknown event, so it is skipped");
            entry.at("on").warning("unknown-value", message, fix);
            return None;
        };
        let is_prompt = match self.kind {
            Some(kind) => kind == HookType::Prompt,
            None => self.command.is_none() && self.prompt.is_some(),
        };
        let inline = if is_prompt {
            self.prompt.map(HookBody::Prompt)
        } else {
            self.command.map(HookBody::Command)
        };
        let body = match self.source {
            Some(source) => {
                let source = source.fields.read(source.kind, &mut entry.below("source"))?;
                Some(HookBody::Sourced { source, is_prompt })
            }
            None => inline,
        };
        let Some(body) = body else {
            let key = if is_prompt { "prompt" } else { "command" };
            let message = format!("{what} does nothing, so it is skipped");
            entry.here().warning("missing-key", message, format!("add `{key}` or `source`"));
            return None;
        };
        Some(HookDeclaration {
            id: self.id,
            event,
            body,
            matcher: self.matcher,
            timeout_seconds: self.timeout.map(whole_seconds),
            fail_closed: self.fail_closed,
            sequential: self.sequential,
            providers: self.providers,
            description: self.description,
        })
    }
}

impl HookEvent {
    /// Reads `event` or `provider:event`.
    pub fn read(text: &str) -> Option<Self> {
        match text.split_once(':') {
            None => AgentEvent::find(text).map(Self::Any),
            Some((provider, event)) if !provider.is_empty() && !event.is_empty() => {
                Some(Self::Native {
                    provider: provider.to_ascii_lowercase(),
                    event: event.to_owned(),
                })
            }
            Some(_) => None,
        }
    }
}

/// A part of a second is a second: agents count whole ones.
fn whole_seconds(seconds: f64) -> u64 {
    std::time::Duration::try_from_secs_f64(seconds.ceil()).map_or(u64::MAX, |time| time.as_secs())
}

//! The events of agents that hooks can stand at.

/// An event that every agent knows under some name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
    /// Every event, in the order they are documented.
    pub const ALL: [Self; 16] = [
        Self::SessionStart,
        Self::SessionEnd,
        Self::UserPromptSubmit,
        Self::BeforeTool,
        Self::AfterTool,
        Self::AfterToolFailure,
        Self::BeforeShell,
        Self::AfterShell,
        Self::BeforeFileRead,
        Self::AfterFileEdit,
        Self::BeforeMcpCall,
        Self::AfterMcpCall,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::PreCompact,
        Self::Stop,
    ];

    /// The name as files write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SessionStart => "sessionStart",
            Self::SessionEnd => "sessionEnd",
            Self::UserPromptSubmit => "userPromptSubmit",
            Self::BeforeTool => "beforeTool",
            Self::AfterTool => "afterTool",
            Self::AfterToolFailure => "afterToolFailure",
            Self::BeforeShell => "beforeShell",
            Self::AfterShell => "afterShell",
            Self::BeforeFileRead => "beforeFileRead",
            Self::AfterFileEdit => "afterFileEdit",
            Self::BeforeMcpCall => "beforeMcpCall",
            Self::AfterMcpCall => "afterMcpCall",
            Self::SubagentStart => "subagentStart",
            Self::SubagentStop => "subagentStop",
            Self::PreCompact => "preCompact",
            Self::Stop => "stop",
        }
    }

    /// The event with this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.as_str() == name)
    }
}

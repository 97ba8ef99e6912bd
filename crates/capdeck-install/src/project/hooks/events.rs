//! What each agent calls the events of a capability file.

use capdeck_definition::capa::AgentEvent;

use crate::provider::HookAgent;

/// The agent's name for an event, and the matcher that narrows it down to what is meant.
pub(super) fn native_event(
    agent: HookAgent,
    event: AgentEvent,
) -> Option<(&'static str, Option<&'static str>)> {
    match agent {
        HookAgent::ClaudeCode => claude_code(event),
        HookAgent::Codex => codex(event),
        HookAgent::Cursor => Some((cursor(event), None)),
        HookAgent::GeminiCli => gemini_cli(event),
    }
}

fn claude_code(event: AgentEvent) -> Option<(&'static str, Option<&'static str>)> {
    use AgentEvent as Event;
    Some(match event {
        Event::SessionStart => ("SessionStart", None),
        Event::SessionEnd => ("SessionEnd", None),
        Event::UserPromptSubmit => ("UserPromptSubmit", None),
        Event::BeforeTool => ("PreToolUse", None),
        Event::AfterTool => ("PostToolUse", None),
        Event::AfterToolFailure => ("PostToolUseFailure", None),
        Event::BeforeShell => ("PreToolUse", Some("Bash")),
        Event::AfterShell => ("PostToolUse", Some("Bash")),
        Event::BeforeFileRead => return None,
        Event::AfterFileEdit => ("PostToolUse", Some("Edit|MultiEdit|Write")),
        Event::BeforeMcpCall => ("PreToolUse", Some("mcp__")),
        Event::AfterMcpCall => ("PostToolUse", Some("mcp__")),
        Event::SubagentStart => ("SubagentStart", None),
        Event::SubagentStop => ("SubagentStop", None),
        Event::PreCompact => ("PreCompact", None),
        Event::Stop => ("Stop", None),
    })
}

fn codex(event: AgentEvent) -> Option<(&'static str, Option<&'static str>)> {
    match event {
        AgentEvent::SessionEnd | AgentEvent::AfterToolFailure => None,
        AgentEvent::AfterFileEdit => Some(("PostToolUse", Some("apply_patch"))),
        other => claude_code(other),
    }
}

fn cursor(event: AgentEvent) -> &'static str {
    use AgentEvent as Event;
    match event {
        Event::UserPromptSubmit => "beforeSubmitPrompt",
        Event::BeforeTool => "preToolUse",
        Event::AfterTool => "postToolUse",
        Event::AfterToolFailure => "postToolUseFailure",
        Event::BeforeShell => "beforeShellExecution",
        Event::AfterShell => "afterShellExecution",
        Event::BeforeFileRead => "beforeReadFile",
        Event::BeforeMcpCall => "beforeMCPExecution",
        Event::AfterMcpCall => "afterMCPExecution",
        // The names are the same.
        Event::SessionStart
        | Event::SessionEnd
        | Event::AfterFileEdit
        | Event::SubagentStart
        | Event::SubagentStop
        | Event::PreCompact
        | Event::Stop => event.as_str(),
    }
}

fn gemini_cli(event: AgentEvent) -> Option<(&'static str, Option<&'static str>)> {
    use AgentEvent as Event;
    Some(match event {
        Event::SessionStart => ("SessionStart", None),
        Event::SessionEnd => ("SessionEnd", None),
        Event::UserPromptSubmit => ("BeforeAgent", None),
        Event::BeforeTool => ("BeforeTool", None),
        Event::AfterTool => ("AfterTool", None),
        Event::BeforeShell => ("BeforeTool", Some("run_shell_command")),
        Event::AfterShell => ("AfterTool", Some("run_shell_command")),
        Event::BeforeFileRead => ("BeforeTool", Some("read_file")),
        Event::AfterFileEdit => ("AfterTool", Some("write_file|replace|edit_file")),
        Event::BeforeMcpCall => ("BeforeTool", Some("mcp_.*")),
        Event::AfterMcpCall => ("AfterTool", Some("mcp_.*")),
        Event::PreCompact => ("PreCompress", None),
        Event::AfterToolFailure | Event::SubagentStart | Event::SubagentStop | Event::Stop => {
            return None;
        }
    })
}

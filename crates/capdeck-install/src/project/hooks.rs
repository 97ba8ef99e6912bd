//! Hooks in agents' configuration: each under the agent's own name for the event, tagged with a name of ours.

use std::path::Path;

use capdeck_definition::capability_file::{AgentEvent, HookEvent};
use serde_json::{Map, Value, json};

use super::{
    InstallProblem,
    content::{HookAction, HookContent, is_for},
    desired_files::{DesiredFiles, DocumentPart, OwnFile, format_of},
    document::NAME_PREFIX,
    manifest::ProjectState,
};
use crate::provider::{AgentProvider, HookAgent, HookFile};

/// Adds the hooks of all providers.
pub(crate) fn add_hooks(
    desired: &mut DesiredFiles,
    project: &Path,
    state: &ProjectState,
    hooks: &[HookContent],
    providers: &[&'static AgentProvider],
) {
    for provider in providers {
        let meant: Vec<&HookContent> =
            hooks.iter().filter(|hook| is_for(hook.providers.as_ref(), provider.id)).collect();
        match (&provider.hooks, meant.is_empty()) {
            (Some(file), false) => add_for(desired, project, state, &meant, provider, *file),
            (None, false) if !hooks.is_empty() => desired.problems.push(InstallProblem::warning(
                "no-hooks",
                provider.id,
                "this agent has no hooks that can be installed, so it gets none",
            )),
            _ => {}
        }
    }
}

fn add_for(
    desired: &mut DesiredFiles,
    project: &Path,
    state: &ProjectState,
    hooks: &[&HookContent],
    provider: &AgentProvider,
    file: HookFile,
) {
    // In the order of their first hook, so that the file reads like the declaration.
    let mut events: Vec<(String, Vec<Value>)> = Vec::new();
    for hook in hooks {
        let (event, implicit) = match &hook.event {
            HookEvent::Native { provider: other, .. } if other != provider.id => continue,
            HookEvent::Native { event, .. } => (event.clone(), None),
            HookEvent::Any(event) => match native_event(file.agent, *event) {
                Some((name, implicit)) => (name.to_owned(), implicit),
                None => {
                    let message = format!("{} has no event `{}`", provider.id, event.as_str());
                    desired.problems.push(InstallProblem::warning(
                        "no-event",
                        about(hook),
                        message,
                    ));
                    continue;
                }
            },
        };
        let command = match &hook.action {
            HookAction::Command(command) => Some(command.clone()),
            HookAction::Prompt(_) => None,
            HookAction::Script(content) => {
                let path = state.hook_script(&hook.id);
                desired.add_own_at(
                    path.clone(),
                    OwnFile {
                        content: content.clone(),
                        is_program: true,
                        part_of: about(hook),
                        unit: None,
                    },
                );
                Some(shell_word(&path.to_string_lossy()))
            }
        };
        let matcher = match (implicit, hook.matcher.as_deref()) {
            (Some(implicit), Some(own)) => Some(format!("(?:{implicit})|(?:{own})")),
            (Some(one), None) | (None, Some(one)) => Some(one.to_owned()),
            (None, None) => None,
        };
        let known = events.iter().position(|(name, _)| *name == event);
        let at = known.unwrap_or_else(|| {
            events.push((event, Vec::new()));
            events.len() - 1
        });
        if let Some((_, items)) = events.get_mut(at) {
            add_item(items, file.agent, hook, command.as_deref(), matcher);
        }
    }
    let format = format_of(file.path);
    if file.agent == HookAgent::Cursor && !events.is_empty() {
        let version = DocumentPart::Default { keys: vec!["version".to_owned()], value: json!(1) };
        desired.add_part(project, file.path, format, version);
    }
    for (event, items) in events {
        let keys = vec!["hooks".to_owned(), event];
        desired.add_part(project, file.path, format, DocumentPart::Items { keys, items });
    }
}

fn add_item(
    items: &mut Vec<Value>,
    agent: HookAgent,
    hook: &HookContent,
    command: Option<&str>,
    matcher: Option<String>,
) {
    let mut entry = Map::new();
    let mut put = |key: &str, value: Value| {
        entry.insert(key.to_owned(), value);
    };
    let prompt = match &hook.action {
        HookAction::Prompt(prompt) => Some(prompt),
        HookAction::Command(_) | HookAction::Script(_) => None,
    };
    match (agent, command, prompt) {
        (HookAgent::Cursor, Some(command), _) => put("command", json!(command)),
        (_, Some(command), _) => {
            put("type", json!("command"));
            put("command", json!(command));
        }
        (_, None, prompt) => {
            put("type", json!("prompt"));
            put("prompt", json!(prompt));
        }
    }
    let name = format!("{NAME_PREFIX}{}", hook.id);
    match agent {
        HookAgent::Cursor => {
            if let Some(matcher) = matcher {
                put("pattern", json!(matcher));
            }
            if let Some(seconds) = hook.timeout_seconds {
                put("timeout", json!(seconds));
            }
            if let Some(fail_closed) = hook.fail_closed {
                put("failClosed", json!(fail_closed));
            }
            put("name", json!(name));
            items.push(Value::Object(entry));
        }
        HookAgent::ClaudeCode | HookAgent::Codex | HookAgent::GeminiCli => {
            if let Some(seconds) = hook.timeout_seconds {
                // Gemini counts milliseconds.
                let factor = if agent == HookAgent::GeminiCli { 1000 } else { 1 };
                put("timeout", json!(seconds.saturating_mul(factor)));
            }
            put("name", json!(name));
            let matcher = json!(matcher.unwrap_or_default());
            let group = items.iter_mut().find(|group| group.get("matcher") == Some(&matcher));
            match group.and_then(|group| group.get_mut("hooks")).and_then(Value::as_array_mut) {
                Some(grouped) => grouped.push(Value::Object(entry)),
                None => items.push(json!({ "matcher": matcher, "hooks": [entry] })),
            }
        }
    }
}

pub(crate) fn about(hook: &HookContent) -> String {
    format!("hook `{}`", hook.id)
}

/// A path as one word of a shell's command line.
fn shell_word(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,".contains(c);
    if path.chars().all(is_plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}

/// The agent's name for an event, and the matcher that narrows it down to what is meant.
fn native_event(
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

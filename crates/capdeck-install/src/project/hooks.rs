//! Hooks in agents' configuration: each under the agent's own name for the event, tagged with a name of ours.

use capdeck_definition::capability_file::{AgentEvent, HookEvent};
use serde_json::{Map, Value, json};

use super::{
    InstallProblem,
    compose::FileComposer,
    content::{HookAction, HookContent, is_for},
    desired_files::{DocumentPart, OwnFile},
    document::NAME_PREFIX,
    pins::PinSection,
};
use crate::provider::{AgentProvider, HookAgent, HookFile};

impl FileComposer<'_> {
    pub(super) fn add_hooks(&mut self) {
        for provider in self.providers {
            let all = self.content.hooks.iter();
            let meant: Vec<&HookContent> =
                all.filter(|hook| is_for(hook.providers.as_ref(), provider.id)).collect();
            match (&provider.hooks, meant.is_empty()) {
                (Some(file), false) => self.add_hooks_for(&meant, provider, *file),
                (None, false) => self.files.problems.push(InstallProblem::warning(
                    "no-hooks",
                    provider.id,
                    "this agent has no hooks that can be installed, so it gets none",
                )),
                _ => {}
            }
        }
    }

    fn add_hooks_for(&mut self, hooks: &[&HookContent], provider: &AgentProvider, file: HookFile) {
        // In the order of their first hook, so that the file reads like the declaration.
        let mut events: Map<String, Value> = Map::new();
        for hook in hooks {
            let (event, implicit) = match &hook.event {
                HookEvent::Native { provider: other, .. } if other != provider.id => continue,
                HookEvent::Native { event, .. } => (event.clone(), None),
                HookEvent::Any(event) => match native_event(file.agent, *event) {
                    Some((name, implicit)) => (name.to_owned(), implicit),
                    None => {
                        let message = format!("{} has no event `{}`", provider.id, event.as_str());
                        let problem = InstallProblem::warning(
                            "no-event",
                            PinSection::Hook.about(&hook.id),
                            message,
                        );
                        self.files.problems.push(problem);
                        continue;
                    }
                },
            };
            let command = match &hook.action {
                HookAction::Command(command) => Some(command.clone()),
                HookAction::Prompt(_) => None,
                HookAction::Script(content) => {
                    let path = self.state.hook_script(&hook.id);
                    let script = OwnFile::text(content.clone(), PinSection::Hook.about(&hook.id));
                    let script = OwnFile { is_program: true, ..script };
                    self.files.add_own(path.clone(), script);
                    Some(shell_word(&path.to_string_lossy()))
                }
            };
            let matcher = match (implicit, hook.matcher.as_deref()) {
                (Some(implicit), Some(own)) => Some(format!("(?:{implicit})|(?:{own})")),
                (Some(one), None) | (None, Some(one)) => Some(one.to_owned()),
                (None, None) => None,
            };
            if let Value::Array(items) = events.entry(event).or_insert_with(|| json!([])) {
                add_item(items, file.agent, hook, command.as_deref(), matcher);
            }
        }
        if file.agent == HookAgent::Cursor && !events.is_empty() {
            let keys = vec!["version".to_owned()];
            self.part(file.path, DocumentPart::Default { keys, value: json!(1) });
        }
        for (event, items) in events {
            let keys = vec!["hooks".to_owned(), event];
            if let Value::Array(items) = items {
                self.part(file.path, DocumentPart::Items { keys, items });
            }
        }
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
    if let HookAction::Prompt(prompt) = &hook.action {
        put("type", json!("prompt"));
        put("prompt", json!(prompt));
    } else {
        if agent != HookAgent::Cursor {
            put("type", json!("command"));
        }
        put("command", json!(command));
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
    use AgentEvent as Event;
    // Of Claude Code, which Codex follows but for three; of Cursor; of Gemini CLI. Empty where an agent has none.
    let (claude, cursor, gemini) = match event {
        Event::SessionStart => ("SessionStart", "sessionStart", "SessionStart"),
        Event::SessionEnd => ("SessionEnd", "sessionEnd", "SessionEnd"),
        Event::UserPromptSubmit => ("UserPromptSubmit", "beforeSubmitPrompt", "BeforeAgent"),
        Event::BeforeTool => ("PreToolUse", "preToolUse", "BeforeTool"),
        Event::AfterTool => ("PostToolUse", "postToolUse", "AfterTool"),
        Event::AfterToolFailure => ("PostToolUseFailure", "postToolUseFailure", ""),
        Event::BeforeShell => ("PreToolUse", "beforeShellExecution", "BeforeTool"),
        Event::AfterShell => ("PostToolUse", "afterShellExecution", "AfterTool"),
        Event::BeforeFileRead => ("", "beforeReadFile", "BeforeTool"),
        Event::AfterFileEdit => ("PostToolUse", "afterFileEdit", "AfterTool"),
        Event::BeforeMcpCall => ("PreToolUse", "beforeMCPExecution", "BeforeTool"),
        Event::AfterMcpCall => ("PostToolUse", "afterMCPExecution", "AfterTool"),
        Event::SubagentStart => ("SubagentStart", "subagentStart", ""),
        Event::SubagentStop => ("SubagentStop", "subagentStop", ""),
        Event::PreCompact => ("PreCompact", "preCompact", "PreCompress"),
        Event::Stop => ("Stop", "stop", ""),
    };
    let name = match agent {
        HookAgent::Codex if matches!(event, Event::SessionEnd | Event::AfterToolFailure) => "",
        HookAgent::ClaudeCode | HookAgent::Codex => claude,
        HookAgent::Cursor => cursor,
        HookAgent::GeminiCli => gemini,
    };
    let matcher = match (agent, event) {
        (HookAgent::Cursor, _) => None,
        (HookAgent::GeminiCli, Event::BeforeShell | Event::AfterShell) => Some("run_shell_command"),
        (HookAgent::GeminiCli, Event::BeforeFileRead) => Some("read_file"),
        (HookAgent::GeminiCli, Event::AfterFileEdit) => Some("write_file|replace|edit_file"),
        (HookAgent::GeminiCli, Event::BeforeMcpCall | Event::AfterMcpCall) => Some("mcp_.*"),
        (_, Event::BeforeShell | Event::AfterShell) => Some("Bash"),
        (HookAgent::Codex, Event::AfterFileEdit) => Some("apply_patch"),
        (_, Event::AfterFileEdit) => Some("Edit|MultiEdit|Write"),
        (_, Event::BeforeMcpCall | Event::AfterMcpCall) => Some("mcp__"),
        _ => None,
    };
    (!name.is_empty()).then_some((name, matcher))
}

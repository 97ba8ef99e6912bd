//! What an installation makes able to run: servers, commands, hooks, scripts.

use capdeck_definition::capa::{CapabilityFile, CommandSpec, Endpoint, ToolKind, Value};

use super::content::{Content, HookAction};

/// Endings of files that are run rather than read.
const SCRIPTS: [&str; 11] =
    ["sh", "bash", "zsh", "fish", "py", "js", "mjs", "cjs", "ts", "rb", "ps1"];

/// One line each, nothing shortened.
pub(super) fn surface(file: &CapabilityFile, content: &Content) -> Vec<String> {
    let mut lines = declared(file);
    for hook in &content.hooks {
        let what = match &hook.action {
            HookAction::Command(command) => format!("runs {}", one_line(command)),
            HookAction::Prompt(_) => continue,
            HookAction::Script(content) => {
                format!("runs a script of {} lines", content.split(|byte| *byte == b'\n').count())
            }
        };
        lines.push(format!("hook `{}` {what}", hook.id));
    }
    for server in &content.server_definitions {
        lines.push(format!("server `{}` {}", server.id, one_line(&server.does)));
    }
    for skill in &content.skills {
        let is_script =
            |path: &str| path.rsplit_once('.').is_some_and(|(_, ending)| SCRIPTS.contains(&ending));
        for file in &skill.files {
            if file.is_program || is_script(&file.path) {
                lines.push(format!("skill `{}` brings {}", skill.id, file.path));
            }
        }
    }
    lines
}

/// What the file's own servers and tools run and reach.
fn declared(file: &CapabilityFile) -> Vec<String> {
    let mut lines = Vec::new();
    for server in &file.servers {
        let (what, values) = match &server.endpoint {
            Endpoint::Stdio(program) => {
                let words: Vec<&str> =
                    [&program.cmd].into_iter().chain(&program.args).map(String::as_str).collect();
                (format!("starts {}", one_line(&words.join(" "))), &program.env)
            }
            Endpoint::Remote(remote) => (format!("connects to {}", remote.url), &remote.headers),
        };
        lines.push(format!("server `{}` {what}", server.id));
        for value in values.values() {
            if let Value::FromCommand(words) = value {
                let words = one_line(&words.join(" "));
                lines.push(format!("server `{}` takes a value from {words}", server.id));
            }
        }
    }
    for tool in &file.tools {
        let mut push = |what: &str, command: &str| {
            lines.push(format!("tool `{}` {what} {}", tool.id, one_line(command)));
        };
        match &tool.kind {
            ToolKind::Command(command) => {
                if let Some(CommandSpec { cmd, .. }) = &command.init {
                    push("first runs", cmd);
                }
                push("runs", &command.run.cmd);
            }
            ToolKind::Mcp(tool) => {
                if let Some(formatter) = &tool.formatter {
                    push("passes results through", &formatter.cmd);
                }
            }
        }
    }
    lines
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

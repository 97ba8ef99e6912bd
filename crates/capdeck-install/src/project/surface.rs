//! What newly installed files make an agent able to run.

use super::content::{Content, HookAction};

/// Endings of files that are run rather than read.
const SCRIPTS: [&str; 11] =
    ["sh", "bash", "zsh", "fish", "py", "js", "mjs", "cjs", "ts", "rb", "ps1"];

/// One line per hook and per script of a skill.
pub(super) fn surface(content: &Content) -> Vec<String> {
    let mut lines = Vec::new();
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

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

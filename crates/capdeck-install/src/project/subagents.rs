//! Files that declare sub-agents.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{
    content::{ServerInstructions, SubagentContent, is_for, one_line},
    desired_files::{DesiredFiles, OwnFile},
    entries::{AgentEndpoints, subagent_key},
};
use crate::{
    edit::{ConfigDocument, DocumentStep, FileFormat},
    frontmatter::render_frontmatter,
    provider::{AgentProvider, McpFile, SubagentFiles, SubagentForm},
};

/// Adds the files of all providers.
pub(crate) fn add_subagents(
    desired: &mut DesiredFiles,
    project: &Path,
    subagents: &[SubagentContent],
    servers: ServerInstructions,
    endpoints: &AgentEndpoints,
    providers: &[&'static AgentProvider],
) {
    for provider in providers {
        let Some(files) = &provider.subagents else { continue };
        for subagent in subagents {
            if !is_for(subagent.providers.as_ref(), provider.id) {
                continue;
            }
            let ending = if files.form == SubagentForm::Codex { "toml" } else { "md" };
            let path = format!("{}/{}.{ending}", files.folder, subagent.id);
            let own_server = provider.mcp.as_ref().filter(|mcp| {
                mcp.has_subagent_entries
                    && servers == ServerInstructions::Connected
                    && subagent.has_view
            });
            let text = render(subagent, files, servers, own_server, endpoints);
            let file = OwnFile {
                content: text.into_bytes(),
                is_program: false,
                part_of: format!("sub-agent `{}`", subagent.id),
                unit: None,
            };
            desired.add_own(project, &path, file);
        }
    }
}

fn render(
    subagent: &SubagentContent,
    files: &SubagentFiles,
    servers: ServerInstructions,
    own_server: Option<&McpFile>,
    endpoints: &AgentEndpoints,
) -> String {
    let body = body(subagent, servers, own_server.is_some());
    let description = subagent.description.as_deref().unwrap_or(&subagent.id);
    let mut fields: Map<String, Value> = Map::new();
    fields.insert("name".to_owned(), json!(subagent.id));
    fields.insert("description".to_owned(), json!(description));
    match files.form {
        SubagentForm::Markdown { more } => {
            let head = render_frontmatter(&fields, "");
            let more: String = more.iter().map(|line| format!("{line}\n")).collect();
            let head = head.strip_suffix("---\n\n").unwrap_or(&head);
            format!("{head}{more}---\n\n{body}")
        }
        SubagentForm::OpenCode => {
            let head = render_frontmatter(&fields, "");
            let head = head.strip_suffix("---\n\n").unwrap_or(&head);
            let allowed = format!("{}_*", subagent_key(&subagent.id));
            let rights = match own_server {
                Some(_) => format!("permission:\n  \"{allowed}\": allow\n"),
                None => String::new(),
            };
            format!("{head}mode: subagent\n{rights}---\n\n{body}")
        }
        SubagentForm::Codex => {
            fields.insert("developer_instructions".to_owned(), json!(body));
            if let Some(mcp) = own_server {
                let entry = mcp.entry(&endpoints.view(&subagent.id));
                let key = subagent_key(&subagent.id);
                fields.insert(mcp.servers.to_owned(), json!({ key: entry }));
            }
            toml(&fields)
        }
    }
}

fn toml(fields: &Map<String, Value>) -> String {
    let Ok(mut document) = ConfigDocument::parse("", FileFormat::Toml) else {
        return String::new();
    };
    for (key, value) in fields {
        // Each is a text or a map of texts, which TOML can always hold.
        if document.set(&[DocumentStep::Key(key.clone())], value.clone()).is_err() {
            return String::new();
        }
    }
    document.text()
}

fn body(subagent: &SubagentContent, servers: ServerInstructions, has_server: bool) -> String {
    let mut text = String::new();
    let list = |items: &[(String, Option<String>)]| {
        let line = |(name, description): &(String, Option<String>)| match description {
            Some(description) => format!("- `{name}` — {}\n", one_line(description)),
            None => format!("- `{name}`\n"),
        };
        items.iter().map(line).collect::<String>()
    };
    if has_server {
        let key = subagent_key(&subagent.id);
        text.push_str(&format!("Your tools are those of the MCP server `{key}`.\n\n"));
    }
    if !subagent.skills.is_empty() {
        text.push_str(&format!("## Skills\n\n{}\n", list(&subagent.skills)));
    }
    if !subagent.tools.is_empty() {
        text.push_str(&format!("## Tools\n\n{}\n", list(&subagent.tools)));
        if !has_server && servers != ServerInstructions::Nothing {
            text.push_str("Each is a command of the shell too: `capdeck sh` lists them.\n\n");
        }
    }
    if let Some(instructions) = &subagent.instructions {
        text.push_str(instructions.trim());
        text.push('\n');
    }
    let trimmed = text.trim_end();
    if trimmed.is_empty() { String::new() } else { format!("{trimmed}\n") }
}

//! Where agents find us: the files that declare sub-agents, and our entries among an agent's MCP servers.

use capdeck_definition::one_line;
use serde_json::{Map, Value, json};

use super::{
    compose::FileComposer,
    content::{ServerInstructions, SubagentContent, is_for},
    desired_files::{DocumentPart, OwnFile},
};
use crate::{
    client::LaunchTarget,
    edit::{ConfigDocument, DocumentStep, FileFormat},
    frontmatter::render_frontmatter,
    provider::{AgentProvider, McpFile, SubagentFiles, SubagentForm},
};

const MAIN_KEY: &str = "capdeck";

/// Where agents find us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEndpoints {
    /// They start the program, in the project's folder.
    Program { command: String },
    /// They connect to a host that runs at this address.
    Host { base_url: String },
}

impl AgentEndpoints {
    /// What the main agent connects to, or a sub-agent with a view of its own. `file` is where the entry goes: an agent that
    /// fills in the folder that is open in it may start programs in another one.
    fn launch(&self, view: Option<&str>, file: &McpFile) -> LaunchTarget {
        match self {
            Self::Program { command } => {
                let view = view.iter().flat_map(|id| ["--view", id]);
                let project = file.project_word();
                let project = project.iter().flat_map(|word| ["--project", word]);
                let words = ["serve"].into_iter().chain(view).chain(project);
                let args = words.map(str::to_owned).collect();
                LaunchTarget::Program { command: command.clone(), args }
            }
            Self::Host { base_url } => {
                let base = base_url.trim_end_matches('/');
                let view = view.map(|id| format!("/views/{id}")).unwrap_or_default();
                LaunchTarget::Url { url: format!("{base}{view}/mcp"), command: MAIN_KEY.to_owned() }
            }
        }
    }
}

fn subagent_key(id: &str) -> String {
    format!("{MAIN_KEY}-{id}")
}

impl<'a> FileComposer<'a> {
    fn subagents_for(
        &self,
        provider: &'static AgentProvider,
    ) -> impl Iterator<Item = &'a SubagentContent> + use<'a> {
        let all = self.content.subagents.iter();
        all.filter(|subagent| is_for(subagent.providers.as_ref(), provider.id))
    }

    /// Adds the files that declare the sub-agents of all providers.
    pub(super) fn add_subagents(&mut self) {
        let servers = self.content.servers;
        for provider in self.providers {
            let Some(files) = &provider.subagents else { continue };
            for subagent in self.subagents_for(provider) {
                let ending = if files.form == SubagentForm::Codex { "toml" } else { "md" };
                let path = format!("{}/{}.{ending}", files.folder, subagent.id);
                let own_server = provider.mcp.as_ref().filter(|mcp| {
                    mcp.has_subagent_entries
                        && servers == ServerInstructions::Connected
                        && subagent.has_view
                });
                let text = render(subagent, files, servers, own_server, self.endpoints);
                self.own(&path, OwnFile::text(text, format!("sub-agent `{}`", subagent.id)));
            }
        }
    }

    /// Adds the entries of all providers, or sees to it that there are none.
    pub(super) fn add_entries(&mut self) {
        for provider in self.providers {
            let Some(file) = &provider.mcp else { continue };
            self.put_entry(
                file,
                file.servers(),
                MAIN_KEY,
                file.entry(&self.endpoints.launch(None, file)),
            );
            if !file.has_subagent_entries {
                continue;
            }
            let mut has_some = false;
            for subagent in self.subagents_for(provider).filter(|subagent| subagent.has_view) {
                has_some = true;
                let entry = file.entry(&self.endpoints.launch(Some(&subagent.id), file));
                self.put_entry(file, file.servers(), &subagent_key(&subagent.id), entry);
            }
            // The main agent leaves the tools of sub-agents to them.
            if has_some && provider.id == "opencode" {
                let tools = format!("{MAIN_KEY}-*_*");
                self.put_entry(file, "permission", &tools, json!("deny"));
            }
        }
    }

    fn put_entry(&mut self, file: &McpFile, map: &str, name: &str, value: Value) {
        let keys = vec![map.to_owned(), name.to_owned()];
        if self.content.servers == ServerInstructions::Connected {
            self.part(file.path(), DocumentPart::Entry { keys, value });
        } else if self.project.join(file.path()).exists() {
            self.part(file.path(), DocumentPart::Absent { keys, value });
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
    let head = render_frontmatter(&fields, "");
    let head = head.strip_suffix("---\n\n").unwrap_or(&head);
    match &files.form {
        SubagentForm::Markdown { more } => {
            let more: String = more.iter().map(|line| format!("{line}\n")).collect();
            format!("{head}{more}---\n\n{body}")
        }
        SubagentForm::OpenCode => {
            let key = subagent_key(&subagent.id);
            let rights = own_server.map(|_| format!("permission:\n  \"{key}_*\": allow\n"));
            let rights = rights.unwrap_or_default();
            format!("{head}mode: subagent\n{rights}---\n\n{body}")
        }
        SubagentForm::Codex => {
            fields.insert("developer_instructions".to_owned(), json!(body));
            if let Some(mcp) = own_server {
                let entry = mcp.entry(&endpoints.launch(Some(&subagent.id), mcp));
                let key = subagent_key(&subagent.id);
                fields.insert(mcp.servers().to_owned(), json!({ key: entry }));
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

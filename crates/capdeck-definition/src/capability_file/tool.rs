//! `tools`: tools of servers under names of their own, and commands.

use std::collections::HashSet;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{command_line, entry::EntryReader, names::without_at, repo::is_safe_path};
use crate::backend::number;

#[derive(Debug, Clone, PartialEq)]
pub struct ToolDeclaration {
    pub id: String,
    pub description: Option<String>,
    pub group: Option<String>,
    pub kind: ToolKind,
    /// The plugin that brought the tool, where another program wrote that down.
    pub source_plugin: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ToolKind {
    Mcp(McpTool),
    Command(CommandTool),
}

/// A tool of a server, chosen by the file.
#[derive(Debug, Clone, PartialEq)]
pub struct McpTool {
    /// The server's id, without `@`.
    pub server: String,
    /// The server's own name of the tool.
    pub tool: String,
    /// Arguments a caller need not give.
    pub defaults: Map<String, Value>,
    pub formatter: Option<ResultFormatter>,
}

/// A program that results are passed through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Formatter")]
pub struct ResultFormatter {
    /// A command line, run without a shell.
    #[schemars(length(min = 1))]
    pub cmd: String,
    /// How long it may take, in milliseconds.
    #[serde(default = "number::<3_000>", rename = "timeout")]
    #[schemars(range(min = 1))]
    pub timeout_ms: u64,
}

/// A command that is run for a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandTool {
    pub run: CommandSpec,
    /// Run once before the first call.
    pub init: Option<CommandSpec>,
}

// A command line with places for arguments.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Command", deny_unknown_fields)]
pub struct CommandSpec {
    // Taken apart once, then `{name}` is filled inside each word.
    /// A command line; `{name}` takes an argument.
    #[schemars(length(min = 1))]
    pub cmd: String,
    #[serde(default)]
    pub args: Vec<CommandArgument>,
    /// A folder below the project.
    #[schemars(length(min = 1))]
    pub dir: Option<String>,
    #[serde(default)]
    pub env: IndexMap<String, String>,
}

/// An argument of a command.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct CommandArgument {
    #[schemars(length(min = 1))]
    pub name: String,
    #[serde(rename = "type", default)]
    pub kind: ArgumentKind,
    pub description: Option<String>,
    /// Whether a caller must give it, unless there is a default.
    #[serde(default = "yes")]
    pub required: bool,
    #[serde(default)]
    pub default: Option<Value>,
    /// Whether a value may begin with `-` where the program could take it for an option.
    #[serde(default)]
    pub allow_leading_dash: bool,
}

/// The type of an argument.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ArgumentKind {
    #[default]
    String,
    Number,
    Boolean,
    Object,
    Array,
}

impl ToolDeclaration {
    /// The full name: `server.id`, `group.id`, or the id of a command without a group.
    pub fn qualified_name(&self) -> String {
        match (&self.kind, &self.group) {
            (ToolKind::Mcp(tool), _) => format!("{}.{}", tool.server, self.id),
            (ToolKind::Command(_), Some(group)) => format!("{group}.{}", self.id),
            (ToolKind::Command(_), None) => self.id.clone(),
        }
    }
}

/// One entry of `tools`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Tool", deny_unknown_fields)]
pub(super) struct ToolShape {
    #[schemars(length(min = 1))]
    id: String,
    #[serde(rename = "type")]
    kind: ToolType,
    def: ToolDef,
    description: Option<String>,
    /// Commands of one group are offered together.
    #[schemars(length(min = 1))]
    group: Option<String>,
    source_plugin: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ToolType {
    Mcp,
    Command,
}

/// `server` and `tool` of an MCP tool, or `run` of a command.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
struct ToolDef {
    /// The server's id, with or without `@`.
    server: Option<String>,
    /// The server's own name of the tool.
    tool: Option<String>,
    /// Arguments a caller need not give.
    #[serde(default)]
    defaults: Map<String, Value>,
    /// A program that results are passed through.
    formatter: Option<ResultFormatter>,
    run: Option<CommandSpec>,
    /// Run once before the first call.
    init: Option<CommandSpec>,
}

impl ToolShape {
    pub(super) fn read(self, entry: &mut EntryReader<'_>) -> Option<ToolDeclaration> {
        let mut entry = entry.below("def");
        let def = self.def;
        let kind = match self.kind {
            ToolType::Mcp => {
                let server = entry.needed(def.server, "mcp", "def.server");
                let tool = entry.needed(def.tool, "mcp", "def.tool");
                ToolKind::Mcp(McpTool {
                    server: without_at(&server?).to_owned(),
                    tool: tool?,
                    defaults: def.defaults,
                    formatter: def.formatter,
                })
            }
            ToolType::Command => {
                let run = entry.needed(def.run, "command", "def.run")?;
                run.check(&mut entry.below("run"));
                if let Some(init) = &def.init {
                    init.check(&mut entry.below("init"));
                }
                ToolKind::Command(CommandTool { run, init: def.init })
            }
        };
        Some(ToolDeclaration {
            id: self.id,
            description: self.description,
            group: self.group,
            kind,
            source_plugin: self.source_plugin,
        })
    }
}

impl CommandSpec {
    fn check(&self, entry: &mut EntryReader<'_>) {
        let what = entry.what;
        match command_line::split(&self.cmd) {
            Ok(words) => check_shell(&words, entry),
            Err(bad) => {
                entry.at("cmd").error("bad-command", format!("`cmd` of {what} {bad}"), bad.fix());
            }
        }
        if let Some(dir) = self.dir.as_ref().filter(|dir| !is_safe_path(dir)) {
            let shown: String = dir.chars().take(80).collect();
            let message = format!("`dir` of {what} leaves the project: `{shown}`");
            entry.at("dir").error("path-escapes", message, "use a relative path without `..`");
        }
        let names = entry.node.child("args");
        let mut known = HashSet::new();
        for (index, argument) in self.args.iter().enumerate() {
            if !known.insert(argument.name.as_str()) {
                let message = format!("{what} declares the argument `{}` twice", argument.name);
                let fix = "keep one of the two";
                entry.findings.at(names.item(index).place).error("duplicate-id", message, fix);
            }
        }
    }
}

/// Refuses arguments inside a shell's script: the caller would write the script.
fn check_shell(words: &[String], entry: &mut EntryReader<'_>) {
    let Some((program, arguments)) = words.split_first() else { return };
    if command_line::is_shell(program)
        && arguments.iter().any(|word| command_line::has_placeholder(word))
    {
        let what = entry.what;
        entry.at("cmd").error(
            "shell-placeholder",
            format!(
                "`cmd` of {what} puts arguments into the script of a shell, where they could run \
                 anything"
            ),
            "call the program itself, or put the script in a file that takes arguments",
        );
    }
}

fn yes() -> bool {
    true
}

//! `add mcp`: an MCP server.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::{AddCommonArgs, NewFileTarget, auth, program, variable};
use crate::{errors::CommandFailure, new_file::BackendBlock, plain_text::command_line};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck add mcp time --command uvx --arg mcp-server-time
  capdeck add mcp github --url https://api.githubcopilot.com/mcp --token-env GITHUB_TOKEN")]
pub(super) struct AddMcpArgs {
    #[command(flatten)]
    pub(super) common: AddCommonArgs,
    /// The program that is the server.
    #[arg(long, value_name = "PROGRAM", required_unless_present = "url", conflicts_with = "url")]
    command: Option<String>,
    /// One argument of the program; may be repeated.
    #[arg(long = "arg", value_name = "ARG", requires = "command", allow_hyphen_values = true)]
    args: Vec<String>,
    /// The folder the program works in.
    #[arg(long, value_name = "DIR", requires = "command")]
    cwd: Option<PathBuf>,
    /// A variable of the program: NAME=VALUE, or NAME to pass on yours; may be repeated.
    #[arg(long = "env", value_name = "NAME[=VALUE]", requires = "command")]
    env: Vec<String>,
    /// The address of a running server.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// How to talk to it; found out from the other flags by default.
    #[arg(long, value_parser = ["stdio", "http", "sse"])]
    transport: Option<String>,
    /// Send the token in this environment variable.
    #[arg(long, value_name = "NAME", requires = "url", value_parser = variable)]
    token_env: Option<String>,
}

impl AddMcpArgs {
    pub(super) fn block(&self, target: &NewFileTarget) -> Result<BackendBlock, CommandFailure> {
        let Self { common: _, command, args, cwd, env, url, transport, token_env } = self;
        let here = &target.here;
        let summary = match (command, url) {
            (Some(command), _) => {
                let words = args.iter().map(String::as_str);
                let line = command_line(std::iter::once(program(command, here)?).chain(words));
                format!("Tools of the MCP server started with `{line}`.")
            }
            (None, Some(url)) => format!("Tools of the MCP server at {url}."),
            (None, None) => return Err(CommandFailure::usage("name a --command or a --url")),
        };
        let pairs = env.iter().map(|pair| variable_pair(pair)).collect::<Result<Map<_, _>, _>>()?;
        let fields = json!({
            "transport": transport,
            "command": command,
            "args": (!args.is_empty()).then_some(args),
            "url": url,
            "env": (!pairs.is_empty()).then_some(pairs),
            "cwd": cwd.as_ref().map(|cwd| here.join(cwd)),
            "auth": token_env.as_deref().map(|name| auth(Some(name))),
        });
        Ok(BackendBlock { key: "mcpServer", fields, summary })
    }
}

/// `NAME=VALUE` as it is; a bare `NAME` passes on the person's own variable.
fn variable_pair(pair: &str) -> Result<(String, Value), CommandFailure> {
    let (name, value) = match pair.split_once('=') {
        Some((name, value)) => (name, value.to_owned()),
        None => (pair, format!("${{{pair}}}")),
    };
    let name = variable(name)
        .map_err(|_| CommandFailure::usage(format!("--env: `{pair}` is not NAME or NAME=VALUE")))?;
    Ok((name, json!(value)))
}

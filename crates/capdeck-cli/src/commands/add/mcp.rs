//! `add mcp`: an MCP server.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{AddCommonArgs, NewFileTarget, auth, program, variable};
use crate::{
    commands::misplaced::MisplacedSource, errors::CommandFailure, new_file::BackendBlock,
    plain_text::command_line,
};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  capdeck add mcp time -- uvx mcp-server-time
  capdeck add mcp notes --env NOTES_DIR=/notes -- npx -y @example/notes
  capdeck add mcp github --url https://api.githubcopilot.com/mcp --token-env GITHUB_TOKEN")]
pub(super) struct AddMcpArgs {
    #[command(flatten)]
    pub(super) common: AddCommonArgs,
    /// The program that is the server.
    #[arg(long, value_name = "PROGRAM", conflicts_with = "url")]
    command: Option<String>,
    /// One argument of the program; may be repeated.
    #[arg(long = "arg", value_name = "ARG", requires = "command", allow_hyphen_values = true)]
    args: Vec<String>,
    /// The folder the program works in.
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    cwd: Option<PathBuf>,
    /// A variable of the program: NAME=VALUE, or NAME to pass on yours; may be repeated.
    #[arg(long = "env", value_name = "NAME[=VALUE]", conflicts_with = "url")]
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
    /// The program that is the server, and its arguments, as in a shell.
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["command", "url"])]
    line: Vec<String>,
}

impl AddMcpArgs {
    pub(super) fn block(&self, target: &NewFileTarget) -> Result<BackendBlock, CommandFailure> {
        let Self { common: _, command, args, cwd, env, url, transport, token_env, line } = self;
        let here = &target.here;
        let (command, args) = match line.split_first() {
            Some((program, words)) => (Some(program), words),
            None => (command.as_ref(), args.as_slice()),
        };
        let summary = match (command, url) {
            (Some(command), _) => {
                let words = args.iter().map(String::as_str);
                let line = command_line(std::iter::once(program(command, here)?).chain(words));
                format!("Tools of the MCP server started with `{line}`.")
            }
            (None, Some(url)) => {
                refuse_document(url)?;
                format!("Tools of the MCP server at {url}.")
            }
            (None, None) => {
                let id = &self.common.id;
                return Err(CommandFailure::usage("name the program of the server, or its --url")
                    .hint(format!("as in: capdeck add mcp {id} -- uvx mcp-server-{id}")));
            }
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

/// The address of an API's description is not that of a server.
fn refuse_document(url: &str) -> Result<(), CommandFailure> {
    let is_document = |source: &MisplacedSource| source.is_for("add openapi");
    match MisplacedSource::recognise(url, Path::new("")).filter(is_document) {
        Some(misplaced) => Err(misplaced.into_failure(url, "an MCP server")),
        None => Ok(()),
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

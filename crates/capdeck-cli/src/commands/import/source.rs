//! Where the servers come from: an agent, a file, or stdin.

use std::{
    fs, io,
    io::{IsTerminal as _, Read as _},
    path::{Path, PathBuf},
};

use capdeck_definition::nearest;
use capdeck_install::{
    AgentClient, ClientEntryTarget, ClientInputs, ClientScope, ServerBlock, ServerBlocks,
    ServerBlocksError,
};

use crate::{
    commands::{CommandContext, misplaced::MisplacedSource},
    errors::CommandFailure,
    plain_text::{command_line, one_line},
};

/// What the first argument names.
#[derive(Debug)]
pub(super) enum ServerSource {
    Agent(&'static AgentClient),
    File(PathBuf),
    Stdin,
}

/// One file, or stdin, and the servers in it.
#[derive(Debug)]
pub(super) struct ReadSource {
    /// None for stdin.
    pub(super) file: Option<PathBuf>,
    /// None for what is no agent's file.
    pub(super) scope: Option<ClientScope>,
    pub(super) blocks: Vec<ServerBlock>,
    pub(super) inputs: ClientInputs,
}

/// More than any configuration has.
const MAX_CONFIG_BYTES: u64 = 32 << 20;

impl ServerSource {
    pub(super) fn parse(text: &str, context: &CommandContext<'_>) -> Result<Self, CommandFailure> {
        if text == "-" {
            return Ok(Self::Stdin);
        }
        if let Some(client) = AgentClient::find(text) {
            return Ok(Self::Agent(client));
        }
        let here = context.env.current_dir.clone().unwrap_or_default();
        let file = here.join(text);
        if file.is_file() {
            return Ok(Self::File(file));
        }
        Err(not_a_source(text, &here))
    }

    /// What is typed for it.
    pub(super) fn word(&self) -> String {
        match self {
            Self::Agent(client) => client.id.to_owned(),
            Self::File(file) => command_line([file.to_string_lossy().as_ref()]),
            Self::Stdin => "-".to_owned(),
        }
    }

    /// What it is called in messages.
    pub(super) fn title(&self) -> String {
        match self {
            Self::Agent(client) => client.name.to_owned(),
            Self::File(file) => file.display().to_string(),
            Self::Stdin => "stdin".to_owned(),
        }
    }
}

impl ReadSource {
    /// The file of one scope of an agent; none where there is no file.
    pub(super) fn agent_file(target: &ClientEntryTarget) -> Result<Option<Self>, CommandFailure> {
        let document = target.document()?;
        if !target.file.exists() {
            return Ok(None);
        }
        Ok(Some(Self {
            file: Some(target.file.clone()),
            scope: Some(target.scope),
            blocks: target.client.blocks(&document),
            inputs: ClientInputs::of_document(document.value()),
        }))
    }

    /// Any file with servers in it.
    pub(super) fn file(file: &Path) -> Result<Self, CommandFailure> {
        let failed = |error: io::Error| CommandFailure::file("read", file, &error);
        if fs::metadata(file).map_err(failed)?.len() > MAX_CONFIG_BYTES {
            let message = format!("`{}` is too large for a configuration file", file.display());
            return Err(CommandFailure::request("FILE_UNREADABLE", message));
        }
        let text = fs::read_to_string(file).map_err(failed)?;
        Self::parse(&text, Some(file))
    }

    /// What is pasted or piped in.
    pub(super) fn stdin(context: &CommandContext<'_>) -> Result<Self, CommandFailure> {
        if io::stdin().is_terminal() {
            context.printer.note("Paste the configuration, then press Ctrl-D on an empty line.");
        }
        let mut text = String::new();
        io::stdin().lock().take(MAX_CONFIG_BYTES).read_to_string(&mut text).map_err(|error| {
            CommandFailure::request("FILE_UNREADABLE", format!("cannot read stdin: {error}"))
        })?;
        Self::parse(&text, None)
    }

    fn parse(text: &str, file: Option<&Path>) -> Result<Self, CommandFailure> {
        let ServerBlocks { blocks, inputs } =
            ServerBlocks::parse(text, file).map_err(|error| no_servers(&error, file))?;
        Ok(Self { file: file.map(Path::to_owned), scope: None, blocks, inputs })
    }

    /// What it is called in messages.
    pub(super) fn title(&self) -> String {
        self.file.as_ref().map_or_else(|| "stdin".to_owned(), |file| file.display().to_string())
    }
}

/// An argument that is neither an agent nor a file. What another command takes is sent there.
fn not_a_source(text: &str, here: &Path) -> CommandFailure {
    if let Some(misplaced) = MisplacedSource::recognise(text, here) {
        return misplaced.into_failure(text, "an agent or a file with servers");
    }
    let shown = one_line(text);
    if text.contains("://") {
        let word = command_line([text]);
        return CommandFailure::usage(format!("`{shown}` is an address, not an agent or a file"))
            .hint(format!("add an MCP server with: capdeck add mcp ID --url {word}"));
    }
    if text.contains(['/', '.']) {
        let message = format!("there is no file `{}`", here.join(text).display());
        return CommandFailure::request("FILE_NOT_FOUND", message)
            .hint("name a file, an agent such as `cursor`, or `-` to paste the configuration");
    }
    let failure = CommandFailure::usage(format!("there is no agent `{shown}`, and no such file"));
    let ids = || AgentClient::all().iter().map(|client| client.id);
    let near =
        ids().find(|id| id.starts_with(&format!("{text}-"))).or_else(|| nearest(text, ids()));
    match near {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint("see the agents with: capdeck connect --list"),
    }
}

/// A text without servers.
fn no_servers(error: &ServerBlocksError, file: Option<&Path>) -> CommandFailure {
    let place = file.map_or_else(|| "stdin".to_owned(), |file| format!("`{}`", file.display()));
    let message = match error {
        ServerBlocksError::Syntax(_) => format!("{place} cannot be read: {error}"),
        _ => format!("no servers in {place}: {error}"),
    };
    let hint = match error {
        ServerBlocksError::Syntax(_) => "repair that place and run this again".to_owned(),
        ServerBlocksError::NoBlock => {
            "it needs a map such as {\"mcpServers\": {\"time\": {\"command\": \"uvx\", \
             \"args\": [\"mcp-server-time\"]}}}"
                .to_owned()
        }
        ServerBlocksError::OpenApi => {
            let document =
                file.map_or_else(|| "FILE".to_owned(), |file| file.display().to_string());
            format!(
                "add it with: capdeck add openapi ID --spec {}",
                command_line([document.as_str()])
            )
        }
        ServerBlocksError::Unnamed { command: Some(words), .. } => {
            let words = command_line(words.iter().map(String::as_str));
            format!("name it with: capdeck add mcp ID -- {words}")
        }
        ServerBlocksError::Unnamed { url, .. } => {
            let url = url.as_deref().unwrap_or("URL");
            format!("name it with: capdeck add mcp ID --url {}", command_line([url]))
        }
    };
    let failure = CommandFailure::request("NO_SERVERS", message).hint(hint);
    match error.place() {
        Some(place) => {
            CommandFailure { code: "FILE_UNREADABLE".into(), ..failure }.with_data(place)
        }
        None => failure,
    }
}

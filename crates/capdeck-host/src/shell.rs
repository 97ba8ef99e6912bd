//! The deck as shell commands: resolves the words of a command line.

use std::sync::Arc;

use capdeck_backend::{CallError, ErrorCode};
use capdeck_catalog::{
    Capability, CommandNames, CommandWords, Discovery, NameLookupError, RawMembers, Tool,
    command_word, shell_word, tool_by_word,
};
use capdeck_definition::{Backend, SourceLayer};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    RequestContext, calls, check, consent, deck_snapshot::DeckSnapshot, view::ResolvedName,
};

/// What the first words of a command line name.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ShellTarget {
    /// No word: every group, and the commands without a group.
    Everything(Vec<ShellGroup>, Vec<ShellCommand>),
    Group(ShellGroup, Vec<ShellCommand>),
    Tool(Box<ShellTool>),
}

/// A capability as a group of commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShellGroup {
    /// The word to type.
    pub command: String,
    pub capability: String,
    pub name: String,
    pub description: String,
    /// The number of tools; `None` while it is not known.
    pub tools: Option<usize>,
}

/// A tool as a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShellCommand {
    /// The word to type after the group's, quoted for a shell. A name that looks like a flag has
    /// its group in front: `group.-name`.
    pub command: String,
    pub tool: String,
    pub description: String,
}

/// One tool with everything a command line needs of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShellTool {
    pub capability: String,
    /// The words to type, such as `github create-issue`.
    pub command: String,
    /// The number of words that named it; the rest are its arguments.
    pub words: usize,
    pub definition: RawMembers,
    /// True when a call requires approval.
    pub asks: bool,
}

/// Resolves the words of `capdeck call`: `ID TOOL`, `ID.TOOL`, a name that agents see, or a tool's own name while only one
/// has it. Connects only when the tools of the capability are not known yet.
pub async fn find_call_target(
    request: &RequestContext<'_>,
    words: &[String],
) -> Result<ShellTool, CallError> {
    let CallTarget { id, tool, words } = locate(request, words)?;
    let capability = request.deck.capability(&id)?;
    let found = calls::find_tool(request, &capability, &tool).await?;
    let tool = found.ok_or_else(|| request.deck.unknown_tool(&capability, &tool))?;
    let asks = consent::is_asked_about(&request.deck, &capability, &tool).await?;
    Ok(ShellTool {
        command: format!("{id} {}", shell_word(tool.name())),
        capability: id,
        words,
        definition: tool.raw().clone(),
        asks,
    })
}

/// A capability and a tool, and the number of words that named them.
struct CallTarget {
    id: String,
    tool: String,
    words: usize,
}

fn locate(request: &RequestContext<'_>, words: &[String]) -> Result<CallTarget, CallError> {
    let deck = &request.deck;
    let (first, second) = match words {
        [first, second, ..] => (first.as_str(), Some(second.as_str())),
        [first] => (first.as_str(), None),
        [] => return Err(CallError::invalid_request("which tool?")),
    };
    let by_one_word = |(id, tool): (String, String)| CallTarget { id, tool, words: 1 };
    let dotted = first.split_once('.').filter(|(id, tool)| !id.is_empty() && !tool.is_empty());
    let second = second.filter(|word| !word.contains('='));
    // A project's capability file may know the first word: as `group.tool` or as a tool's bare id.
    let host_deck = request.host().deck();
    let file = host_deck.capability_file.as_ref().filter(|_| dotted.is_some() || second.is_none());
    if let Some((id, tool)) = file.and_then(|file| file.locate(first)) {
        return Ok(by_one_word((id.to_string(), tool)));
    }
    // Also an id that cannot be used: the error says why.
    let is_id = |id: &str| {
        let has_id = |one: &Arc<Capability>| one.definition.id.as_str() == id;
        deck.catalog().get(id).is_some() || deck.catalog().untrusted().iter().any(has_id)
    };
    match (dotted, second) {
        (Some((id, tool)), _) if is_id(id) => {
            return Ok(by_one_word((id.to_owned(), tool.to_owned())));
        }
        (None, Some(tool)) if is_id(first) => {
            return Ok(CallTarget { id: first.to_owned(), tool: tool.to_owned(), words: 2 });
        }
        (None, None) if is_id(first) => {
            return Err(CallError::invalid_request(format!("which tool of `{first}`?"))
                .hint(format!("see its tools with: capdeck tools {first}")));
        }
        _ => {}
    }
    let view = deck.view();
    let (mut several, mut nearest) = (None, None);
    for name in spellings(first) {
        match ResolvedName::of(&view, name) {
            ResolvedName::Tool(id, tool) => return Ok(by_one_word((id, tool))),
            ResolvedName::Several(names) => several = several.or(Some(names)),
            ResolvedName::Unknown { near } => nearest = nearest.or(near),
        }
    }
    if let Some(names) = several {
        return Err(ambiguous("several tools", first, &names));
    }
    if let (None, Some(near)) = (second, nearest) {
        let message = format!("there is no capability and no tool `{first}`");
        return Err(CallError::new(ErrorCode::ToolNotFound, message)
            .hint(format!("did you mean `{near}`?"))
            .data(json!({ "nearest": near })));
    }
    // The capability does not exist, and its error says so.
    let id = dotted.map_or(first, |(id, _)| id);
    Ok(CallTarget { id: id.to_owned(), tool: second.unwrap_or_default().to_owned(), words: 1 })
}

/// A name as agents show it, and the same without the name of the server that some put in front: `mcp__capdeck__NAME`,
/// `mcp_capdeck_NAME`, `capdeck__NAME`, `capdeck.NAME`.
fn spellings(name: &str) -> impl Iterator<Item = &str> {
    let own = |prefix: &str| {
        let rest = name.strip_prefix(prefix)?;
        rest.strip_prefix("__").or_else(|| rest.strip_prefix(['_', '.', '/', ':']))
    };
    let after_server = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    let shortened = [after_server.map(|(_, rest)| rest), own("mcp_capdeck"), own("capdeck")];
    [Some(name)].into_iter().chain(shortened).flatten()
}

/// Resolves the first two words at most. Connects only when a group's tools are not known yet.
pub async fn find_command(
    request: &RequestContext<'_>,
    words: &[String],
) -> Result<ShellTarget, CallError> {
    let names = CommandNames::from_catalog(request.deck.catalog());
    let tools = names.ungrouped_tools();
    let Some(first) = words.first() else {
        let groups = names.groups().map(|(word, capability)| group(word, capability));
        return Ok(ShellTarget::Everything(groups.collect(), commands(None, &tools)));
    };
    // A command of the project's file without a group is a word by itself.
    if let Some(ungrouped) = names.ungrouped()
        && names.group(first).is_err()
        && tool_by_word(&tools, first).is_ok()
    {
        return find_in(request, ungrouped, first, 1).await;
    }
    let capability = match (names.group(first), first.split_once('.')) {
        (Ok(capability), _) => capability,
        // `group.tool` in one word, as tools are named elsewhere.
        (Err(unfound), Some((id, tool))) => match names.group(id) {
            Ok(capability) => return find_in(request, capability, tool, 1).await,
            Err(_) => return Err(no_group(&request.deck, first, unfound)),
        },
        (Err(unfound), None) => return Err(no_group(&request.deck, first, unfound)),
    };
    match words.get(1) {
        Some(tool) => find_in(request, capability, tool, 2).await,
        None => {
            let known = offered(request, capability).await?;
            let word = names.word_of(capability.definition.id.as_str());
            let commands = commands(Some(&word), &known.tools);
            let group = ShellGroup { tools: Some(known.tools.len()), ..group(&word, capability) };
            Ok(ShellTarget::Group(group, commands))
        }
    }
}

async fn find_in(
    request: &RequestContext<'_>,
    capability: &Arc<Capability>,
    word: &str,
    words: usize,
) -> Result<ShellTarget, CallError> {
    let id = capability.definition.id.as_str();
    let known = offered(request, capability).await?;
    let tool = match tool_by_word(&known.tools, word) {
        Ok(tool) => tool.clone(),
        Err(NameLookupError::Ambiguous { names }) => {
            return Err(ambiguous(&format!("several tools of `{id}`"), word, &names));
        }
        // Resolved like any other call: the backend may have changed, or the tool may be blocked.
        Err(NameLookupError::Unknown { .. }) => match calls::find_tool(request, capability, word)
            .await
        {
            Ok(Some(tool)) => tool,
            Ok(None) => return Err(request.deck.unknown_tool(capability, word)),
            Err(error) => return Err(with_nearest_word(&request.deck, error, &known, id, word)),
        },
    };
    let asks = consent::is_asked_about(&request.deck, capability, &tool).await?;
    let names = CommandNames::from_catalog(request.deck.catalog());
    let tool_words = CommandWords::of_tools(&known.tools);
    let is_ungrouped = names.ungrouped().is_some_and(|one| one.definition.id.as_str() == id);
    Ok(ShellTarget::Tool(Box::new(ShellTool {
        capability: id.to_owned(),
        command: match words {
            1 if is_ungrouped => tool_words.get(tool.name()),
            _ => tool_words.after(&names.word_of(id), tool.name()),
        },
        words,
        definition: tool.raw().clone(),
        asks,
    })))
}

async fn offered(
    request: &RequestContext<'_>,
    capability: &Arc<Capability>,
) -> Result<Arc<Discovery>, CallError> {
    match &capability.discovery {
        Some(known) => Ok(known.clone()),
        None => check::check(request, capability.definition.id.as_str()).await.outcome,
    }
}

fn no_group(deck: &DeckSnapshot<'_>, word: &str, unfound: NameLookupError) -> CallError {
    match unfound {
        NameLookupError::Ambiguous { names } => ambiguous("several groups", word, &names),
        NameLookupError::Unknown { nearest } => {
            // A capability that cannot be used gives the reason.
            let id = unusable(deck, word).unwrap_or_else(|| word.to_owned());
            if let Err(error) = deck.capability(&id)
                && error.code != ErrorCode::ServerNotFound
            {
                return error;
            }
            let error =
                CallError::new(ErrorCode::ServerNotFound, format!("there is no group `{word}`"));
            match nearest {
                Some(near) => {
                    error.hint(format!("did you mean `{near}`?")).data(json!({ "nearest": near }))
                }
                None => error.hint("see what there is with: capdeck sh"),
            }
        }
    }
}

/// A capability that matches a word and cannot be used: by its id, or by a command of the project's
/// file.
fn unusable(deck: &DeckSnapshot<'_>, word: &str) -> Option<String> {
    let group = command_word(word.split_once('.').map_or(word, |(group, _)| group));
    let has_command = |one: &Capability| match &one.definition.backend {
        Backend::Cli(commands)
            if one.definition.source.layer == SourceLayer::ProjectCapabilityFile =>
        {
            commands.actions.keys().any(|name| command_word(name) == group)
        }
        _ => false,
    };
    let is_meant = |one: &&Arc<Capability>| {
        !one.is_usable() && (command_word(one.definition.id.as_str()) == group || has_command(one))
    };
    let meant = deck.catalog().capabilities().find(is_meant);
    meant.map(|one| one.definition.id.to_string())
}

fn with_nearest_word(
    deck: &DeckSnapshot<'_>,
    error: CallError,
    known: &Discovery,
    id: &str,
    word: &str,
) -> CallError {
    if error.code != ErrorCode::ToolNotFound {
        return error;
    }
    let error = CallError::new(ErrorCode::ToolNotFound, error.message);
    match tool_by_word(&known.tools, word) {
        Err(NameLookupError::Unknown { nearest: Some(near) }) => {
            error.hint(format!("did you mean `{near}`?")).data(json!({ "nearest": near }))
        }
        _ => {
            let group = CommandNames::from_catalog(deck.catalog()).word_of(id);
            error.hint(format!("see its tools with: capdeck sh {group}"))
        }
    }
}

fn group(word: &str, capability: &Capability) -> ShellGroup {
    let definition = &capability.definition;
    ShellGroup {
        command: word.to_owned(),
        capability: definition.id.to_string(),
        name: definition.name.clone(),
        description: definition.description.trim().to_owned(),
        tools: capability.discovery.as_ref().map(|known| known.tools.len()),
    }
}

fn commands(group: Option<&str>, tools: &[Arc<Tool>]) -> Vec<ShellCommand> {
    let words = CommandWords::of_tools(tools);
    let command = |tool: &Arc<Tool>| ShellCommand {
        command: match group.filter(|_| words.is_like_flag(tool.name())) {
            Some(group) => words.after(group, tool.name()),
            None => words.get(tool.name()),
        },
        tool: tool.name().to_owned(),
        description: tool.description().or_else(|| tool.title()).unwrap_or_default(),
    };
    tools.iter().map(command).collect()
}

fn ambiguous(what: &str, word: &str, names: &[String]) -> CallError {
    let list: Vec<String> = names.iter().map(|name| format!("`{}`", shell_word(name))).collect();
    CallError::invalid_request(format!("{what} are called `{word}`"))
        .hint(format!("write the name as it is, one of: {}", list.join(", ")))
        .data(json!({ "names": names }))
}

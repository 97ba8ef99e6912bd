//! The definitions that a capability file yields: one per server, and one per group of commands.

use std::{collections::HashMap, sync::Arc};

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::{
    CapabilityFile, CommandSpec, CommandTool, DeclaredValue as Given, ServerDeclaration,
    ServerEndpoint, ToolDeclaration, ToolExposure, ToolKind, command_line,
    read::ParsedCapabilityFile,
};
use crate::{
    ALLOW_LEADING_DASH, ActionSchemas, ActionText, Backend, BackendAuth, CapabilityId,
    CapabilityTailoring, ChosenTool, CliAction, CliCommand, CliTools, Definition, Exposure,
    McpServer, PlaceholderStyle, ProgramCommand, SourceLayer, ToolChoice,
    backend::cli::arguments_schema,
    diagnostic::TextPosition,
    parsed_file::{FileOrigin, LocatedDefinition},
    shape::{BlockFields, PresentationFields, ProjectBinding, SharedFields},
};

/// A command of a group, and where its entry is.
struct GroupCommand<'a> {
    tool: &'a ToolDeclaration,
    command: &'a CommandTool,
    place: TextPosition,
}

pub(super) fn define(
    reading: &ParsedCapabilityFile,
    origin: &FileOrigin<'_>,
) -> Vec<LocatedDefinition> {
    let file = &reading.file;
    let mut placed = Vec::new();
    for (server, place) in file.servers.iter().zip(&reading.server_places) {
        if let Some(id) = file.ids.servers.get(&server.id) {
            let definition = define_server(file, server, id.clone(), origin);
            placed.push(LocatedDefinition { definition, place: *place });
        }
    }
    let mut commands: HashMap<Option<&str>, Vec<GroupCommand<'_>>> = HashMap::new();
    for (tool, place) in file.tools.iter().zip(&reading.tool_places) {
        if let ToolKind::Command(command) = &tool.kind {
            let members = commands.entry(tool.group.as_deref()).or_default();
            members.push(GroupCommand { tool, command, place: *place });
        }
    }
    for (group, id) in &file.ids.groups {
        let members = commands.remove(&group.as_deref()).unwrap_or_default();
        placed.push(define_group(file, group.as_deref(), &members, id.clone(), origin));
    }
    placed
}

impl CapabilityFile {
    /// The tools that the file chooses of a server, its own or a plugin's.
    fn chosen_of(&self, server: &str) -> Vec<ChosenTool> {
        let chosen = self.tools_of(server).filter_map(|tool| match &tool.kind {
            ToolKind::Mcp(mcp) => Some(ChosenTool {
                id: tool.id.clone(),
                remote: mcp.tool.clone(),
                defaults: mcp.defaults.clone(),
                formatter: mcp.formatter.clone(),
            }),
            ToolKind::Command(_) => None,
        });
        chosen.collect()
    }

    /// A definition of the project's deck with the tools that this file chooses of it. Everything but a server that a plugin
    /// brought stays as it is.
    pub(crate) fn tailor(&self, definition: Definition) -> Definition {
        let is_file = definition.source.layer == SourceLayer::ProjectFile;
        let is_server = matches!(definition.backend, Backend::Mcp(_));
        let server = self.ids.of_plugins.get(&definition.id);
        let Some(server) = server.filter(|_| is_file && is_server) else { return definition };
        let tools = ToolChoice::Chosen(self.chosen_of(server));
        let tailoring = Arc::new(CapabilityTailoring { tools, ..CapabilityTailoring::default() });
        Definition { tailoring: Some(tailoring), ..definition }.with_fingerprint()
    }
}

fn define_server(
    file: &CapabilityFile,
    server: &ServerDeclaration,
    id: CapabilityId,
    origin: &FileOrigin<'_>,
) -> Definition {
    let chosen = file.chosen_of(&server.id);
    let tools = if chosen.is_empty() {
        ToolChoice::Policy(server.expose.clone())
    } else {
        ToolChoice::Chosen(chosen)
    };
    let mut tailoring = CapabilityTailoring { tools, ..CapabilityTailoring::default() };
    let mut backend = McpServer::default();
    match &server.endpoint {
        ServerEndpoint::Stdio(stdio) => {
            backend.command = Some(stdio.cmd.clone());
            backend.args.clone_from(&stdio.args);
            (backend.env, tailoring.env) = split_values(&stdio.env);
            // Even without `cwd` a server works in its project, not in the folder the host was started in.
            let folder = file.project_dir().join(stdio.cwd.as_deref().unwrap_or_default());
            backend.cwd = Some(folder.to_string_lossy().trim_end_matches('/').to_owned());
        }
        ServerEndpoint::Remote(remote) => {
            backend.url = Some(remote.url.clone());
            let (headers, from_elsewhere) = split_values(&remote.headers);
            match &remote.oauth {
                // A sign-in brings one header; the others go beside it.
                Some(oauth) => {
                    backend.auth = Some(BackendAuth::OAuth2(oauth.as_ref().clone()));
                    tailoring.headers.clone_from(&remote.headers);
                }
                None => {
                    backend.auth =
                        (!headers.is_empty()).then_some(BackendAuth::Headers { headers });
                    tailoring.headers = from_elsewhere;
                }
            }
        }
    }
    let name = server.display_name.clone().unwrap_or_else(|| server.id.clone());
    let description = server.description.clone().unwrap_or_else(|| describe(server));
    let shared = shared(file, name, description, false);
    origin.define(id, Backend::Mcp(backend), shared, Some(Arc::new(tailoring)))
}

/// What is written in the file, and what is taken from elsewhere.
fn split_values(
    values: &IndexMap<String, Given>,
) -> (IndexMap<String, String>, IndexMap<String, Given>) {
    let mut written = IndexMap::new();
    let mut elsewhere = IndexMap::new();
    for (name, value) in values {
        match value {
            Given::Text(text) => drop(written.insert(name.clone(), text.clone())),
            other => drop(elsewhere.insert(name.clone(), other.clone())),
        }
    }
    (written, elsewhere)
}

/// What a server is, as far as its entry tells. Arguments may hold secrets and are not shown.
fn describe(server: &ServerDeclaration) -> String {
    let id = &server.id;
    match &server.endpoint {
        ServerEndpoint::Stdio(stdio) => {
            let program = stdio.cmd.split_whitespace().next().unwrap_or_default();
            let program = program.rsplit(['/', '\\']).next().unwrap_or(program);
            format!("MCP server `{id}`, started with {program}")
        }
        ServerEndpoint::Remote(remote) => {
            let host = url::Url::parse(&remote.url).ok();
            match host.as_ref().and_then(url::Url::host_str) {
                Some(host) => format!("MCP server `{id}` at {host}"),
                None => format!("MCP server `{id}`"),
            }
        }
    }
}

fn define_group(
    file: &CapabilityFile,
    group: Option<&str>,
    members: &[GroupCommand<'_>],
    id: CapabilityId,
    origin: &FileOrigin<'_>,
) -> LocatedDefinition {
    let place = members.first().map(|member| member.place).unwrap_or_default();
    let actions: IndexMap<String, CliAction> = members
        .iter()
        .map(|GroupCommand { tool, command, .. }| {
            (tool.id.clone(), action(command, tool.description.clone()))
        })
        .collect();
    let names = actions.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let description = match group {
        Some(group) => format!("Commands of this project, group `{group}`: {names}"),
        None => format!("Commands of this project: {names}"),
    };
    let name = group.unwrap_or("commands").to_owned();
    let tools =
        CliTools { placeholders: PlaceholderStyle::Braces, ..CliTools::with_actions(actions) };
    let shared = shared(file, name, description, true);
    LocatedDefinition { definition: origin.define(id, Backend::Cli(tools), shared, None), place }
}

fn action(tool: &CommandTool, description: Option<String>) -> CliAction {
    CliAction {
        text: ActionText { description, ..ActionText::default() },
        schemas: ActionSchemas {
            input_schema: Some(input_schema(&tool.run)),
            ..ActionSchemas::default()
        },
        init: tool.init.as_ref().map(|init| Box::new(command(init))),
        program: command(&tool.run).program,
        ..CliAction::default()
    }
}

/// The words of a command line, taken apart once, so a value that is filled in later stays inside its word.
fn command(spec: &CommandSpec) -> CliCommand {
    // A line that cannot be taken apart was refused when it was read.
    let mut words = command_line::split(&spec.cmd).unwrap_or_default().into_iter();
    CliCommand {
        program: ProgramCommand {
            command: words.next().unwrap_or_default(),
            args: words.collect(),
            env: spec.env.clone(),
            cwd: spec.dir.clone(),
        },
        defaults: spec
            .args
            .iter()
            .filter_map(|argument| Some((argument.name.clone(), argument.default.clone()?)))
            .collect(),
    }
}

fn input_schema(spec: &CommandSpec) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for argument in &spec.args {
        let mut property = Map::new();
        property.insert("type".to_owned(), json!(argument.kind));
        if let Some(description) = &argument.description {
            property.insert("description".to_owned(), json!(description));
        }
        match &argument.default {
            Some(default) => drop(property.insert("default".to_owned(), default.clone())),
            None if argument.required => required.push(&argument.name),
            None => {}
        }
        if argument.allow_leading_dash {
            property.insert(ALLOW_LEADING_DASH.to_owned(), json!(true));
        }
        properties.insert(argument.name.clone(), Value::Object(property));
    }
    arguments_schema(properties, &required)
}

fn shared(file: &CapabilityFile, name: String, description: String, bound: bool) -> SharedFields {
    let exposure = file.options.tool_exposure.unwrap_or(ToolExposure::ExposeAll).exposure();
    SharedFields {
        name: Some(name),
        description: Some(description),
        presentation: PresentationFields {
            exposure: Some(exposure),
            ..PresentationFields::default()
        },
        block: BlockFields {
            project_binding: bound.then_some(ProjectBinding { required: true }),
            ..BlockFields::default()
        },
    }
}

impl ToolExposure {
    /// How capabilities are offered under this option.
    pub fn exposure(self) -> Exposure {
        match self {
            Self::ExposeAll => Exposure::Direct,
            Self::OnDemand => Exposure::OnDemand,
            Self::Search => Exposure::Search,
            Self::None => Exposure::None,
        }
    }
}

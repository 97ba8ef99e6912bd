//! What a definition would do on this machine, shown before a person agrees to it. Nothing is shortened.

use capdeck_definition::{
    Backend, BackendAuth, CapabilityTailoring, CliTools, CmpTool, Definition, HttpApi, HttpBlock,
    McpServer, NetworkAccess, SetupCommands, SetupStep, ToolChoice, capability_file::DeclaredValue,
};

use crate::plain_text::{command_line, one_line, written};

/// One line per program that would be started and per address that would be reached.
pub(crate) fn plan(definition: &Definition) -> Vec<String> {
    let mut lines = match &definition.backend {
        Backend::Mcp(server) => mcp(server),
        Backend::OpenApi(api) => {
            api_plan(api, [&api.spec_path, &api.spec_url], api.import.base_url.as_ref())
        }
        Backend::GoogleDiscovery(api) => {
            api_plan(api, [&api.discovery_path, &api.discovery_url], api.import.base_url.as_ref())
        }
        Backend::GraphQl(api) => {
            api_plan(api, [&api.schema_path, &api.schema_url], Some(&api.endpoint_url))
        }
        Backend::Http(api) => http(api),
        Backend::Cli(tools) => cli(tools),
        Backend::Cmp(tool) => cmp(tool),
        Backend::Caplets(set) => [&set.config_path, &set.caplets_root]
            .into_iter()
            .flatten()
            .map(|path| format!("reads definitions from {}", one_line(path)))
            .collect(),
        Backend::Capsules => vec!["reads and writes your capsules".to_owned()],
    };
    let passed: Vec<String> =
        definition.backend.pass_env().iter().map(|name| one_line(name.as_str())).collect();
    if !passed.is_empty() {
        lines.push(format!("its programs get these variables of yours: {}", passed.join(", ")));
    }
    lines.extend(definition.tailoring.iter().flat_map(|tailoring| tailored(tailoring)));
    if let Some(setup) = &definition.setup {
        lines.extend(setup_plan(setup));
    }
    lines
}

/// The steps of a set-up, in the order they would run.
pub(crate) fn setup_plan(setup: &SetupCommands) -> Vec<String> {
    let steps = |what: &str, steps: &[SetupStep]| {
        let line = |step: &SetupStep| {
            let program = program_line(&step.program.command, &step.program.args);
            let more = environment_text(step.program.cwd.as_deref(), &step.program.env);
            format!("{what}: {program} ({}){more}", one_line(&step.label))
        };
        steps.iter().map(line).collect::<Vec<_>>()
    };
    let mut lines = steps("set-up runs", &setup.commands);
    lines.extend(steps("set-up checks", &setup.verify));
    lines
}

/// A program with its arguments, as a shell would need them.
fn program_line(command: &String, args: &[String]) -> String {
    command_line(std::iter::once(command).chain(args).map(String::as_str))
}

fn mcp(server: &McpServer) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(command) = &server.command {
        let more = environment_text(server.cwd.as_deref(), &server.env);
        lines.push(format!("starts {}{more}", program_line(command, &server.args)));
    }
    if let Some(url) = &server.url {
        lines.push(format!("connects to {}", one_line(url)));
    }
    lines.extend(server.auth.as_ref().and_then(sign_in));
    lines
}

/// Where the description of an API comes from, where its requests go and what they carry.
fn api_plan(
    api: &impl HttpBlock,
    sources: [&Option<String>; 2],
    base_url: Option<&String>,
) -> Vec<String> {
    let line = |source: &String| format!("reads its description from {}", one_line(source));
    let mut lines: Vec<String> = sources.into_iter().flatten().map(line).collect();
    lines.extend(base_url.map(|url| format!("sends requests to {}", one_line(url))));
    lines.extend(private_network(api));
    lines.extend(sign_in(&api.requests().auth));
    lines
}

fn http(api: &HttpApi) -> Vec<String> {
    let base = api.base_url.trim_end_matches('/');
    let line = |(name, action): (&String, &capdeck_definition::HttpAction)| {
        let request = format!("{} {base}{}", written(action.method), action.path);
        format!("{name} sends {}", one_line(&request))
    };
    let mut lines: Vec<String> = api.actions.iter().map(line).collect();
    lines.extend(private_network(api));
    lines.extend(sign_in(&api.requests.auth));
    lines
}

/// Said only where requests may go further than usual.
fn private_network(api: &impl HttpBlock) -> Option<String> {
    let is_open = api.outgoing().network == NetworkAccess::Private;
    is_open.then(|| "may send requests to private networks and to this machine".to_owned())
}

fn cli(tools: &CliTools) -> Vec<String> {
    let line = |(name, action): (&String, &capdeck_definition::CliAction)| {
        let cwd = action.program.cwd.as_deref().or(tools.cwd.as_deref());
        let more = environment_text(cwd, tools.env.iter().chain(&action.program.env));
        format!("{name} runs {}{more}", program_line(&action.program.command, &action.program.args))
    };
    let init = |(name, action): (&String, &capdeck_definition::CliAction)| {
        let init = action.init.as_ref()?;
        let more = environment_text(init.program.cwd.as_deref(), &init.program.env);
        let program = program_line(&init.program.command, &init.program.args);
        Some(format!("{name} first runs {program}, once{more}"))
    };
    let mut lines: Vec<String> = tools.actions.iter().map(line).collect();
    lines.extend(tools.actions.iter().filter_map(init));
    lines
}

/// The programs and files that a capability file names beside a server.
fn tailored(tailoring: &CapabilityTailoring) -> Vec<String> {
    let mut lines = Vec::new();
    let values = tailoring.env.iter().chain(&tailoring.headers);
    for (name, value) in values {
        let from = match value {
            DeclaredValue::Text(_) => continue,
            DeclaredValue::FromEnv(variable) => format!("the variable {}", one_line(variable)),
            DeclaredValue::FromFile(path) => format!("the file {}", one_line(path)),
            DeclaredValue::FromCommand(words) => {
                format!("what is printed by {}", command_line(words.iter().map(String::as_str)))
            }
        };
        lines.push(format!("takes {} from {from}", one_line(name)));
    }
    if let ToolChoice::Chosen(tools) = &tailoring.tools {
        lines.extend(tools.iter().filter_map(|tool| {
            let formatter = tool.formatter.as_ref()?;
            let (tool, line) = (one_line(&tool.id), one_line(&formatter.cmd));
            Some(format!("passes results of {tool} through {line}"))
        }));
    }
    lines
}

fn cmp(tool: &CmpTool) -> Vec<String> {
    let first = tool.bin.as_ref().map_or_else(String::new, |bin| {
        format!(", programs of {} first", one_line(&bin.display().to_string()))
    });
    let line = |(name, intent): (&String, &capdeck_definition::CmpIntent)| {
        format!("{name} runs {}{first}", one_line(intent.command.text()))
    };
    tool.intents.iter().map(line).collect()
}

fn environment_text<'a>(
    cwd: Option<&str>,
    env: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> String {
    let mut text = String::new();
    let words: Vec<String> =
        env.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    if !words.is_empty() {
        text.push_str(&format!(", with {}", command_line(words.iter().map(String::as_str))));
    }
    if let Some(cwd) = cwd {
        text.push_str(&format!(", in {}", one_line(cwd)));
    }
    text
}

/// Which secret leaves the machine, named as the file names it.
fn sign_in(auth: &BackendAuth) -> Option<String> {
    match auth {
        BackendAuth::None {} => None,
        BackendAuth::Bearer { token } => Some(format!("sends the token {}", one_line(token))),
        BackendAuth::Headers { headers } => {
            let words: Vec<String> =
                headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            Some(format!("sends the headers {}", one_line(&words.join(", "))))
        }
        BackendAuth::OAuth2(_) | BackendAuth::Oidc(_) => {
            Some("signs in as you, once you agree".to_owned())
        }
    }
}

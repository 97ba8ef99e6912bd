//! What `doctor` finds in the configuration of agents: who is connected, and what of earlier set-ups is in the way.

use std::{
    fs,
    path::{Path, PathBuf},
};

use capdeck_install::{AgentClient, ClientEntryTarget, ClientFolders, is_capdeck};
use serde_json::Value;

use super::{DoctorFinding, examine::is_on_path};
use crate::{
    commands::{
        CommandContext,
        connect::{NAME, folders, targets},
    },
    plain_text::counted,
    settings::CommandSettings,
};

const CHECK: &str = "agents";

/// How many names of servers are listed in one finding.
const MAX_NAMES: usize = 5;

/// What one file of an agent has.
#[derive(Default)]
struct AgentFile {
    /// Programs that its entries for Capdeck start, each with the words after it.
    launches: Vec<(String, Vec<String>)>,
    has_capdeck: bool,
    others: Vec<String>,
}

/// One finding for all agents that are connected, and one for each thing to repair.
pub(super) fn agents(
    settings: &CommandSettings,
    context: &CommandContext<'_>,
) -> Vec<DoctorFinding> {
    let Ok(folders) = folders(settings, context) else { return Vec::new() };
    let (mut connected, mut unconnected) = (Vec::new(), Vec::new());
    let mut findings = Vec::new();
    for client in AgentClient::all() {
        let (mut is_connected, mut others) = (false, 0);
        for target in existing_files(client, &folders) {
            let file = match read(client, &target) {
                Ok(file) => file,
                Err(problem) => {
                    let fix = format!("repair {}", target.file.display());
                    findings.push(DoctorFinding::warning(CHECK, problem, fix));
                    continue;
                }
            };
            is_connected |= file.has_capdeck;
            others += file.others.len();
            findings.extend(stale_entries(client, &file, settings, context));
            if file.has_capdeck && !file.others.is_empty() {
                findings.push(servers_beside(client, &file.others));
            }
        }
        match is_connected {
            true => connected.push(client.id.to_owned()),
            false if others > 0 => {
                let servers = counted(others, "server", "servers");
                unconnected.push(format!("{} ({servers} of its own)", client.id));
            }
            false if client.is_installed(&folders) => unconnected.push(client.id.to_owned()),
            false => {}
        }
    }
    let mut message = match connected.as_slice() {
        [] => "none is connected".to_owned(),
        connected => format!("connected: {}", connected.join(", ")),
    };
    if !unconnected.is_empty() {
        message.push_str(&format!("; not connected: {}", unconnected.join(", ")));
    }
    findings.insert(0, DoctorFinding::ok(CHECK, message));
    findings
}

fn existing_files(
    client: &'static AgentClient,
    folders: &ClientFolders,
) -> impl Iterator<Item = ClientEntryTarget> {
    let targets = targets(client, None, NAME, folders).unwrap_or_default();
    targets.into_iter().filter(|target| target.file.is_file())
}

fn read(client: &AgentClient, target: &ClientEntryTarget) -> Result<AgentFile, String> {
    let document = target.document().map_err(|error| error.to_string())?;
    let mut file = AgentFile::default();
    for server in client.servers(&document) {
        let entry = document.get(&client.server_path(&document, &server.name));
        if !entry.is_some_and(is_capdeck) && server.name != NAME {
            file.others.push(server.name);
            continue;
        }
        file.has_capdeck = true;
        let Ok(fields) = server.server else { continue };
        if let Some(command) = fields.server.get("command").and_then(Value::as_str) {
            let words = fields.server.get("args").and_then(Value::as_array).into_iter().flatten();
            let words = words.filter_map(Value::as_str).map(str::to_owned).collect();
            file.launches.push((command.to_owned(), words));
        }
    }
    Ok(file)
}

/// Agents that still start servers which Capdeck could start for all of them.
fn servers_beside(client: &AgentClient, names: &[String]) -> DoctorFinding {
    let listed: Vec<&str> = names.iter().take(MAX_NAMES).map(String::as_str).collect();
    let more = if names.len() > MAX_NAMES { ", …" } else { "" };
    let servers = counted(names.len(), "server", "servers");
    DoctorFinding::warning(
        CHECK,
        format!("{} has {servers} beside capdeck: {}{more}", client.id, listed.join(", ")),
        format!("capdeck import {} --replace", client.id),
    )
}

/// Entries that start a program that is not there, or not this one, or with folders that are not there.
fn stale_entries(
    client: &AgentClient,
    file: &AgentFile,
    settings: &CommandSettings,
    context: &CommandContext<'_>,
) -> Vec<DoctorFinding> {
    let id = client.id;
    let warn = |message: String, fix: String| DoctorFinding::warning(CHECK, message, fix);
    let connect_again = || format!("capdeck connect {id}");
    let mut findings = Vec::new();
    for (command, words) in &file.launches {
        let path = Path::new(command);
        if path.is_absolute() {
            if !path.is_file() {
                findings.push(warn(
                    format!("{id} starts {command}, which is not there"),
                    connect_again(),
                ));
            } else if let Some(own) = &context.env.executable
                && real(path) != real(own)
            {
                let message = format!("{id} starts another capdeck than this one: {command}");
                findings.push(warn(message, connect_again()));
            }
        } else if !is_on_path(command, &settings.environment) {
            findings.push(warn(
                format!("{id} starts `{command}`, which is not on the PATH"),
                format!("{}, or put it on the PATH", connect_again()),
            ));
        }
        for flag in ["--config", "--project"] {
            let position = words.iter().position(|word| word == flag);
            let folder = position.and_then(|position| words.get(position + 1));
            let is_missing = |folder: &&String| {
                Path::new(folder.as_str()).is_absolute() && !Path::new(folder.as_str()).is_dir()
            };
            if let Some(folder) = folder.filter(is_missing) {
                findings.push(warn(
                    format!("{id} starts capdeck with {flag} {folder}, which is not there"),
                    connect_again(),
                ));
            }
        }
    }
    findings
}

fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

//! From content to files: what each agent's places shall hold.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{
    AgentEndpoints,
    content::{InstallContent, PluginCopy},
    desired_files::{DesiredFiles, DocumentPart, OwnFile, format_of, place_in},
    entries::add_entries,
    hooks::add_hooks,
    manifest::ProjectState,
    rules::add_rules,
    subagents::add_subagents,
};
use crate::{
    edit::{ConfigDocument, DocumentStep, FileFormat},
    provider::AgentProvider,
};

/// The file for instructions when no agent has one of its own.
const DEFAULT_INSTRUCTIONS: &str = "AGENTS.md";

/// The folder of a project's own deck.
const DECK: &str = ".capdeck";

/// Every file of every provider.
pub(crate) fn compose(
    project: &Path,
    state: &ProjectState,
    content: &InstallContent,
    endpoints: &AgentEndpoints,
    providers: &[&'static AgentProvider],
) -> DesiredFiles {
    let mut desired = DesiredFiles::default();
    add_skills(&mut desired, project, content, providers);
    add_instructions(&mut desired, project, content, providers);
    add_rules(&mut desired, project, &content.rules, content.rule_conflicts, providers);
    add_gemini_context(&mut desired, project, providers);
    add_hooks(&mut desired, project, state, &content.hooks, providers);
    let subagents = &content.subagents;
    add_subagents(&mut desired, project, subagents, content.servers, endpoints, providers);
    add_entries(&mut desired, project, subagents, content.servers, endpoints, providers);
    add_plugins(&mut desired, project, content);
    desired
}

/// Gemini reads `GEMINI.md` alone until its settings name another file. A setting of the person's that names ours stays.
fn add_gemini_context(
    desired: &mut DesiredFiles,
    project: &Path,
    providers: &[&'static AgentProvider],
) {
    let gemini = providers.iter().find(|provider| provider.id == "gemini-cli");
    let Some((file, mcp)) = gemini.and_then(|one| one.instructions.zip(one.mcp.as_ref())) else {
        return;
    };
    let is_it = |place: &std::path::PathBuf| place.file_name().is_some_and(|name| name == file);
    if !desired.shared.keys().any(is_it) {
        return;
    }
    let value = json!([file, "GEMINI.md"]);
    let keys = ["context", "fileName"].map(str::to_owned).to_vec();
    let text = fs::read_to_string(project.join(mcp.path)).unwrap_or_default();
    let current = ConfigDocument::parse(&text, FileFormat::Json).ok().and_then(|document| {
        document.get(&[DocumentStep::from("context"), DocumentStep::from("fileName")]).cloned()
    });
    let names_it = match &current {
        Some(Value::String(name)) => name == file,
        Some(Value::Array(names)) => names.iter().any(|name| name == file),
        _ => false,
    };
    if !names_it || current.as_ref() == Some(&value) {
        let part = DocumentPart::Entry { keys, value };
        desired.add_part(project, mcp.path, format_of(mcp.path), part);
    }
}

/// What plugins run: copies of their files, and their servers as definitions of the project's deck.
fn add_plugins(desired: &mut DesiredFiles, project: &Path, content: &InstallContent) {
    for PluginCopy { id, dir, files } in &content.plugin_copies {
        for file in files {
            let own = OwnFile {
                content: file.content.clone(),
                is_program: file.is_program,
                part_of: format!("plugin `{id}`"),
                unit: None,
            };
            desired.add_own_at(dir.join(&file.path), own);
        }
    }
    for server in &content.server_definitions {
        let own = OwnFile {
            content: server.text.clone().into_bytes(),
            is_program: false,
            part_of: format!("server `{}`", server.id),
            unit: None,
        };
        desired.add_own(project, &format!("{DECK}/{}.md", server.id), own);
    }
}

fn add_skills(
    desired: &mut DesiredFiles,
    project: &Path,
    content: &InstallContent,
    providers: &[&'static AgentProvider],
) {
    for provider in providers {
        for skill in &content.skills {
            let folder = format!("{}/{}", provider.skills, skill.id);
            for file in &skill.files {
                let own = OwnFile {
                    content: file.content.clone(),
                    is_program: file.is_program,
                    part_of: format!("skill `{}`", skill.id),
                    unit: place_in(project, &folder).ok(),
                };
                desired.add_own(project, &format!("{folder}/{}", file.path), own);
            }
        }
    }
}

fn add_instructions(
    desired: &mut DesiredFiles,
    project: &Path,
    content: &InstallContent,
    providers: &[&'static AgentProvider],
) {
    if content.instructions.is_empty() {
        return;
    }
    let mut files: Vec<&str> =
        providers.iter().filter_map(|provider| provider.instructions).collect();
    files.sort_unstable();
    files.dedup();
    if files.is_empty() {
        files.push(DEFAULT_INSTRUCTIONS);
    }
    for file in files {
        desired.add_blocks(project, file, content.instructions.clone());
    }
}

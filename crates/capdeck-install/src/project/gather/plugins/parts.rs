//! Skills, commands, agents and rules of a plugin: Markdown files in folders of known names.

use capdeck_definition::capability_file::is_safe_path;
use serde_json::{Map, Value, json};

use super::{PluginFolder, PluginParts, slug};
use crate::{
    frontmatter::{MarkdownFrontmatter, render_frontmatter},
    project::content::{InstallContent, RuleContent, SkillContent, SubagentContent},
    source::FolderFile,
};

/// Fields of an agent's frontmatter that other agents know, too.
const COMMON_FIELDS: [&str; 2] = ["name", "description"];

pub(super) fn add_skills(
    taken: &mut PluginParts<'_>,
    plugin: &PluginFolder,
    files: &[FolderFile],
    content: &mut InstallContent,
) {
    for (id, folder) in skill_folders(plugin, files) {
        if !taken.is_free("skill", &id, content.skills.iter().map(|skill| &skill.id)) {
            continue;
        }
        let own: Vec<FolderFile> = files
            .iter()
            .filter_map(|file| {
                let path = file.path.strip_prefix(&folder)?.to_owned();
                Some(FolderFile { path, ..file.clone() })
            })
            .collect();
        content.skills.push(SkillContent { id, description: description_of(&own), files: own });
    }
    for file in markdown_in(files, "commands/") {
        let id = slug(stem(&file.path));
        if !taken.is_free("skill", &id, content.skills.iter().map(|skill| &skill.id)) {
            continue;
        }
        let text = String::from_utf8_lossy(&file.content);
        let command = MarkdownFrontmatter::parse(&text);
        let description = command.text("description").map_or_else(
            || format!("The command `{id}` of the plugin `{}`", plugin.id),
            str::to_owned,
        );
        let mut fields: Map<String, Value> = Map::new();
        fields.insert("name".to_owned(), json!(id));
        fields.insert("description".to_owned(), json!(description));
        let skill = FolderFile {
            path: "SKILL.md".to_owned(),
            content: render_frontmatter(&fields, command.body).into_bytes(),
            is_program: false,
        };
        content.skills.push(SkillContent {
            id,
            description: Some(description),
            files: vec![skill],
        });
    }
}

pub(super) fn add_agents(
    taken: &mut PluginParts<'_>,
    files: &[FolderFile],
    content: &mut InstallContent,
) {
    for file in markdown_in(files, "agents/") {
        let text = String::from_utf8_lossy(&file.content);
        let agent = MarkdownFrontmatter::parse(&text);
        let id = slug(agent.text("name").unwrap_or(stem(&file.path)));
        if !taken.is_free("sub-agent", &id, content.subagents.iter().map(|subagent| &subagent.id)) {
            continue;
        }
        let dropped: Vec<&str> = agent
            .fields
            .keys()
            .map(String::as_str)
            .filter(|key| !COMMON_FIELDS.contains(key))
            .collect();
        if !dropped.is_empty() {
            let names = dropped.join(", ");
            taken.warn(format!("fields of the sub-agent `{id}` are ignored: {names}"));
        }
        content.subagents.push(SubagentContent {
            description: agent.text("description").map(str::to_owned),
            skills: Vec::new(),
            tools: Vec::new(),
            instructions: Some(agent.body.trim().to_owned()),
            providers: None,
            has_view: false,
            id,
        });
    }
}

pub(super) fn add_rules(
    taken: &mut PluginParts<'_>,
    files: &[FolderFile],
    content: &mut InstallContent,
) {
    for file in markdown_in(files, "rules/") {
        let id = slug(stem(&file.path));
        if !taken.is_free("rule", &id, content.rules.iter().map(|rule| &rule.id)) {
            continue;
        }
        let text = String::from_utf8_lossy(&file.content).into_owned();
        let head = MarkdownFrontmatter::parse(&text);
        let globs = ["globs", "paths", "applyTo"].iter().find_map(|key| head.fields.get(*key));
        let applies_to = match globs {
            Some(Value::String(list)) => list
                .split(',')
                .map(str::trim)
                .filter(|glob| !glob.is_empty())
                .map(str::to_owned)
                .collect(),
            Some(Value::Array(list)) => {
                list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        };
        content.rules.push(RuleContent {
            applies_to,
            description: head.text("description").map(str::to_owned),
            always_apply: head.fields.get("alwaysApply").and_then(Value::as_bool),
            visibility: None,
            providers: None,
            text: head.body.to_owned(),
            id,
        });
    }
}

/// Ids and folders of skills: those the manifest names, those in `skills/`, or the plugin itself.
fn skill_folders(plugin: &PluginFolder, files: &[FolderFile]) -> Vec<(String, String)> {
    let mut folders = vec!["skills/".to_owned()];
    let named: Vec<&str> = match plugin.manifest.get("skills") {
        Some(Value::String(path)) => vec![path],
        Some(Value::Array(paths)) => paths.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    for path in named {
        let path = path.trim_start_matches("./").trim_end_matches('/');
        if is_safe_path(path) && path != "skills" {
            folders.push(format!("{path}/"));
        }
    }
    let mut found: Vec<(String, String)> = Vec::new();
    for file in files {
        let Some(folder) = file.path.strip_suffix("SKILL.md") else { continue };
        let is_listed = folders.iter().any(|listed| folder.starts_with(listed.as_str()));
        let is_inside = found.iter().any(|(_, known)| folder.starts_with(known.as_str()));
        if let (true, false, Some(name)) =
            (is_listed, is_inside, folder.trim_end_matches('/').rsplit('/').next())
        {
            found.push((slug(name), folder.to_owned()));
        }
    }
    if found.is_empty() && files.iter().any(|file| file.path == "SKILL.md") {
        found.push((plugin.id.clone(), String::new()));
    }
    found
}

fn markdown_in<'a>(
    files: &'a [FolderFile],
    folder: &'a str,
) -> impl Iterator<Item = &'a FolderFile> {
    files.iter().filter(move |file| {
        let name = file.path.strip_prefix(folder);
        name.is_some_and(|name| {
            !name.contains('/') && (name.ends_with(".md") || name.ends_with(".mdc"))
        })
    })
}

fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn description_of(files: &[FolderFile]) -> Option<String> {
    let skill = files.iter().find(|file| file.path == "SKILL.md")?;
    let text = String::from_utf8_lossy(&skill.content);
    MarkdownFrontmatter::parse(&text).text("description").map(str::to_owned)
}

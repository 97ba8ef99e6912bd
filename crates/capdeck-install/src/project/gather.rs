//! Fetching and reading everything that a capability file declares. All problems are collected; nothing is written but
//! caches.

mod origin;
mod plugins;

use std::{
    fs,
    path::{Path, PathBuf},
};

use capdeck_definition::capa::{
    Agents, CapabilityFile, Hook, HookBody, Repo, RepoTarget, Skill, SkillKind, Subagent,
    TextSource, Tool, ToolExposure,
};
use origin::Origins;

use super::{
    Fetch, Problem,
    blocks::Block,
    content::{Content, HookAction, HookContent, RuleContent, Servers, SubagentContent},
    pins::{Pins, Section},
};
use crate::{
    frontmatter::Frontmatter,
    git::Git,
    project::content::SkillContent,
    provider::Provider,
    source::{FolderFile, find_file, find_skill, inside, read_folder},
};

/// What may happen to pins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinUse {
    /// What is pinned stays; what is new is pinned.
    Keep,
    /// Everything moves to what is newest.
    Update,
    /// Nothing may be new.
    Frozen,
}

/// The ways to content.
#[derive(Clone, Copy)]
pub(crate) struct SourceAccess<'a> {
    pub(crate) git: &'a Git,
    pub(crate) fetch: &'a dyn Fetch,
    pub(crate) cache_dir: &'a Path,
}

/// Everything that was found, with what is wrong.
#[derive(Debug)]
pub(crate) struct Gathered {
    pub(crate) content: Content,
    pub(crate) pins: Pins,
    pub(crate) problems: Vec<Problem>,
}

/// Reads all sections of a file. `project` is its real folder; plugins are taken apart for `providers`.
pub(crate) fn gather(
    file: &CapabilityFile,
    project: &Path,
    ways: SourceAccess<'_>,
    pins: &Pins,
    pin_use: PinUse,
    providers: &[&'static Provider],
    plugin_dir: &Path,
) -> Gathered {
    let mut gathering = ContentGatherer {
        project,
        plugin_dir,
        origins: Origins::new(ways, pins, pin_use),
        problems: Vec::new(),
    };
    let mut content = Content {
        skills: gathering.skills(&file.skills),
        rule_conflicts: file.options.rule_conflicts,
        ..Content::default()
    };
    if let Some(agents) = &file.agents {
        content.instructions = gathering.instructions(agents);
    }
    for rule in &file.rules {
        let about = format!("rule `{}`", rule.id);
        if let Some(text) = gathering.text(Section::Rule, &rule.id, &about, &rule.source) {
            content.rules.push(RuleContent {
                id: rule.id.clone(),
                text,
                applies_to: rule.applies_to.clone(),
                description: rule.description.clone(),
                always_apply: rule.always_apply,
                visibility: rule.visibility,
                providers: rule.providers.clone(),
            });
        }
    }
    for hook in &file.hooks {
        if let Some(action) = gathering.hook(hook) {
            content.hooks.push(HookContent {
                id: hook.id.clone(),
                event: hook.event.clone(),
                action,
                matcher: hook.matcher.clone(),
                timeout_seconds: hook.timeout_seconds,
                fail_closed: hook.fail_closed,
                providers: hook.providers.clone(),
            });
        }
    }
    gathering.plugins(file, providers, &mut content);
    let declared: Vec<_> = file.subagents.iter().map(|one| subagent(one, file, &content)).collect();
    // What the file declares wins over what a plugin brings under the same id.
    content.subagents.retain(|one| !declared.iter().any(|known| known.id == one.id));
    content.subagents.splice(0..0, declared);
    content.servers = servers(file, &content);
    let ContentGatherer { origins, problems, .. } = gathering;
    Gathered { content, pins: origins.into_pins(), problems }
}

struct ContentGatherer<'a> {
    project: &'a Path,
    /// Where copies of plugins are kept.
    plugin_dir: &'a Path,
    origins: Origins<'a>,
    problems: Vec<Problem>,
}

impl ContentGatherer<'_> {
    fn instructions(&mut self, agents: &Agents) -> Vec<Block> {
        let base = agents.base.as_ref().map(|source| ("__base__", source));
        let snippets = agents.additional.iter().map(|one| (one.id.as_str(), &one.source));
        let mut blocks = Vec::new();
        for (id, source) in base.into_iter().chain(snippets) {
            let about = format!("instructions `{id}`");
            if let Some(text) = self.text(Section::Snippet, id, &about, source) {
                blocks.push(Block::new(id, &text));
            }
        }
        blocks
    }

    /// A hook whose body cannot be had is left out; only what it holds can stop a run.
    fn hook(&mut self, hook: &Hook) -> Option<HookAction> {
        let about = format!("hook `{}`", hook.id);
        match &hook.body {
            HookBody::Command(command) => Some(HookAction::Command(command.clone())),
            HookBody::Prompt(prompt) => Some(HookAction::Prompt(prompt.clone())),
            HookBody::Sourced { source: TextSource::Local { path }, is_prompt: false } => {
                let file = inside(self.project, path);
                match file.map(|file| file.is_file()) {
                    Ok(true) => Some(HookAction::Command(format!("./{}", relative(path)))),
                    Ok(false) => self.leave_out(&about, format!("`{path}` is not a file")),
                    Err(error) => self.leave_out(&about, error.to_string()),
                }
            }
            HookBody::Sourced { source, is_prompt } => {
                let errors = self.problems.len();
                let text = self.text(Section::Hook, &hook.id, &about, source);
                for problem in self.problems.iter_mut().skip(errors) {
                    problem.severity = capdeck_definition::Severity::Warning;
                }
                if text.is_none() {
                    self.origins.keep_pin(Section::Hook, |pin| pin.id == hook.id);
                }
                text.map(|text| match is_prompt {
                    true => HookAction::Prompt(text),
                    false => HookAction::Script(text.into_bytes()),
                })
            }
        }
    }

    fn leave_out(&mut self, about: &str, message: String) -> Option<HookAction> {
        let message = format!("{message}, so it is left out");
        self.problems.push(Problem::warning("bad-source", about, message));
        None
    }
}

/// A path without what leads nowhere, for a command line.
fn relative(path: &str) -> &str {
    let mut path = path;
    while let Some(rest) = path.strip_prefix("./") {
        path = rest.trim_start_matches('/');
    }
    path
}

fn subagent(declared: &Subagent, file: &CapabilityFile, content: &Content) -> SubagentContent {
    let skill = |id: &String| {
        let installed = content.skills.iter().find(|skill| skill.id == *id);
        let listed = file.skills.iter().find(|skill| skill.id == *id);
        let description = listed
            .and_then(|skill| skill.description.clone())
            .or_else(|| installed.and_then(|skill| skill.description.clone()))
            .or_else(|| listed.and_then(|skill| inline_description(&skill.kind)));
        (id.clone(), description)
    };
    let tool = |reference: &String| match file.tool(reference) {
        Some(tool) => (Tool::qualified_name(tool).to_string(), tool.description.clone()),
        None => (reference.trim_start_matches('@').to_owned(), None),
    };
    SubagentContent {
        id: declared.id.clone(),
        description: declared.description.clone(),
        skills: declared.skills.iter().map(skill).collect(),
        tools: declared.tools.iter().map(tool).collect(),
        instructions: declared.instructions.clone(),
        providers: declared.providers.clone(),
        has_view: true,
    }
}

fn inline_description(kind: &SkillKind) -> Option<String> {
    match kind {
        SkillKind::Inline { content } => {
            Frontmatter::parse(content).text("description").map(str::to_owned)
        }
        _ => None,
    }
}

fn servers(file: &CapabilityFile, content: &Content) -> Servers {
    let has_any = !file.servers.is_empty()
        || !file.tools.is_empty()
        || !file.subagents.is_empty()
        || !content.server_definitions.is_empty();
    match file.options.tool_exposure {
        _ if !has_any => Servers::Nothing,
        Some(ToolExposure::None) => Servers::ShellOnly,
        _ => Servers::Connected,
    }
}

/// Reads a file of the project.
fn read_local(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))
}

/// The largest text of one rule, hook or snippet.
const MAX_LOCAL_TEXT_BYTES: usize = 1 << 20;

impl ContentGatherer<'_> {
    /// The text that a source leads to. None is a problem that has been noted.
    fn text(
        &mut self,
        section: Section,
        id: &str,
        about: &str,
        source: &TextSource,
    ) -> Option<String> {
        let bytes = match source {
            TextSource::Inline { content } => Ok(content.clone().into_bytes()),
            TextSource::Remote { url } => self.origins.remote(section, id, about, url),
            TextSource::Local { path } => inside(self.project, path)
                .map_err(|error| error.to_string())
                .and_then(|file| read_local(&file))
                .map_err(|message| Problem::error("bad-source", about, message)),
            TextSource::Git(repo) => {
                let read = self.origins.snapshot(section, id, about, repo).and_then(|root| {
                    let found = match &repo.target {
                        RepoTarget::Named(name) => find_file(&root, name),
                        RepoTarget::Path(path) => inside(&root, path),
                        RepoTarget::Root => inside(&root, "README.md"),
                    };
                    found
                        .map_err(|error| error.to_string())
                        .and_then(|file| read_local(&file))
                        .map_err(|message| Problem::error("bad-source", about, message))
                });
                read.and_then(|bytes| {
                    self.origins.check_body(section, id, about, &bytes).map(|()| bytes)
                })
            }
        };
        let text = bytes.and_then(|bytes| {
            let refused = |message| Problem::error("bad-source", about, message);
            if bytes.len() > MAX_LOCAL_TEXT_BYTES {
                return Err(refused("it is larger than 1 MB"));
            }
            String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8 text"))
        });
        match text {
            Ok(text) => Some(text),
            Err(problem) => {
                self.problems.push(problem);
                None
            }
        }
    }
}

impl ContentGatherer<'_> {
    fn skills(&mut self, declared: &[Skill]) -> Vec<SkillContent> {
        let mut skills = Vec::new();
        for skill in declared {
            let about = format!("skill `{}`", skill.id);
            let files = match &skill.kind {
                SkillKind::Inline { content } => Ok(one_file(content.clone().into_bytes())),
                SkillKind::Local { path } => self.local(path, &about),
                SkillKind::Remote { url } => {
                    self.origins.remote(Section::RemoteSkill, &skill.id, &about, url).map(one_file)
                }
                SkillKind::Git(repo) => self.in_repo(&skill.id, repo, &about),
                SkillKind::Installed | SkillKind::Plugin => continue,
            };
            match files {
                Ok(files) => skills.push(self.skill(skill, files, &about)),
                Err(problem) => self.problems.push(problem),
            }
        }
        skills
    }

    fn local(&self, path: &str, about: &str) -> Result<Vec<FolderFile>, Problem> {
        let folder = if Path::new(path).is_absolute() {
            Ok(PathBuf::from(path))
        } else {
            inside(self.project, path).map_err(|error| error.to_string())
        };
        folder
            .and_then(|folder| skill_files(&folder))
            .map_err(|message| Problem::error("bad-source", about, message))
    }

    fn in_repo(&mut self, id: &str, repo: &Repo, about: &str) -> Result<Vec<FolderFile>, Problem> {
        let root = self.origins.snapshot(Section::Skill, id, about, repo)?;
        let folder = match &repo.target {
            RepoTarget::Named(name) => find_skill(&root, name),
            RepoTarget::Path(path) => inside(&root, path),
            RepoTarget::Root => Ok(root),
        };
        folder
            .map_err(|error| error.to_string())
            .and_then(|place| match place.is_file() {
                true => read_local(&place).map(one_file),
                false => skill_files(&place),
            })
            .map_err(|message| {
                Problem::error("bad-source", about, format!("{}: {message}", repo.name))
            })
    }

    fn skill(&mut self, declared: &Skill, files: Vec<FolderFile>, about: &str) -> SkillContent {
        let text = files.iter().find(|file| file.path == "SKILL.md");
        let text = text.map(|file| String::from_utf8_lossy(&file.content).into_owned());
        let text = text.unwrap_or_default();
        let head = Frontmatter::parse(&text);
        if head.text("name").is_none() {
            self.problems.push(
                Problem::warning(
                    "unnamed-skill",
                    about,
                    "its SKILL.md has no `name` in its frontmatter, so agents may not find it",
                )
                .with_hint("begin it with: ---, name: …, description: …, ---"),
            );
        }
        let own = head.text("description").map(str::to_owned);
        SkillContent {
            id: declared.id.clone(),
            description: declared.description.clone().or(own),
            files,
        }
    }
}

/// The files of a folder that must be a skill.
pub(in crate::project) fn skill_files(folder: &Path) -> Result<Vec<FolderFile>, String> {
    let files = read_folder(folder).map_err(|error| error.to_string())?;
    if files.iter().any(|file| file.path == "SKILL.md") {
        Ok(files)
    } else {
        Err(format!("`{}` holds no SKILL.md", folder.display()))
    }
}

fn one_file(content: Vec<u8>) -> Vec<FolderFile> {
    vec![FolderFile { path: "SKILL.md".to_owned(), content, is_program: false }]
}

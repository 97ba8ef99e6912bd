//! Fetching and reading everything that a capability file declares. All problems are collected; nothing is written but
//! caches.

mod content_origins;
mod plugins;

use std::path::{Path, PathBuf};

use capdeck_definition::capability_file::{
    AgentInstructions, CapabilityFile, ContentSource, HookBody, HookDeclaration, RepoReference,
    RepoTarget, SkillDeclaration, SkillKind, SubagentDeclaration, ToolDeclaration, ToolExposure,
};
use content_origins::ContentOrigins;

use super::{
    FetchError, InstallProblem,
    blocks::MarkerBlock,
    content::{
        HookAction, HookContent, InstallContent, RuleContent, ServerInstructions, SubagentContent,
    },
    pins::{PinSection, SourcePins},
};
use crate::{
    frontmatter::MarkdownFrontmatter,
    git::GitClient,
    project::content::SkillContent,
    provider::AgentProvider,
    source::{FolderFile, SourceError, find_file, find_skill, inside, read_file, read_folder},
};

/// The largest text of one rule, hook or snippet.
const MAX_LOCAL_TEXT_BYTES: usize = 1 << 20;

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

/// How content is fetched.
#[derive(Clone, Copy)]
pub(crate) struct SourceAccess<'a> {
    pub(crate) git: &'a GitClient,
    pub(crate) fetch: &'a dyn Fn(&str) -> Result<Vec<u8>, FetchError>,
    pub(crate) cache_dir: &'a Path,
}

/// Reads all sections of a file: what was found, what is pinned now, and what is wrong. `project` is its real folder;
/// plugins are taken apart for `providers`.
pub(crate) fn gather(
    file: &CapabilityFile,
    project: &Path,
    access: SourceAccess<'_>,
    pins: &SourcePins,
    pin_use: PinUse,
    providers: &[&'static AgentProvider],
    plugin_dir: &Path,
) -> (InstallContent, SourcePins, Vec<InstallProblem>) {
    let mut gathering = ContentGatherer {
        project,
        plugin_dir,
        origins: ContentOrigins::new(access, pins, pin_use),
        problems: Vec::new(),
    };
    let mut content = InstallContent {
        skills: gathering.skills(&file.skills),
        rule_conflicts: file.options.rules.conflicts,
        ..InstallContent::default()
    };
    if let Some(agents) = &file.agents {
        content.instructions = gathering.instructions(agents);
    }
    for rule in &file.rules {
        if let Some(text) = gathering.text(PinSection::Rule, &rule.id, &rule.source) {
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
    gathering.problems.extend(unrequired_tools(file));
    gathering.plugins(file, providers, &mut content);
    let declared: Vec<_> = file.subagents.iter().map(|one| subagent(one, file, &content)).collect();
    // What the file declares wins over what a plugin brings under the same id.
    content.subagents.retain(|one| !declared.iter().any(|known| known.id == one.id));
    content.subagents.splice(0..0, declared);
    content.servers = servers(file, &content);
    let ContentGatherer { origins, problems, .. } = gathering;
    (content, origins.into_pins(), problems)
}

struct ContentGatherer<'a> {
    project: &'a Path,
    /// Where copies of plugins are kept.
    plugin_dir: &'a Path,
    origins: ContentOrigins<'a>,
    problems: Vec<InstallProblem>,
}

impl ContentGatherer<'_> {
    fn instructions(&mut self, agents: &AgentInstructions) -> Vec<MarkerBlock> {
        let base = agents.base.as_ref().map(|source| ("__base__", source));
        let snippets = agents.additional.iter().map(|one| (one.id.as_str(), &one.source));
        let mut blocks = Vec::new();
        for (id, source) in base.into_iter().chain(snippets) {
            if let Some(text) = self.text(PinSection::Snippet, id, source) {
                blocks.push(MarkerBlock::new(id, &text));
            }
        }
        blocks
    }

    /// A hook whose body cannot be had is left out; only what it holds can stop a run.
    fn hook(&mut self, hook: &HookDeclaration) -> Option<HookAction> {
        match &hook.body {
            HookBody::Command(command) => Some(HookAction::Command(command.clone())),
            HookBody::Prompt(prompt) => Some(HookAction::Prompt(prompt.clone())),
            HookBody::Sourced { source: ContentSource::Local { path }, is_prompt: false } => {
                let file = inside(self.project, path);
                match file.map(|file| file.is_file()) {
                    Ok(true) => Some(HookAction::Command(format!("./{}", relative(path)))),
                    Ok(false) => self.skip_hook(hook, format!("`{path}` is not a file")),
                    Err(error) => self.skip_hook(hook, error.to_string()),
                }
            }
            HookBody::Sourced { source, is_prompt } => {
                let errors = self.problems.len();
                let text = self.text(PinSection::Hook, &hook.id, source);
                for problem in self.problems.iter_mut().skip(errors) {
                    problem.severity = capdeck_definition::DiagnosticSeverity::Warning;
                }
                if text.is_none() {
                    let ContentOrigins { pins, pinned, .. } = &mut self.origins;
                    pins.keep_pin(pinned, PinSection::Hook, |pin| pin.id == hook.id);
                }
                text.map(|text| match is_prompt {
                    true => HookAction::Prompt(text),
                    false => HookAction::Script(text.into_bytes()),
                })
            }
        }
    }

    fn skip_hook(&mut self, hook: &HookDeclaration, message: String) -> Option<HookAction> {
        let (about, message) =
            (PinSection::Hook.about(&hook.id), format!("{message}, so it is left out"));
        self.problems.push(InstallProblem::warning("bad-source", about, message));
        None
    }

    /// The text that a source leads to. None is a problem that is reported.
    fn text(&mut self, section: PinSection, id: &str, source: &ContentSource) -> Option<String> {
        let bad_source = |error: SourceError| InstallProblem::bad_source(section.about(id), error);
        let bytes = match source {
            ContentSource::Inline { content } => Ok(content.clone().into_bytes()),
            ContentSource::Remote { url } => self.origins.remote(section, id, url),
            ContentSource::Local { path } => {
                inside(self.project, path).and_then(|file| read_file(&file)).map_err(bad_source)
            }
            ContentSource::Git(repo) => {
                let read = self.origins.snapshot(section, id, repo).and_then(|root| {
                    let found = match &repo.target {
                        RepoTarget::Named(name) => find_file(&root, name),
                        RepoTarget::Path(path) => inside(&root, path),
                        RepoTarget::Root => inside(&root, "README.md"),
                    };
                    found.and_then(|file| read_file(&file)).map_err(bad_source)
                });
                read.and_then(|bytes| self.origins.check_body(section, id, &bytes).map(|()| bytes))
            }
        };
        let text = bytes.and_then(|bytes| {
            let refused = |why: &str| bad_source(SourceError(why.to_owned()));
            if bytes.len() > MAX_LOCAL_TEXT_BYTES {
                return Err(refused("it is larger than 1 MB"));
            }
            String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8 text"))
        });
        text.map_err(|problem| self.problems.push(problem)).ok()
    }

    fn skills(&mut self, declared: &[SkillDeclaration]) -> Vec<SkillContent> {
        let mut skills = Vec::new();
        for skill in declared {
            let files = match &skill.kind {
                SkillKind::Inline { content } => Ok(one_file(content.clone().into_bytes())),
                SkillKind::Local { path } => {
                    let folder = match Path::new(path).is_absolute() {
                        true => Ok(PathBuf::from(path)),
                        false => inside(self.project, path),
                    };
                    let files = folder.and_then(|folder| skill_files(&folder));
                    files.map_err(|error| {
                        InstallProblem::bad_source(PinSection::Skill.about(&skill.id), error)
                    })
                }
                SkillKind::Remote { url } => {
                    self.origins.remote(PinSection::RemoteSkill, &skill.id, url).map(one_file)
                }
                SkillKind::Git(repo) => self.in_repo(&skill.id, repo),
                SkillKind::Installed | SkillKind::Plugin => continue,
            };
            match files {
                Ok(files) => skills.push(self.skill(skill, files)),
                Err(problem) => self.problems.push(problem),
            }
        }
        skills
    }

    fn in_repo(
        &mut self,
        id: &str,
        repo: &RepoReference,
    ) -> Result<Vec<FolderFile>, InstallProblem> {
        let root = self.origins.snapshot(PinSection::Skill, id, repo)?;
        let folder = match &repo.target {
            RepoTarget::Named(name) => find_skill(&root, name),
            RepoTarget::Path(path) => inside(&root, path),
            RepoTarget::Root => Ok(root),
        };
        folder
            .and_then(|place| match place.is_file() {
                true => read_file(&place).map(one_file),
                false => skill_files(&place),
            })
            .map_err(|error| format!("{}: {error}", repo.name))
            .map_err(|why| InstallProblem::bad_source(PinSection::Skill.about(id), why))
    }

    fn skill(&mut self, declared: &SkillDeclaration, files: Vec<FolderFile>) -> SkillContent {
        let text = files.iter().find(|file| file.path == "SKILL.md");
        let text = text.map(|file| String::from_utf8_lossy(&file.content).into_owned());
        let text = text.unwrap_or_default();
        let head = MarkdownFrontmatter::parse(&text);
        if head.text("name").is_none() {
            let about = PinSection::Skill.about(&declared.id);
            let message =
                "its SKILL.md has no `name` in its frontmatter, so agents may not find it";
            let problem = InstallProblem::warning("unnamed-skill", about, message);
            self.problems
                .push(problem.with_hint("begin it with: ---, name: …, description: …, ---"));
        }
        let own = head.text("description").map(str::to_owned);
        SkillContent {
            id: declared.id.clone(),
            description: declared.description.clone().or(own),
            files,
        }
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

fn subagent(
    declared: &SubagentDeclaration,
    file: &CapabilityFile,
    content: &InstallContent,
) -> SubagentContent {
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
        Some(tool) => (ToolDeclaration::qualified_name(tool).to_string(), tool.description.clone()),
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
            MarkdownFrontmatter::parse(content).text("description").map(str::to_owned)
        }
        _ => None,
    }
}

fn servers(file: &CapabilityFile, content: &InstallContent) -> ServerInstructions {
    let has_any = !file.servers.is_empty()
        || !file.tools.is_empty()
        || !file.subagents.is_empty()
        || !content.server_definitions.is_empty();
    match file.options.tool_exposure {
        _ if !has_any => ServerInstructions::Nothing,
        Some(ToolExposure::None) => ServerInstructions::ShellOnly,
        _ => ServerInstructions::Connected,
    }
}

/// The files of a folder that must be a skill.
fn skill_files(folder: &Path) -> Result<Vec<FolderFile>, SourceError> {
    let files = read_folder(folder)?;
    if files.iter().any(|file| file.path == "SKILL.md") {
        Ok(files)
    } else {
        Err(SourceError(format!("`{}` holds no SKILL.md", folder.display())))
    }
}

fn one_file(content: Vec<u8>) -> Vec<FolderFile> {
    vec![FolderFile { path: "SKILL.md".to_owned(), content, is_program: false }]
}

/// How many tools a message names.
const MAX_NAMED_TOOLS: usize = 6;

/// A warning about tools that no skill leads to.
fn unrequired_tools(file: &CapabilityFile) -> Option<InstallProblem> {
    let tools = file.unrequired_tools();
    let named: Vec<String> =
        tools.iter().take(MAX_NAMED_TOOLS).map(|name| format!("`{name}`")).collect();
    let more = match tools.len().saturating_sub(MAX_NAMED_TOOLS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!tools.is_empty()).then(|| {
        let message = format!("no skill requires {}{more}", named.join(", "));
        InstallProblem::warning("unrequired-tools", "tools", message).with_hint(
            "agents are offered them all the same; name them under `requires` of the skill that uses them, so that setting up the skill is enough",
        )
    })
}

//! A deck: everything read from its roots, broken parts included.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use capdeck_storage::sha256_hex;

use crate::{
    Backend, CapabilityFile, CapabilityId, DeckConfig, DeckProject, DeckRoot, Definition,
    DefinitionSource, Diagnostic, NetworkAccess, RootOwner, SourceFile, SourceFormat, SourceLayer,
    capability_file::ToolExposure,
    cmp,
    deck_defaults::{DeckDefaults, open_private_networks},
    load::LoadedFiles,
    parsed_file::{self, LocatedDefinition},
    project::{hash_line, skill_lines, variables_line},
    rules::PRIVATE_ADDRESS,
    set,
    shape::config_file::ConfigOptions,
};

/// Everything read from a deck's roots. Reading never fails as a whole.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Deck {
    /// In order of precedence, the lowest first; an id may repeat, and the last one wins.
    ///
    /// The members of a set follow it directly, so a reader that replaces a set can drop what came with it.
    pub definitions: Vec<Arc<Definition>>,
    /// What could not be used.
    pub quarantined: Vec<QuarantinedItem>,
    pub config: DeckConfig,
    /// The options without any project's, for as long as the project is not trusted.
    pub user_config: DeckConfig,
    /// Every problem found, in the order files were read.
    pub diagnostics: Vec<Diagnostic>,
    /// SHA-256 over the names and contents of every file read for a project, sets included. Keys the person's trust.
    pub project_hash: Option<String>,
    /// The project's capability file. Like everything of a project it counts for nothing until that is trusted.
    pub capability_file: Option<Arc<CapabilityFile>>,
    /// The folders and files whose change means: read again.
    pub watched: Vec<PathBuf>,
}

/// A capability, or a whole file, that is left out because of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantinedItem {
    /// The id it would have had; for a config file that cannot be read at all, the file's name.
    pub id: String,
    pub source: DefinitionSource,
    /// The first error's message.
    pub reason: String,
}

impl Deck {
    /// Reads the roots, the lowest precedence first. Nothing but definition files is touched.
    pub fn read(roots: &[DeckRoot]) -> Self {
        Self::open(roots, None)
    }

    /// Reads the person's roots and, above them, a project: its capability file, then its roots.
    pub fn open(user_roots: &[DeckRoot], project: Option<&DeckProject>) -> Self {
        let mut assembly = DeckBuilder::default();
        for root in user_roots {
            assembly.add_root(root);
        }
        if let Some(project) = project {
            assembly.add_project(project);
        }
        assembly.finish()
    }

    /// Opens private networks to the project's APIs, as far as their files do not say otherwise.
    pub fn open_private_networks(&mut self) {
        let of_project = |one: &&mut Arc<Definition>| one.source.layer.needs_trust();
        self.definitions.iter_mut().filter(of_project).for_each(open_private_networks);
        self.drop_answered_warnings();
    }

    /// A private address is no finding once its deck opens private networks.
    fn drop_answered_warnings(&mut self) {
        let definitions = &self.definitions;
        self.diagnostics.retain(|found| {
            found.code != PRIVATE_ADDRESS
                || !definitions.iter().any(|one| {
                    one.source.path == found.file
                        && one.backend.network() == Some(NetworkAccess::Private)
                })
        });
    }

    /// Builds a deck from texts that are already in memory, such as one that is built in.
    pub fn from_sources(files: Vec<SourceFile>) -> Self {
        let mut assembly = DeckBuilder::default();
        let (project, user): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|file| file.layer.needs_trust());
        for (files, owner) in [(user, RootOwner::User), (project, RootOwner::Project)] {
            let scope = LoadScope { owner, ..LoadScope::of_project(Path::new("")) };
            assembly.add(LoadedFiles { files, ..LoadedFiles::default() }, &scope);
        }
        assembly.finish()
    }
}

/// The origin of files: whose they are, in which set, and through which folders that set was reached.
#[derive(Debug, Clone)]
pub(crate) struct LoadScope {
    pub(crate) owner: RootOwner,
    pub(crate) member_of: Option<CapabilityId>,
    /// How many sets are around these files.
    pub(crate) depth: usize,
    /// The real paths being read right now. Meeting one again is a cycle.
    pub(crate) chain: Vec<PathBuf>,
    /// Project files are hashed by their path below this, so that the hash survives a move.
    pub(crate) base: PathBuf,
}

impl LoadScope {
    pub(crate) fn of_project(dir: &Path) -> Self {
        let chain = Vec::new();
        Self { owner: RootOwner::Project, member_of: None, depth: 0, chain, base: dir.to_owned() }
    }

    pub(crate) fn of_root(root: &DeckRoot) -> Self {
        let chain = root.dir.canonicalize().into_iter().collect();
        let base = root.dir.parent().unwrap_or(Path::new("")).to_owned();
        Self { owner: root.owner, member_of: None, depth: 0, chain, base }
    }
}

/// Whether a capability file may name variables, whose values the project's `.env` may set.
fn takes_variables(file: &SourceFile) -> bool {
    file.text.as_ref().is_ok_and(|text| text.contains("${"))
}

/// A deck while it is put together.
#[derive(Debug, Default)]
pub(crate) struct DeckBuilder {
    deck: Deck,
    has_project: bool,
    /// One line per file read for a project: its name and the hash of its contents.
    project_lines: Vec<String>,
    /// How many files all sets brought in.
    set_files: usize,
    defaults: DeckDefaults,
}

impl DeckBuilder {
    pub(crate) fn add_root(&mut self, root: &DeckRoot) {
        let loaded = match root.owner {
            RootOwner::User | RootOwner::Project => {
                LoadedFiles::root(&root.dir, root.owner.layers())
            }
            RootOwner::CmpTools => LoadedFiles::cmp_tools(&root.dir),
            RootOwner::CmpTool => LoadedFiles::cmp_tool(&root.dir),
        };
        let scope = LoadScope::of_root(root);
        if root.owner == RootOwner::Project {
            self.has_project = true;
            self.project_lines.extend(skill_lines(&root.dir, &scope.base));
        }
        self.add(loaded, &scope);
    }

    pub(crate) fn add_project(&mut self, project: &DeckProject) {
        let loaded = LoadedFiles::capability_file_of(&project.dir);
        if loaded.files.iter().any(takes_variables) {
            self.project_lines.extend(variables_line(&project.dir));
        }
        let scope = LoadScope::of_project(&project.dir);
        self.add(loaded, &scope);
        for root in &project.roots {
            self.add_root(root);
        }
    }

    /// Parses files and adds what they yield, sets with their members.
    pub(crate) fn add(&mut self, loaded: LoadedFiles, scope: &LoadScope) {
        self.deck.watched.extend(loaded.watched);
        self.deck.diagnostics.extend(loaded.diagnostics);
        let in_scope = |mut entry: QuarantinedItem| {
            if let Some(set) = &scope.member_of {
                entry.id = format!("{set}__{}", entry.id);
            }
            entry
        };
        self.deck.quarantined.extend(loaded.quarantined.into_iter().map(in_scope));
        let mut definitions = Vec::new();
        for file in &loaded.files {
            if scope.owner == RootOwner::Project {
                self.has_project = true;
                let content = match &file.text {
                    Ok(text) => sha256_hex(text.as_bytes()),
                    Err(problem) => format!("unread {}", problem.code),
                };
                self.project_lines.push(hash_line(&file.path, &scope.base, &content));
            }
            let parsed = parsed_file::parse(file, scope.member_of.as_ref());
            self.deck.diagnostics.extend(parsed.diagnostics);
            self.deck.quarantined.extend(parsed.quarantined);
            definitions.extend(parsed.definitions);
            if let Some(file) = parsed.capability_file {
                let chosen = file.options.tool_exposure.map(ToolExposure::exposure);
                self.deck.config.exposure = chosen.or(self.deck.config.exposure);
                self.defaults
                    .add_variables(&file.options.pass_env, SourceLayer::ProjectCapabilityFile);
                self.deck.capability_file = Some(Arc::new(file));
            }
            // The options of a set's own config apply inside the set only.
            if file.format == SourceFormat::Config && scope.member_of.is_none() {
                self.configure(parsed.options.as_ref(), file.layer);
            }
        }
        self.deck.diagnostics.extend(cmp::disambiguate_ids(&mut definitions));
        for placed in self.without_repeats(definitions) {
            self.define(placed, scope);
        }
    }

    pub(crate) fn report(&mut self, diagnostic: Diagnostic) {
        self.deck.diagnostics.push(diagnostic);
    }

    pub(crate) fn finish(mut self) -> Deck {
        for definition in &mut self.deck.definitions {
            self.defaults.apply(definition);
        }
        self.deck.drop_answered_warnings();
        self.project_lines.sort();
        let hash = || sha256_hex(self.project_lines.concat().as_bytes());
        self.deck.project_hash = self.has_project.then(hash);
        self.deck.watched.sort();
        self.deck.watched.dedup();
        self.deck
    }

    fn configure(&mut self, options: Option<&ConfigOptions>, layer: SourceLayer) {
        if let Some(options) = options.and_then(|options| options.options.as_ref()) {
            self.defaults.add_options(options, layer);
        }
        let mut configs = vec![&mut self.deck.config];
        if !layer.needs_trust() {
            configs.push(&mut self.deck.user_config);
        }
        for config in configs {
            match options {
                Some(options) => config.apply(options, layer),
                // What the file would have forbidden is unknown.
                None => config.policy.distrust(),
            }
        }
    }

    /// Takes out ids that two files of one layer define, such as `a__b.md` beside a plural `a.md`.
    fn without_repeats(&mut self, definitions: Vec<LocatedDefinition>) -> Vec<LocatedDefinition> {
        let key = |placed: &LocatedDefinition| {
            (placed.definition.source.layer, placed.definition.id.clone())
        };
        let mut owners: HashMap<(SourceLayer, CapabilityId), PathBuf> = HashMap::new();
        let mut repeated: HashSet<(SourceLayer, CapabilityId)> = HashSet::new();
        for placed in &definitions {
            let path = &placed.definition.source.path;
            let Some(first) = owners.insert(key(placed), path.clone()) else { continue };
            let id = &placed.definition.id;
            let reason =
                format!("`{id}` is also defined by `{}`, so neither is used", first.display());
            self.report(
                Diagnostic::error("duplicate-id", reason.clone(), "rename one of the two")
                    .at(placed.place)
                    .in_file(path),
            );
            if repeated.insert(key(placed)) {
                self.quarantine(&placed.definition, reason);
            }
        }
        definitions.into_iter().filter(|placed| !repeated.contains(&key(placed))).collect()
    }

    fn define(&mut self, placed: LocatedDefinition, scope: &LoadScope) {
        let file = self.deck.capability_file.as_ref().filter(|_| scope.member_of.is_none());
        let definition = Arc::new(match file {
            Some(file) => file.tailor(placed.definition),
            None => placed.definition,
        });
        let set = match &definition.backend {
            Backend::Caplets(set) if !definition.disabled => set,
            _ => {
                self.deck.definitions.push(definition);
                return;
            }
        };
        match set::load_members(set, &definition, scope, &mut self.set_files) {
            Ok((loaded, inner)) => {
                let place = self.deck.definitions.len();
                let (problems, quarantined) =
                    (self.deck.diagnostics.len(), self.deck.quarantined.len());
                self.deck.definitions.push(Arc::clone(&definition));
                for loaded in loaded {
                    self.add(loaded, &inner);
                }
                // A set of which nothing can be read would look like one that works and has no tools.
                // A set inside that cannot be used says why itself.
                let found = self.deck.diagnostics.get(problems..).unwrap_or_default();
                let is_inner = |one: &Diagnostic| {
                    matches!(
                        one.code.as_str(),
                        "cyclic-set" | "set-too-deep" | "set-too-large" | "no-members"
                    )
                };
                let has_problem = !found.is_empty() || self.deck.quarantined.len() > quarantined;
                if self.deck.definitions.len() == place + 1
                    && has_problem
                    && !found.iter().any(is_inner)
                {
                    self.deck.definitions.remove(place);
                    let message = "none of the members of this set can be used";
                    self.quarantine(&definition, message.to_owned());
                    let fix = "correct the problems of its files, which are listed, too";
                    let problem = Diagnostic::error("no-members", message, fix);
                    self.report(problem.at(placed.place).in_file(&definition.source.path));
                }
            }
            Err(problem) => {
                self.quarantine(&definition, problem.message.clone());
                self.report(problem.at(placed.place).in_file(&definition.source.path));
            }
        }
    }

    fn quarantine(&mut self, definition: &Definition, reason: String) {
        self.deck.quarantined.push(QuarantinedItem {
            id: definition.id.as_str().to_owned(),
            source: definition.source.clone(),
            reason,
        });
    }
}

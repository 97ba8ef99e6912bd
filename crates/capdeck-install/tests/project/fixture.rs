//! A project, a state folder and a cache of their own.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use capdeck_definition::parse_capability_file;
use capdeck_install::{
    AgentEndpoints, AgentProvider, FetchError, GitClient, InstallPlan, InstallProblem,
    InstallRequest, OverwritePolicy, PinUse, ProjectInstaller,
};

/// Files by their path, as text.
pub(crate) type Tree = BTreeMap<String, String>;

/// Answers from a table, and remembers what was asked.
#[derive(Default)]
pub(crate) struct Web {
    pub(crate) pages: RefCell<BTreeMap<String, String>>,
    pub(crate) asked: RefCell<Vec<String>>,
}

pub(crate) struct Fixture {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) web: Web,
    pub(crate) git: GitClient,
    pub(crate) pin_use: PinUse,
    pub(crate) edited: OverwritePolicy,
    pub(crate) endpoints: AgentEndpoints,
    pub(crate) search_path: Vec<PathBuf>,
}

impl Web {
    fn fetch(&self, url: &str) -> Result<Vec<u8>, FetchError> {
        self.asked.borrow_mut().push(url.to_owned());
        match self.pages.borrow().get(url) {
            Some(page) => Ok(page.clone().into_bytes()),
            None => Err(FetchError { message: "404 Not Found".to_owned(), hint: None }),
        }
    }
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("project")).unwrap();
        let base = format!("file://{}/hub/", dir.path().display());
        let mut git = GitClient::new(&dir.path().join("cache"));
        git.bases.push(("https://github.com/".to_owned(), base));
        Self {
            git,
            dir,
            web: Web::default(),
            pin_use: PinUse::Keep,
            edited: OverwritePolicy::Keep,
            endpoints: AgentEndpoints::Program { command: "capdeck".to_owned() },
            search_path: Vec::new(),
        }
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        let path = self.project().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.project().join(path)).unwrap()
    }

    pub(crate) fn installer(&self) -> ProjectInstaller {
        let (state, cache) = (self.dir.path().join("state"), self.dir.path().join("cache"));
        ProjectInstaller::open(&self.project(), &state, &cache).unwrap()
    }

    /// The plan for a capability file, which is also put into the project.
    pub(crate) fn plan(&self, yaml: &str, providers: &[&str]) -> (ProjectInstaller, InstallPlan) {
        self.put("capabilities.yaml", yaml);
        let path = self.project().join("capabilities.yaml");
        let (file, diagnostics) = parse_capability_file(yaml, &path);
        assert!(file.is_some(), "{diagnostics:?}");
        let file = file.unwrap();
        let providers: Vec<&AgentProvider> =
            providers.iter().map(|id| AgentProvider::find(id).unwrap()).collect();
        let installer = self.installer();
        let request = InstallRequest {
            file: &file,
            providers: &providers,
            endpoints: &self.endpoints,
            edited: self.edited,
            pin_use: self.pin_use,
            search_path: &self.search_path,
            now: "2026-01-02T03:04:05Z",
        };
        let plan = installer.plan(&request, &self.git, &|url| self.web.fetch(url));
        (installer, plan)
    }

    /// Installs and returns the warnings.
    pub(crate) fn install(&self, yaml: &str, providers: &[&str]) -> Vec<InstallProblem> {
        let (installer, plan) = self.plan(yaml, providers);
        assert!(plan.can_apply(), "{:#?}", plan.problems);
        let problems = plan.problems.clone();
        assert_eq!(installer.apply(&plan).unwrap(), Vec::<PathBuf>::new());
        problems
    }

    pub(crate) fn clean(&self) -> Vec<InstallProblem> {
        let installer = self.installer();
        let plan = installer.plan_clean(self.edited);
        let problems = plan.problems.clone();
        installer.apply(&plan).unwrap();
        problems
    }

    /// Every file of the project but the capability file; empty folders end with a slash.
    pub(crate) fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        read(&self.project(), "", &mut tree);
        tree.remove("capabilities.yaml");
        tree
    }

    /// The tree as one text, with the folders of this run named.
    pub(crate) fn shown(&self) -> String {
        let mut text = String::new();
        for (path, content) in self.tree() {
            text.push_str(&format!("=== {path}\n{content}"));
            if !content.ends_with('\n') {
                text.push_str("\n(no newline at the end)\n");
            }
        }
        let state = fs::canonicalize(self.dir.path().join("state")).unwrap();
        let install = state.join("install");
        let key = fs::read_dir(&install).unwrap().map(|entry| entry.unwrap().path());
        let key = key.filter(|path| path.is_dir()).max().unwrap_or(install);
        text.replace(&key.display().to_string(), "[state]")
    }
}

fn read(folder: &Path, prefix: &str, tree: &mut Tree) {
    let mut is_empty = true;
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        is_empty = false;
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            read(&entry.path(), &format!("{name}/"), tree);
        } else {
            let bytes = fs::read(entry.path()).unwrap();
            tree.insert(name, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    if is_empty && !prefix.is_empty() {
        tree.insert(prefix.to_owned(), String::new());
    }
}

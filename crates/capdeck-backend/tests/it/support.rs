//! A connector in its own folder, definitions written as JSON, and waiting for facts.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use capdeck_auth::{EnvironmentSnapshot, KeySettings, NameResolver, SystemResolver, Vault};
use capdeck_backend::{
    CallContext, CallError, ConnectOptions, Connection, Connector, ConnectorSettings, ToolCall,
};
use capdeck_definition::{Backend, CapabilityId, Definition, DefinitionSource, SourceLayer};
use serde_json::{Value, value::RawValue};
use tokio_util::sync::CancellationToken;

/// A host's surroundings for one test.
pub(crate) struct Deck {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) vault: Vault,
    pub(crate) connector: Connector,
}

impl Deck {
    /// A deck whose environment has the test's PATH and these variables.
    pub(crate) fn new(variables: &[(&str, &str)]) -> Self {
        Self::with_project(variables, None)
    }

    pub(crate) fn with_project(variables: &[(&str, &str)], project: Option<&Path>) -> Self {
        Self::open(variables, project, Arc::new(SystemResolver))
    }

    /// A deck whose own folder is the project.
    pub(crate) fn with_own_project() -> Self {
        let deck = Self::new(&[]);
        let project = Some(deck.folder.path());
        let connector = Connector::new(settings(&deck.folder, &[], project, &deck.vault));
        Self { connector, ..deck }
    }

    /// A deck that looks the names of APIs up here.
    pub(crate) fn with_names(names: Arc<dyn NameResolver>) -> Self {
        Self::open(&[], None, names)
    }

    fn open(
        variables: &[(&str, &str)],
        project: Option<&Path>,
        names: Arc<dyn NameResolver>,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let vault = Vault::new(folder.path(), KeySettings::default());
        let settings = settings(&folder, variables, project, &vault);
        let connector = Connector::with_names(settings, names);
        Self { folder, vault, connector }
    }

    /// The same folders under a new host, with these variables.
    pub(crate) fn restarted(self, variables: &[(&str, &str)]) -> Self {
        let connector = Connector::new(settings(&self.folder, variables, None, &self.vault));
        Self { connector, ..self }
    }

    pub(crate) async fn connect(&self, backend: Value) -> Result<Arc<dyn Connection>, CallError> {
        self.connector.connect(&definition(backend), ConnectOptions::default()).await
    }

    /// Connects, calls once, and gives the result as JSON.
    pub(crate) async fn call(
        &self,
        backend: Value,
        tool: &str,
        arguments: Value,
    ) -> Result<Value, CallError> {
        let connection = self.connect(backend).await?;
        call(&connection, tool, arguments, &context(Duration::from_secs(20))).await
    }
}

fn settings(
    folder: &tempfile::TempDir,
    variables: &[(&str, &str)],
    project: Option<&Path>,
    vault: &Vault,
) -> ConnectorSettings {
    let path = ("PATH", "/usr/local/bin:/usr/bin:/bin");
    let environment: EnvironmentSnapshot =
        std::iter::once(path).chain(variables.iter().copied()).collect();
    ConnectorSettings {
        environment,
        project: project.map(Path::to_path_buf),
        artifacts_dir: folder.path().join("artifacts"),
        vault: vault.clone(),
        documents_dir: folder.path().join("documents"),
        inits_dir: folder.path().join("inits"),
        guardian: None,
        client_name: "capdeck".to_owned(),
        client_version: "0.0.0-test".to_owned(),
    }
}

/// A definition named `thing` around a backend block, given with its `kind`.
pub(crate) fn definition(backend: Value) -> Definition {
    let backend: Backend = serde_json::from_value(backend).unwrap();
    let source = DefinitionSource { layer: SourceLayer::UserFile, path: PathBuf::from("thing.md") };
    let id = CapabilityId::new("thing").unwrap();
    let (name, description) = ("Thing".to_owned(), "A thing".to_owned());
    let base_dir = PathBuf::from("/");
    Definition { name, description, base_dir, ..Definition::new(id, backend, source) }
}

pub(crate) async fn call(
    connection: &Arc<dyn Connection>,
    tool: &str,
    arguments: Value,
    context: &CallContext,
) -> Result<Value, CallError> {
    let arguments = RawValue::from_string(arguments.to_string()).unwrap();
    let call = ToolCall {
        name: tool,
        arguments: Some(&arguments),
        meta: None,
        rest: capdeck_catalog::RawMembers::new(),
        unformatted: false,
    };
    let result = connection.call_tool(call, context).await?;
    Ok(serde_json::from_str(result.get()).unwrap())
}

pub(crate) fn context(timeout: Duration) -> CallContext {
    CallContext::detached(timeout)
}

/// A context that takes the definition's own timeout and can be cancelled.
pub(crate) fn cancellable(cancel: CancellationToken) -> CallContext {
    CallContext { timeout: None, cancel, ..CallContext::detached(Duration::ZERO) }
}

/// Waits for a fact, at most 20 seconds.
pub(crate) async fn until<T>(what: &str, mut fact: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = fact() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited too long for: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The process numbers a script wrote into a file, once all of them are there.
pub(crate) async fn pids_in(file: &Path, count: usize) -> Vec<i32> {
    until("process numbers", || {
        let text = std::fs::read_to_string(file).ok()?;
        let pids: Vec<i32> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        (pids.len() == count && text.ends_with('\n')).then_some(pids)
    })
    .await
}

pub(crate) async fn until_gone(pids: &[i32]) {
    for pid in pids {
        until(&format!("the end of process {pid}"), || (!is_alive(*pid)).then_some(())).await;
    }
}

/// A zombie waiting for its parent counts as gone: it runs no more code.
pub(crate) fn is_alive(pid: i32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

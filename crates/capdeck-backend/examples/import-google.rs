//! Imports Discovery documents and checks every tool: `import-google FILE…`.
//!
//! Writes one JSON object: how many methods became tools, and what did not.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for tests: it prints its findings and fails by panicking"
)]

use std::{
    cmp::Reverse,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::{Duration, Instant},
};

use capdeck_auth::{EnvironmentSnapshot, KeySettings, Vault};
use capdeck_backend::{CallContext, ConnectOptions, Connector, ConnectorSettings};
use capdeck_definition::{Backend, CapabilityId, Definition, DefinitionSource, SourceLayer};
use serde_json::{Value, json};

/// Long, because a document is large and the machine may be busy.
const IMPORT_TIMEOUT: Duration = Duration::from_secs(600);

fn main() {
    let mut files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    // The largest come first, so that none of them is what everybody waits for in the end.
    files.sort_by_key(|file| Reverse(file.metadata().map_or(0, |facts| facts.len())));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let found: Vec<Value> = std::thread::scope(|scope| {
        let work = || check_all(std::iter::from_fn(|| files.get(next.fetch_add(1, Relaxed))));
        let running: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        running.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    println!("{}", json!({ "documents": found }));
}

fn check_all<'a>(files: impl Iterator<Item = &'a PathBuf>) -> Vec<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let nowhere = PathBuf::from("nowhere");
    let connector = Connector::new(ConnectorSettings {
        environment: EnvironmentSnapshot::default(),
        project: None,
        vault: Vault::new(&nowhere, KeySettings::default()),
        artifacts_dir: nowhere.clone(),
        documents_dir: nowhere.clone(),
        inits_dir: nowhere,
        guardian: None,
        client_name: "capdeck".to_owned(),
        client_version: "0".to_owned(),
    });
    files.map(|file| runtime.block_on(check(&connector, file))).collect()
}

/// `{file, tools, bytes, scopes, problems, broken}`, or `{file, error}`.
async fn check(connector: &Connector, file: &PathBuf) -> Value {
    let definition = definition(file);
    let started = Instant::now();
    let connection = connector.connect(&definition, ConnectOptions::default()).await.unwrap();
    let discovery = match connection.discover(&CallContext::detached(IMPORT_TIMEOUT)).await {
        Ok(discovery) => discovery,
        Err(error) => return json!({ "file": file, "error": error.to_string() }),
    };
    let imported = started.elapsed();
    let problems: Vec<String> = discovery
        .problems
        .iter()
        .map(|problem| format!("{}: {}", problem.place, problem.reason))
        .collect();
    let broken: Vec<String> = discovery
        .tools
        .iter()
        .filter_map(|tool| Some(format!("{}: {}", tool.name(), tool.argument_check().problem()?)))
        .collect();
    let length =
        |tool: &capdeck_catalog::Tool| tool.input_schema().map_or(0, |raw| raw.get().len());
    json!({
        "file": file,
        "tools": discovery.tools.len(),
        "bytes": discovery.tools.iter().map(|tool| length(tool)).sum::<usize>(),
        "scopes": discovery.scopes.len(),
        "problems": problems,
        "broken": broken,
        "importMs": imported.as_millis(),
        "checkMs": (started.elapsed() - imported).as_millis(),
    })
}

fn definition(file: &PathBuf) -> Definition {
    let block = json!({"kind": "googleDiscovery", "discoveryPath": file, "auth": {"type": "none"}});
    let backend: Backend = serde_json::from_value(block).unwrap();
    Definition::new(
        CapabilityId::new("api").unwrap(),
        backend,
        DefinitionSource { layer: SourceLayer::UserFile, path: PathBuf::from("/api.md") },
    )
}

//! Imports Discovery documents and checks every tool: `import-google FILE…`.
//!
//! Writes one JSON object: how many methods became tools, and what did not.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for tests: it prints its findings and fails by panicking"
)]

use std::{path::PathBuf, time::Duration};

use capdeck_auth::{Environment, KeySettings, Vault};
use capdeck_backend::{CallContext, ConnectOptions, Connector, ConnectorSettings};
use capdeck_definition::{
    Backend, CapabilityId, Definition, Hints, Layer, Runtime, Shadowing, Source,
};
use serde_json::{Value, json};

/// Nobody waits for a single document here, and the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(600);

fn main() {
    let files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let share = files.len().div_ceil(workers).max(1);
    let found: Vec<Value> = std::thread::scope(|scope| {
        let running: Vec<_> =
            files.chunks(share).map(|files| scope.spawn(move || check_all(files))).collect();
        running.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    println!("{}", json!({ "documents": found }));
}

fn check_all(files: &[PathBuf]) -> Vec<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let nowhere = PathBuf::from("nowhere");
    let connector = Connector::new(ConnectorSettings {
        environment: Environment::default(),
        project: None,
        vault: Vault::new(&nowhere, KeySettings::default()),
        artifacts_dir: nowhere,
        guardian: None,
        client_name: "capdeck".to_owned(),
        client_version: "0".to_owned(),
    });
    files.iter().map(|file| runtime.block_on(check(&connector, file))).collect()
}

/// `{file, tools, bytes, scopes, problems, broken}`, or `{file, error}`.
async fn check(connector: &Connector, file: &PathBuf) -> Value {
    let definition = definition(file);
    let connection = connector.connect(&definition, ConnectOptions::default()).await.unwrap();
    let discovery = match connection.discover(&CallContext::detached(PATIENCE)).await {
        Ok(discovery) => discovery,
        Err(error) => return json!({ "file": file, "error": error.to_string() }),
    };
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
    })
}

fn definition(file: &PathBuf) -> Definition {
    let block = json!({"kind": "googleDiscovery", "discoveryPath": file, "auth": {"type": "none"}});
    let backend: Backend = serde_json::from_value(block).unwrap();
    Definition {
        id: CapabilityId::new("api").unwrap(),
        parent: None,
        member_of: None,
        name: "API".to_owned(),
        description: "An API".to_owned(),
        tags: Vec::new(),
        exposure: None,
        shadowing: Shadowing::default(),
        pins: None,
        hints: Hints::default(),
        setup: None,
        project_bound: false,
        runtime: Runtime::default(),
        icon: None,
        disabled: false,
        backend,
        source: Source { layer: Layer::UserFile, path: PathBuf::from("api.md") },
        base_dir: PathBuf::from("/"),
        fingerprint: String::new(),
    }
}

//! Imports an OpenAPI description and prints how long that took, how much memory, and what came of it, as JSON.
#![expect(clippy::print_stdout, reason = "a program that prints its figures")]

use std::{
    error::Error,
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use capdeck_auth::{KeySettings, Vault};
use capdeck_backend::{CallContext, ConnectOptions, Connector, ConnectorSettings};
use capdeck_definition::{Backend, CapabilityId, Definition, DefinitionSource, SourceLayer};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: import-openapi FILE")?);
    let connector = Connector::new(ConnectorSettings {
        environment: std::iter::empty::<(&str, &str)>().collect(),
        project: None,
        artifacts_dir: PathBuf::new(),
        vault: Vault::new(&PathBuf::new(), KeySettings::default()),
        guardian: None,
        documents_dir: PathBuf::new(),
        inits_dir: PathBuf::new(),
        client_name: "capdeck".to_owned(),
        client_version: env!("CARGO_PKG_VERSION").to_owned(),
    });
    let before = memory_kb("VmRSS");
    let started = Instant::now();
    let connection = connector.connect(&definition(file)?, ConnectOptions::default()).await?;
    let discovery = connection.discover(&CallContext::detached(Duration::from_secs(600))).await?;
    let elapsed = started.elapsed();
    let schemas: usize = discovery
        .tools
        .iter()
        .flat_map(|tool| [tool.input_schema(), tool.output_schema()])
        .flatten()
        .map(|schema| schema.get().len())
        .sum();
    let figures = json!({
        "ms": elapsed.as_millis(),
        "tools": discovery.tools.len(),
        "problems": discovery.problems.len(),
        "schemaBytes": schemas,
        "peakMb": memory_kb("VmHWM").saturating_sub(before) / 1024,
        "keptMb": memory_kb("VmRSS").saturating_sub(before) / 1024,
    });
    println!("{figures}");
    Ok(())
}

fn definition(file: PathBuf) -> Result<Definition, Box<dyn Error>> {
    let block = json!({"kind": "openapi", "specPath": file, "baseUrl": "https://api.example", "auth": {"type": "none"}});
    let backend: Backend = serde_json::from_value(block)?;
    Ok(Definition::new(
        CapabilityId::new("api")?,
        backend,
        DefinitionSource { layer: SourceLayer::UserFile, path: file },
    ))
}

/// A line of what the system tells about this process; zero where it tells nothing.
fn memory_kb(line: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(':'));
    found.and_then(|text| text.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

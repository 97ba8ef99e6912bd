//! A host in miniature: runs a command that starts another, under a guardian.
//!
//! `guarded_host host FILE` runs a shell that writes its own and its child's process number to FILE and
//! then waits for ever. Kill the host with SIGKILL and both are gone a moment later.
//! `guarded_host guard` is the guardian's side, started by the host.

use std::{error::Error, path::PathBuf, time::Duration};

use capdeck_auth::{EnvironmentSnapshot, KeySettings, Vault};
use capdeck_backend::{
    CallContext, ConnectOptions, Connector, ConnectorSettings, GuardianCommand, ToolCall,
    run_guardian,
};
use capdeck_definition::{CapabilityId, Definition, DefinitionSource, SourceLayer};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    match (args.next().as_deref(), args.next()) {
        (Some("guard"), None) => {
            run_guardian(std::io::stdin().lock());
            Ok(())
        }
        (Some("host"), Some(file)) => host(&file).await,
        _ => Err("usage: guarded_host host FILE | guarded_host guard".into()),
    }
}

async fn host(file: &str) -> Result<(), Box<dyn Error>> {
    let environment: EnvironmentSnapshot =
        [("PATH", "/usr/local/bin:/usr/bin:/bin")].into_iter().collect();
    let connector = Connector::new(ConnectorSettings {
        environment,
        project: None,
        artifacts_dir: PathBuf::from(format!("{file}.artifacts")),
        documents_dir: PathBuf::from(format!("{file}.documents")),
        inits_dir: PathBuf::from(format!("{file}.inits")),
        vault: Vault::new(&PathBuf::from(format!("{file}.state")), KeySettings::default()),
        guardian: Some(GuardianCommand {
            program: std::env::current_exe()?,
            args: vec!["guard".into()],
        }),
        client_name: "guarded-host".to_owned(),
        client_version: "0.0.0".to_owned(),
    });
    // The numbers are printed once the host has run after starting the shell.
    let script = "sleep 1000 & while [ ! -e \"$1.go\" ]; do sleep 0.02; done; \
                  echo $$ $! > \"$1\"; wait";
    let backend = json!({"kind": "cli", "actions": {
        "wait": {"command": "sh", "args": ["-c", script, "sh", file]},
    }});
    let definition = Definition::new(
        CapabilityId::new("waiting")?,
        serde_json::from_value(backend)?,
        DefinitionSource { layer: SourceLayer::UserFile, path: PathBuf::from("/waiting.md") },
    );
    let connection = connector.connect(&definition, ConnectOptions::default()).await?;
    let call = ToolCall {
        name: "wait",
        arguments: None,
        meta: None,
        rest: Default::default(),
        unformatted: false,
    };
    let context = CallContext::detached(Duration::from_secs(600));
    // Polled in order on one thread: the call has started its process before the file is made.
    let (result, made) = tokio::join!(connection.call_tool(call, &context), async {
        std::fs::write(format!("{file}.go"), "")
    },);
    made?;
    result?;
    Ok(())
}

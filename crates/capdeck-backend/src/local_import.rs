//! Reads descriptions that are files of this machine, without connecting to what they describe.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use capdeck_catalog::Discovery;
use capdeck_definition::{Auth, Backend, Definition};

use crate::{CallContext, CallError, ConnectOptions, Connector};

/// Reading a file takes no longer; parsing a very large one may.
const LONGEST: Duration = Duration::from_secs(60);

/// What became of a description.
#[derive(Debug)]
pub struct LocalImport {
    pub file: PathBuf,
    pub outcome: Result<Discovery, CallError>,
}

impl Connector {
    /// Imports the description of a capability if it is a local file. Nothing is fetched, no credential is used, and what
    /// depends on a variable that is not set is left to the connection.
    pub async fn import_local(&self, definition: &Definition) -> Option<LocalImport> {
        let (file, backend) = without_credentials(&definition.backend)?;
        // A device or a pipe has no end.
        if fs::metadata(&file).is_ok_and(|facts| !facts.is_file()) {
            return None;
        }
        let anonymous = Definition { backend, ..definition.clone() };
        let connection = self.connect(&anonymous, ConnectOptions::default()).await.ok()?;
        let outcome = connection.discover(&CallContext::detached(LONGEST)).await;
        connection.close().await;
        Some(LocalImport { file, outcome })
    }
}

/// The file that describes a backend, and the backend as if nobody had to sign in.
fn without_credentials(backend: &Backend) -> Option<(PathBuf, Backend)> {
    let file = |path: &Option<String>| path.as_deref().map(|path| Path::new(path).to_owned());
    let auth = Auth::None {};
    match backend {
        Backend::OpenApi(api) => {
            let mut anonymous = api.clone();
            anonymous.requests.auth = auth;
            Some((file(&api.spec_path)?, Backend::OpenApi(anonymous)))
        }
        Backend::GoogleDiscovery(api) => {
            let mut anonymous = api.clone();
            anonymous.requests.auth = auth;
            Some((file(&api.discovery_path)?, Backend::GoogleDiscovery(anonymous)))
        }
        Backend::GraphQl(api) => {
            let mut anonymous = api.clone();
            anonymous.requests.auth = auth;
            Some((file(&api.schema_path)?, Backend::GraphQl(anonymous)))
        }
        Backend::Mcp(_)
        | Backend::Http(_)
        | Backend::Cli(_)
        | Backend::Cmp(_)
        | Backend::Caplets(_)
        | Backend::Capsules => None,
    }
}

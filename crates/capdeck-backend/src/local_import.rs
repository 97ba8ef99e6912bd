//! Reads descriptions that are files of this machine, without connecting to what they describe.

use std::{fs, path::PathBuf, time::Duration};

use capdeck_catalog::Discovery;
use capdeck_definition::{Backend, BackendAuth, Definition};

use crate::{CallContext, CallError, ConnectOptions, Connector};

/// Reading a file takes no longer; parsing a very large one may.
const IMPORT_TIMEOUT: Duration = Duration::from_secs(60);

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
        let outcome = connection.discover(&CallContext::detached(IMPORT_TIMEOUT)).await;
        connection.close().await;
        Some(LocalImport { file, outcome })
    }
}

/// The file that describes a backend, and the backend as if nobody had to sign in.
fn without_credentials(backend: &Backend) -> Option<(PathBuf, Backend)> {
    let mut anonymous = backend.clone();
    let (path, requests) = match &mut anonymous {
        Backend::OpenApi(api) => (&api.spec_path, &mut api.requests),
        Backend::GoogleDiscovery(api) => (&api.discovery_path, &mut api.requests),
        Backend::GraphQl(api) => (&api.schema_path, &mut api.requests),
        Backend::Mcp(_)
        | Backend::Http(_)
        | Backend::Cli(_)
        | Backend::Cmp(_)
        | Backend::Caplets(_)
        | Backend::Capsules => return None,
    };
    let file = PathBuf::from(path.as_ref()?);
    requests.auth = BackendAuth::None {};
    Some((file, anonymous))
}

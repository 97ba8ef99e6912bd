//! `add google-discovery`: a Google API described by a Discovery document.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{
    BackendBlock, CommonArgs,
    place::{Place, auth, variable},
};
use crate::errors::Failure;

#[derive(Debug, clap::Args)]
pub(super) struct GoogleDiscoveryArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    /// The Discovery document: a file or a URL.
    #[arg(long, value_name = "FILE|URL")]
    discovery: String,
    /// Where requests go; the document's own address if left out.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Send the token in this environment variable.
    #[arg(long, value_name = "NAME", value_parser = variable)]
    token_env: Option<String>,
    /// Offer only this operation, such as `files.list`; may be repeated.
    #[arg(long = "include", value_name = "OPERATION")]
    include: Vec<String>,
}

impl GoogleDiscoveryArgs {
    pub(super) fn block(&self, here: &Path, folder: &Path) -> Result<BackendBlock, Failure> {
        let Self { common: _, discovery, base_url, token_env, include } = self;
        let mut fields = Map::new();
        let (key, place) = match Place::parse(discovery, here, folder)? {
            Place::Url(url) => ("discoveryUrl", url),
            Place::File(path) => ("discoveryPath", path),
        };
        let summary = format!("Operations of the Google API described by {place}.");
        fields.insert(key.to_owned(), json!(place));
        if let Some(url) = base_url {
            fields.insert("baseUrl".to_owned(), json!(url));
        }
        fields.insert("auth".to_owned(), auth(token_env.as_deref()));
        if !include.is_empty() {
            fields.insert("includeOperations".to_owned(), json!(include));
        }
        Ok(BackendBlock { key: "googleDiscoveryApi", fields: Value::Object(fields), summary })
    }
}

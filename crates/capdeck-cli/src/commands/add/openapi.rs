//! `add openapi`: an API described by OpenAPI.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{
    BackendBlock, CommonArgs,
    place::{Place, auth, variable},
};
use crate::errors::Failure;

#[derive(Debug, clap::Args)]
pub(super) struct OpenapiArgs {
    #[command(flatten)]
    pub(super) common: CommonArgs,
    /// The description: a file or a URL.
    #[arg(long, value_name = "FILE|URL")]
    spec: String,
    /// Where requests go; the description's own server if left out.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Send the token in this environment variable.
    #[arg(long, value_name = "NAME", value_parser = variable)]
    token_env: Option<String>,
}

impl OpenapiArgs {
    pub(super) fn block(&self, here: &Path, folder: &Path) -> Result<BackendBlock, Failure> {
        let Self { common: _, spec, base_url, token_env } = self;
        let mut fields = Map::new();
        let (key, place) = match Place::parse(spec, here, folder)? {
            Place::Url(url) => ("specUrl", url),
            Place::File(path) => ("specPath", path),
        };
        let summary = format!("Operations of the API described by {place}.");
        fields.insert(key.to_owned(), json!(place));
        if let Some(url) = base_url {
            fields.insert("baseUrl".to_owned(), json!(url));
        }
        fields.insert("auth".to_owned(), auth(token_env.as_deref()));
        Ok(BackendBlock { key: "openapiEndpoint", fields: Value::Object(fields), summary })
    }
}

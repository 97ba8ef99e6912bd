//! Local checks of a GraphQL endpoint.

use capdeck_definition::GraphQlEndpoint;

use super::reader::endpoint_url;
use crate::{CallError, ErrorCode, connect::ResolvedBackend};

/// Returns invalid addresses and missing files. Nothing is sent.
pub(crate) fn check(prepared: &ResolvedBackend<GraphQlEndpoint>) -> Vec<CallError> {
    let block = &prepared.block;
    let addresses =
        [("endpointUrl", Some(&block.endpoint_url)), ("schemaUrl", block.schema_url.as_ref())];
    let addresses =
        addresses.into_iter().filter_map(|(field, address)| endpoint_url(address?, field).err());
    let documents = block.operations.iter().filter_map(|(name, operation)| {
        Some((format!("the document of `{name}`"), operation.document_path.as_ref()?))
    });
    let schema = block.schema_path.as_ref().map(|path| ("the schema".to_owned(), path));
    let files = schema.into_iter().chain(documents).filter_map(|(what, path)| {
        let error = std::fs::metadata(path).err()?;
        let message = format!("{what}, `{path}`, cannot be read: {error}");
        let hint = "check the path; it is relative to the file that names it";
        Some(CallError::new(ErrorCode::ConfigInvalid, message).hint(hint))
    });
    addresses.chain(files).map(|problem| problem.scrubbed(&prepared.log_scrubber)).collect()
}

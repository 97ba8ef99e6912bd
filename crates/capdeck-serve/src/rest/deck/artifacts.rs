//! Artifacts: stored large results.

use axum::body::Body;
use capdeck_host::{artifact_item, artifacts};
use futures_util::stream;
use http::header;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::rest::{
    call::RestCall,
    input::{NoBody, NoQuery},
    operation::{RestOperation, get},
    page::{ListPage, PageQuery},
    problem::ApiError,
    response::{BinaryContent, RestResponse},
    shapes::JsonObject,
};

const CHUNK_BYTES: u64 = 256 * 1024;

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get("/v1/deck/artifacts", "listArtifacts", "List stored large results, the newest first")
            .about("The members of `capdeck artifacts list --json`.")
            .handled_by(list),
        get(
            "/v1/deck/artifacts/{capability}/{call}/{file}",
            "getArtifact",
            "Download one stored result",
        )
        .about("The path segments are those of its URI, `capdeck://artifacts/…`.")
        .handled_by(read),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ListArtifacts")]
struct ArtifactListQuery {
    /// Only artifacts of this capability.
    capability: Option<String>,
    #[serde(flatten)]
    paging: PageQuery,
}

async fn list(
    call: RestCall,
    query: ArtifactListQuery,
    _: NoBody,
) -> Result<RestResponse<ListPage<JsonObject>>, ApiError> {
    let session = call.session();
    let mut found = artifacts::list(&session.snapshot());
    found.retain(|one| query.capability.as_ref().is_none_or(|id| one.capability.as_str() == id));
    let page = query.paging.page_of(&call, found, |one| one.artifact.uri.clone())?;
    Ok(RestResponse::new(page.map(|one| JsonObject(artifact_item(&one)))))
}

async fn read(
    call: RestCall,
    _: NoQuery,
    _: NoBody,
) -> Result<RestResponse<BinaryContent>, ApiError> {
    let part = |name: &str| call.path_parameter(name).to_owned();
    let uri =
        format!("capdeck://artifacts/{}/{}/{}", part("capability"), part("call"), part("file"));
    let reader = artifacts::open(&call.session().snapshot(), &uri).await?;
    let artifact = reader.artifact().clone();
    let chunks = stream::unfold(Some(reader), |reader| async move {
        let mut reader = reader?;
        let reading = tokio::task::spawn_blocking(move || {
            let read = reader.next(CHUNK_BYTES);
            (reader, read)
        });
        match reading.await {
            Ok((_, Ok(bytes))) if bytes.is_empty() => None,
            Ok((reader, Ok(bytes))) => Some((Ok(bytes), Some(reader))),
            Ok((_, Err(error))) => Some((Err(std::io::Error::other(error)), None)),
            Err(error) => Some((Err(std::io::Error::other(error)), None)),
        }
    });
    // Never rendered as a page of this host, whatever its type.
    Ok(RestResponse::new(crate::rest::response::ByteContent(Body::from_stream(chunks)))
        .header(header::CONTENT_LENGTH, &artifact.byte_length.to_string())
        .header(header::CONTENT_DISPOSITION, "attachment")
        .header(header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
}

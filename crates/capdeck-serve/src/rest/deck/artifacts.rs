//! Artifacts: stored large results.

use axum::body::Body;
use capdeck_host::{artifact_item, artifacts};
use futures_util::stream;
use http::header;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::rest::{
    call::Call,
    input::{NoBody, NoQuery},
    operation::{Operation, get},
    page::{Page, Paging},
    problem::ApiError,
    reply::{AnyBytes, Reply},
    shapes::Open,
};

const CHUNK: u64 = 256 * 1024;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        get("/v1/deck/artifacts", "listArtifacts", "List stored large results, the newest first")
            .about("The members of `capdeck artifacts list --json`.")
            .done_by(list),
        get(
            "/v1/deck/artifacts/{capability}/{call}/{file}",
            "getArtifact",
            "Download one stored result",
        )
        .about("The path segments are those of its URI, `capdeck://artifacts/…`.")
        .done_by(read),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ListArtifacts {
    /// Only artifacts of this capability.
    capability: Option<String>,
    #[serde(flatten)]
    paging: Paging,
}

async fn list(call: Call, query: ListArtifacts, _: NoBody) -> Result<Reply<Page<Open>>, ApiError> {
    let session = call.session();
    let mut found = artifacts::list(&session.snapshot());
    found.retain(|one| query.capability.as_ref().is_none_or(|id| one.capability.as_str() == id));
    let page = query.paging.cut(&call, found, |one| one.artifact.uri.clone())?;
    Ok(Reply::new(page.map(|one| Open(artifact_item(&one)))))
}

async fn read(call: Call, _: NoQuery, _: NoBody) -> Result<Reply<AnyBytes>, ApiError> {
    let part = |name: &str| call.place(name).to_owned();
    let uri =
        format!("capdeck://artifacts/{}/{}/{}", part("capability"), part("call"), part("file"));
    let reader = artifacts::open(&call.session().snapshot(), &uri).await?;
    let artifact = reader.artifact().clone();
    let chunks = stream::unfold(Some(reader), |reader| async move {
        let mut reader = reader?;
        let reading = tokio::task::spawn_blocking(move || {
            let read = reader.next(CHUNK);
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
    Ok(Reply::new(crate::rest::reply::Bytes(Body::from_stream(chunks)))
        .header(header::CONTENT_LENGTH, &artifact.byte_length.to_string())
        .header(header::CONTENT_DISPOSITION, "attachment")
        .header(header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
}

//! A whole capsule as an archive: out, and in.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    path::Path,
};

use axum::body::Body;
use bytes::Bytes;
use capdeck_host::{CapsuleOperation, Existing, ExportForm, ImportForm, ImportMode};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use http::{StatusCode, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::io::ReaderStream;

use super::{desk::shaped, shapes::Capsule};
use crate::rest::{
    call::Call,
    input::{ArchiveBody, NoBody, NoQuery},
    operation::{Operation, get, post},
    problem::ApiError,
    reply::{Archive, Reply},
    who::Who,
};

/// Bytes that an archive may unpack to.
const MOST_UNPACKED: u64 = 1024 * 1024 * 1024;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        get("/v1/capsules/{capsule}/export", "exportCapsule", "Take a whole capsule as an archive")
            .about("A `tar.gz` with the entries as plain files, in the layout of `capdeck capsule export`. For the capsule's owner.")
            .who(Who::Operator)
            .done_by(export),
        post("/v1/capsules/import", "importCapsule", "Make a capsule of an archive")
            .about("Takes what an export gave, compressed or not, up to 256 MiB. What is wrong with one file leaves that file out and is told.")
            .who(Who::Operator)
            .success(&[201])
            .problems(&[507])
            .done_by(import),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ImportAs {
    /// What the new capsule is called.
    #[schemars(length(min = 1, max = 100))]
    name: String,
}

/// A capsule that was made of an archive.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ImportResult")]
struct Imported {
    capsule: Capsule,
    /// Schemes that were added.
    schemes: Vec<String>,
    entries: Vec<ImportedFile>,
    skipped: Vec<SkippedFile>,
}

#[derive(Debug, Deserialize)]
struct Report {
    schemes: Vec<String>,
    entries: Vec<ImportedFile>,
    skipped: Vec<SkippedFile>,
}

/// A file that is an entry now.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ImportedFile {
    file: String,
    uri: String,
    version: u64,
    /// `created`, `replaced` or `unchanged`.
    outcome: String,
}

/// A file that was left out.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct SkippedFile {
    file: String,
    reason: String,
}

async fn export(call: Call, _: NoQuery, _: NoBody) -> Result<Reply<Archive>, ApiError> {
    let capsule = call.owned_capsule("export").await?;
    let folder = tempfile::tempdir().map_err(|error| no_room(&error))?;
    let path = folder.path().join("capsule.tar");
    let export = CapsuleOperation::Export { path: path.clone(), form: ExportForm::Tar };
    call.ask_as_host(Some(&capsule.id), export).await?;
    let packed = blocking(move || {
        let packed = compress(&path)?;
        drop(folder);
        Ok(packed)
    })
    .await?;
    let size = packed.metadata().map(|facts| facts.len()).map_err(|error| no_room(&error))?;
    let stream = ReaderStream::new(tokio::fs::File::from_std(packed));
    let name = format!("attachment; filename=\"{}.tar.gz\"", capsule.id);
    Ok(Reply::new(crate::rest::reply::Bytes(Body::from_stream(stream)))
        .header(header::CONTENT_LENGTH, &size.to_string())
        .header(header::CONTENT_DISPOSITION, &name))
}

async fn import(
    call: Call,
    query: ImportAs,
    body: ArchiveBody,
) -> Result<Reply<Imported>, ApiError> {
    let folder = tempfile::tempdir().map_err(|error| no_room(&error))?;
    let path = folder.path().join("capsule.tar");
    let file = path.clone();
    blocking(move || unpack(&body.0, &file)).await?;
    let name = query.name;
    let create = CapsuleOperation::CreateCapsule { name, description: None, visibility: None };
    let capsule = call.claimed(call.ask_as_host(None, create).await?).await?;
    let import = CapsuleOperation::Import {
        path,
        form: ImportForm::Export,
        existing: Existing::default(),
        mode: ImportMode::default(),
    };
    let report = match call.ask_as_host(Some(&capsule.id), import).await {
        Ok(report) => shaped::<Report>(report)?,
        Err(error) => {
            // An archive that is none leaves no empty capsule behind.
            call.ask_as_host(Some(&capsule.id), CapsuleOperation::DeleteCapsule).await?;
            return Err(error);
        }
    };
    let Report { schemes, entries, skipped } = report;
    Ok(Reply::created(Imported { capsule, schemes, entries, skipped }))
}

/// The compressed form of a file, in a file without a name.
fn compress(path: &Path) -> Result<File, ApiError> {
    let packing = || {
        let mut plain = File::open(path)?;
        let mut packed = GzEncoder::new(tempfile::tempfile()?, Compression::fast());
        io::copy(&mut plain, &mut packed)?;
        let mut packed = packed.finish()?;
        io::Seek::rewind(&mut packed)?;
        Ok(packed)
    };
    packing().map_err(|error: io::Error| no_room(&error))
}

/// Writes an archive to a file, unpacked.
fn unpack(archive: &Bytes, path: &Path) -> Result<(), ApiError> {
    let mut file = File::create(path).map_err(|error| no_room(&error))?;
    if !archive.starts_with(&[0x1f, 0x8b]) {
        return file.write_all(archive).map_err(|error| no_room(&error));
    }
    let mut unpacked = GzDecoder::new(&archive[..]).take(MOST_UNPACKED + 1);
    let bytes = io::copy(&mut unpacked, &mut file)
        .map_err(|error| ApiError::invalid(format!("the archive cannot be unpacked: {error}")))?;
    if bytes > MOST_UNPACKED {
        let detail = format!("the archive unpacks to more than {MOST_UNPACKED} bytes");
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail));
    }
    Ok(())
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(ApiError::internal("the archive could not be made", &error)))
}

fn no_room(error: &io::Error) -> ApiError {
    ApiError::internal("there is no place for the archive", error)
}

//! A whole capsule as an archive: out, and in.

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    path::Path,
};

use axum::body::Body;
use bytes::Bytes;
use capdeck_host::{
    CreateCapsuleRequest, ExistingEntryMode, ExportRequest, ExportTarget, ImportFilesRequest,
    ImportMode, ImportReport, ImportSource, ImportedFile, SkippedFile,
};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use http::{StatusCode, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::io::ReaderStream;

use super::{CapsuleItem, lifecycle::run_to_completion};
use crate::rest::{
    ApiError, ApiResult, ArchiveBody, ArchiveContent, ByteContent, RequiredAccess::Operator,
    RestCall, RestOperation, RestResponse, get, post, run_blocking,
};

/// Bytes that an archive may unpack to.
const MAX_UNPACKED: u64 = 1024 * 1024 * 1024;

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        get(Operator, "/v1/capsules/{capsule}/export", "exportCapsule", "Take a whole capsule as an archive")
            .about("A `tar.gz` with the entries as plain files, in the layout of `capdeck capsule export`. For the capsule's owner.")
            .handled_by(export),
        post(Operator, "/v1/capsules/import", "importCapsule", "Make a capsule of an archive")
            .about("Takes what an export gave, compressed or not, up to 256 MiB. A problem with one file skips that file and is reported.")
            .success(&[201])
            .problems(&[507])
            .handled_with_query_and_body(import),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct CapsuleImportQuery {
    /// What the new capsule is called.
    #[schemars(length(min = 1, max = 100))]
    name: String,
}

/// A capsule that was made of an archive.
#[derive(Debug, Serialize, JsonSchema)]
struct ImportResult {
    capsule: CapsuleItem,
    /// Schemes that were added.
    schemes: Vec<String>,
    entries: Vec<ImportedFile>,
    skipped: Vec<SkippedFile>,
}

async fn export(call: RestCall) -> ApiResult<RestResponse<ArchiveContent>> {
    let capsule = call.owned_capsule("export").await?;
    let folder = tempfile::tempdir().map_err(|error| insufficient_storage(&error))?;
    let path = folder.path().join("capsule.tar");
    let export = ExportRequest { path: path.clone(), form: ExportTarget::Tar };
    call.ask_as_host(Some(&capsule.id), export).await?;
    let packed = run_blocking("the archive could not be made", move || {
        let packed = compress(&path)?;
        drop(folder);
        Ok(packed)
    })
    .await?;
    let size =
        packed.metadata().map(|facts| facts.len()).map_err(|error| insufficient_storage(&error))?;
    let stream = ReaderStream::new(tokio::fs::File::from_std(packed));
    let name = format!("attachment; filename=\"{}.tar.gz\"", capsule.id);
    Ok(RestResponse::new(ByteContent(Body::from_stream(stream)))
        .header(header::CONTENT_LENGTH, &size.to_string())
        .header(header::CONTENT_DISPOSITION, &name))
}

async fn import(
    call: RestCall,
    query: CapsuleImportQuery,
    body: ArchiveBody,
) -> ApiResult<ImportResult> {
    let folder = tempfile::tempdir().map_err(|error| insufficient_storage(&error))?;
    let path = folder.path().join("capsule.tar");
    let file = path.clone();
    run_blocking("the archive could not be made", move || unpack(&body.0, &file)).await?;
    let create = CreateCapsuleRequest::named(&query.name);
    run_to_completion(async move {
        let import = ImportFilesRequest {
            path,
            form: ImportSource::Export,
            existing: ExistingEntryMode::default(),
            mode: ImportMode::default(),
        };
        let fill = async |call: &RestCall, capsule: &CapsuleItem| {
            Ok(call.ask_as_host(Some(&capsule.key()), import).await?.report)
        };
        let (capsule, report) = call.make_capsule(create, fill).await?;
        drop(folder);
        let ImportReport { schemes, entries, skipped } = report;
        Ok(ImportResult { capsule, schemes, entries, skipped })
    })
    .await
}

/// The compressed form of a file, in a file without a name.
fn compress(path: &Path) -> ApiResult<File> {
    let packing = || {
        let mut plain = File::open(path)?;
        let mut packed = GzEncoder::new(tempfile::tempfile()?, Compression::fast());
        io::copy(&mut plain, &mut packed)?;
        let mut packed = packed.finish()?;
        io::Seek::rewind(&mut packed)?;
        Ok(packed)
    };
    packing().map_err(|error: io::Error| insufficient_storage(&error))
}

/// Writes an archive to a file, unpacked.
fn unpack(archive: &Bytes, path: &Path) -> ApiResult<()> {
    let mut file = File::create(path).map_err(|error| insufficient_storage(&error))?;
    if !archive.starts_with(&[0x1f, 0x8b]) {
        return file.write_all(archive).map_err(|error| insufficient_storage(&error));
    }
    let mut unpacked = GzDecoder::new(&archive[..]).take(MAX_UNPACKED + 1);
    // Reading and writing fail in one call; only the archive itself is the sender's.
    let mut target = ArchiveFileWriter { file: &mut file, has_failed: false };
    let copied = io::copy(&mut unpacked, &mut target);
    let has_failed = target.has_failed;
    let bytes = copied.map_err(|error| match has_failed {
        true => insufficient_storage(&error),
        false => ApiError::invalid(format!("the archive cannot be unpacked: {error}")),
    })?;
    if bytes > MAX_UNPACKED {
        let detail = format!("the archive unpacks to more than {MAX_UNPACKED} bytes");
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail));
    }
    Ok(())
}

/// A file that remembers whether writing to it failed.
struct ArchiveFileWriter<'a> {
    file: &'a mut File,
    has_failed: bool,
}

impl io::Write for ArchiveFileWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).inspect_err(|_| self.has_failed = true)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().inspect_err(|_| self.has_failed = true)
    }
}

fn insufficient_storage(error: &io::Error) -> ApiError {
    ApiError::storage("there is no place for the archive", error)
}

//! What is changed in one capsule.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{ServiceCall, address, checked, id_of};
use crate::{
    BlobId, BlobSource, CommitRef, GitProject, StoreError, StoreWrite, WriteContent,
    blocking::blocking, service::*,
};

pub(crate) async fn write(
    call: &ServiceCall<'_>,
    request: WriteRequest,
) -> Result<WriteResponse, CapsuleError> {
    let session = &call.session().await?;
    let mode = request.mode.or(request.patch.is_some().then_some(WriteMode::Patch));
    let action = match mode {
        Some(WriteMode::Create) => "write.create",
        Some(WriteMode::Replace) | None => "write.replace",
        Some(WriteMode::Patch) => "write.patch",
    };
    let uri = address(session, action, &request.uri)?;
    let content = match (mode, request.content, request.patch) {
        (Some(WriteMode::Patch), None, Some(steps)) => Ok(WriteContent::Patch(steps)),
        (Some(WriteMode::Patch), ..) => Err("`patch` takes steps in `patch` and no `content`"),
        (_, _, Some(_)) => Err("steps in `patch` go with the mode `patch` only"),
        (_, None, None) => Err("`content` is missing"),
        (Some(WriteMode::Create), Some(body), None) => Ok(WriteContent::Create(body)),
        (Some(WriteMode::Replace), Some(body), None) => Ok(WriteContent::Replace(body)),
        (None, Some(body), None) => Ok(session.default_content(body)),
    };
    let content = content.map_err(|reason| StoreError::invalid("content", reason));
    let content = checked(session, action, content)?;
    let commit = match request.commit {
        Some(claimed) => {
            let claimed = CommitRef::claimed(&claimed).map_err(StoreError::from);
            Some(checked(session, action, claimed)?)
        }
        None => checked_out(call.caller).await,
    };
    let blob = checked(session, action, request.blob.map(source).transpose())?;
    let write = StoreWrite {
        if_version: request.if_version,
        title: request.title,
        tags: request.tags,
        risk_class: request.risk_class,
        file_anchors: request.file_anchors,
        idempotency_key: request.idempotency_key,
        commit,
        blob,
        ..StoreWrite::new(uri, content)
    };
    Ok(WriteResponse { capsule: id_of(session), outcome: session.write(write).await? })
}

pub(crate) async fn restore(
    call: &ServiceCall<'_>,
    request: RestoreRequest,
) -> Result<WriteResponse, CapsuleError> {
    let session = &call.session().await?;
    let RestoreRequest { uri, version, if_version } = request;
    let uri = address(session, "restore", &uri)?;
    let outcome = session.restore(&uri, version, if_version).await?;
    Ok(WriteResponse { capsule: id_of(session), outcome })
}

pub(crate) async fn delete(
    call: &ServiceCall<'_>,
    request: DeleteRequest,
) -> Result<DeleteResponse, CapsuleError> {
    let session = &call.session().await?;
    let uri = address(session, "delete", &request.uri)?;
    let entry = session.delete(&uri, request.if_version).await?;
    Ok(DeleteResponse { capsule: id_of(session), entry })
}

pub(crate) async fn purge(
    call: &ServiceCall<'_>,
    request: PurgeRequest,
) -> Result<PurgeResponse, CapsuleError> {
    let session = &call.session().await?;
    let uri = address(session, "purge", &request.uri)?;
    session.purge(&uri).await?;
    Ok(PurgeResponse { capsule: id_of(session), uri, purged: true })
}

pub(crate) async fn collect_blobs(
    call: &ServiceCall<'_>,
    _: CollectBlobsRequest,
) -> Result<CollectBlobsResponse, CapsuleError> {
    let session = &call.session().await?;
    let collection = session.collect_blobs().await?;
    Ok(CollectBlobsResponse { capsule: id_of(session), collection })
}

pub(crate) async fn add_scheme(
    call: &ServiceCall<'_>,
    request: AddSchemeRequest,
) -> Result<SchemeResponse, CapsuleError> {
    let session = &call.session().await?;
    let scheme = request.scheme.name.clone();
    session.add_scheme(request.scheme).await?;
    Ok(SchemeResponse { capsule: id_of(session), scheme, added: true, removed: false })
}

pub(crate) async fn remove_scheme(
    call: &ServiceCall<'_>,
    request: RemoveSchemeRequest,
) -> Result<SchemeResponse, CapsuleError> {
    let session = &call.session().await?;
    session.remove_scheme(&request.name).await?;
    let scheme = request.name;
    Ok(SchemeResponse { capsule: id_of(session), scheme, added: false, removed: true })
}

pub(crate) async fn send_signal(
    call: &ServiceCall<'_>,
    request: SendSignalRequest,
) -> Result<SignalResponse, CapsuleError> {
    let session = &call.session().await?;
    let signal = session.send_signal(request).await?;
    Ok(SignalResponse { capsule: id_of(session), signal })
}

pub(crate) async fn acknowledge(
    call: &ServiceCall<'_>,
    request: AcknowledgeRequest,
) -> Result<AcknowledgeResponse, CapsuleError> {
    let session = &call.session().await?;
    session.acknowledge(&request.signal).await?;
    Ok(AcknowledgeResponse { capsule: id_of(session), acknowledged: request.signal })
}

pub(crate) async fn memory_set(
    call: &ServiceCall<'_>,
    request: MemorySetRequest,
) -> Result<MemorySetResponse, CapsuleError> {
    let session = &call.session().await?;
    let MemorySetRequest { key, value } = request;
    session.memory_set(&key, &value).await?;
    Ok(MemorySetResponse { capsule: id_of(session), key, stored: true })
}

pub(crate) async fn memory_delete(
    call: &ServiceCall<'_>,
    request: MemoryDeleteRequest,
) -> Result<MemoryDeleteResponse, CapsuleError> {
    let session = &call.session().await?;
    session.memory_delete(&request.key).await?;
    Ok(MemoryDeleteResponse { capsule: id_of(session), key: request.key, deleted: true })
}

/// The commit that the caller's project is at, as the host sees it.
async fn checked_out(caller: &CapsuleCaller) -> Option<CommitRef> {
    let project = GitProject::at(caller.project.as_ref()?);
    blocking(move || project.head()).await.ok().flatten()
}

fn source(blob: WriteBlob) -> Result<BlobSource, StoreError> {
    Ok(match blob {
        WriteBlob::Bytes { data, mime } => {
            let bytes = STANDARD.decode(data).map_err(|error| {
                StoreError::invalid("blob", format!("the data is no base64: {error}"))
            })?;
            BlobSource::Bytes { bytes, mime }
        }
        WriteBlob::Pointer { id, mime } => BlobSource::Pointer { id: BlobId::parse(&id)?, mime },
        WriteBlob::Remove => BlobSource::Remove,
    })
}

//! What is changed in one capsule.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{address, checked, id_of};
use crate::{
    BlobId, BlobSource, CapsuleHandle, CommitRef, GitProject, SignalDraft, StoreError, StoreWrite,
    WriteContent, service::*,
};

pub(super) async fn write(
    session: &CapsuleHandle,
    caller: &CapsuleCaller,
    request: WriteRequest,
) -> Result<WriteResponse, CapsuleError> {
    let WriteRequest {
        uri,
        mode,
        content,
        patch,
        title,
        tags,
        risk_class,
        file_anchors,
        commit,
        if_version,
        idempotency_key,
        blob,
    } = request;
    let mode = mode.or(patch.is_some().then_some(WriteMode::Patch));
    let action = match mode {
        Some(WriteMode::Create) => "write.create",
        Some(WriteMode::Replace) | None => "write.replace",
        Some(WriteMode::Patch) => "write.patch",
    };
    let uri = address(session, action, &uri).await?;
    let content = match (mode, content, patch) {
        (Some(WriteMode::Patch), None, Some(steps)) => Ok(WriteContent::Patch(steps)),
        (Some(WriteMode::Patch), ..) => Err("`patch` takes steps in `patch` and no `content`"),
        (_, _, Some(_)) => Err("steps in `patch` go with the mode `patch` only"),
        (_, None, None) => Err("`content` is missing"),
        (Some(WriteMode::Create), Some(body), None) => Ok(WriteContent::Create(body)),
        (Some(WriteMode::Replace), Some(body), None) => Ok(WriteContent::Replace(body)),
        (None, Some(body), None) => Ok(session.default_content(body)),
    };
    let content = content.map_err(|reason| StoreError::invalid("content", reason));
    let content = checked(session, action, content).await?;
    let commit = match commit {
        Some(claimed) => {
            let claimed = CommitRef::claimed(&claimed).map_err(StoreError::from);
            Some(checked(session, action, claimed).await?)
        }
        None => checked_out(caller).await,
    };
    let blob = match blob {
        Some(blob) => Some(checked(session, action, source(blob)).await?),
        None => None,
    };
    let write = StoreWrite {
        uri,
        content,
        if_version,
        title,
        tags,
        risk_class,
        file_anchors,
        commit,
        blob,
        idempotency_key,
    };
    Ok(WriteResponse { capsule: id_of(session), outcome: session.write(write).await? })
}

pub(super) async fn restore(
    session: &CapsuleHandle,
    request: RestoreRequest,
) -> Result<WriteResponse, CapsuleError> {
    let RestoreRequest { uri, version, if_version } = request;
    let uri = address(session, "restore", &uri).await?;
    let outcome = session.restore(&uri, version, if_version).await?;
    Ok(WriteResponse { capsule: id_of(session), outcome })
}

pub(super) async fn delete(
    session: &CapsuleHandle,
    request: DeleteRequest,
) -> Result<DeleteResponse, CapsuleError> {
    let uri = address(session, "delete", &request.uri).await?;
    let entry = session.delete(&uri, request.if_version).await?;
    Ok(DeleteResponse { capsule: id_of(session), entry })
}

pub(super) async fn purge(
    session: &CapsuleHandle,
    request: PurgeRequest,
) -> Result<PurgeResponse, CapsuleError> {
    let uri = address(session, "purge", &request.uri).await?;
    session.purge(&uri).await?;
    Ok(PurgeResponse { capsule: id_of(session), uri, purged: true })
}

pub(super) async fn collect_blobs(
    session: &CapsuleHandle,
) -> Result<CollectBlobsResponse, CapsuleError> {
    let collection = session.collect_blobs().await?;
    Ok(CollectBlobsResponse { capsule: id_of(session), collection })
}

pub(super) async fn add_scheme(
    session: &CapsuleHandle,
    request: AddSchemeRequest,
) -> Result<SchemeResponse, CapsuleError> {
    let scheme = request.scheme.name.clone();
    session.add_scheme(request.scheme).await?;
    Ok(SchemeResponse { capsule: id_of(session), scheme, added: true, removed: false })
}

pub(super) async fn remove_scheme(
    session: &CapsuleHandle,
    request: RemoveSchemeRequest,
) -> Result<SchemeResponse, CapsuleError> {
    session.remove_scheme(&request.name).await?;
    let scheme = request.name;
    Ok(SchemeResponse { capsule: id_of(session), scheme, added: false, removed: true })
}

pub(super) async fn send_signal(
    session: &CapsuleHandle,
    request: SendSignalRequest,
) -> Result<SignalResponse, CapsuleError> {
    let SendSignalRequest { kind, text, uri, to, data } = request;
    let uri = match uri {
        Some(uri) => Some(address(session, "signal.send", &uri).await?),
        None => None,
    };
    let signal = session.send_signal(SignalDraft { kind, text, uri, to, data }).await?;
    Ok(SignalResponse { capsule: id_of(session), signal })
}

pub(super) async fn acknowledge(
    session: &CapsuleHandle,
    request: AcknowledgeRequest,
) -> Result<AcknowledgeResponse, CapsuleError> {
    session.acknowledge(&request.signal).await?;
    Ok(AcknowledgeResponse { capsule: id_of(session), acknowledged: request.signal })
}

pub(super) async fn memory_set(
    session: &CapsuleHandle,
    request: MemorySetRequest,
) -> Result<MemorySetResponse, CapsuleError> {
    let MemorySetRequest { key, value } = request;
    session.memory_set(&key, &value).await?;
    Ok(MemorySetResponse { capsule: id_of(session), key, stored: true })
}

pub(super) async fn memory_delete(
    session: &CapsuleHandle,
    request: MemoryDeleteRequest,
) -> Result<MemoryDeleteResponse, CapsuleError> {
    session.memory_delete(&request.key).await?;
    Ok(MemoryDeleteResponse { capsule: id_of(session), key: request.key, deleted: true })
}

/// The commit that the caller's project is at, as the host sees it.
async fn checked_out(caller: &CapsuleCaller) -> Option<CommitRef> {
    let project = GitProject::at(caller.project.as_ref()?);
    tokio::task::spawn_blocking(move || project.head()).await.ok().flatten()
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

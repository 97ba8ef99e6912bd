//! What is changed in one capsule.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use capdeck_capsule::{
    BlobId, BlobSource, CapsuleSession, Commit, Content, GitProject, Scheme, StoreError, Write,
};
use serde_json::json;

use super::{Answer, address, answer, refused_if_bad};
use crate::capsules::{CapsuleCaller, EntryWrite, WriteBlob, WriteMode};

pub(super) async fn write(
    session: &CapsuleSession,
    caller: &CapsuleCaller,
    write: EntryWrite,
) -> Answer {
    let EntryWrite {
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
    } = write;
    let mode = mode.or(patch.is_some().then_some(WriteMode::Patch));
    let action = match mode {
        Some(WriteMode::Create) => "write.create",
        Some(WriteMode::Replace) | None => "write.replace",
        Some(WriteMode::Patch) => "write.patch",
    };
    let uri = address(session, action, &uri).await?;
    let content = match (mode, content, patch) {
        (Some(WriteMode::Patch), None, Some(steps)) => Ok(Content::Patch(steps)),
        (Some(WriteMode::Patch), ..) => Err("`patch` takes steps in `patch` and no `content`"),
        (_, _, Some(_)) => Err("steps in `patch` go with the mode `patch` only"),
        (_, None, None) => Err("`content` is missing"),
        (Some(WriteMode::Create), Some(body), None) => Ok(Content::Create(body)),
        (Some(WriteMode::Replace), Some(body), None) => Ok(Content::Replace(body)),
        (None, Some(body), None) => Ok(session.default_content(body)),
    };
    let invalid =
        |what| move |reason: &str| StoreError::InvalidInput { what, reason: reason.to_owned() };
    let content = refused_if_bad(session, action, content.map_err(invalid("content"))).await?;
    let commit = match commit {
        Some(claimed) => {
            let claimed = Commit::claimed(&claimed).map_err(StoreError::from);
            Some(refused_if_bad(session, action, claimed).await?)
        }
        None => checked_out(caller).await,
    };
    let blob = match blob {
        Some(blob) => Some(refused_if_bad(session, action, source(blob)).await?),
        None => None,
    };
    let write = Write {
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
    answer(session, &session.write(write).await?)
}

pub(super) async fn restore(
    session: &CapsuleSession,
    uri: &str,
    version: u64,
    if_version: Option<u64>,
) -> Answer {
    let uri = address(session, "restore", uri).await?;
    answer(session, &session.restore(&uri, version, if_version).await?)
}

pub(super) async fn delete(session: &CapsuleSession, uri: &str, if_version: Option<u64>) -> Answer {
    let uri = address(session, "delete", uri).await?;
    answer(session, &session.delete(&uri, if_version).await?)
}

pub(super) async fn deleted(session: &CapsuleSession) -> Answer {
    answer(session, &json!({ "deleted": session.deleted().await? }))
}

pub(super) async fn purge(session: &CapsuleSession, uri: &str) -> Answer {
    let uri = address(session, "purge", uri).await?;
    session.purge(&uri).await?;
    answer(session, &json!({ "uri": uri, "purged": true }))
}

pub(super) async fn collect_blobs(session: &CapsuleSession) -> Answer {
    answer(session, &session.collect_blobs().await?)
}

pub(super) async fn add_scheme(session: &CapsuleSession, scheme: Scheme) -> Answer {
    let name = scheme.name.clone();
    session.add_scheme(scheme).await?;
    answer(session, &json!({ "scheme": name, "added": true }))
}

pub(super) async fn remove_scheme(session: &CapsuleSession, name: &str) -> Answer {
    session.remove_scheme(name).await?;
    answer(session, &json!({ "scheme": name, "removed": true }))
}

/// The commit that the caller's project is at, as the host sees it.
async fn checked_out(caller: &CapsuleCaller) -> Option<Commit> {
    let project = GitProject::at(caller.project.as_ref()?);
    tokio::task::spawn_blocking(move || project.head()).await.ok().flatten()
}

fn source(blob: WriteBlob) -> Result<BlobSource, StoreError> {
    Ok(match blob {
        WriteBlob::Bytes { data, mime } => {
            let bytes = STANDARD.decode(data).map_err(|error| StoreError::InvalidInput {
                what: "blob",
                reason: format!("the data is no base64: {error}"),
            })?;
            BlobSource::Bytes { bytes, mime }
        }
        WriteBlob::Pointer { id, mime } => BlobSource::Pointer { id: BlobId::parse(&id)?, mime },
        WriteBlob::Remove => BlobSource::Remove,
    })
}

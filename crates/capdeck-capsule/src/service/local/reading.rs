//! What is read from one capsule.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{ServiceCall, address, id_of};
use crate::{
    CapsuleHandle, CapsuleSkill, EntrySearchMatch, RenderedEntry, digest::sha256_hex, service::*,
};

pub(crate) async fn overview(
    call: &ServiceCall<'_>,
    _: OverviewRequest,
) -> Result<OverviewResponse, CapsuleError> {
    let session = &call.session().await?;
    let overview = session.overview().await?;
    let info = session.capsule();
    Ok(OverviewResponse {
        capsule: info.id.clone(),
        name: info.name.clone(),
        description: info.description.clone(),
        role: session.access().role,
        schemes: overview.schemes,
        recent: overview.recent.into_iter().map(EntryInfo::from).collect(),
    })
}

pub(crate) async fn read(
    call: &ServiceCall<'_>,
    request: ReadRequest,
) -> Result<ReadResponse, CapsuleError> {
    let session = &call.session().await?;
    let ReadRequest { uri, version, body } = request;
    let uri = address(session, "read", &uri)?;
    Ok(entry(session, session.read(&uri, version).await?, body))
}

pub(crate) async fn list(
    call: &ServiceCall<'_>,
    query: ListQuery,
) -> Result<ListResponse, CapsuleError> {
    let session = &call.session().await?;
    let page = session.list(query).await?;
    let entries = page.items.into_iter().map(EntryInfo::from).collect();
    Ok(ListResponse { capsule: id_of(session), entries, next_cursor: page.next_cursor })
}

pub(crate) async fn search(
    call: &ServiceCall<'_>,
    query: SearchQuery,
) -> Result<SearchResponse, CapsuleError> {
    let session = &call.session().await?;
    let page = session.search(query).await?;
    let found = |hit: EntrySearchMatch| EntryMatch {
        info: hit.meta.into(),
        score: f64::from(hit.score),
        snippet: hit.snippet,
        stale: hit.is_stale,
    };
    Ok(SearchResponse {
        capsule: id_of(session),
        hits: page.hits.into_iter().map(found).collect(),
        total: page.total,
        next_cursor: page.next_cursor,
    })
}

pub(crate) async fn history(
    call: &ServiceCall<'_>,
    request: HistoryRequest,
) -> Result<HistoryResponse, CapsuleError> {
    let session = &call.session().await?;
    let uri = address(session, "history", &request.uri)?;
    let versions = session.history(&uri).await?.into_iter().map(EntryInfo::from).collect();
    Ok(HistoryResponse { capsule: id_of(session), uri, versions })
}

pub(crate) async fn diff(
    call: &ServiceCall<'_>,
    request: DiffRequest,
) -> Result<DiffResponse, CapsuleError> {
    let session = &call.session().await?;
    let DiffRequest { uri, from, to } = request;
    let uri = address(session, "diff", &uri)?;
    let diff = session.diff(&uri, from, to).await?;
    Ok(DiffResponse { capsule: id_of(session), uri, from, to, diff })
}

pub(crate) async fn schemes(
    call: &ServiceCall<'_>,
    _: SchemesRequest,
) -> Result<SchemesResponse, CapsuleError> {
    let session = &call.session().await?;
    Ok(SchemesResponse { capsule: id_of(session), schemes: session.schemes().await? })
}

pub(crate) async fn prompts(
    call: &ServiceCall<'_>,
    _: PromptsRequest,
) -> Result<PromptsResponse, CapsuleError> {
    let session = &call.session().await?;
    Ok(PromptsResponse { capsule: id_of(session), prompts: session.prompts().await? })
}

pub(crate) async fn prompt(
    call: &ServiceCall<'_>,
    request: PromptRequest,
) -> Result<PromptResponse, CapsuleError> {
    let session = &call.session().await?;
    let PromptRequest { name, arguments } = request;
    let read = session.prompt(&name, arguments).await?;
    Ok(PromptResponse { entry: entry(session, read, ReadBody::Banded), name })
}

pub(crate) async fn skills(
    call: &ServiceCall<'_>,
    _: SkillsRequest,
) -> Result<SkillsResponse, CapsuleError> {
    let session = &call.session().await?;
    let skills = session.skills().await?.into_iter().map(|skill| skill_info(skill).0).collect();
    Ok(SkillsResponse { capsule: id_of(session), skills })
}

pub(crate) async fn skill(
    call: &ServiceCall<'_>,
    request: SkillRequest,
) -> Result<SkillResponse, CapsuleError> {
    let session = &call.session().await?;
    let (skill, text) = skill_info(session.skill(&request.name).await?);
    Ok(SkillResponse { capsule: id_of(session), skill, text })
}

/// What a client needs to recognise a file, and the file.
fn skill_info(skill: CapsuleSkill) -> (SkillInfo, String) {
    let CapsuleSkill { name, uri, frontmatter, text } = skill;
    let digest = format!("sha256:{}", sha256_hex(text.as_bytes()));
    (SkillInfo { name, uri, frontmatter, digest, size: text.len() }, text)
}

pub(crate) async fn read_blob(
    call: &ServiceCall<'_>,
    request: ReadBlobRequest,
) -> Result<BlobResponse, CapsuleError> {
    let session = &call.session().await?;
    let uri = address(session, "blob.read", &request.uri)?;
    let blob = session.read_blob(&uri, request.version).await?;
    let data = STANDARD.encode(&blob.bytes);
    let crate::BlobRef { sha256, mime, bytes } = blob.reference;
    Ok(BlobResponse { capsule: id_of(session), uri, sha256, mime, bytes, data })
}

pub(crate) async fn deleted(
    call: &ServiceCall<'_>,
    _: DeletedRequest,
) -> Result<DeletedResponse, CapsuleError> {
    let session = &call.session().await?;
    Ok(DeletedResponse { capsule: id_of(session), deleted: session.deleted().await? })
}

pub(crate) async fn poll_signals(
    call: &ServiceCall<'_>,
    request: PollSignalsRequest,
) -> Result<PollSignalsResponse, CapsuleError> {
    let session = &call.session().await?;
    let page = session.poll_signals(request).await?;
    Ok(PollSignalsResponse { capsule: id_of(session), page })
}

pub(crate) async fn memory_get(
    call: &ServiceCall<'_>,
    request: MemoryGetRequest,
) -> Result<MemoryGetResponse, CapsuleError> {
    let session = &call.session().await?;
    let value = session.memory_get(&request.key).await?;
    Ok(MemoryGetResponse { capsule: id_of(session), key: request.key, value })
}

pub(crate) async fn memory_list(
    call: &ServiceCall<'_>,
    _: MemoryListRequest,
) -> Result<MemoryItemsResponse, CapsuleError> {
    let session = &call.session().await?;
    Ok(MemoryItemsResponse { capsule: id_of(session), items: session.memory_list().await? })
}

pub(crate) async fn memory_search(
    call: &ServiceCall<'_>,
    request: MemorySearchRequest,
) -> Result<MemoryItemsResponse, CapsuleError> {
    let session = &call.session().await?;
    let items = session.memory_search(&request.query).await?;
    Ok(MemoryItemsResponse { capsule: id_of(session), items })
}

fn entry(session: &CapsuleHandle, read: RenderedEntry, body: ReadBody) -> ReadResponse {
    let RenderedEntry { entry, anchors, text } = read;
    let is_banded = body == ReadBody::Banded;
    ReadResponse {
        capsule: id_of(session),
        info: entry.meta.into(),
        mime_type: entry.format.mime_type().to_owned(),
        stale: anchors.is_stale(),
        anchors: anchors.anchors,
        body: is_banded.then_some(entry.body),
        text: is_banded.then_some(text),
    }
}

//! What is read from one capsule.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{address, id_of, prefix};
use crate::{
    CapsuleHandle, CapsuleSkill, EntrySearchMatch, EntrySearchRequest, ListOrder, ListRequest,
    PollRequest, RenderedEntry, digest::sha256_hex, service::*,
};

pub(super) async fn overview(session: &CapsuleHandle) -> Result<OverviewResponse, CapsuleError> {
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

pub(super) async fn read(
    session: &CapsuleHandle,
    request: ReadRequest,
) -> Result<ReadResponse, CapsuleError> {
    let ReadRequest { uri, version, body } = request;
    let uri = address(session, "read", &uri).await?;
    Ok(entry(session, session.read(&uri, version).await?, body))
}

pub(super) async fn list(
    session: &CapsuleHandle,
    query: ListQuery,
) -> Result<ListResponse, CapsuleError> {
    let ListQuery { scheme, prefix: below, tag, written_after, latest_first, limit, cursor } =
        query;
    let request = ListRequest {
        scheme,
        prefix: prefix(session, "list", below.as_deref()).await?,
        tag,
        written_after,
        order: if latest_first { ListOrder::ByTime } else { ListOrder::ByUri },
        limit,
        cursor,
        ..ListRequest::default()
    };
    let page = session.list(request).await?;
    let entries = page.items.into_iter().map(EntryInfo::from).collect();
    Ok(ListResponse { capsule: id_of(session), entries, next_cursor: page.next_cursor })
}

pub(super) async fn search(
    session: &CapsuleHandle,
    query: SearchQuery,
) -> Result<SearchResponse, CapsuleError> {
    let SearchQuery {
        query,
        scheme,
        prefix: below,
        tags,
        author,
        risk_class,
        written_after,
        written_before,
        limit,
        cursor,
    } = query;
    let request = EntrySearchRequest {
        query,
        scheme,
        prefix: prefix(session, "search", below.as_deref()).await?,
        tags,
        author,
        risk_class,
        written_after,
        written_before,
        limit,
        cursor,
        ..EntrySearchRequest::default()
    };
    let page = session.search(request).await?;
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

pub(super) async fn history(
    session: &CapsuleHandle,
    request: HistoryRequest,
) -> Result<HistoryResponse, CapsuleError> {
    let uri = address(session, "history", &request.uri).await?;
    let versions = session.history(&uri).await?.into_iter().map(EntryInfo::from).collect();
    Ok(HistoryResponse { capsule: id_of(session), uri, versions })
}

pub(super) async fn diff(
    session: &CapsuleHandle,
    request: DiffRequest,
) -> Result<DiffResponse, CapsuleError> {
    let DiffRequest { uri, from, to } = request;
    let uri = address(session, "diff", &uri).await?;
    let diff = session.diff(&uri, from, to).await?;
    Ok(DiffResponse { capsule: id_of(session), uri, from, to, diff })
}

pub(super) async fn schemes(session: &CapsuleHandle) -> Result<SchemesResponse, CapsuleError> {
    Ok(SchemesResponse { capsule: id_of(session), schemes: session.schemes().await? })
}

pub(super) async fn prompts(session: &CapsuleHandle) -> Result<PromptsResponse, CapsuleError> {
    Ok(PromptsResponse { capsule: id_of(session), prompts: session.prompts().await? })
}

pub(super) async fn prompt(
    session: &CapsuleHandle,
    request: PromptRequest,
) -> Result<PromptResponse, CapsuleError> {
    let PromptRequest { name, arguments } = request;
    let read = session.prompt(&name, arguments).await?;
    Ok(PromptResponse { entry: entry(session, read, ReadBody::Banded), name })
}

pub(super) async fn skills(session: &CapsuleHandle) -> Result<SkillsResponse, CapsuleError> {
    let skills = session.skills().await?.into_iter().map(|skill| skill_info(skill).0).collect();
    Ok(SkillsResponse { capsule: id_of(session), skills })
}

pub(super) async fn skill(
    session: &CapsuleHandle,
    request: SkillRequest,
) -> Result<SkillResponse, CapsuleError> {
    let (skill, text) = skill_info(session.skill(&request.name).await?);
    Ok(SkillResponse { capsule: id_of(session), skill, text })
}

/// What a client needs to recognise a file, and the file.
fn skill_info(skill: CapsuleSkill) -> (SkillInfo, String) {
    let CapsuleSkill { name, uri, frontmatter, text } = skill;
    let digest = format!("sha256:{}", sha256_hex(text.as_bytes()));
    (SkillInfo { name, uri, frontmatter, digest, size: text.len() }, text)
}

pub(super) async fn read_blob(
    session: &CapsuleHandle,
    request: ReadBlobRequest,
) -> Result<BlobResponse, CapsuleError> {
    let uri = address(session, "blob.read", &request.uri).await?;
    let blob = session.read_blob(&uri, request.version).await?;
    let data = STANDARD.encode(&blob.bytes);
    let crate::BlobRef { sha256, mime, bytes } = blob.reference;
    Ok(BlobResponse { capsule: id_of(session), uri, sha256, mime, bytes, data })
}

pub(super) async fn deleted(session: &CapsuleHandle) -> Result<DeletedResponse, CapsuleError> {
    Ok(DeletedResponse { capsule: id_of(session), deleted: session.deleted().await? })
}

pub(super) async fn poll_signals(
    session: &CapsuleHandle,
    request: PollSignalsRequest,
) -> Result<PollSignalsResponse, CapsuleError> {
    let PollSignalsRequest { after, kinds, limit } = request;
    let request = PollRequest { after, kinds, limit, ..PollRequest::default() };
    let page = session.poll_signals(request).await?;
    Ok(PollSignalsResponse { capsule: id_of(session), page })
}

pub(super) async fn memory_get(
    session: &CapsuleHandle,
    request: MemoryGetRequest,
) -> Result<MemoryGetResponse, CapsuleError> {
    let value = session.memory_get(&request.key).await?;
    Ok(MemoryGetResponse { capsule: id_of(session), key: request.key, value })
}

pub(super) async fn memory_list(
    session: &CapsuleHandle,
) -> Result<MemoryItemsResponse, CapsuleError> {
    Ok(MemoryItemsResponse { capsule: id_of(session), items: session.memory_list().await? })
}

pub(super) async fn memory_search(
    session: &CapsuleHandle,
    request: MemorySearchRequest,
) -> Result<MemoryItemsResponse, CapsuleError> {
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

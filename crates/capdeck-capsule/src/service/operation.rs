//! The table of all operations: which response belongs to which request.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{request::*, response::*};
use crate::{AccessEvent, CapsuleInfo, CapsuleUpdate, Share};

/// A request with the response that belongs to it.
pub trait CapsuleCall: Into<CapsuleOperation> + Send {
    type Response: Serialize + Send;

    /// The response to this operation; `None` for that of another one.
    fn response(response: CapsuleResponse) -> Option<Self::Response>;
}

/// Declares the operations: the name, the request and the response of each.
macro_rules! operations {
    ($($name:ident($request:ty) -> $response:ty,)*) => {
        /// One operation. Those about capsules as a whole take no capsule in the request.
        #[derive(Clone, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum CapsuleOperation {
            $($name($request),)*
        }

        /// What an operation responds with.
        #[derive(Debug, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[expect(clippy::large_enum_variant, reason = "it is moved once, from the service to its caller")]
        pub enum CapsuleResponse {
            $($name($response),)*
        }

        impl CapsuleOperation {
            /// The operation's name, for logs.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => stringify!($name),)*
                }
            }
        }

        $(
            impl From<$request> for CapsuleOperation {
                fn from(request: $request) -> Self {
                    Self::$name(request)
                }
            }

            impl CapsuleCall for $request {
                type Response = $response;

                fn response(response: CapsuleResponse) -> Option<$response> {
                    match response {
                        CapsuleResponse::$name(response) => Some(response),
                        _ => None,
                    }
                }
            }
        )*
    };
}

operations! {
    ListCapsules(ListCapsulesRequest) -> ListCapsulesResponse,
    CreateCapsule(CreateCapsuleRequest) -> CapsuleInfo,
    UpdateCapsule(CapsuleUpdate) -> CapsuleInfo,
    DeleteCapsule(DeleteCapsuleRequest) -> CapsuleInfo,
    PurgeCapsule(PurgeCapsuleRequest) -> PurgeCapsuleResponse,
    Discover(DiscoverRequest) -> DiscoverResponse,
    StorageStatus(StorageStatusRequest) -> StorageStatusResponse,
    Overview(OverviewRequest) -> OverviewResponse,
    Read(ReadRequest) -> ReadResponse,
    List(ListQuery) -> ListResponse,
    Search(SearchQuery) -> SearchResponse,
    History(HistoryRequest) -> HistoryResponse,
    Diff(DiffRequest) -> DiffResponse,
    Prompts(PromptsRequest) -> PromptsResponse,
    Prompt(PromptRequest) -> PromptResponse,
    Skills(SkillsRequest) -> SkillsResponse,
    Skill(SkillRequest) -> SkillResponse,
    ReadBlob(ReadBlobRequest) -> BlobResponse,
    Schemes(SchemesRequest) -> SchemesResponse,
    AddScheme(AddSchemeRequest) -> SchemeResponse,
    RemoveScheme(RemoveSchemeRequest) -> SchemeResponse,
    Write(WriteRequest) -> WriteResponse,
    Restore(RestoreRequest) -> WriteResponse,
    Delete(DeleteRequest) -> DeleteResponse,
    Deleted(DeletedRequest) -> DeletedResponse,
    Purge(PurgeRequest) -> PurgeResponse,
    CollectBlobs(CollectBlobsRequest) -> CollectBlobsResponse,
    SendSignal(SendSignalRequest) -> SignalResponse,
    PollSignals(PollSignalsRequest) -> PollSignalsResponse,
    Acknowledge(AcknowledgeRequest) -> AcknowledgeResponse,
    MemoryGet(MemoryGetRequest) -> MemoryGetResponse,
    MemorySet(MemorySetRequest) -> MemorySetResponse,
    MemoryDelete(MemoryDeleteRequest) -> MemoryDeleteResponse,
    MemoryList(MemoryListRequest) -> MemoryItemsResponse,
    MemorySearch(MemorySearchRequest) -> MemoryItemsResponse,
    Shares(SharesRequest) -> SharesResponse,
    AddShare(AddShareRequest) -> AddShareResponse,
    RevokeShare(RevokeShareRequest) -> RevokeShareResponse,
    OpenShare(OpenShareRequest) -> Share,
    NoteRefusal(NoteRefusalRequest) -> (),
    NoteLook(LookAround) -> (),
    NoteAccess(AccessEvent) -> (),
    Verify(VerifyRequest) -> VerifyResponse,
    Export(ExportRequest) -> ExportResponse,
    Import(ImportFilesRequest) -> ImportResponse,
    AuditVerify(AuditVerifyRequest) -> AuditVerifyResponse,
    AuditQuery(AuditFilter) -> AuditLinesResponse,
    AuditPrune(AuditPruneRequest) -> AuditPruneResponse,
    RegistryAuditVerify(RegistryAuditVerifyRequest) -> AuditVerifyResponse,
    RegistryAuditQuery(RegistryAuditFilter) -> AuditLinesResponse,
    RegistryAuditPrune(RegistryAuditPruneRequest) -> AuditPruneResponse,
}

impl CapsuleCall for CapsuleOperation {
    type Response = CapsuleResponse;

    fn response(response: CapsuleResponse) -> Option<CapsuleResponse> {
        Some(response)
    }
}

impl CapsuleOperation {
    /// Whether doing it twice is the same as doing it once, for those who do not know whether it was done.
    pub fn is_repeatable(&self) -> bool {
        match self {
            Self::Write(write) => write.idempotency_key.is_some(),
            Self::CreateCapsule(_)
            | Self::DeleteCapsule(_)
            | Self::PurgeCapsule(_)
            | Self::AddScheme(_)
            | Self::RemoveScheme(_)
            | Self::Restore(_)
            | Self::Delete(_)
            | Self::Purge(_)
            | Self::SendSignal(_)
            | Self::MemoryDelete(_)
            | Self::AddShare(_)
            | Self::RevokeShare(_)
            | Self::NoteRefusal(_)
            | Self::NoteLook(_)
            | Self::NoteAccess(_)
            | Self::Export(_)
            | Self::Import(_) => false,
            Self::ListCapsules(_)
            | Self::UpdateCapsule(_)
            | Self::Discover(_)
            | Self::StorageStatus(_)
            | Self::Overview(_)
            | Self::Read(_)
            | Self::List(_)
            | Self::Search(_)
            | Self::History(_)
            | Self::Diff(_)
            | Self::Prompts(_)
            | Self::Prompt(_)
            | Self::Skills(_)
            | Self::Skill(_)
            | Self::ReadBlob(_)
            | Self::Schemes(_)
            | Self::Deleted(_)
            | Self::CollectBlobs(_)
            | Self::PollSignals(_)
            | Self::Acknowledge(_)
            | Self::MemoryGet(_)
            | Self::MemorySet(_)
            | Self::MemoryList(_)
            | Self::MemorySearch(_)
            | Self::Shares(_)
            | Self::OpenShare(_)
            | Self::Verify(_)
            | Self::AuditVerify(_)
            | Self::AuditQuery(_)
            | Self::AuditPrune(_)
            | Self::RegistryAuditVerify(_)
            | Self::RegistryAuditQuery(_)
            | Self::RegistryAuditPrune(_) => true,
        }
    }
}

/// Only the name: bodies, memories and tokens have no place in a log.
impl fmt::Debug for CapsuleOperation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

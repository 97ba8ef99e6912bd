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

/// Declares the operations: whether each may be sent again when it is not known whether it was done, its name, its request
/// and its response.
macro_rules! operations {
    (@repeatable $request:ident) => {
        true
    };
    (@once $request:ident) => {
        false
    };
    (@keyed $request:ident) => {
        $request.idempotency_key.is_some()
    };
    ($($repeat:ident $name:ident($request:ty) -> $response:ty,)*) => {
        /// One operation. Those about capsules as a whole take no capsule in the request.
        #[derive(Clone, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum CapsuleOperation {
            $($name($request),)*
        }

        /// What an operation responds with.
        #[derive(Debug, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
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

            /// Whether doing it twice is the same as doing it once.
            pub fn is_repeatable(&self) -> bool {
                match self {
                    $(Self::$name(_request) => operations!(@$repeat _request),)*
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
    repeatable ListCapsules(ListCapsulesRequest) -> ListCapsulesResponse,
    once CreateCapsule(CreateCapsuleRequest) -> CapsuleInfo,
    repeatable UpdateCapsule(CapsuleUpdate) -> CapsuleInfo,
    once DeleteCapsule(DeleteCapsuleRequest) -> CapsuleInfo,
    once PurgeCapsule(PurgeCapsuleRequest) -> PurgeCapsuleResponse,
    repeatable Discover(DiscoverRequest) -> DiscoverResponse,
    repeatable StorageStatus(StorageStatusRequest) -> StorageStatusResponse,
    repeatable Overview(OverviewRequest) -> OverviewResponse,
    repeatable Read(ReadRequest) -> ReadResponse,
    repeatable List(ListQuery) -> ListResponse,
    repeatable Search(SearchQuery) -> SearchResponse,
    repeatable History(HistoryRequest) -> HistoryResponse,
    repeatable Diff(DiffRequest) -> DiffResponse,
    repeatable Prompts(PromptsRequest) -> PromptsResponse,
    repeatable Prompt(PromptRequest) -> PromptResponse,
    repeatable Skills(SkillsRequest) -> SkillsResponse,
    repeatable Skill(SkillRequest) -> SkillResponse,
    repeatable ReadBlob(ReadBlobRequest) -> BlobResponse,
    repeatable Schemes(SchemesRequest) -> SchemesResponse,
    once AddScheme(AddSchemeRequest) -> SchemeResponse,
    once RemoveScheme(RemoveSchemeRequest) -> SchemeResponse,
    keyed Write(WriteRequest) -> WriteResponse,
    once Restore(RestoreRequest) -> WriteResponse,
    once Delete(DeleteRequest) -> DeleteResponse,
    repeatable Deleted(DeletedRequest) -> DeletedResponse,
    once Purge(PurgeRequest) -> PurgeResponse,
    repeatable CollectBlobs(CollectBlobsRequest) -> CollectBlobsResponse,
    once SendSignal(SendSignalRequest) -> SignalResponse,
    repeatable PollSignals(PollSignalsRequest) -> PollSignalsResponse,
    repeatable Acknowledge(AcknowledgeRequest) -> AcknowledgeResponse,
    repeatable MemoryGet(MemoryGetRequest) -> MemoryGetResponse,
    repeatable MemorySet(MemorySetRequest) -> MemorySetResponse,
    once MemoryDelete(MemoryDeleteRequest) -> MemoryDeleteResponse,
    repeatable MemoryList(MemoryListRequest) -> MemoryItemsResponse,
    repeatable MemorySearch(MemorySearchRequest) -> MemoryItemsResponse,
    repeatable Shares(SharesRequest) -> SharesResponse,
    once AddShare(AddShareRequest) -> AddShareResponse,
    once RevokeShare(RevokeShareRequest) -> RevokeShareResponse,
    repeatable OpenShare(OpenShareRequest) -> Share,
    once NoteRefusal(NoteRefusalRequest) -> (),
    once NoteLook(LookAround) -> (),
    once NoteAccess(AccessEvent) -> (),
    repeatable Verify(VerifyRequest) -> VerifyResponse,
    once Export(ExportRequest) -> ExportResponse,
    once Import(ImportFilesRequest) -> ImportResponse,
    repeatable AuditVerify(AuditVerifyRequest) -> AuditVerifyResponse,
    repeatable AuditQuery(AuditFilter) -> AuditLinesResponse,
    repeatable AuditPrune(AuditPruneRequest) -> AuditPruneResponse,
    repeatable RegistryAuditVerify(RegistryAuditVerifyRequest) -> AuditVerifyResponse,
    repeatable RegistryAuditQuery(RegistryAuditFilter) -> AuditLinesResponse,
    repeatable RegistryAuditPrune(RegistryAuditPruneRequest) -> AuditPruneResponse,
}

impl CapsuleCall for CapsuleOperation {
    type Response = CapsuleResponse;

    fn response(response: CapsuleResponse) -> Option<CapsuleResponse> {
        Some(response)
    }
}

/// Only the name: bodies, memories and tokens have no place in a log.
impl fmt::Debug for CapsuleOperation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

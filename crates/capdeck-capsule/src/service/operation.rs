//! The table of all operations: which response belongs to which request.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    CapsuleError,
    local::{ServiceCall, audit, reading, registry, transfer, writing},
    request::*,
    response::*,
};
use crate::{AccessEvent, CapsuleInfo, CapsuleUpdate, Share};

/// A request with the response that belongs to it.
pub trait CapsuleCall: Into<CapsuleOperation> + Send {
    type Response: Serialize + Send;

    /// The response to this operation; `None` for that of another one.
    fn response(response: CapsuleResponse) -> Option<Self::Response>;
}

/// Declares the operations: whether each may be sent again when it is not known whether it was done, its name, its
/// request, its response, and the function that does it.
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
    ($($repeat:ident $name:ident($request:ty) -> $response:ty = $function:path,)*) => {
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

            /// Does it on the data folder.
            pub(super) async fn run(
                self,
                call: &ServiceCall<'_>,
            ) -> Result<CapsuleResponse, CapsuleError> {
                Ok(match self {
                    $(Self::$name(request) => {
                        CapsuleResponse::$name($function(call, request).await?)
                    })*
                })
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
    repeatable ListCapsules(ListCapsulesRequest) -> ListCapsulesResponse = registry::list_capsules,
    once CreateCapsule(CreateCapsuleRequest) -> CapsuleInfo = registry::create_capsule,
    repeatable UpdateCapsule(CapsuleUpdate) -> CapsuleInfo = registry::update_capsule,
    once DeleteCapsule(DeleteCapsuleRequest) -> CapsuleInfo = registry::delete_capsule,
    once PurgeCapsule(PurgeCapsuleRequest) -> PurgeCapsuleResponse = registry::purge_capsule,
    repeatable Discover(DiscoverRequest) -> DiscoverResponse = registry::discover,
    repeatable StorageStatus(StorageStatusRequest) -> StorageStatusResponse = registry::storage_status,
    repeatable Overview(OverviewRequest) -> OverviewResponse = reading::overview,
    repeatable Read(ReadRequest) -> ReadResponse = reading::read,
    repeatable List(ListQuery) -> ListResponse = reading::list,
    repeatable Search(SearchQuery) -> SearchResponse = reading::search,
    repeatable History(HistoryRequest) -> HistoryResponse = reading::history,
    repeatable Diff(DiffRequest) -> DiffResponse = reading::diff,
    repeatable Prompts(PromptsRequest) -> PromptsResponse = reading::prompts,
    repeatable Prompt(PromptRequest) -> PromptResponse = reading::prompt,
    repeatable Skills(SkillsRequest) -> SkillsResponse = reading::skills,
    repeatable Skill(SkillRequest) -> SkillResponse = reading::skill,
    repeatable ReadBlob(ReadBlobRequest) -> BlobResponse = reading::read_blob,
    repeatable Schemes(SchemesRequest) -> SchemesResponse = reading::schemes,
    once AddScheme(AddSchemeRequest) -> SchemeResponse = writing::add_scheme,
    once RemoveScheme(RemoveSchemeRequest) -> SchemeResponse = writing::remove_scheme,
    keyed Write(WriteRequest) -> WriteResponse = writing::write,
    once Restore(RestoreRequest) -> WriteResponse = writing::restore,
    once Delete(DeleteRequest) -> DeleteResponse = writing::delete,
    repeatable Deleted(DeletedRequest) -> DeletedResponse = reading::deleted,
    once Purge(PurgeRequest) -> PurgeResponse = writing::purge,
    repeatable CollectBlobs(CollectBlobsRequest) -> CollectBlobsResponse = writing::collect_blobs,
    once SendSignal(SendSignalRequest) -> SignalResponse = writing::send_signal,
    repeatable PollSignals(PollSignalsRequest) -> PollSignalsResponse = reading::poll_signals,
    repeatable Acknowledge(AcknowledgeRequest) -> AcknowledgeResponse = writing::acknowledge,
    repeatable MemoryGet(MemoryGetRequest) -> MemoryGetResponse = reading::memory_get,
    repeatable MemorySet(MemorySetRequest) -> MemorySetResponse = writing::memory_set,
    once MemoryDelete(MemoryDeleteRequest) -> MemoryDeleteResponse = writing::memory_delete,
    repeatable MemoryList(MemoryListRequest) -> MemoryItemsResponse = reading::memory_list,
    repeatable MemorySearch(MemorySearchRequest) -> MemoryItemsResponse = reading::memory_search,
    repeatable Shares(SharesRequest) -> SharesResponse = registry::shares,
    once AddShare(AddShareRequest) -> AddShareResponse = registry::add_share,
    once RevokeShare(RevokeShareRequest) -> RevokeShareResponse = registry::revoke_share,
    repeatable OpenShare(OpenShareRequest) -> Share = registry::open_share,
    once NoteRefusal(NoteRefusalRequest) -> () = audit::note_refusal,
    once NoteLook(LookAround) -> () = audit::note_look,
    once NoteAccess(AccessEvent) -> () = audit::note_access,
    repeatable Verify(VerifyRequest) -> VerifyResponse = audit::verify,
    once Export(ExportRequest) -> ExportResponse = transfer::write_files,
    once Import(ImportFilesRequest) -> ImportResponse = transfer::read_files,
    repeatable AuditVerify(AuditVerifyRequest) -> AuditVerifyResponse = audit::verify_capsule,
    repeatable AuditQuery(AuditFilter) -> AuditLinesResponse = audit::query_capsule,
    repeatable AuditPrune(AuditPruneRequest) -> AuditPruneResponse = audit::prune_capsule,
    repeatable RegistryAuditVerify(RegistryAuditVerifyRequest) -> AuditVerifyResponse = audit::verify_registry,
    repeatable RegistryAuditQuery(RegistryAuditFilter) -> AuditLinesResponse = audit::query_registry,
    repeatable RegistryAuditPrune(RegistryAuditPruneRequest) -> AuditPruneResponse = audit::prune_registry,
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

//! The table of all operations: which response belongs to which request.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    CapsuleResult,
    local::{ServiceCall, audit, registry, transfer},
    request::*,
    response::*,
};
use crate::{AccessEvent, CapsuleHandle, CapsuleInfo, CapsuleUpdate, Share};

/// A request with the response that belongs to it. Both have a schema, so that each operation can be described wherever it
/// is offered.
pub trait CapsuleCall: Into<CapsuleOperation> + Serialize + JsonSchema + Send {
    type Response: Serialize + JsonSchema + Send;

    /// The response to this operation; `None` for that of another one.
    fn response(response: CapsuleResponse) -> Option<Self::Response>;
}

/// Declares the operations: whether each may be sent again when it is not known whether it was done, whether it is done by
/// the service or by the handle of the capsule that it is about, its name, its request, its response, and the function.
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
    (@service $call:ident $request:ident $function:path) => {
        $function($call, $request).await?
    };
    (@handle $call:ident $request:ident $function:path) => {
        $function(&$call.session().await?, $request).await?
    };
    ($($repeat:ident $by:ident $name:ident($request:ty) -> $response:ty = $function:path,)*) => {
        /// One operation. Those about capsules as a whole take no capsule in the request.
        #[derive(Clone, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum CapsuleOperation {
            $($name($request),)*
        }

        /// What an operation responds with.
        #[derive(Debug, Serialize, Deserialize, JsonSchema)]
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
            ) -> CapsuleResult<CapsuleResponse> {
                Ok(match self {
                    $(Self::$name(request) => {
                        CapsuleResponse::$name(operations!(@$by call request $function))
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
    repeatable service ListCapsules(ListCapsulesRequest) -> ListCapsulesResponse = registry::list_capsules,
    once service CreateCapsule(CreateCapsuleRequest) -> CapsuleInfo = registry::create_capsule,
    repeatable service UpdateCapsule(CapsuleUpdate) -> CapsuleInfo = registry::update_capsule,
    once service DeleteCapsule(DeleteCapsuleRequest) -> CapsuleInfo = registry::delete_capsule,
    once service PurgeCapsule(PurgeCapsuleRequest) -> PurgeCapsuleResponse = registry::purge_capsule,
    repeatable service Discover(DiscoverRequest) -> DiscoverResponse = registry::discover,
    repeatable service StorageStatus(StorageStatusRequest) -> StorageStatusResponse = registry::storage_status,
    repeatable handle Overview(OverviewRequest) -> OverviewResponse = CapsuleHandle::overview,
    repeatable handle Read(ReadRequest) -> ReadResponse = CapsuleHandle::read,
    repeatable handle List(ListQuery) -> ListResponse = CapsuleHandle::list,
    repeatable handle Search(SearchQuery) -> SearchResponse = CapsuleHandle::search,
    repeatable handle History(HistoryRequest) -> HistoryResponse = CapsuleHandle::history,
    repeatable handle Diff(DiffRequest) -> DiffResponse = CapsuleHandle::diff,
    repeatable handle Prompts(PromptsRequest) -> PromptsResponse = CapsuleHandle::prompts,
    repeatable handle Prompt(PromptRequest) -> PromptResponse = CapsuleHandle::prompt,
    repeatable handle Skills(SkillsRequest) -> SkillsResponse = CapsuleHandle::skills,
    repeatable handle Skill(SkillRequest) -> SkillResponse = CapsuleHandle::skill,
    repeatable handle ReadBlob(ReadBlobRequest) -> BlobResponse = CapsuleHandle::read_blob,
    repeatable handle Schemes(SchemesRequest) -> SchemesResponse = CapsuleHandle::schemes,
    once handle AddScheme(AddSchemeRequest) -> SchemeResponse = CapsuleHandle::add_scheme,
    once handle RemoveScheme(RemoveSchemeRequest) -> SchemeResponse = CapsuleHandle::remove_scheme,
    keyed handle Write(WriteRequest) -> WriteResponse = CapsuleHandle::write,
    once handle Restore(RestoreRequest) -> WriteResponse = CapsuleHandle::restore,
    once handle Delete(DeleteRequest) -> DeleteResponse = CapsuleHandle::delete,
    repeatable handle Deleted(DeletedRequest) -> DeletedResponse = CapsuleHandle::deleted,
    once handle Purge(PurgeRequest) -> PurgeResponse = CapsuleHandle::purge,
    repeatable handle CollectBlobs(CollectBlobsRequest) -> CollectBlobsResponse = CapsuleHandle::collect_blobs,
    once handle SendSignal(SendSignalRequest) -> SignalResponse = CapsuleHandle::send_signal,
    repeatable handle PollSignals(PollSignalsRequest) -> PollSignalsResponse = CapsuleHandle::poll_signals,
    repeatable handle Acknowledge(AcknowledgeRequest) -> AcknowledgeResponse = CapsuleHandle::acknowledge,
    repeatable handle MemoryGet(MemoryGetRequest) -> MemoryGetResponse = CapsuleHandle::memory_get,
    repeatable handle MemorySet(MemorySetRequest) -> MemorySetResponse = CapsuleHandle::memory_set,
    once handle MemoryDelete(MemoryDeleteRequest) -> MemoryDeleteResponse = CapsuleHandle::memory_delete,
    repeatable handle MemoryList(MemoryListRequest) -> MemoryItemsResponse = CapsuleHandle::memory_list,
    repeatable handle MemorySearch(MemorySearchRequest) -> MemoryItemsResponse = CapsuleHandle::memory_search,
    repeatable service Shares(SharesRequest) -> SharesResponse = registry::shares,
    once service AddShare(AddShareRequest) -> AddShareResponse = registry::add_share,
    once service RevokeShare(RevokeShareRequest) -> RevokeShareResponse = registry::revoke_share,
    repeatable service OpenShare(OpenShareRequest) -> Share = registry::open_share,
    once service NoteRefusal(NoteRefusalRequest) -> () = audit::note_refusal,
    once service NoteLook(NoteLookRequest) -> () = audit::note_look,
    once service NoteAccess(AccessEvent) -> () = audit::note_access,
    repeatable service Verify(VerifyRequest) -> VerifyResponse = audit::verify,
    once service Export(ExportRequest) -> ExportResponse = transfer::write_files,
    once service Import(ImportFilesRequest) -> ImportResponse = transfer::read_files,
    repeatable service AuditVerify(AuditVerifyRequest) -> AuditVerifyResponse = audit::verify_capsule,
    repeatable service AuditQuery(AuditFilter) -> AuditLinesResponse = audit::query_capsule,
    repeatable service AuditPrune(AuditPruneRequest) -> AuditPruneResponse = audit::prune_capsule,
    repeatable service RegistryAuditVerify(RegistryAuditVerifyRequest) -> AuditVerifyResponse = audit::verify_registry,
    repeatable service RegistryAuditQuery(RegistryAuditFilter) -> AuditLinesResponse = audit::query_registry,
    repeatable service RegistryAuditPrune(RegistryAuditPruneRequest) -> AuditPruneResponse = audit::prune_registry,
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

#[cfg(test)]
mod tests {
    use schemars::schema_for;
    use serde_json::{Value, json};

    use super::*;

    fn schema<T: JsonSchema>() -> Value {
        schema_for!(T).to_value()
    }

    /// The names of the operations in a schema that has one member for each.
    fn operations(schema: &Value) -> Vec<String> {
        let variants = schema["oneOf"].as_array().unwrap();
        let named = variants.iter().flat_map(|variant| variant["properties"].as_object().unwrap());
        let described = named.inspect(|(name, schema)| assert!(schema.is_object(), "{name}"));
        described.map(|(name, _)| name.clone()).collect()
    }

    #[test]
    fn every_operation_has_a_schema_on_both_sides() {
        let requests = operations(&schema::<CapsuleOperation>());
        assert!(requests.contains(&"write".to_owned()), "{requests:?}");
        assert_eq!(requests, operations(&schema::<CapsuleResponse>()));
    }

    /// Checked texts are texts where they leave the process.
    #[test]
    fn checked_texts_have_the_schema_of_texts() {
        let access = schema::<crate::CapsuleAccess>();
        assert_eq!(access["$defs"]["UriPrefix"]["type"], json!("string"), "{access}");
        let deleted = schema::<crate::DeletedEntry>();
        assert!(deleted.to_string().contains(r#""type":"string""#), "{deleted}");
    }
}

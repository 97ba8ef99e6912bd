//! What a server of only one era answers to a client of the other.

use capdeck_mcp::{Era, ProtocolRevision, RequestId, RpcError, RpcMessage};
use serde_json::{Value, json, value::to_raw_value};

/// The only era the fixture answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForcedEra(pub Era);

/// A request that the forced era does not have.
pub(super) struct EraRefusal {
    pub(super) id: RequestId,
    pub(super) error: RpcError,
}

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

impl ForcedEra {
    /// The answer to a message of the other era, or nothing when it may pass.
    pub(super) fn refuse(self, message: &[u8]) -> Option<EraRefusal> {
        let Ok(RpcMessage::Request { id, method, params }) = RpcMessage::parse(message) else {
            return None;
        };
        let params: Value = params
            .and_then(|params| serde_json::from_str(params.get()).ok())
            .unwrap_or_else(|| json!({}));
        let is_modern = params["_meta"].get(PROTOCOL_VERSION).is_some();
        let error = match self.0 {
            Era::Legacy if is_modern => RpcError::method_not_found(&method),
            Era::Modern if !is_modern && method == "initialize" => {
                unsupported(&params["protocolVersion"])
            }
            _ => return None,
        };
        Some(EraRefusal { id, error })
    }

    /// Whether an HTTP request may say that it speaks this revision.
    pub(super) fn has_revision(self, text: &str) -> bool {
        ProtocolRevision::parse(text).is_some_and(|revision| revision.era() == self.0)
    }
}

fn unsupported(requested: &Value) -> RpcError {
    let supported = [ProtocolRevision::LATEST.as_str()];
    let data = to_raw_value(&json!({ "supported": supported, "requested": requested })).unwrap();
    RpcError::new(RpcError::UNSUPPORTED_VERSION, "this server speaks only the modern era")
        .with_data(data)
}

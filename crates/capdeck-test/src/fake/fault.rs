//! Ways to answer a request wrongly.

use serde_json::{Value, json};

use super::{
    plan::FakeFault,
    server::{FakeOutlet, MessageEnd},
};

/// More than any reader of messages should accept.
const HUGE: usize = 20 * 1024 * 1024;

impl FakeFault {
    /// The fault that a tool of this name commits when it is called.
    pub(super) fn from_name(tool: &str) -> Option<Self> {
        match tool {
            "hang" => Some(Self::Hang),
            "crash" => Some(Self::Crash),
            "wrong_id" => Some(Self::WrongId),
            "bad_json" => Some(Self::BadJson),
            "huge_line" => Some(Self::HugeLine),
            "rpc_error" => Some(Self::Error),
            // Not listed: they are called by name.
            "no_outcome" => Some(Self::NoOutcome),
            "text_result" => Some(Self::TextResult),
            _ => None,
        }
    }

    /// Treats the request with this id accordingly. False means: answer it as usual.
    pub(super) fn commit(self, id: &Value, outlet: &dyn FakeOutlet) -> bool {
        match self {
            Self::None => return false,
            Self::Hang => outlet.abandon(),
            Self::Crash => crash(),
            Self::WrongId => outlet.send(
                &json!({"jsonrpc": "2.0", "id": "nobody-asked", "result": {}}).to_string(),
                MessageEnd::Answer,
            ),
            Self::BadJson => outlet.send(r#"{"jsonrpc": "2.0", "id": oops"#, MessageEnd::Answer),
            Self::NoOutcome => {
                outlet.send(&json!({"jsonrpc": "2.0", "id": id}).to_string(), MessageEnd::Answer);
            }
            Self::TextResult => outlet.send(
                &json!({"jsonrpc": "2.0", "id": id, "result": "fine"}).to_string(),
                MessageEnd::Answer,
            ),
            Self::HugeLine => {
                let text = "x".repeat(HUGE);
                let result = json!({"content": [{"type": "text", "text": text}]});
                let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
                outlet.send(&answer.to_string(), MessageEnd::Answer);
            }
            Self::Error => {
                let error = json!({"code": -32050, "message": "refused on purpose", "data": {"why": "test"}});
                let answer = json!({"jsonrpc": "2.0", "id": id, "error": error});
                outlet.send(&answer.to_string(), MessageEnd::Answer);
            }
        }
        true
    }
}

/// Ends the process at once, as a fault in native code would.
fn crash() -> ! {
    std::process::abort()
}

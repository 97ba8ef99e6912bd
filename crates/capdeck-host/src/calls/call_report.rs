//! What the audit trail and the trace are given about one call.

use capdeck_backend::{CallError, ErrorCode};

use super::{ToolRequest, is_tool_error};
use crate::{
    Session,
    audit::{PendingAudit, TOOL_CALL},
    consent::ApprovalSource,
    deck_snapshot::DeckSnapshot,
    flow::DataFlow,
    raw,
    spans::CallSpan,
};

/// A refusal before the call was made.
pub(super) struct CallRejection {
    pub(super) error: Box<CallError>,
    /// True when the gate stopped the call, also where the client gets "no such tool".
    pub(super) by_gate: bool,
}

impl CallRejection {
    pub(super) fn for_call(deck: &DeckSnapshot<'_>, call: &ToolRequest, error: CallError) -> Self {
        let by_gate = match error.code {
            ErrorCode::Denied | ErrorCode::ApprovalRequired => true,
            ErrorCode::ToolNotFound | ErrorCode::ServerNotFound => {
                deck.has_tool(&call.capability, &call.tool)
            }
            _ => false,
        };
        Self { error: Box::new(error), by_gate }
    }
}

/// The audit line and the span of a call under way. The line is written however the call ends, also when it is dropped.
pub(super) struct CallReport<'a> {
    session: &'a Session,
    call: &'a ToolRequest,
    line: PendingAudit<'a>,
    span: Option<CallSpan>,
}

impl<'a> CallReport<'a> {
    pub(super) fn begin(session: &'a Session, call: &'a ToolRequest) -> Self {
        let span = session.host.0.spans.begin(call);
        let line = session.begin_audit(TOOL_CALL, &call.capability, &call.tool);
        Self { session, call, line, span }
    }

    pub(super) fn span(&self) -> Option<&CallSpan> {
        self.span.as_ref()
    }

    pub(super) fn allow(&mut self, approval: ApprovalSource, flow: Option<DataFlow>) {
        self.line.approved = Some(approval.as_str());
        self.line.data_from = flow.map(|flow| flow.from).unwrap_or_default();
    }

    /// Notes that the call is not made. Returns what its caller is answered.
    pub(super) fn refuse(&mut self, rejection: CallRejection) -> CallError {
        self.line.approved = rejection.by_gate.then_some("refused");
        self.note_outcome(rejection.error.code.as_str());
        *rejection.error
    }

    pub(super) fn end(mut self, outcome: &raw::Answer) {
        self.note_outcome(match outcome {
            Ok(result) if is_tool_error(result) => "tool_error",
            Ok(_) => "ok",
            Err(error) => error.code.as_str(),
        });
    }

    fn note_outcome(&mut self, outcome: &'static str) {
        self.line.note_outcome(outcome);
        if let Some(span) = self.span.take() {
            span.end(self.call, &self.session.client_name, outcome);
        }
    }
}

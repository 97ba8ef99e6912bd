//! The `code_mode` tool definition. It costs the same with one capability or a thousand.

use std::sync::Arc;

use capdeck_catalog::{Capability, RawMembers, estimate_tokens};
use capdeck_sandbox::{CapabilityLine, tool_text};
use serde_json::{json, value::RawValue};

use crate::{CapabilityRelevance, raw};

/// Max tokens of the tool, so that a list of it alone costs at most 600.
pub(crate) const CODE_MODE_TOKENS: usize = 595;

/// The tool, naming as many capabilities as the budget allows: the most used first, then by id.
/// `None` when the tool itself exceeds the budget.
pub(crate) fn code_mode_tool(
    capabilities: &[Arc<Capability>],
    relevance: &CapabilityRelevance,
    room: usize,
) -> Option<Box<RawValue>> {
    let mut capabilities: Vec<&Arc<Capability>> = capabilities.iter().collect();
    let weight = |capability: &Capability| {
        relevance.get(&capability.definition.id).copied().unwrap_or(f64::NEG_INFINITY)
    };
    capabilities.sort_by(|left, right| {
        let by_use = weight(right).total_cmp(&weight(left));
        by_use.then_with(|| left.definition.id.cmp(&right.definition.id))
    });
    let lines = capabilities.iter().map(|capability| CapabilityLine {
        id: capability.definition.id.as_str(),
        doc: &capability.definition.description,
        hints: {
            let hints = &capability.definition.hints;
            [hints.use_when.as_deref(), hints.avoid_when.as_deref()]
        },
    });
    let lines: Vec<CapabilityLine<'_>> = lines.collect();
    let frame = estimate_tokens(rendered("")?.get());
    // A text costs a little more inside JSON, so it is shortened until it is small enough.
    let mut left = room.saturating_sub(frame);
    loop {
        let tool = rendered(&tool_text(&lines, left))?;
        let over = estimate_tokens(tool.get()).saturating_sub(room);
        if over == 0 {
            return Some(tool);
        }
        if left == 0 {
            return None;
        }
        left = left.saturating_sub(over);
    }
}

fn rendered(text: &str) -> Option<Box<RawValue>> {
    let tool: RawMembers = raw::object([
        ("name", json!("code_mode")),
        ("description", json!(text)),
        (
            "inputSchema",
            json!({
                "type": "object",
                "properties": {
                    "code": { "type": "string" },
                    "timeoutMs": { "type": "integer" },
                    "sessionId": { "type": "string" },
                    "check": { "type": "string", "enum": ["warn", "full"], "description": "type check" },
                    "resume": { "type": "string" },
                },
            }),
        ),
        ("annotations", json!({ "title": "Run code", "destructiveHint": true })),
    ]);
    serde_json::value::to_raw_value(&tool).ok()
}

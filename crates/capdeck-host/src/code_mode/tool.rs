//! The `code_mode` tool as clients list it. It costs the same with one capability or a thousand.

use std::sync::Arc;

use capdeck_catalog::{Capability, RawObject, estimate_tokens};
use capdeck_sandbox::{CapabilityLine, tool_text};
use serde_json::{json, value::RawValue};

use crate::{Relevance, raw};

/// Tokens that the whole tool may cost, so that a list of it alone costs at most 600.
pub(crate) const CODE_MODE_TOKENS: usize = 595;

/// The tool, naming as many of these capabilities as fit: those used most first, then by id. `None` when not even
/// the tool itself fits.
pub(crate) fn code_mode_tool(
    capabilities: &[Arc<Capability>],
    relevance: &Relevance,
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
    });
    let lines: Vec<CapabilityLine<'_>> = lines.collect();
    let frame = estimate_tokens(rendered("")?.get());
    // What a text costs inside JSON is a little more than by itself, so it is made shorter until it fits.
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
    let tool: RawObject = raw::object([
        ("name", json!("code_mode")),
        ("description", json!(text)),
        (
            "inputSchema",
            json!({
                "type": "object",
                "properties": {
                    "code": { "type": "string" },
                    "timeoutMs": { "type": "integer", "minimum": 1, "maximum": 120_000 },
                    "sessionId": { "type": "string" },
                    "check": { "enum": ["warn", "full"], "description": "type check" },
                    "resume": { "type": "string" },
                },
            }),
        ),
        (
            "outputSchema",
            json!({
                "type": "object",
                "properties": {
                    "ok": { "type": "boolean" },
                    "value": {},
                    "error": {},
                    "diagnostics": {},
                    "logs": {},
                    "meta": {},
                },
                "required": ["ok"],
            }),
        ),
        ("annotations", json!({ "title": "Run code" })),
    ]);
    serde_json::value::to_raw_value(&tool).ok()
}

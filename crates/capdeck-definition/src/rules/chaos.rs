//! Rules of `chaos`.

use crate::{
    ChaosConfig, ChaosDelay,
    diagnostic::{Diagnostic, FileFindings},
    document::ValueNode,
};

/// Checks what ranges of single numbers cannot say. `node` is the mapping that holds `chaos`.
pub(super) fn check(chaos: &ChaosConfig, node: &ValueNode, findings: &mut FileFindings) {
    let block = node.child("chaos");
    if chaos.is_idle() {
        findings.add(
            Diagnostic::warning("empty-value", "`chaos` injects no fault")
                .with_fix("add a fault such as `drop: 0.1`, or remove `chaos`")
                .at(node.key_place("chaos")),
        );
    }
    if let Some(ChaosDelay::Between(range)) = chaos.delay_ms
        && range.min > range.max
    {
        findings.add(
            Diagnostic::error("out-of-range", "`min` of `delayMs` is more than its `max`")
                .with_fix("swap the two")
                .at(block.child("delayMs").child("min").place),
        );
    }
    // One request has one of these faults, so that each happens as often as it says.
    let exclusive = [
        ("drop", chaos.drop),
        ("truncate", chaos.truncate),
        ("malformed", chaos.malformed),
        ("expire", chaos.expire),
    ];
    let sum: f64 = exclusive.iter().map(|(_, share)| share).sum();
    // Shares such as 0.1 are not exact; a sum that is one on paper may be a hair more.
    if sum > 1.0 + 1e-9 {
        let last = exclusive.iter().rev().find(|(_, share)| *share > 0.0);
        let key = last.map_or("drop", |(key, _)| key);
        findings.add(
            Diagnostic::error(
                "out-of-range",
                "`drop`, `truncate`, `malformed` and `expire` of `chaos` are more than 1 together",
            )
            .with_fix("lower them: a request has at most one of these faults")
            .at(block.child(key).place),
        );
    }
}

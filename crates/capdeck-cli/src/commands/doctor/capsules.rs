//! Whether the capsules can be used.

use capdeck_host::CapsuleOperation;
use serde_json::Value;

use super::Finding;
use crate::{
    capsule_desk::ask,
    commands::capsule::{items, text},
    context::Context,
};

const CHECK: &str = "capsules";

/// Opens every capsule, here or in the process that has them.
pub(super) fn examine(context: &Context<'_>) -> Vec<Finding> {
    let status = match ask(context, None, CapsuleOperation::StorageStatus) {
        Ok(status) => status,
        Err(failure) => {
            let fix = failure.hint.unwrap_or_default();
            return vec![Finding::error(CHECK, failure.message, fix)];
        }
    };
    let mut findings = Vec::new();
    if status["writable"] == false {
        let fix = "make room on the disk, or make the data folder writable";
        findings.push(Finding::error(CHECK, text(&status, "reason"), fix));
    }
    for capsule in items(&status, "capsules") {
        let id = text(capsule, "id");
        let message = format!("{id}: {}", text(capsule, "problem"));
        let fix = format!("see all of it with: capdeck capsule verify {id}");
        let is_open = capsule.get("is_open").and_then(Value::as_bool).unwrap_or_default();
        findings.push(match is_open {
            true => Finding::warning(CHECK, message, fix),
            false => Finding::error(CHECK, message, fix),
        });
    }
    findings
}

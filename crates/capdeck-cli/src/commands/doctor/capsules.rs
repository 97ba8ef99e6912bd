//! Whether the capsules can be used.

use capdeck_host::StorageStatusRequest;

use super::Finding;
use crate::{capsule_client::ask, context::Context};

const CHECK: &str = "capsules";

/// Opens every capsule, here or in the process that has them.
pub(super) fn examine(context: &Context<'_>) -> Vec<Finding> {
    let status = match ask(context, None, StorageStatusRequest) {
        Ok(status) => status,
        Err(failure) => {
            let fix = failure.hint.unwrap_or_default();
            return vec![Finding::error(CHECK, failure.message, fix)];
        }
    };
    let mut findings = Vec::new();
    if let Some(reason) = status.reason {
        let fix = "make room on the disk, or make the data folder writable";
        findings.push(Finding::error(CHECK, reason, fix));
    }
    for capsule in status.capsules {
        let id = capsule.id;
        let message = format!("{id}: {}", capsule.problem);
        let fix = format!("see all of it with: capdeck capsule verify {id}");
        findings.push(match capsule.is_open {
            true => Finding::warning(CHECK, message, fix),
            false => Finding::error(CHECK, message, fix),
        });
    }
    findings
}

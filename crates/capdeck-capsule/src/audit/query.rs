//! Looks into an audit trail.

use std::{collections::VecDeque, path::Path};

use super::AuditLogLine;
use crate::{StoreError, StoreResult, UriPrefix, day_file, service::AuditFilter};

/// The last `most` lines that fit, oldest first. Blocks.
pub fn query_audit(
    folder: &Path,
    log: &str,
    filter: &AuditFilter,
    most: usize,
) -> StoreResult<Vec<AuditLogLine>> {
    let prefix = filter.prefix.as_deref().map(UriPrefix::parse).transpose()?;
    let failed = || StoreError::io("read the audit");
    let mut found: VecDeque<AuditLogLine> = VecDeque::new();
    for (_, path) in day_file::days(folder, log).map_err(failed())?.into_iter().rev() {
        let mut here: VecDeque<AuditLogLine> = VecDeque::new();
        let room = most - found.len();
        for line in day_file::lines(&path).map_err(failed())? {
            let line = line.map_err(failed())?;
            if matches(filter, prefix.as_ref(), &line) {
                here.push_back(line);
                if here.len() > room {
                    here.pop_front();
                }
            }
        }
        here.append(&mut found);
        found = here;
        if found.len() >= most {
            break;
        }
    }
    Ok(found.into())
}

fn matches(filter: &AuditFilter, prefix: Option<&UriPrefix>, line: &AuditLogLine) -> bool {
    let AuditFilter { since, until, agent, principal, action, outcome, after_seq, .. } = filter;
    let is_action = |action: &String| {
        let rest = line.action.strip_prefix(action.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let covers = |prefix: &UriPrefix| line.uri.as_ref().is_some_and(|uri| prefix.covers(uri));
    since.is_none_or(|since| line.ts >= since)
        && until.is_none_or(|until| line.ts <= until)
        && agent.as_ref().is_none_or(|agent| line.agent == *agent)
        && (principal.is_none() || line.metadata.principal_id == *principal)
        && action.as_ref().is_none_or(is_action)
        && prefix.is_none_or(covers)
        && outcome.is_none_or(|outcome| line.outcome == outcome)
        && after_seq.is_none_or(|seq| line.seq > seq)
}

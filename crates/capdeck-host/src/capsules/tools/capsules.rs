//! `capsol_capsules`: which there are, and which one this session works in.

use capdeck_capsule::StoreError;
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{
    ToolAnswer, ToolRun, manage, needed, parse,
    tool_result::{capsule_line, summary_line},
};
use crate::{
    AccessRequest, Role,
    capsules::{
        BrowseAction, CapsuleError, CapsuleSummary, DiscoverRequest, ListCapsulesRequest,
        NoteLookRequest, bare_name, find_capsule,
    },
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CapsulesToolArguments {
    action: CapsulesToolAction,
    capsule: Option<String>,
    role: Option<Role>,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum CapsulesToolAction {
    List,
    Mount,
    Unmount,
    Discover,
    RequestAccess,
}

pub(super) async fn call(
    run: &ToolRun<'_>,
    arguments: Option<&RawValue>,
) -> Result<ToolAnswer, CapsuleError> {
    let CapsulesToolArguments { action, capsule, role, reason } = parse(arguments)?;
    let look = match action {
        CapsulesToolAction::List => BrowseAction::List,
        CapsulesToolAction::Mount => BrowseAction::Mount,
        CapsulesToolAction::Unmount => BrowseAction::Unmount,
        CapsulesToolAction::Discover => BrowseAction::Discover,
        CapsulesToolAction::RequestAccess => {
            let capsule = needed(capsule, "capsule", "request_access")?;
            let role = role.unwrap_or(Role::Reader);
            // Recorded where it is decided.
            let request = AccessRequest::RequestAccess { capsule, role, reason };
            let facts = run.ask_access(request, "access is not asked for here").await?;
            return Ok(ToolAnswer::new(manage::text(&facts), &facts));
        }
    };
    let outcome = browse(run, look, capsule).await;
    let (outcome, capsule) = match outcome {
        Ok((answer, mounted)) => (Ok(answer), mounted),
        Err(error) => (Err(error), None),
    };
    let error_code = outcome.as_ref().err().map(|error| error.code);
    let recorded = run.ask_in(None, NoteLookRequest { look, capsule, error_code }).await;
    // Where everything must be recorded, what is not is not answered either.
    outcome.and_then(|answer| recorded.map(|()| answer))
}

/// The answer, and the capsule that was mounted.
async fn browse(
    run: &ToolRun<'_>,
    look: BrowseAction,
    capsule: Option<String>,
) -> Result<(ToolAnswer, Option<String>), CapsuleError> {
    let mount = run.by.mount;
    let answer = match look {
        BrowseAction::List => {
            let list = ListCapsulesRequest { with_counts: true };
            let capsules = without_uids(run.ask_in(None, list).await?.capsules);
            let mounted = mount.mounted();
            let mut text = lines(capsules.iter().map(summary_line), "you reach no capsule");
            if let Some(id) = &mounted {
                text.push_str(&format!("mounted: `{id}`\n"));
            }
            ToolAnswer::new(text, &json!({ "capsules": capsules, "mounted": mounted }))
        }
        BrowseAction::Discover => {
            let found = run.ask_in(None, DiscoverRequest).await?;
            let named = found.capsules.iter();
            let named =
                named.map(|one| capsule_line(None, &one.name, &one.description, String::new()));
            ToolAnswer::new(lines(named, "there is nothing to discover"), &found)
        }
        BrowseAction::Mount => {
            mount.require_memory()?;
            let name = needed(capsule, "capsule", "mount")?;
            let listed =
                without_uids(run.ask_in(None, ListCapsulesRequest::default()).await?.capsules);
            let found =
                find_capsule(&listed, bare_name(&name), |one| (&one.info.id, &one.info.name))?;
            let found = found.ok_or(StoreError::CapsuleNotFound { name })?;
            let id = found.info.id.clone();
            mount.set(Some(id.clone()));
            let text = format!("mounted {}", summary_line(found));
            let facts = json!({ "mounted": id, "capsules": [found] });
            return Ok((ToolAnswer::new(text, &facts), Some(id)));
        }
        BrowseAction::Unmount => {
            mount.require_memory()?;
            mount.set(None);
            ToolAnswer::new("no capsule is mounted".to_owned(), &json!({ "mounted": null }))
        }
    };
    Ok((answer, None))
}

/// Capsules as an agent is shown them. The uid is for records; every reader would pay for it.
fn without_uids(mut capsules: Vec<CapsuleSummary>) -> Vec<CapsuleSummary> {
    capsules.iter_mut().for_each(|capsule| capsule.info.uid.clear());
    capsules
}

fn lines(capsules: impl Iterator<Item = String>, nothing: &str) -> String {
    let lines: String = capsules.map(|line| format!("- {line}\n")).collect();
    if lines.is_empty() { format!("{nothing}\n") } else { lines }
}

//! `capsol_capsules`: which there are, and which one this session works in.

use capdeck_capsule::{Access, RegistryError, Visibility};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{json, value::RawValue};

use super::{
    ToolAnswer, ToolRun,
    answer::{capsule_line, summary_line},
    manage, needed, parse,
};
use crate::{
    AccessRequest, Role,
    capsules::{
        CapsuleError, CapsuleSummary, DiscoverRequest, ListCapsulesRequest, Look, LookAround,
        bare_name, find_capsule,
    },
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    action: Action,
    capsule: Option<String>,
    role: Option<Role>,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    List,
    Mount,
    Unmount,
    Discover,
    RequestAccess,
}

/// A capsule as an agent is shown it: without the uid, which is for records.
#[derive(Serialize)]
struct ListedCapsule<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    visibility: Visibility,
    created_at: Timestamp,
    #[serde(flatten)]
    access: &'a Access,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'a str>,
}

impl<'a> From<&'a CapsuleSummary> for ListedCapsule<'a> {
    fn from(summary: &'a CapsuleSummary) -> Self {
        let CapsuleSummary { info, access, entries, problem } = summary;
        Self {
            id: &info.id,
            name: &info.name,
            description: &info.description,
            visibility: info.visibility,
            created_at: info.created_at,
            access,
            entries: *entries,
            problem: problem.as_deref(),
        }
    }
}

pub(super) async fn call(
    run: &ToolRun<'_>,
    arguments: Option<&RawValue>,
) -> Result<ToolAnswer, CapsuleError> {
    let Arguments { action, capsule, role, reason } = parse(arguments)?;
    let look = match action {
        Action::List => Look::List,
        Action::Mount => Look::Mount,
        Action::Unmount => Look::Unmount,
        Action::Discover => Look::Discover,
        Action::RequestAccess => {
            let capsule = needed(capsule, "capsule", "request_access")?;
            let role = role.unwrap_or(Role::Reader);
            // Recorded where it is decided.
            let wish = AccessRequest::RequestAccess { capsule, role, reason };
            let facts = run.ask_access(wish, "access is not asked for here").await?;
            return Ok(ToolAnswer::new(manage::text(&facts), &facts));
        }
    };
    let outcome = look_around(run, look, capsule).await;
    let (outcome, capsule) = match outcome {
        Ok((answer, mounted)) => (Ok(answer), mounted),
        Err(error) => (Err(error), None),
    };
    let error_code = outcome.as_ref().err().map(|error| error.code);
    let recorded = run.ask_in(None, LookAround { look, capsule, error_code }).await;
    // Where everything must be recorded, what is not is not answered either.
    outcome.and_then(|answer| recorded.map(|()| answer))
}

/// The answer, and the capsule that was mounted.
async fn look_around(
    run: &ToolRun<'_>,
    look: Look,
    capsule: Option<String>,
) -> Result<(ToolAnswer, Option<String>), CapsuleError> {
    let mount = run.by.mount;
    let answer = match look {
        Look::List => {
            let list = ListCapsulesRequest { with_counts: true };
            let capsules = run.ask_in(None, list).await?.capsules;
            let mounted = mount.mounted();
            let mut text = lines(capsules.iter().map(summary_line), "you reach no capsule");
            if let Some(id) = &mounted {
                text.push_str(&format!("mounted: `{id}`\n"));
            }
            let shown: Vec<ListedCapsule<'_>> = capsules.iter().map(ListedCapsule::from).collect();
            ToolAnswer::new(text, &json!({ "capsules": shown, "mounted": mounted }))
        }
        Look::Discover => {
            let found = run.ask_in(None, DiscoverRequest).await?;
            let named = found.capsules.iter();
            let named =
                named.map(|one| capsule_line(None, &one.name, &one.description, String::new()));
            ToolAnswer::new(lines(named, "there is nothing to discover"), &found)
        }
        Look::Mount => {
            mount.require_memory()?;
            let name = needed(capsule, "capsule", "mount")?;
            let listed = run.ask_in(None, ListCapsulesRequest::default()).await?.capsules;
            let found =
                find_capsule(&listed, bare_name(&name), |one| (&one.info.id, &one.info.name))?;
            let found = found.ok_or(RegistryError::NotFound { name })?;
            let id = found.info.id.clone();
            mount.set(Some(id.clone()));
            let text = format!("mounted {}", summary_line(found));
            let facts = json!({ "mounted": id, "capsules": [ListedCapsule::from(found)] });
            return Ok((ToolAnswer::new(text, &facts), Some(id)));
        }
        Look::Unmount => {
            mount.require_memory()?;
            mount.set(None);
            ToolAnswer::new("no capsule is mounted".to_owned(), &json!({ "mounted": null }))
        }
    };
    Ok((answer, None))
}

fn lines(capsules: impl Iterator<Item = String>, nothing: &str) -> String {
    let lines: String = capsules.map(|line| format!("- {line}\n")).collect();
    if lines.is_empty() { format!("{nothing}\n") } else { lines }
}

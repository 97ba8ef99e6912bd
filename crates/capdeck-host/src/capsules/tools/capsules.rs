//! `capsol_capsules`: which there are, and which one this session works in.

use capdeck_capsule::RegistryError;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{Answer, ToolCaller, answer::capsule_line, invalid, manage, needed, parse};
use crate::{
    AccessRequest, Role,
    capsules::{
        CapsuleFailure, CapsuleOperation, Look, LookAround, find_capsule, request::bare_name,
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

pub(super) async fn call(
    by: &ToolCaller<'_>,
    arguments: Option<&RawValue>,
) -> Result<Answer, CapsuleFailure> {
    let Arguments { action, capsule, role, reason } = parse(arguments)?;
    let look = match action {
        Action::List => Look::List,
        Action::Mount => Look::Mount,
        Action::Unmount => Look::Unmount,
        Action::Discover => Look::Discover,
        Action::RequestAccess => {
            let desk = by.grants.ok_or_else(|| invalid("access is not asked for here"))?;
            let capsule = needed(capsule, "capsule", "request_access")?;
            let role = role.unwrap_or(Role::Reader);
            // Recorded where it is decided.
            let facts = desk.ask(AccessRequest::RequestAccess { capsule, role, reason }).await?;
            return Ok(Answer { text: manage::text(&facts), facts });
        }
    };
    let outcome = look_around(by, look, capsule).await;
    let looked = LookAround {
        look,
        capsule: outcome.as_ref().ok().and_then(|answer| chosen(look, answer)),
        error_code: outcome.as_ref().err().map(|failure| failure.code.clone()),
    };
    let recorded = ask(by, CapsuleOperation::Looked(looked)).await;
    // Where everything must be recorded, what is not is not answered either.
    outcome.and_then(|answer| recorded.map(|_| answer))
}

async fn look_around(
    by: &ToolCaller<'_>,
    look: Look,
    capsule: Option<String>,
) -> Result<Answer, CapsuleFailure> {
    match look {
        Look::List => {
            let answer = ask(by, CapsuleOperation::ListCapsules { with_counts: true }).await?;
            let mounted = by.mount.mounted();
            let mut text = lines(&answer, "you reach no capsule");
            if let Some(id) = &mounted {
                text.push_str(&format!("mounted: `{id}`\n"));
            }
            let facts = json!({ "capsules": shown(capsules(&answer)), "mounted": mounted });
            Ok(Answer { text, facts })
        }
        Look::Discover => {
            let answer = ask(by, CapsuleOperation::Discover).await?;
            let text = lines(&answer, "there is nothing to discover");
            Ok(Answer { text, facts: json!({ "capsules": answer["capsules"] }) })
        }
        Look::Mount => {
            by.mount.require_memory()?;
            let name = needed(capsule, "capsule", "mount")?;
            let answer = ask(by, CapsuleOperation::ListCapsules { with_counts: false }).await?;
            let listed = capsules(&answer);
            let found = find_capsule(listed, bare_name(&name), |one| {
                (one["id"].as_str().unwrap_or_default(), one["name"].as_str().unwrap_or_default())
            })?;
            let found = found.ok_or(RegistryError::NotFound { name })?;
            let id = found["id"].as_str().unwrap_or_default().to_owned();
            by.mount.set(Some(id.clone()));
            let text = format!("mounted {}", capsule_line(found));
            Ok(Answer { text, facts: json!({ "mounted": id, "capsules": shown([found]) }) })
        }
        Look::Unmount => {
            by.mount.require_memory()?;
            by.mount.set(None);
            let text = "no capsule is mounted".to_owned();
            Ok(Answer { text, facts: json!({ "mounted": null }) })
        }
    }
}

/// The capsule that was mounted.
fn chosen(look: Look, answer: &Answer) -> Option<String> {
    let mounted = (look == Look::Mount).then(|| answer.facts["mounted"].as_str());
    mounted.flatten().map(str::to_owned)
}

async fn ask(by: &ToolCaller<'_>, operation: CapsuleOperation) -> Result<Value, CapsuleFailure> {
    by.desk.ask(by.caller.request(None, operation)).await
}

fn capsules(answer: &Value) -> &[Value] {
    answer["capsules"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Capsules as an agent is shown them. The uid is for records; every reader would pay for it.
fn shown<'a>(capsules: impl IntoIterator<Item = &'a Value>) -> Vec<Value> {
    let without_uid = |capsule: &Value| {
        let mut capsule = capsule.clone();
        if let Value::Object(fields) = &mut capsule {
            fields.shift_remove("uid");
        }
        capsule
    };
    capsules.into_iter().map(without_uid).collect()
}

fn lines(answer: &Value, nothing: &str) -> String {
    let capsules = capsules(answer);
    if capsules.is_empty() {
        return format!("{nothing}\n");
    }
    capsules.iter().map(|capsule| format!("- {}\n", capsule_line(capsule))).collect()
}

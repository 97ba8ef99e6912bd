//! `setup_tools`: selects the tools that `call_tool` may then run. The selection is a list of
//! names, resolved in the catalog of each call. Self-contained requests have no selection, so there
//! setting up only informs.

mod correction;

use capdeck_backend::{CallError, ErrorCode};
use capdeck_catalog::{Capability, CatalogSelection, brief_signatures, nearest};
use indexmap::IndexSet;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{json, value::RawValue};

use crate::{
    RequestContext, Session, SessionContinuity, View,
    discover::DiscoveryPurpose,
    meta_tools::{answer_with, parse},
    raw,
    view::{ToolBundle, bundle, bundles, chosen_capabilities, chosen_tools},
};

pub(crate) use correction::correctable;

/// What `call_tool` takes as the name of a tool that describes the others, where `describe` itself is not listed.
pub(crate) const DESCRIBE: &str = "describe";

/// What a client set up, in this order.
pub(crate) type ActiveSkills = Mutex<IndexSet<String>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetupToolsArguments {
    skills: SkillNames,
}

/// Agents that want one thing often omit the brackets.
#[derive(Deserialize)]
#[serde(untagged)]
enum SkillNames {
    Several(Vec<String>),
    One(String),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SetupToolsResponse {
    success: bool,
    message: String,
    skills: Vec<String>,
    active_skills: Vec<String>,
    tools: Vec<String>,
    hint: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unavailable: Vec<UnavailableSkill>,
}

#[derive(Serialize)]
struct UnavailableSkill {
    capability: String,
    reason: String,
}

/// The `setup_tools` tool. Sets up all requested names, or none.
pub(crate) async fn setup_tools(
    request: &RequestContext<'_>,
    arguments: Option<&RawValue>,
) -> raw::Answer {
    let (session, view) = (request.session(), request.deck.view());
    let asked: SetupToolsArguments =
        parse("setup_tools", arguments).map_err(|error| error.hint(available_names_text(&view)))?;
    let asked = match asked.skills {
        SkillNames::Several(names) => names,
        SkillNames::One(name) => vec![name],
    };
    let requested =
        asked.iter().map(|name| bundle(&view, name).ok_or_else(|| unknown(&view, name)));
    let requested = requested.collect::<Result<Vec<_>, _>>()?;
    let count = requested.len();
    let mut active = session.set_up.lock().clone();
    active.extend(requested.into_iter().map(|bundle| bundle.id));
    let chosen = selection(&view, &active);
    let asking = chosen_capabilities(&view, &chosen).into_iter();
    let failures = session.connections.discover_unknown(asking, DiscoveryPurpose::Listing).await;
    if session.continuity == SessionContinuity::Connection {
        // Another call of the same client may have added something in the meantime.
        session.set_up.lock().extend(active.iter().cloned());
    }

    let view = request.renewed().deck.view();
    let chosen = chosen_tools(&view, &chosen);
    let tools = brief_signatures(chosen.iter().map(|(capability, tool)| {
        (view.spoken_name(capability.definition.id.as_str(), tool.name()), tool.as_ref())
    }));
    let answer = SetupToolsResponse {
        success: true,
        message: format!(
            "{} set up, {} in all, {}",
            counted(count, "skill"),
            active.len(),
            counted(tools.len(), "tool")
        ),
        hint: match asked.is_empty() {
            true => available_names_text(&view),
            false => hint(&tools),
        },
        skills: asked,
        active_skills: active.into_iter().collect(),
        tools,
        unavailable: failures
            .into_iter()
            .map(|list| UnavailableSkill {
                capability: list.id.to_string(),
                reason: list.error.to_string(),
            })
            .collect(),
    };
    let structured = serde_json::to_value(&answer).unwrap_or_default();
    answer_with(&structured, structured.to_string())
}

/// How signatures are read, in as few words as they need.
fn hint(tools: &[String]) -> String {
    let mut hint = "`call_tool` takes a name and `data`; no type: string, `?`: optional".to_owned();
    if tools.iter().any(|signature| signature.contains('…')) {
        hint.push_str(&format!(", `…`: more, shown by `call_tool` of `{DESCRIBE}` with a `name`"));
    }
    hint
}

/// Rejects a tool that this client did not set up. `Ok` for tools that are also offered
/// otherwise.
pub(crate) fn check_set_up(
    session: &Session,
    view: &View,
    capability: &Capability,
    tool: &str,
) -> Result<(), CallError> {
    let remembers = session.continuity == SessionContinuity::Connection;
    if !remembers || !view.is_on_demand(capability) || view.is_searchable(capability) {
        return Ok(());
    }
    let ids = view.catalog().with_sets(capability);
    if selection(view, &session.set_up.lock()).has(&ids, tool) {
        return Ok(());
    }
    let leads = |bundle: &&ToolBundle| bundle.tools.has(&ids, tool);
    let bundles = bundles(view);
    let with = bundles
        .iter()
        .find(leads)
        .map_or_else(|| format!("@{}", capability.definition.id), |bundle| bundle.id.clone());
    let name = view.spoken_name(capability.definition.id.as_str(), tool);
    let call = json!({ "skills": [with] });
    Err(CallError::new(ErrorCode::Denied, format!("`{name}` is not activated for this client"))
        .hint(format!("first call `setup_tools` with {call}")))
}

fn selection(view: &View, names: &IndexSet<String>) -> CatalogSelection {
    let bundles = names.iter().filter_map(|name| bundle(view, name));
    let mut chosen = CatalogSelection::default();
    for bundle in bundles {
        chosen.extend(bundle.tools);
    }
    chosen
}

fn unknown(view: &View, name: &str) -> CallError {
    let bundles = bundles(view);
    let ids = || bundles.iter().map(|bundle| bundle.id.as_str());
    let message = format!("there is no skill or capability `{name}`, so nothing was set up");
    let error = CallError::invalid_request(message);
    let there_is = available_names_text(view);
    match nearest(name, ids()) {
        Some(near) => error
            .hint(format!("did you mean `{near}`? {there_is}"))
            .data(json!({ "nearest": near })),
        None => error.hint(there_is),
    }
}

fn available_names_text(view: &View) -> String {
    let ids: Vec<String> = bundles(view).into_iter().map(|bundle| bundle.id).collect();
    format!("there are: {}", ids.join(", "))
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

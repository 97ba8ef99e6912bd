//! Where a capability comes from, and why agents do or do not see it.

use capdeck_backend::{CallError, ErrorCode};
use capdeck_catalog::{
    CallSubject, Capability, Catalog, DecisionReason, ImportProblem, PolicyDecision, RuleClearance,
    Tool, import_problems, shell_word,
};
use capdeck_definition::Exposure;
use serde_json::{Value, json};

use crate::{
    HealthStatus, Host, ItemStatus, LastFailure, ListItem, PinReview, ToolRoute, View, ViewPolicy,
    known_capability, list_items, raw,
};

/// The report about one capability.
#[derive(Debug)]
pub struct CapabilityReport {
    pub item: ListItem,
    /// Where its exposure is set.
    pub exposure_from: &'static str,
    /// How agents reach it; `None` when they do not.
    pub seen: Option<String>,
    pub tool: Option<Value>,
    pub pins: Vec<String>,
    /// Parts of its description, or members, that could not be imported.
    pub left_out: Vec<ImportProblem>,
    /// Time and error of the last failure, if nothing succeeded since.
    pub last_failure: Option<(String, String)>,
}

impl CapabilityReport {
    /// Reports about a capability, and about one of its tools, for a client of this name.
    pub fn of(
        host: &Host,
        id: &str,
        tool: Option<&str>,
        client: &str,
    ) -> Result<CapabilityReport, CallError> {
        let catalog = host.catalog();
        let broken = list_items(host, &catalog)
            .into_iter()
            .find(|item| item.id == id && item.status == ItemStatus::Quarantined);
        if let Some(item) = broken {
            return Ok(CapabilityReport {
                item,
                exposure_from: "",
                seen: None,
                tool: None,
                pins: Vec::new(),
                left_out: Vec::new(),
                last_failure: None,
            });
        }
        let capability = known_capability(host, id)?;
        let view = host.view(&ViewPolicy::default(), client);
        let review = review(host, &capability)?;
        let tool = match tool {
            Some(name) => {
                let tool = tool_of(&catalog, &capability, name)?;
                Some(describe(&catalog, &view, &review, client, &capability, tool))
            }
            None => None,
        };
        let failure = LastFailure::of(host, id);
        Ok(CapabilityReport {
            item: ListItem::from_capability(&capability, HealthStatus::of(host, &capability)),
            exposure_from: match (capability.definition.exposure, capability.exposure_is_explicit) {
                (Some(_), _) => "its own file",
                (None, true) => "the deck's config",
                (None, false) => "the host's default",
            },
            seen: view
                .catalog()
                .get(id)
                .and_then(|_| seen(&view, &capability, capability.exposure)),
            tool,
            pins: pin_notes(&review),
            left_out: import_problems(&catalog, &capability),
            last_failure: failure.map(|failure| (failure.at.to_string(), failure.message)),
        })
    }

    /// The output of `capdeck why --json`.
    pub fn to_json(&self) -> Value {
        let item = &self.item;
        let mut shown = json!({
            "id": item.id,
            "status": item.status,
            "health": item.health,
            "source": item.source,
            "shadows": item.shadows,
            "exposure": item.exposure,
            "visible": self.seen.is_some(),
        });
        raw::put_some(&mut shown, "reason", item.reason.as_ref());
        raw::put_some(&mut shown, "nextStep", item.next_step.as_ref());
        raw::put_some(&mut shown, "chaos", item.chaos.as_ref());
        let exposure_from = Some(self.exposure_from).filter(|from| !from.is_empty());
        raw::put_some(&mut shown, "exposureFrom", exposure_from);
        raw::put_some(&mut shown, "seen", self.seen.as_ref());
        raw::put_some(&mut shown, "tool", self.tool.as_ref());
        raw::put_list(&mut shown, "pins", &self.pins);
        raw::put_list(&mut shown, "problems", &self.left_out);
        let failure = self.last_failure.as_ref();
        let failure = failure.map(|(at, message)| json!({ "at": at, "message": message }));
        raw::put_some(&mut shown, "lastFailure", failure);
        shown
    }
}

fn review(host: &Host, capability: &Capability) -> Result<PinReview, CallError> {
    let id = &capability.definition.id;
    PinReview::of(host, capability).map_err(|error| {
        let message = format!("the pins of `{id}` cannot be read: {error}");
        CallError::invalid_config(message)
            .hint(format!("approve the current tools with: capdeck pins approve {id}"))
    })
}

/// How a client with this view reaches a capability that is offered to it in this exposure.
pub(super) fn seen(view: &View, capability: &Capability, exposure: Exposure) -> Option<String> {
    if !capability.is_usable() {
        return None;
    }
    let id = capability.definition.id.as_str();
    if capability.definition.member_of.is_some() {
        return Some("through its set, and by `search`".to_owned());
    }
    let is_searchable = view.is_searchable(capability);
    let by_budget =
        "by `search`, because listing its tools exceeds the token budget (`surfaceTokens`)";
    Some(match exposure {
        Exposure::None => return None,
        Exposure::OnDemand => "by `setup_tools`, then `call_tool`".to_owned(),
        Exposure::Search => {
            "by `search`, then `describe` and `call_tool` or `call_read_only`".to_owned()
        }
        Exposure::CodeMode if view.is_coded(capability) => "from code, by `code_mode`".to_owned(),
        Exposure::CodeModeAndSearch if view.is_coded(capability) => {
            "from code, by `code_mode`, and by `search`".to_owned()
        }
        Exposure::CodeMode | Exposure::CodeModeAndSearch => {
            "by `search`, because `code_mode` exceeds the token budget (`surfaceTokens`)".to_owned()
        }
        Exposure::Progressive | Exposure::ProgressiveAndCodeMode => match view.route(id) {
            Some(ToolRoute::Wrapper { .. }) => {
                format!("as one tool `{id}` with an `operation` argument")
            }
            _ if is_searchable => by_budget.to_owned(),
            // An id that is the name of one of the host's own tools is listed under another one.
            _ => "as one tool with an `operation` argument".to_owned(),
        },
        Exposure::Direct | Exposure::DirectAndCodeMode => {
            let mut tools = capability.discovery.iter().flat_map(|known| &known.tools);
            let is_listed = tools.next().is_none_or(|tool| {
                matches!(view.route(&view.name_of(id, tool.name())), Some(ToolRoute::Tool { .. }))
            });
            if is_listed || !is_searchable {
                format!("each tool listed as `{id}__<tool>`")
            } else {
                by_budget.to_owned()
            }
        }
    })
}

fn pin_notes(review: &PinReview) -> Vec<String> {
    let mut notes = Vec::new();
    if review.book.as_ref().is_some_and(|book| book.is_repointed) {
        notes.push("endpoint changed; tools pinned again".to_owned());
    }
    notes.extend(
        review.changes.iter().map(|change| format!("`{}` {}", change.tool(), change.kind())),
    );
    notes.extend(review.hidden.keys().map(|tool| format!("`{tool}` has hidden text")));
    notes
}

/// How agents see a tool, and what the policy says about it for a client of this name.
fn describe(
    catalog: &Catalog,
    view: &View,
    review: &PinReview,
    client: &str,
    capability: &Capability,
    tool: &Tool,
) -> Value {
    let (id, name) = (capability.definition.id.as_str(), tool.name());
    let (policy, ids) = (&catalog.config().policy, catalog.with_sets(capability));
    let subject = CallSubject { capabilities: &ids, tool: name, definition: Some(tool) };
    let ruling = RuleClearance::for_client(policy, &[client]).rule_on(policy, &subject);
    let agent_name = view.name_of(id, name);
    let mut described = json!({
        "name": name,
        "agentName": agent_name,
        "listed": matches!(view.route(&agent_name), Some(ToolRoute::Tool { .. })),
        "policy": ruling.effect,
        "policyBecause": because(ruling),
    });
    if catalog.parts().is_shelved(capability, &ids, name) {
        described["requiredBySkill"] = json!(false);
    }
    let held = review.held.get(name).map(|reason| reason.as_str());
    raw::put_some(&mut described, "held", held);
    raw::put_some(&mut described, "hiddenText", review.hidden.get(name));
    described
}

fn because(ruling: PolicyDecision) -> String {
    match ruling.because {
        DecisionReason::UserRule(number) => format!("rule {number} of your policy"),
        DecisionReason::ProjectRule(number) => format!("rule {number} of this project's policy"),
        DecisionReason::SaysDestructive => "it is marked destructive".to_owned(),
        DecisionReason::WantsConfirmation => "its file requires approval".to_owned(),
        DecisionReason::NoRule => "no matching rule".to_owned(),
    }
}

fn tool_of<'a>(
    catalog: &'a Catalog,
    capability: &Capability,
    name: &str,
) -> Result<&'a Tool, CallError> {
    let id = capability.definition.id.as_str();
    if capability.discovery.is_none() {
        let message = format!("the tools of `{id}` are not known yet");
        return Err(CallError::new(ErrorCode::ToolNotFound, message)
            .hint(format!("list them with: capdeck tools {id}")));
    }
    let Some(tool) = catalog.tool(id, name) else {
        let error = CallError::new(ErrorCode::ToolNotFound, format!("`{id}` has no tool `{name}`"));
        return Err(match catalog.nearest_tool(id, name) {
            Some(near) => error.hint(format!("did you mean `{}`?", shell_word(near))),
            None => error.hint(format!("see its tools with: capdeck tools {id}")),
        });
    };
    Ok(tool)
}

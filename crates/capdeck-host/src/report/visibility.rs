//! Whether one client sees a capability or a tool, and which rule decides.

use capdeck_backend::CallError;
use capdeck_definition::Exposure;
use serde::Serialize;

use super::capability_report::seen;
use crate::{CapabilityReport, Host, ItemStatus, SessionScope, ViewPolicy, known_capability};

/// The answer for one client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Visibility {
    #[serde(rename = "visible")]
    pub is_visible: bool,
    /// How it is reached, or the rule that hides it.
    pub because: String,
}

impl Visibility {
    /// Answers for a client of this name that was started with this scope. The first rule that hides it is named, in the
    /// order a person would look: the capability itself, the client's part of the deck, the policy, pins, skills, exposure.
    pub fn of(
        host: &Host,
        id: &str,
        tool: Option<&str>,
        client: &str,
        scope: &SessionScope,
    ) -> Result<Self, CallError> {
        let report = CapabilityReport::of(host, id, tool, client)?;
        let item = &report.item;
        if !matches!(item.status, ItemStatus::Ready | ItemStatus::Stale) {
            let reason = item.reason.as_deref().map(|reason| format!(": {reason}"));
            return Ok(Self::hidden(format!(
                "`{id}` is {}{}",
                item.word(),
                reason.unwrap_or_default()
            )));
        }
        let policy = match scope {
            SessionScope::Deck(policy) => policy.clone(),
            SessionScope::Transparent(only) if only.as_str() != id => {
                return Ok(Self::hidden(format!("the client is given only `{only}`")));
            }
            SessionScope::Transparent(_) | SessionScope::Operator => ViewPolicy::default(),
        };
        if let Some(name) = &policy.view
            && !has(host, id, tool, client, &policy)
            && has(host, id, tool, client, &ViewPolicy::offering(None))
        {
            let view = name.strip_prefix("only:").map_or_else(
                || format!("the view `{name}` does not have it"),
                |ids| format!("the client is given only `{}`", ids.replace(',', "`, `")),
            );
            return Ok(Self::hidden(view));
        }
        let effect = report.tool.as_ref().map(|tool| tool["policy"].as_str().unwrap_or_default());
        let rule = report.tool.as_ref().and_then(|tool| tool["policyBecause"].as_str());
        if effect == Some("deny") || !has(host, id, None, client, &ViewPolicy::offering(None)) {
            return Ok(Self::hidden(format!(
                "denied by {}",
                rule.unwrap_or("a rule of the policy")
            )));
        }
        if let Some(held) = report.tool.as_ref().and_then(|tool| tool["held"].as_str()) {
            return Ok(Self::hidden(format!("its pin holds it: {held}")));
        }
        let is_transparent = matches!(scope, SessionScope::Transparent(_));
        if report.tool.as_ref().is_some_and(|tool| tool["requiredBySkill"] == false)
            && !is_transparent
            && policy.view.is_none()
        {
            return Ok(Self::hidden("no skill of the capability file requires it".to_owned()));
        }
        let asks = if effect == Some("ask") {
            format!("; a person is asked before a call ({})", rule.unwrap_or_default())
        } else {
            String::new()
        };
        if is_transparent {
            return Ok(Self::visible(format!("under its own name, as the only server{asks}")));
        }
        let capability = known_capability(host, id)?;
        let exposure = policy.exposure_of(&capability);
        let view = host.view(&policy, client);
        Ok(match seen(&view, &capability, exposure) {
            Some(how) => Self::visible(format!("{how}{asks}")),
            None if exposure == Exposure::None => {
                let from = report.exposure_from;
                Self::hidden(format!("its exposure is `none` ({from}); `capdeck sh` reaches it"))
            }
            None => Self::hidden("it is not offered to agents".to_owned()),
        })
    }

    fn visible(because: String) -> Self {
        Self { is_visible: true, because }
    }

    fn hidden(because: String) -> Self {
        Self { is_visible: false, because }
    }
}

/// Whether the part of the deck has the capability, and the tool if one is named.
fn has(host: &Host, id: &str, tool: Option<&str>, client: &str, policy: &ViewPolicy) -> bool {
    let view = host.view(policy, client);
    let catalog = view.catalog();
    match tool {
        Some(tool) => catalog.tool(id, tool).is_some(),
        None => catalog.get(id).is_some(),
    }
}

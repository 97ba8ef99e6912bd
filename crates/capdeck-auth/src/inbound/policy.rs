//! How requests are decided: by people, by programs that may, or by rules.

use std::{net::IpAddr, time::Duration};

use capdeck_access::NamePattern;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    ApprovalService, EventCaller, EventSubject, GrantRequest, GrantTarget, GrantTerms, OAuthScope,
    RegistryError, RegistryResult, RegistryTransaction, RequestSource, Role,
};

/// How access requests are decided.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantPolicy {
    #[serde(default)]
    pub mode: ApprovalMode,
    /// Evaluated in order, in mode `policy`.
    #[serde(default)]
    pub rules: Vec<GrantRule>,
    /// True when different people and programs share one address: one machine, one office, or a proxy that hides
    /// addresses. Then a request from the decider's own address can be approved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared_address: bool,
}

// The comments of the types with a JSON Schema are texts of the REST API's document.

/// Who decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalMode {
    /// Operators.
    #[default]
    Human,
    /// Operators, and clients with `registry:manage` for capsules where they have at least the same access.
    Supervisor,
    /// Rules first, then operators.
    Policy,
}

/// One rule.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PolicyRule")]
pub struct GrantRule {
    #[serde(rename = "match")]
    pub matches: RuleMatch,
    pub action: RuleAction,
    /// The maximum role of its grants.
    pub ceiling_role: Option<Role>,
    /// The lifetime of its grants, in seconds.
    pub ttl: Option<u64>,
}

/// Which requests a rule matches. Omitted members match everything.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PolicyMatch")]
pub struct RuleMatch {
    /// A pattern for the client id.
    pub client_id: Option<String>,
    // In the registry the key of a capsule. Such a rule is not about the deck.
    /// The id of a capsule.
    pub capsule: Option<String>,
    // Such a rule is not about the deck.
    /// The highest requested role.
    #[serde(rename = "role<=", alias = "max_role")]
    pub max_role: Option<Role>,
    pub source: Option<RequestSource>,
    /// A network, such as `10.0.0.0/8`.
    pub ip_cidr: Option<String>,
}

/// The action of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "PolicyAction")]
pub enum RuleAction {
    Approve,
    Deny,
    Human,
}

impl ApprovalService<'_> {
    pub fn policy(self) -> GrantPolicy {
        GrantPolicy::clone(&self.registry.state().policy)
    }

    /// Replaces the policy. Requests that wait are not decided again.
    pub async fn set_policy(
        self,
        caller: &EventCaller,
        policy: GrantPolicy,
    ) -> RegistryResult<GrantPolicy> {
        self.registry
            .change(caller, "settings.update", EventSubject::id("policy"), move |draft| {
                policy.check(draft.options.limits.policy_rules)?;
                draft.state.policy = policy.clone().into();
                Ok(policy)
            })
            .await
    }
}

impl GrantPolicy {
    fn check(&self, limit: usize) -> RegistryResult<()> {
        if self.rules.len() > limit {
            return Err(RegistryError::Full { what: "rules", limit });
        }
        for rule in &self.rules {
            let (network, client) = (&rule.matches.ip_cidr, &rule.matches.client_id);
            let is_owner_rule =
                rule.action == RuleAction::Approve && rule.ceiling_role == Some(Role::Owner);
            for (is_wrong, what, reason) in [
                (
                    is_owner_rule,
                    "ceiling_role",
                    "a rule never makes an owner; the highest is `writer`",
                ),
                (rule.ttl == Some(0), "ttl", "at least one second"),
                (
                    network.as_deref().is_some_and(|text| IpNetwork::parse(text).is_none()),
                    "ip_cidr",
                    "an address and a length, as `10.0.0.0/8`",
                ),
                (
                    client.as_deref().is_some_and(|text| !NamePattern::is_valid(text)),
                    "client_id",
                    "1 to 256 letters, with `*` and `?`",
                ),
            ] {
                if is_wrong {
                    return Err(RegistryError::invalid(what, reason));
                }
            }
        }
        Ok(())
    }
}

impl RuleMatch {
    fn fits(&self, request: &GrantRequest, address: Option<IpAddr>) -> bool {
        let client = request.client_id.as_deref().unwrap_or_default();
        self.client_id
            .as_deref()
            .is_none_or(|pattern| NamePattern::new(pattern).covers(&NamePattern::new(client)))
            && self.capsule.as_deref().is_none_or(|id| request.target.capsule_id() == Some(id))
            && self
                .max_role
                .is_none_or(|most| request.target.role().is_some_and(|role| role <= most))
            && self.source.is_none_or(|source| source == request.source)
            && self.ip_cidr.as_deref().is_none_or(|text| {
                // A network that cannot be read holds no address.
                IpNetwork::parse(text)
                    .zip(address)
                    .is_some_and(|(network, address)| network.holds(address))
            })
    }
}

impl RegistryTransaction<'_> {
    /// Lets the rules decide, if they do.
    pub(super) fn apply_policy(&mut self, request: GrantRequest) -> RegistryResult<GrantRequest> {
        let policy = std::sync::Arc::clone(&self.state.policy);
        if policy.mode != ApprovalMode::Policy {
            return Ok(request);
        }
        let address = self.event.caller.address;
        let Some(rule) = policy.rules.iter().find(|rule| rule.fits(&request, address)) else {
            return Ok(request);
        };
        let (action, decided) = match rule.action {
            RuleAction::Human => return Ok(request),
            RuleAction::Deny => ("grant.deny", self.deny(request, POLICY_DECIDER.to_owned(), None)),
            RuleAction::Approve => match rule.terms(&request, self.now) {
                Some(wanted) => (
                    "grant.approve",
                    self.grant(request, wanted, POLICY_DECIDER.to_owned(), None, None)?,
                ),
                None => return Ok(request),
            },
        };
        let caller = EventCaller::new(POLICY_DECIDER, address);
        self.record_also_for(&caller, action, decided.subject());
        Ok(decided)
    }
}

const POLICY_DECIDER: &str = "policy";

impl GrantRule {
    fn fits(&self, request: &GrantRequest, address: Option<IpAddr>) -> bool {
        // An agent that signs up says a client's id without proving it. A rule that trusts an id means clients that signed in,
        // unless it says otherwise.
        let trusts_a_claim = self.action == RuleAction::Approve
            && self.matches.client_id.is_some()
            && self.matches.source.is_none()
            && request.source == RequestSource::Enrollment;
        !trusts_a_claim && self.matches.fits(request, address)
    }

    /// What the rule gives; nothing when it is not for a rule to give, and a person has to look at it.
    fn terms(&self, request: &GrantRequest, now: jiff::Timestamp) -> Option<GrantTerms> {
        let mut wanted = GrantTerms::from_request(request);
        if wanted.scopes.allows(OAuthScope::RegistryManage) {
            return None;
        }
        if let GrantTarget::Capsule { role, .. } = &mut wanted.target {
            *role = self.ceiling_role.map_or(*role, |ceiling| ceiling.min(*role));
            if *role == Role::Owner {
                return None;
            }
        }
        if let Some(seconds) = self.ttl {
            let end = now.checked_add(Duration::from_secs(seconds)).ok()?;
            wanted.until = Some(wanted.until.map_or(end, |until| until.min(end)));
        }
        Some(wanted)
    }
}

/// Addresses that start with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpNetwork {
    start: IpAddr,
    length: u32,
}

impl IpNetwork {
    /// Reads `10.0.0.0/8`, or one address.
    pub fn parse(text: &str) -> Option<Self> {
        let (start, length) = match text.split_once('/') {
            Some((start, length)) => (start.parse::<IpAddr>().ok()?, Some(length.parse().ok()?)),
            None => (text.parse::<IpAddr>().ok()?, None),
        };
        let longest = if start.is_ipv4() { 32 } else { 128 };
        let length = length.unwrap_or(longest);
        (length <= longest).then_some(Self { start, length })
    }

    pub fn holds(&self, address: IpAddr) -> bool {
        // An IPv4 address may come in the clothes of IPv6.
        match (self.start, address.to_canonical()) {
            (IpAddr::V4(start), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - self.length).unwrap_or(0);
                (start.to_bits() ^ address.to_bits()) & mask == 0
            }
            (IpAddr::V6(start), IpAddr::V6(address)) => {
                let mask = u128::MAX.checked_shl(128 - self.length).unwrap_or(0);
                (start.to_bits() ^ address.to_bits()) & mask == 0
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

#[cfg(test)]
mod tests;

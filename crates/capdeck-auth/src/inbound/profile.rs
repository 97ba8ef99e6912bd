//! Profiles: terms of access under a name, so that approvals need not be spelled out.

use std::time::Duration;

use capdeck_access::{NamePattern, UriPrefix};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    ApprovalService, DeckGrant, EventCaller, EventSubject, GrantTarget, GrantTerms, OAuthScope,
    RegistryError, RegistryResult, Role, Scopes, check_room, new_id, text,
};

/// Terms of access. An approval with a profile narrows the request to it; later changes of the profile change no grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessProfile {
    pub id: String,
    pub created_at: Timestamp,
    pub terms: ProfileTerms,
}

/// The terms of a profile. Omitted members do not narrow a request.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AccessProfileTerms")]
pub struct ProfileTerms {
    #[schemars(length(min = 1, max = 100))]
    pub name: String,
    /// The maximum role in a capsule.
    pub role: Option<Role>,
    #[schemars(with = "Option<Vec<OAuthScope>>")]
    pub scopes: Option<Scopes>,
    #[serde(default)]
    pub uri_prefixes: Vec<String>,
    #[serde(default)]
    pub denied_prefixes: Vec<String>,
    /// Patterns for capabilities of the deck.
    #[serde(default)]
    pub capabilities: Vec<String>,
    #[serde(default)]
    pub tools: Vec<String>,
    #[serde(default)]
    pub denied_tools: Vec<String>,
    #[serde(default)]
    pub modes: Vec<String>,
    /// The lifetime of the grant, in seconds.
    pub ttl: Option<u64>,
}

impl ApprovalService<'_> {
    pub fn profiles(self) -> Vec<AccessProfile> {
        let mut profiles: Vec<_> = self.registry.state().profiles.values().cloned().collect();
        profiles.sort_by(|one, other| one.terms.name.cmp(&other.terms.name));
        profiles
    }

    pub fn profile(self, id: &str) -> Option<AccessProfile> {
        self.registry.state().profiles.get(id).cloned()
    }

    pub async fn create_profile(
        self,
        caller: &EventCaller,
        terms: ProfileTerms,
    ) -> RegistryResult<AccessProfile> {
        self.registry
            .change(caller, "settings.update", EventSubject::default(), move |draft| {
                let limit = draft.options.limits.profiles;
                check_room("profiles", draft.state.profiles.len(), limit)?;
                let profile = AccessProfile {
                    id: new_id("prf_")?,
                    created_at: draft.now,
                    terms: terms.checked(draft.state.profiles.values())?,
                };
                draft.event.subject.id = Some(profile.id.clone());
                draft.state.profiles.put(profile.clone());
                Ok(profile)
            })
            .await
    }

    pub async fn update_profile(
        self,
        caller: &EventCaller,
        id: &str,
        terms: ProfileTerms,
    ) -> RegistryResult<AccessProfile> {
        let id = id.to_owned();
        self.registry
            .change(caller, "settings.update", EventSubject::id(&id), move |draft| {
                let mut profile = draft.state.profiles.require(&id)?;
                let others = draft.state.profiles.values().filter(|other| other.id != id);
                profile.terms = terms.checked(others)?;
                draft.state.profiles.put(profile.clone());
                Ok(profile)
            })
            .await
    }

    /// Removes a profile. Grants that were made with it stay.
    pub async fn remove_profile(self, caller: &EventCaller, id: &str) -> RegistryResult<()> {
        let id = id.to_owned();
        self.registry
            .change(caller, "settings.update", EventSubject::id(&id), move |draft| {
                draft.state.profiles.remove(&id)
            })
            .await
    }
}

impl ProfileTerms {
    fn checked<'a>(
        mut self,
        mut others: impl Iterator<Item = &'a AccessProfile>,
    ) -> RegistryResult<Self> {
        self.name = text::name("name", &self.name)?;
        if others.any(|other| other.terms.name == self.name) {
            return Err(RegistryError::Taken { what: "profile", name: self.name });
        }
        if self.ttl == Some(0) {
            return Err(RegistryError::invalid("ttl", "at least one second"));
        }
        if self.scopes.as_ref().is_some_and(Scopes::is_empty) {
            return Err(RegistryError::invalid(
                "scopes",
                "at least one, or none at all to narrow nothing",
            ));
        }
        GrantTarget::Capsule {
            capsule: "any".to_owned(),
            role: Role::Reader,
            uri_prefixes: self.uri_prefixes.clone(),
            denied_prefixes: self.denied_prefixes.clone(),
        }
        .check()?;
        let capabilities = match self.capabilities.is_empty() {
            true => vec!["*".to_owned()],
            false => self.capabilities.clone(),
        };
        GrantTarget::Deck(DeckGrant {
            capabilities,
            tools: self.tools.clone(),
            denied_tools: self.denied_tools.clone(),
            modes: self.modes.clone(),
        })
        .check()?;
        Ok(self)
    }
}

impl AccessProfile {
    /// Leaves what both the request and the profile allow.
    pub(super) fn narrow(&self, wanted: &mut GrantTerms, now: Timestamp) -> RegistryResult<()> {
        let terms = &self.terms;
        match &mut wanted.target {
            GrantTarget::Capsule { role, uri_prefixes, denied_prefixes, .. } => {
                *role = terms.role.map_or(*role, |highest| highest.min(*role));
                *uri_prefixes =
                    intersect_lists(uri_prefixes, &terms.uri_prefixes, |outer, inner| {
                        let (outer, inner) = (UriPrefix::parse(outer), UriPrefix::parse(inner));
                        outer
                            .ok()
                            .zip(inner.ok())
                            .is_some_and(|(outer, inner)| outer.contains(&inner))
                    })?;
                join(denied_prefixes, &terms.denied_prefixes);
            }
            GrantTarget::Deck(deck) => {
                let covers = |outer: &str, inner: &str| {
                    NamePattern::new(outer).covers(&NamePattern::new(inner))
                };
                deck.capabilities =
                    intersect_lists(&deck.capabilities, &terms.capabilities, covers)?;
                deck.tools = intersect_lists(&deck.tools, &terms.tools, covers)?;
                deck.modes =
                    intersect_lists(&deck.modes, &terms.modes, |outer, inner| outer == inner)?;
                join(&mut deck.denied_tools, &terms.denied_tools);
            }
        }
        if let Some(scopes) = &terms.scopes {
            wanted.scopes = wanted.scopes.meet(scopes);
            if wanted.scopes.is_empty() {
                return Err(nothing_left());
            }
        }
        if let Some(seconds) = terms.ttl {
            let end = now.checked_add(Duration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
            wanted.until = Some(wanted.until.map_or(end, |until| until.min(end)));
        }
        Ok(())
    }
}

/// What two lists allow in common, where an empty one allows everything.
fn intersect_lists(
    one: &[String],
    other: &[String],
    covers: impl Fn(&str, &str) -> bool,
) -> RegistryResult<Vec<String>> {
    if one.is_empty() || other.is_empty() {
        return Ok([one, other].concat());
    }
    let within = |inner: &[String], outer: &[String]| -> Vec<String> {
        let is_covered = |item: &&String| outer.iter().any(|wide| covers(wide, item));
        inner.iter().filter(is_covered).cloned().collect()
    };
    let mut common = within(one, other);
    join(&mut common, &within(other, one));
    if common.is_empty() { Err(nothing_left()) } else { Ok(common) }
}

fn join(list: &mut Vec<String>, more: &[String]) {
    for item in more {
        if !list.contains(item) {
            list.push(item.clone());
        }
    }
}

fn nothing_left() -> RegistryError {
    RegistryError::invalid("profile", "the request and the profile have nothing in common")
}

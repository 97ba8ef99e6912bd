//! Lists of what there is, for operators.

use jiff::Timestamp;

use super::{
    Credential, DecisionMaker, Grant, GrantRequest, OAuthClient, PageRequest, PrincipalRecord,
    Registry, RegistryError, RegistryPage, RequestSource, RequestStatus, capsule_id_of,
    page::PageItem,
};

/// Which requests are wanted. What is left out does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestQuery {
    pub status: Option<RequestStatus>,
    pub capsule: Option<String>,
    pub principal: Option<String>,
    /// Who asked.
    pub requested_by: Option<String>,
    pub source: Option<RequestSource>,
    /// The one of the sign-up that waits with this code, as somebody typed it.
    pub user_code: Option<String>,
    /// Only those that somebody may decide.
    pub decidable_by: Option<DecisionMaker>,
}

/// Which grants are wanted. What is left out does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrantQuery {
    pub capsule: Option<String>,
    pub principal: Option<String>,
    pub live_only: bool,
}

/// Which connections are wanted. What is left out does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CredentialQuery {
    /// Those that reach this capsule.
    pub capsule: Option<String>,
    pub principal: Option<String>,
    pub client_id: Option<String>,
    pub live_only: bool,
}

/// Whether a record about the capsule with this key is asked for: by the key, or by the id that people know.
fn is_about(wanted: Option<&String>, key: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| {
        key.is_some_and(|key| {
            key == wanted || (!wanted.contains('@') && capsule_id_of(key) == wanted)
        })
    })
}

fn fits(wanted: Option<&String>, found: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| found == Some(wanted))
}

impl Registry {
    /// Requests, as they stand now.
    pub fn requests(
        &self,
        query: &RequestQuery,
        page: &PageRequest,
    ) -> Result<RegistryPage<GrantRequest>, RegistryError> {
        let (state, now) = (self.state(), self.now());
        // No request has the empty id, so a code that nobody has finds nothing.
        let signed_up = query.user_code.as_deref().map(|code| {
            let waiting = state.enrollment_by_code(code, now);
            waiting.map(|enrollment| enrollment.request.clone()).unwrap_or_default()
        });
        let is_wanted = |one: &&GrantRequest| {
            let is_decidable =
                |decider: &DecisionMaker| decider.may_look_at(&state, now, one).is_ok();
            query.source.is_none_or(|source| source == one.source)
                && fits(signed_up.as_ref(), Some(&one.id))
                && is_about(query.capsule.as_ref(), one.target.capsule_id())
                && fits(query.principal.as_ref(), Some(&one.principal))
                && fits(query.requested_by.as_ref(), Some(&one.requested_by))
                && query.decidable_by.as_ref().is_none_or(is_decidable)
                && query.status.is_none_or(|status| status == one.status_at(now))
        };
        let found = page.cut(state.requests.values().filter(is_wanted))?;
        Ok(found.map(|request| request.at(now)))
    }

    /// Grants.
    pub fn grants(
        &self,
        query: &GrantQuery,
        page: &PageRequest,
    ) -> Result<RegistryPage<Grant>, RegistryError> {
        let (state, now) = (self.state(), self.now());
        page.cut(state.grants.values().filter(|one| {
            is_about(query.capsule.as_ref(), one.target.capsule_id())
                && fits(query.principal.as_ref(), Some(&one.principal))
                && (!query.live_only || one.is_live(now))
        }))
    }

    /// Connections.
    pub fn credentials(
        &self,
        query: &CredentialQuery,
        page: &PageRequest,
    ) -> Result<RegistryPage<Credential>, RegistryError> {
        let (state, now) = (self.state(), self.now());
        page.cut(state.credentials.values().filter(|one| {
            let reaches = |capsule: &String| {
                let mut grants = state.live_grants(&one.principal, now).into_iter();
                grants.any(|grant| is_about(Some(capsule), grant.target.capsule_id()))
            };
            fits(query.principal.as_ref(), Some(&one.principal))
                && fits(query.client_id.as_ref(), one.client_id.as_deref())
                && (!query.live_only || one.is_live(now))
                && query.capsule.as_ref().is_none_or(reaches)
        }))
    }

    /// Clients.
    pub fn clients(&self, page: &PageRequest) -> Result<RegistryPage<OAuthClient>, RegistryError> {
        page.cut(self.state().clients.values())
    }

    /// Principals.
    pub fn principals(
        &self,
        page: &PageRequest,
    ) -> Result<RegistryPage<PrincipalRecord>, RegistryError> {
        page.cut(self.state().principals.values())
    }
}

impl PageItem for GrantRequest {
    fn sort_key(&self) -> (Timestamp, &str) {
        (self.created_at, &self.id)
    }
}

impl PageItem for Grant {
    fn sort_key(&self) -> (Timestamp, &str) {
        (self.created_at, &self.id)
    }
}

impl PageItem for Credential {
    fn sort_key(&self) -> (Timestamp, &str) {
        (self.created_at, &self.id)
    }
}

impl PageItem for OAuthClient {
    fn sort_key(&self) -> (Timestamp, &str) {
        (self.created_at, &self.id)
    }
}

impl PageItem for PrincipalRecord {
    fn sort_key(&self) -> (Timestamp, &str) {
        (self.created_at, &self.id)
    }
}

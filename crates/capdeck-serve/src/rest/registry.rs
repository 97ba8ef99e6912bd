//! Operations on the registry: access requests, grants, operators, policy and audit; and access requests and grants in
//! responses.

mod audit;
mod enrollments;
mod grants;
mod library;
mod operators;
mod policy;
mod settings;

use capdeck_auth::inbound::{
    CredentialClass, Enrollment, FailedAttempt, Grant, GrantRequest, GrantTarget, PageRequest,
    RegistryError, RegistryPage, RequestSource, RequestStatus, Scopes, capsule_id_of,
};
use capdeck_host::Role;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{ApiError, ApiResult, ListPage, PageQuery, RestCall, RestOperation};

pub(super) fn operations() -> Vec<RestOperation> {
    let parts = [
        library::operations(),
        enrollments::operations(),
        grants::operations(),
        policy::operations(),
        operators::operations(),
        audit::operations(),
        settings::operations(),
    ];
    parts.into_iter().flatten().collect()
}

/// The target of a grant.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
#[schemars(rename = "GrantTarget")]
pub(super) enum GrantTargetResponse {
    /// A role on a part of a capsule.
    Capsule {
        capsule: String,
        role: Role,
        /// Empty means everything.
        uri_prefixes: Vec<String>,
        /// Takes precedence over `uri_prefixes`.
        denied_prefixes: Vec<String>,
    },
    /// A part of the deck. Names are patterns with `*` and `?`.
    Deck {
        capabilities: Vec<String>,
        /// `capability/tool`; empty means every tool of the capabilities.
        tools: Vec<String>,
        /// Takes precedence over `tools`.
        denied_tools: Vec<String>,
        /// Exposures; empty means all.
        modes: Vec<String>,
    },
}

impl GrantTargetResponse {
    /// Replaces the capsule key of records by its id.
    fn with_capsule_id(mut self) -> Self {
        if let Self::Capsule { capsule, .. } = &mut self {
            *capsule = capsule_id_of(capsule).to_owned();
        }
        self
    }
}

/// The approved access of a principal.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Grant")]
pub(super) struct GrantResponse {
    id: String,
    request_id: String,
    principal: String,
    target: GrantTargetResponse,
    scopes: Vec<String>,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
    /// Set for the approval of one's own request: `requester`, `program`, `enrollment`, `browser` or `address`.
    #[serde(default)]
    self_approved: Option<String>,
}

/// An access request.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "GrantRequest")]
pub(super) struct GrantRequestResponse {
    pub(super) id: String,
    /// `oauth`, `dashboard`, `enrollment`, `library` or `manage`.
    source: String,
    client_id: Option<String>,
    client_name: String,
    /// The id of the requesting operator, principal or client.
    requested_by: String,
    /// The principal that gets the grant.
    principal: String,
    target: GrantTargetResponse,
    scopes: Vec<String>,
    reason: Option<String>,
    /// The requested expiry; null for no expiry.
    wanted_until: Option<Timestamp>,
    /// `pending`, `approved`, `denied`, `expired` or `cancelled`.
    status: String,
    /// The id of the operator or the principal, or `policy`.
    decided_by: Option<String>,
    decided_at: Option<Timestamp>,
    decision_note: Option<String>,
    profile_id: Option<String>,
    created_at: Timestamp,
    /// When the pending request expires.
    expires_at: Timestamp,
    /// The grant of an approved request.
    #[serde(default, skip_deserializing)]
    grant: Option<GrantResponse>,
    /// The enrollment behind the request, if any.
    #[serde(default, skip_deserializing)]
    enrollment: Option<RequestEnrollment>,
    /// Whether you can decide it.
    #[serde(default)]
    may_decide: bool,
    /// Why you cannot approve it although you can decide it: it is your own.
    #[serde(default, skip_deserializing)]
    cannot_approve: Option<String>,
    /// The address of the sender, for those who can decide.
    #[serde(default, skip_deserializing)]
    from_address: Option<String>,
}

/// The enrollment behind a request.
#[derive(Debug, Serialize, JsonSchema)]
struct RequestEnrollment {
    id: String,
    /// The agent shows the same code: compare them before you approve.
    user_code: String,
    /// The contact of the agent's operator, as given by the agent.
    contact: Option<String>,
    /// The address of the sender.
    address: Option<String>,
}

impl GrantRequestResponse {
    pub(super) fn from_request(call: &RestCall, request: &GrantRequest) -> ApiResult<Self> {
        let registry = call.registry()?;
        let grant = request.grant.as_deref().and_then(|id| registry.grants().get(id));
        let mut shown: Self = convert(request)?;
        shown.target = shown.target.with_capsule_id();
        shown.grant = grant.as_ref().map(GrantResponse::from_grant).transpose()?;
        if request.source == RequestSource::Enrollment {
            let found = registry.enrollments().of_request(&request.id);
            shown.enrollment = found.map(|enrollment| {
                let Enrollment { id, user_code, contact, address, .. } = enrollment;
                let address = address.map(|address| address.to_string());
                RequestEnrollment { id, user_code, contact, address }
            });
        }
        let decider = call.decider().ok().filter(|one| registry.grants().may_decide(one, request));
        shown.may_decide = decider.is_some();
        if let Some(decider) = decider {
            let judged =
                registry.grants().check_self_approval(&call.registry_caller(), &decider, request);
            let is_pending = request.status == RequestStatus::Pending;
            shown.cannot_approve = judged.err().filter(|_| is_pending).map(|one| one.to_string());
            shown.from_address = request.origin.address.map(|address| address.to_string());
        }
        Ok(shown)
    }
}

impl GrantResponse {
    pub(super) fn from_grant(grant: &Grant) -> ApiResult<Self> {
        let shown: Self = convert(grant)?;
        Ok(Self { target: shown.target.with_capsule_id(), ..shown })
    }
}

/// Converts between the types of the REST API and of the registry through their shared JSON form.
pub(super) fn convert<T: DeserializeOwned>(value: &impl Serialize) -> ApiResult<T> {
    let written = serde_json::to_value(value);
    written
        .and_then(serde_json::from_value)
        .map_err(|error| ApiError::internal("cannot convert a record of the registry", &error))
}

/// Counts an invalid credential. Fails when the sender must wait.
pub(super) async fn count_failure(call: &RestCall, class: CredentialClass) -> ApiResult<()> {
    let http_state = &call.rest.http_state;
    let attempt = http_state.failures.record(call.address.map(|one| one.ip), class);
    http_state.record_failed_credential(call.address, attempt).await;
    wait_for(Some(attempt))
}

/// Rejects a sender who must wait, before the credential is checked.
pub(super) fn check_backoff(call: &RestCall, class: CredentialClass) -> ApiResult<()> {
    let ip = call.address.map(|address| address.ip);
    wait_for(call.rest.http_state.failures.backed_off(ip, class))
}

fn wait_for(attempt: Option<FailedAttempt>) -> ApiResult<()> {
    match attempt.and_then(|attempt| attempt.retry_after) {
        Some(seconds) => Err(RegistryError::TooSoon { seconds }.into()),
        None => Ok(()),
    }
}

pub(super) fn scopes(names: &[String]) -> ApiResult<Scopes> {
    Scopes::parse(&names.join(" ")).map_err(|error| ApiError::invalid(error.to_string()))
}

pub(super) fn page_request(call: &RestCall, paging: &PageQuery) -> ApiResult<PageRequest> {
    Ok(PageRequest { cursor: paging.inner_cursor(call)?, limit: Some(paging.limit()) })
}

pub(super) fn shown_page<T, U>(
    call: &RestCall,
    page: RegistryPage<T>,
    show: impl Fn(&T) -> ApiResult<U>,
) -> ApiResult<ListPage<U>> {
    let items = page.items.iter().map(show).collect::<Result<_, _>>()?;
    Ok(ListPage { items, next_cursor: PageQuery::outer_cursor(call, page.next_cursor) })
}

/// The narrowed target of an approval: each given member replaces the requested one.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "Narrowing")]
pub(crate) struct GrantNarrowing {
    pub(crate) role: Option<Role>,
    pub(crate) uri_prefixes: Option<Vec<String>>,
    pub(crate) denied_prefixes: Option<Vec<String>>,
    pub(crate) capabilities: Option<Vec<String>>,
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) denied_tools: Option<Vec<String>>,
    pub(crate) modes: Option<Vec<String>>,
}

impl GrantNarrowing {
    /// The granted target; `None` without changes. Rejects members of the other kind of target.
    pub(crate) fn apply_to(self, asked: &GrantTarget) -> ApiResult<Option<GrantTarget>> {
        let Self { role, uri_prefixes, denied_prefixes, capabilities, tools, denied_tools, modes } =
            self;
        let is_capsule = role.is_some() || uri_prefixes.is_some() || denied_prefixes.is_some();
        let is_deck =
            [&capabilities, &tools, &denied_tools, &modes].iter().any(|one| one.is_some());
        let mut target = asked.clone();
        match &mut target {
            GrantTarget::Capsule {
                role: asked,
                uri_prefixes: allowed,
                denied_prefixes: denied,
                ..
            } if !is_deck => {
                *asked = role.unwrap_or(*asked);
                replace_if_given(allowed, uri_prefixes);
                replace_if_given(denied, denied_prefixes);
            }
            GrantTarget::Deck(deck) if !is_capsule => {
                replace_if_given(&mut deck.capabilities, capabilities);
                replace_if_given(&mut deck.tools, tools);
                replace_if_given(&mut deck.denied_tools, denied_tools);
                replace_if_given(&mut deck.modes, modes);
            }
            GrantTarget::Capsule { .. } => {
                let detail = "the request is for a capsule; only `role`, `uri_prefixes` and `denied_prefixes` can narrow it";
                return Err(ApiError::invalid(detail));
            }
            GrantTarget::Deck(_) => {
                let detail = "the request is for the deck; only `capabilities`, `tools`, `denied_tools` and `modes` can narrow it";
                return Err(ApiError::invalid(detail));
            }
        }
        Ok((is_capsule || is_deck).then_some(target))
    }
}

fn replace_if_given(place: &mut Vec<String>, given: Option<Vec<String>>) {
    if let Some(given) = given {
        *place = given;
    }
}

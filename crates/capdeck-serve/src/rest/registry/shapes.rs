//! How requests and grants look in answers.

use capdeck_auth::inbound::{
    Enrollment, Grant, GrantRequest, GrantTarget, Page as RegistryPage, PageRequest, RequestSource,
    RequestStatus, Scopes, capsule_id_of,
};
use capdeck_host::Role;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::rest::{
    call::Call,
    page::{Page, Paging},
    problem::ApiError,
};

/// What access is about.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
#[schemars(rename = "GrantTarget")]
pub(super) enum Target {
    /// A role on a part of a capsule.
    Capsule {
        capsule: String,
        role: Role,
        /// Empty: everything.
        uri_prefixes: Vec<String>,
        /// Wins over what is allowed.
        denied_prefixes: Vec<String>,
    },
    /// A part of the deck. All names are patterns with `*` and `?`.
    Deck {
        capabilities: Vec<String>,
        /// `capability/tool`; empty: every tool of the capabilities.
        tools: Vec<String>,
        /// Wins over what is allowed.
        denied_tools: Vec<String>,
        /// Ways to offer tools; empty: every way.
        modes: Vec<String>,
    },
}

impl Target {
    /// As people know it: records name a capsule by its key, people by its id.
    fn shown(mut self) -> Self {
        if let Self::Capsule { capsule, .. } = &mut self {
            *capsule = capsule_id_of(capsule).to_owned();
        }
        self
    }
}

/// What somebody may use, as it was approved.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Grant")]
pub(super) struct GrantShown {
    id: String,
    request_id: String,
    principal: String,
    target: Target,
    scopes: Vec<String>,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
    /// Of an approval of one's own request: what ties the two, `requester`, `program`, `enrollment`, `browser` or `address`.
    #[serde(default)]
    self_approved: Option<String>,
}

/// Somebody asks for access.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "GrantRequest")]
pub(super) struct RequestShown {
    pub(super) id: String,
    /// `oauth`, `dashboard`, `enrollment`, `library` or `manage`.
    source: String,
    client_id: Option<String>,
    client_name: String,
    /// Who asked: the id of an operator, a principal or a client.
    requested_by: String,
    /// For whom.
    principal: String,
    target: Target,
    scopes: Vec<String>,
    reason: Option<String>,
    /// Until when it is wanted; null: for good.
    wanted_until: Option<Timestamp>,
    /// `pending`, `approved`, `denied`, `expired` or `cancelled`.
    status: String,
    /// The id of the operator or the principal, or `policy`.
    decided_by: Option<String>,
    decided_at: Option<Timestamp>,
    decision_note: Option<String>,
    profile_id: Option<String>,
    created_at: Timestamp,
    /// When it is over if nobody decides.
    expires_at: Timestamp,
    /// What it became, where it was approved.
    #[serde(default, skip_deserializing)]
    grant: Option<GrantShown>,
    /// The sign-up that it came from, where it came from one.
    #[serde(default, skip_deserializing)]
    enrollment: Option<EnrollmentOf>,
    /// Whether you may decide it.
    #[serde(default)]
    may_decide: bool,
    /// Why you cannot approve it although you may decide it: it is your own.
    #[serde(default, skip_deserializing)]
    cannot_approve: Option<String>,
    /// The address that it came from, for those who may decide it.
    #[serde(default, skip_deserializing)]
    from_address: Option<String>,
}

/// What a sign-up says about whoever made it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RequestEnrollment")]
struct EnrollmentOf {
    id: String,
    /// The agent was given the same: whoever approves compares them.
    user_code: String,
    /// How to reach whoever runs the agent, in their words.
    contact: Option<String>,
    /// The address that it came from.
    address: Option<String>,
}

impl RequestShown {
    /// A request as whoever asks is shown it.
    pub(super) fn of(call: &Call, request: &GrantRequest) -> Result<Self, ApiError> {
        let registry = call.registry()?;
        let grant = request.grant.as_deref().and_then(|id| registry.grant(id));
        let mut shown: Self = translated(request)?;
        shown.target = shown.target.shown();
        shown.grant = grant.as_ref().map(GrantShown::of).transpose()?;
        if request.source == RequestSource::Enrollment {
            let found = registry.enrollment_of_request(&request.id);
            shown.enrollment = found.map(|enrollment| {
                let Enrollment { id, user_code, contact, address, .. } = enrollment;
                let address = address.map(|address| address.to_string());
                EnrollmentOf { id, user_code, contact, address }
            });
        }
        let decider = call.decider().ok().filter(|one| registry.may_decide(one, request));
        shown.may_decide = decider.is_some();
        if let Some(decider) = decider {
            let judged = registry.check_self_approval(&call.registry_caller(), &decider, request);
            let is_pending = request.status == RequestStatus::Pending;
            shown.cannot_approve = judged.err().filter(|_| is_pending).map(|one| one.to_string());
            shown.from_address = request.origin.address.map(|address| address.to_string());
        }
        Ok(shown)
    }
}

impl GrantShown {
    pub(super) fn of(grant: &Grant) -> Result<Self, ApiError> {
        let shown: Self = translated(grant)?;
        Ok(Self { target: shown.target.shown(), ..shown })
    }
}

/// The same in the words of the interface, or of the registry: both write it alike.
pub(super) fn translated<T: DeserializeOwned>(value: &impl Serialize) -> Result<T, ApiError> {
    let written = serde_json::to_value(value);
    written
        .and_then(serde_json::from_value)
        .map_err(|error| ApiError::internal("the registry has another form than expected", &error))
}

/// Scopes by their names.
pub(super) fn scopes(names: &[String]) -> Result<Scopes, ApiError> {
    Scopes::parse(&names.join(" ")).map_err(|error| ApiError::invalid(error.to_string()))
}

/// A page that the registry cuts.
pub(super) fn page_request(call: &Call, paging: &Paging) -> Result<PageRequest, ApiError> {
    Ok(PageRequest { cursor: paging.inner(call)?, limit: Some(paging.limit()) })
}

/// The same page with its items as they are shown.
pub(super) fn shown_page<T, U>(
    call: &Call,
    page: RegistryPage<T>,
    show: impl Fn(&T) -> Result<U, ApiError>,
) -> Result<Page<U>, ApiError> {
    let items = page.items.iter().map(show).collect::<Result<_, _>>()?;
    Ok(Page { items, next_cursor: Paging::outer(call, page.next_cursor) })
}

/// What an approval leaves of a target: every part that is given, in the place of what was asked for.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct Narrowing {
    role: Option<Role>,
    uri_prefixes: Option<Vec<String>>,
    denied_prefixes: Option<Vec<String>>,
    capabilities: Option<Vec<String>>,
    tools: Option<Vec<String>>,
    denied_tools: Option<Vec<String>>,
    modes: Option<Vec<String>>,
}

impl Narrowing {
    /// The target as it is to be granted; `None` when nothing is said. What does not belong to it is refused.
    pub(super) fn of(self, asked: &GrantTarget) -> Result<Option<GrantTarget>, ApiError> {
        let Self { role, uri_prefixes, denied_prefixes, capabilities, tools, denied_tools, modes } =
            self;
        let is_capsule = role.is_some() || uri_prefixes.is_some() || denied_prefixes.is_some();
        let is_deck =
            [&capabilities, &tools, &denied_tools, &modes].iter().any(|one| one.is_some());
        let mut target: Target = translated(asked)?;
        match &mut target {
            Target::Capsule {
                role: asked, uri_prefixes: allowed, denied_prefixes: denied, ..
            } if !is_deck => {
                *asked = role.unwrap_or(*asked);
                put(allowed, uri_prefixes);
                put(denied, denied_prefixes);
            }
            Target::Deck {
                capabilities: allowed,
                tools: asked_tools,
                denied_tools: denied,
                modes: asked_modes,
            } if !is_capsule => {
                put(allowed, capabilities);
                put(asked_tools, tools);
                put(denied, denied_tools);
                put(asked_modes, modes);
            }
            Target::Capsule { .. } => {
                let detail = "the request is about a capsule: `role`, `uri_prefixes` and `denied_prefixes` narrow it";
                return Err(ApiError::invalid(detail));
            }
            Target::Deck { .. } => {
                let detail = "the request is about the deck: `capabilities`, `tools`, `denied_tools` and `modes` narrow it";
                return Err(ApiError::invalid(detail));
            }
        }
        if is_capsule || is_deck { translated(&target).map(Some) } else { Ok(None) }
    }
}

fn put(place: &mut Vec<String>, given: Option<Vec<String>>) {
    if let Some(given) = given {
        *place = given;
    }
}

//! Enrollment of agents without a browser. Creating and polling an enrollment needs no token but the enrollment's own.

use capdeck_auth::inbound::{
    CredentialClass, DeckGrant, EnrollmentState, EnrollmentStatus, EventCaller, GrantTarget,
    NewEnrollment, OAuthScope, Registry, RegistryError, Scopes, capsule_id_of, missing_capsule_key,
};
use capdeck_host::{Reach, Role};
use http::StatusCode;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{convert, count_failure, scopes};
use crate::{
    CapsuleReference,
    rest::{
        ApiError, ApiResult, NoContent, RequiredAccess::Stranger, RestCall, RestOperation,
        RestResponse, SmallJsonBody, delete, get, post,
    },
    transport::http::bearer,
};

pub(super) fn operations() -> Vec<RestOperation> {
    vec![
        post(Stranger, "/v1/agent-enrollments", "createEnrollment", "Enroll an agent without a browser")
            .about("Requests one role in one capsule, or a part of the deck. The response to a new enrollment has `enrollment_token`, which is not valid until a person approves the request; then it is the agent's token at `mcp_url`. While the request is pending, a repeated request of the same client for the same role and target returns the same enrollment with 200, without the token and the code; a client that has lost the token must enroll with another `client_id`. Targets that do not exist are accepted like others.")
            .success(&[200, 201])
            .problems(&[507])
            .handled_with_body(create),
        get(Stranger, "/v1/agent-enrollments/{id}", "pollEnrollment", "Get the status of an enrollment")
            .about("Requires `Authorization: Bearer <enrollment_token>`. Poll no more often than every `interval` seconds; earlier requests return 429 `too_soon` with `Retry-After`. A wrong token and a wrong id return the same error.")
            .handled_by(poll),
        delete(Stranger, "/v1/agent-enrollments/{id}", "withdrawEnrollment", "Withdraw an enrollment")
            .about("Requires `Authorization: Bearer <enrollment_token>`. The access of an approved enrollment ends.")
            .handled_by(withdraw),
    ]
}

/// An enrollment: one role in one capsule, or a part of the deck.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewEnrollment")]
struct NewEnrollmentBody {
    #[schemars(length(min = 1, max = 1000))]
    client_id: String,
    /// The name of the agent; default: its client id.
    #[schemars(length(min = 1, max = 1000))]
    client_name: Option<String>,
    /// The id or the name of a capsule.
    #[schemars(length(min = 1, max = 1000))]
    capsule: Option<String>,
    /// The role in the capsule; default: `reader`.
    role: Option<Role>,
    /// The part of the capsule; empty means everything.
    #[serde(default)]
    uri_prefixes: Vec<String>,
    #[serde(default)]
    denied_prefixes: Vec<String>,
    /// A part of the deck instead of a capsule.
    deck: Option<DeckSelection>,
    /// Default: the scopes of the role, or `deck:call`.
    scopes: Option<Vec<String>>,
    #[schemars(length(max = 1000))]
    reason: Option<String>,
    /// How to contact the operator of the agent.
    #[schemars(length(max = 1000))]
    contact: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeckSelection {
    /// Patterns of capability ids; default: all.
    capabilities: Option<Vec<String>>,
    /// Patterns of `capability/tool`; empty means every tool.
    #[serde(default)]
    tools: Vec<String>,
}

/// An enrollment as its agent sees it.
#[skip_serializing_none]
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "Enrollment")]
struct EnrollmentResponse {
    id: String,
    /// `pending`, `approved`, `active` after the first use, `denied`, `revoked` or `expired`.
    status: &'static str,
    /// Poll the status here.
    poll_url: String,
    /// The page of the dashboard for this request.
    approval_url: String,
    /// Seconds between two polls.
    interval: u64,
    /// When the enrollment or its grant expires.
    #[serialize_always]
    expires_at: Option<Timestamp>,
    /// The code that the approver compares. Only in the first response.
    user_code: Option<String>,
    /// Only in the first response.
    enrollment_token: Option<String>,
    scopes: Option<Vec<String>>,
    capsule_id: Option<String>,
    role: Option<Role>,
    /// Where the token is valid.
    mcp_url: Option<String>,
}

async fn create(
    call: RestCall,
    body: SmallJsonBody<NewEnrollmentBody>,
) -> ApiResult<RestResponse<EnrollmentResponse>> {
    let registry = registry(&call)?;
    let new = body.0.into_enrollment(&call).await?;
    let enrolled =
        registry.enrollments().enroll(&sender(&call, registry), new).await.map_err(refused)?;
    let shown = EnrollmentResponse::from_state(&call, &enrolled.state)?;
    let Some(token) = enrolled.token else { return Ok(RestResponse::new(shown)) };
    // The code is returned only with the token: a repeat may come from another agent, and a person would compare that agent's
    // code and approve the wrong one.
    let shown = EnrollmentResponse {
        user_code: Some(enrolled.state.enrollment.user_code),
        enrollment_token: Some(token.expose().to_owned()),
        ..shown
    };
    Ok(RestResponse::new(shown).status(StatusCode::CREATED))
}

async fn poll(call: RestCall) -> ApiResult<EnrollmentResponse> {
    let (registry, id, token) = (registry(&call)?, call.path_parameter("id"), token(&call));
    check_token(&call, registry, id, token).await?;
    let state = registry.enrollments().poll(&caller(&call), id, token).await.map_err(refused)?;
    EnrollmentResponse::from_state(&call, &state)
}

async fn withdraw(call: RestCall) -> ApiResult<NoContent> {
    let (registry, id, token) = (registry(&call)?, call.path_parameter("id"), token(&call));
    check_token(&call, registry, id, token).await?;
    registry.enrollments().withdraw(&caller(&call), id, token).await.map_err(refused)?;
    Ok(NoContent)
}

impl NewEnrollmentBody {
    async fn into_enrollment(self, call: &RestCall) -> ApiResult<NewEnrollment> {
        let asked_capsule = self.capsule.clone();
        let (target, usual) = match (self.capsule, self.deck) {
            (Some(name), None) => {
                let role = self.role.unwrap_or(Role::Reader);
                // A capsule that does not exist can be requested too, so that the response does not reveal which exist.
                let place = CapsuleReference::find_within(&call.rest.host, &name, Reach::All).await;
                let missing = || missing_capsule_key(&name);
                let capsule = place.ok().flatten().map_or_else(missing, |place| place.key);
                let (uri_prefixes, denied_prefixes) = (self.uri_prefixes, self.denied_prefixes);
                let target = GrantTarget::Capsule { capsule, role, uri_prefixes, denied_prefixes };
                (target, Scopes::of_role(role))
            }
            (None, Some(DeckSelection { capabilities, tools })) => {
                let has_prefixes =
                    !self.uri_prefixes.is_empty() || !self.denied_prefixes.is_empty();
                if self.role.is_some() || has_prefixes {
                    let detail = "`role`, `uri_prefixes` and `denied_prefixes` apply to a capsule, not to the deck";
                    return Err(ApiError::invalid(detail));
                }
                let capabilities = capabilities.unwrap_or_else(|| vec!["*".to_owned()]);
                let target =
                    GrantTarget::Deck(DeckGrant { capabilities, tools, ..DeckGrant::default() });
                (target, Scopes::from_iter([OAuthScope::DeckCall]))
            }
            (None, None) | (Some(_), Some(_)) => {
                return Err(ApiError::invalid("pass either `capsule` or `deck`"));
            }
        };
        Ok(NewEnrollment {
            client_id: self.client_id,
            client_name: self.client_name,
            target,
            asked_capsule,
            scopes: self.scopes.as_deref().map_or(Ok(usual), scopes)?,
            reason: self.reason,
            contact: self.contact,
        })
    }
}

impl EnrollmentResponse {
    fn from_state(call: &RestCall, state: &EnrollmentState) -> ApiResult<Self> {
        let issuer = call.rest.http_state.issuer(&call.headers, call.address);
        let id = state.enrollment.id.clone();
        let mut shown = Self {
            status: state.status.as_str(),
            poll_url: format!("{issuer}/v1/agent-enrollments/{id}"),
            approval_url: format!("{issuer}/#/access/request/{}", state.enrollment.request),
            interval: state.interval,
            expires_at: state.expires_at,
            id,
            ..Self::default()
        };
        if matches!(state.status, EnrollmentStatus::Approved | EnrollmentStatus::Active) {
            shown.scopes = Some(convert(&state.scopes)?);
            shown.mcp_url = Some(match &state.target {
                GrantTarget::Capsule { capsule, role, .. } => {
                    let capsule = capsule_id_of(capsule);
                    shown.capsule_id = Some(capsule.to_owned());
                    shown.role = Some(*role);
                    format!("{issuer}/mcp/{capsule}")
                }
                GrantTarget::Deck(_) => format!("{issuer}/mcp"),
            });
        }
        Ok(shown)
    }
}

/// Does not reveal to strangers which process holds the registry.
fn registry(call: &RestCall) -> ApiResult<&Registry> {
    let none =
        || ApiError::unavailable("this process has no registry, so enrollment is not available");
    call.rest.http_state.registry().ok_or_else(none)
}

/// The enrollment's token. A missing one is handled like a wrong one.
fn token(call: &RestCall) -> &str {
    bearer(&call.headers).unwrap_or_default()
}

/// Rejects a wrong token. Failures are counted; a burst is recorded once.
async fn check_token(call: &RestCall, registry: &Registry, id: &str, token: &str) -> ApiResult<()> {
    if registry.enrollments().is_token(id, token) {
        return Ok(());
    }
    count_failure(call, CredentialClass::EnrollmentToken).await?;
    Err(refused(RegistryError::NotFound { what: "enrollment", id: String::new() }))
}

fn caller(call: &RestCall) -> EventCaller {
    EventCaller::unknown(call.address.map(|address| address.ip))
}

/// The sender needs no credentials; one with credentials cannot approve the enrollment.
fn sender(call: &RestCall, registry: &Registry) -> EventCaller {
    let http_state = &call.rest.http_state;
    let by_token = |token: &str| {
        let authenticated = || registry.authenticate(token).map(|found| found.principal.clone());
        http_state.recognize_key(token).or_else(authenticated)
    };
    let session = || http_state.session_of(&call.headers, call.address);
    let known = bearer(&call.headers).and_then(by_token);
    let known = known.or_else(|| session().map(|session| session.operator.id));
    EventCaller { id: known.unwrap_or_default(), ..call.registry_caller() }
}

fn refused(error: RegistryError) -> ApiError {
    match error {
        // No detail: reveals neither the id nor whether the token was wrong.
        RegistryError::NotFound { .. } => {
            ApiError::new(StatusCode::NOT_FOUND, "not_found", "enrollment not found")
        }
        RegistryError::Widens { .. } => ApiError::invalid(error.to_string()),
        error => error.into(),
    }
}

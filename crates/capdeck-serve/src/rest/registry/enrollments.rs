//! Agents without a browser sign up. Making a sign-up and asking about it needs no other token than the one that the sign-up
//! itself gave.

use capdeck_auth::inbound::{
    Caller, CredentialClass, DeckGrant, EnrollmentState, EnrollmentStatus, GrantTarget,
    NewEnrollment, OAuthScope, Registry, RegistryError, Scopes, capsule_id_of, missing_capsule_key,
};
use capdeck_host::{Reach, Role};
use http::StatusCode;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shapes::{scopes, translated};
use crate::{
    CapsulePlace,
    rest::{
        call::Call,
        input::{NoBody, NoQuery, SmallJson},
        operation::{Operation, delete, get, post},
        problem::ApiError,
        reply::{NoContent, Reply},
        who::Who,
    },
    transport::http::bearer,
};

pub(super) fn operations() -> Vec<Operation> {
    vec![
        post("/v1/agent-enrollments", "createEnrollment", "Sign up as an agent without a browser")
            .about("Asks for one role in one capsule, or for a part of the deck. The answer to a new sign-up has `enrollment_token`, which opens nothing until a person approves the request; then it is the agent's token at `mcp_url`. While nobody decided, the same client asking for the same role in the same place is one sign-up, answered 200 without the token and the code: whoever has no token of it cannot go on with it, and signs up under another `client_id`. What does not exist is signed up for just the same.")
            .who(Who::Stranger)
            .success(&[200, 201])
            .problems(&[507])
            .done_by(create),
        get("/v1/agent-enrollments/{id}", "pollEnrollment", "Ask how a sign-up stands")
            .about("With `Authorization: Bearer <enrollment_token>`, no more often than every `interval` seconds: sooner is answered 429 `too_soon` with `Retry-After`. A wrong token and a wrong id are answered alike.")
            .who(Who::Stranger)
            .done_by(poll),
        delete("/v1/agent-enrollments/{id}", "withdrawEnrollment", "Take a sign-up back")
            .about("With `Authorization: Bearer <enrollment_token>`. One that was approved ends with what it opened.")
            .who(Who::Stranger)
            .done_by(withdraw),
    ]
}

/// What an agent asks for: one role in one capsule, or a part of the deck.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewEnrollment")]
struct Wanted {
    #[schemars(length(min = 1, max = 1000))]
    client_id: String,
    /// What the agent is called; its id when left out.
    #[schemars(length(min = 1, max = 1000))]
    client_name: Option<String>,
    /// The id or the name of a capsule.
    #[schemars(length(min = 1, max = 1000))]
    capsule: Option<String>,
    /// In the capsule; `reader` when left out.
    role: Option<Role>,
    /// The part of the capsule; everything when empty.
    #[serde(default)]
    uri_prefixes: Vec<String>,
    #[serde(default)]
    denied_prefixes: Vec<String>,
    /// A part of the deck instead of a capsule.
    deck: Option<WantedDeck>,
    /// What the role needs, or the right to call, when left out.
    scopes: Option<Vec<String>>,
    #[schemars(length(max = 1000))]
    reason: Option<String>,
    /// How to reach whoever runs the agent.
    #[schemars(length(max = 1000))]
    contact: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DeckSelection")]
struct WantedDeck {
    /// Patterns of capability ids; all of them when left out.
    capabilities: Option<Vec<String>>,
    /// Patterns of `capability/tool`; every tool when empty.
    #[serde(default)]
    tools: Vec<String>,
}

/// A sign-up for whoever made it. What it opens is told once it opens something.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Enrollment")]
struct EnrollmentShown {
    id: String,
    /// `pending`, `approved`, `active` once it was used, `denied`, `revoked` or `expired`.
    status: &'static str,
    /// Ask here how it stands.
    poll_url: String,
    /// The page of the dashboard where a person decides this very request.
    approval_url: String,
    /// Seconds between two questions.
    interval: u64,
    /// When the sign-up, or what it became, is over.
    expires_at: Option<Timestamp>,
    /// The person who approves is shown the same. Told once, with the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    user_code: Option<String>,
    /// Told once, when the sign-up is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    enrollment_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scopes: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capsule_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<Role>,
    /// Where the token works.
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp_url: Option<String>,
}

async fn create(
    call: Call,
    _: NoQuery,
    body: SmallJson<Wanted>,
) -> Result<Reply<EnrollmentShown>, ApiError> {
    let registry = registry(&call)?;
    let new = body.0.into_enrollment(&call).await?;
    let enrolled = registry.enroll(&sender(&call, registry), new).await.map_err(refused)?;
    let shown = EnrollmentShown::of(&call, &enrolled.state)?;
    let Some(token) = enrolled.token else { return Ok(Reply::new(shown)) };
    // The code goes with the token: whoever shows it has what an approval opens. A repeat may be somebody else's, and a
    // person would compare the codes of two agents and approve the wrong one.
    Ok(Reply::created(EnrollmentShown {
        user_code: Some(enrolled.state.enrollment.user_code),
        enrollment_token: Some(token.expose().to_owned()),
        ..shown
    }))
}

async fn poll(call: Call, _: NoQuery, _: NoBody) -> Result<Reply<EnrollmentShown>, ApiError> {
    let (registry, id, token) = (registry(&call)?, call.place("id"), token(&call));
    check_token(&call, registry, id, token).await?;
    let state = registry.poll_enrollment(&caller(&call), id, token).await.map_err(refused)?;
    Ok(Reply::new(EnrollmentShown::of(&call, &state)?))
}

async fn withdraw(call: Call, _: NoQuery, _: NoBody) -> Result<Reply<NoContent>, ApiError> {
    let (registry, id, token) = (registry(&call)?, call.place("id"), token(&call));
    check_token(&call, registry, id, token).await?;
    registry.withdraw_enrollment(&caller(&call), id, token).await.map_err(refused)?;
    Ok(Reply::new(NoContent))
}

impl Wanted {
    async fn into_enrollment(self, call: &Call) -> Result<NewEnrollment, ApiError> {
        let asked_capsule = self.capsule.clone();
        let (target, usual) = match (self.capsule, self.deck) {
            (Some(name), None) => {
                let role = self.role.unwrap_or(Role::Reader);
                // What does not exist is signed up for just the same, so that nobody learns here what does.
                let place = CapsulePlace::reached(&call.rest.host, &name, Reach::All).await;
                let missing = || missing_capsule_key(&name);
                let capsule = place.ok().flatten().map_or_else(missing, |place| place.key);
                let (uri_prefixes, denied_prefixes) = (self.uri_prefixes, self.denied_prefixes);
                let target = GrantTarget::Capsule { capsule, role, uri_prefixes, denied_prefixes };
                (target, Scopes::of_role(role))
            }
            (None, Some(WantedDeck { capabilities, tools })) => {
                let has_prefixes =
                    !self.uri_prefixes.is_empty() || !self.denied_prefixes.is_empty();
                if self.role.is_some() || has_prefixes {
                    let detail = "`role`, `uri_prefixes` and `denied_prefixes` are for a capsule; the deck has none";
                    return Err(ApiError::invalid(detail));
                }
                let capabilities = capabilities.unwrap_or_else(|| vec!["*".to_owned()]);
                let target =
                    GrantTarget::Deck(DeckGrant { capabilities, tools, ..DeckGrant::default() });
                (target, Scopes::from_iter([OAuthScope::DeckCall]))
            }
            (None, None) | (Some(_), Some(_)) => {
                return Err(ApiError::invalid("give either `capsule` or `deck`"));
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

impl EnrollmentShown {
    fn of(call: &Call, state: &EnrollmentState) -> Result<Self, ApiError> {
        let issuer = call.rest.http_state.issuer(&call.headers, call.address);
        let id = state.enrollment.id.clone();
        let mut shown = Self {
            status: state.status.as_str(),
            poll_url: format!("{issuer}/v1/agent-enrollments/{id}"),
            approval_url: format!("{issuer}/#/access/request/{}", state.enrollment.request),
            interval: state.interval,
            expires_at: state.expires_at,
            user_code: None,
            enrollment_token: None,
            scopes: None,
            capsule_id: None,
            role: None,
            mcp_url: None,
            id,
        };
        if matches!(state.status, EnrollmentStatus::Approved | EnrollmentStatus::Active) {
            shown.scopes = Some(translated(&state.scopes)?);
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

/// The registry. A stranger is not told who else has it.
fn registry(call: &Call) -> Result<&Registry, ApiError> {
    let none = || ApiError::unavailable("this process has no registry, so nobody can sign up here");
    call.rest.http_state.registry().ok_or_else(none)
}

/// The sign-up's own token. None is answered like a wrong one.
fn token(call: &Call) -> &str {
    bearer(&call.headers).unwrap_or_default()
}

/// Refuses a token that is not that of the enrollment. It is counted, and a burst of them recorded once.
async fn check_token(
    call: &Call,
    registry: &Registry,
    id: &str,
    token: &str,
) -> Result<(), ApiError> {
    if registry.is_enrollment_token(id, token) {
        return Ok(());
    }
    call.count_failure(CredentialClass::EnrollmentToken).await?;
    Err(refused(RegistryError::NotFound { what: "enrollment", id: String::new() }))
}

fn caller(call: &Call) -> Caller {
    Caller::unknown(call.address.map(|address| address.ip))
}

/// Who signs an agent up. Credentials are not needed; whoever sends some cannot approve the sign-up afterwards.
fn sender(call: &Call, registry: &Registry) -> Caller {
    let http_state = &call.rest.http_state;
    let by_token = |token: &str| {
        let authenticated = || registry.authenticate(token).map(|found| found.principal.clone());
        http_state.recognize_key(token).or_else(authenticated)
    };
    let session = || http_state.session_of(&call.headers, call.address);
    let known = bearer(&call.headers).and_then(by_token);
    let known = known.or_else(|| session().map(|session| session.operator.id));
    Caller { id: known.unwrap_or_default(), ..call.registry_caller() }
}

fn refused(error: RegistryError) -> ApiError {
    match error {
        // Without a detail: neither the id nor whether the token was wrong.
        RegistryError::NotFound { .. } => {
            ApiError::new(StatusCode::NOT_FOUND, "not_found", "there is no such enrollment")
        }
        RegistryError::Widens { .. } => ApiError::invalid(error.to_string()),
        error => error.into(),
    }
}

//! `/oauth/authorize`: a client sends a person here to approve or deny its access.

use std::sync::Arc;

use axum::{
    extract::{RawQuery, Request, State},
    response::Response,
};
use capdeck_auth::inbound::{
    ApprovalTerms, AuthenticatedOperator, AuthorizationError, AuthorizationRequest,
    ClientDocumentError, ClientDocuments, ClientKind, DecisionMaker, EventCaller, GrantRecipient,
    NewAuthorizationCode, NewRequest, OAuthClient, OAuthScope, PendingAuthorization, Registry,
    RegistryError, RequestDecision, RequestSource, RequestStatus, Scopes, fetch_client_document,
};
use http::{HeaderMap, StatusCode, Uri, header, request::Parts};
use serde::{Deserialize, Serialize};

use super::{
    OauthForm, OauthResource,
    consent_page::{ConsentChoice, ConsentOffer, ConsentPage},
    html::{client_url, invalid_request, redirect_to_client, refusal},
    metadata::no_registry,
    sign_in_page,
};
use crate::{
    cookies,
    http_state::HttpState,
    transport::http::{ClientAddress, read_form},
};

const PURPOSE: &str = "consent";

struct ConsentOperator {
    operator: AuthenticatedOperator,
    /// The session's value: a form of one session is not valid in another.
    binding: String,
}

/// `GET /oauth/authorize`: shows the consent page.
pub(super) async fn show_authorize_page(
    State(http_state): State<Arc<HttpState>>,
    address: Option<axum::Extension<ClientAddress>>,
    uri: Uri,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Response> {
    let registry = http_state.registry().ok_or_else(no_registry)?;
    let form = OauthForm::parse(query.unwrap_or_default().as_bytes());
    let address = address.map(|address| address.0);
    let issuer = http_state.issuer(&headers, address);
    let client = known_client(&http_state, registry, &form).await?;
    let request = match AuthorizeRequest::read(&form, &client, &issuer) {
        Ok(request) => request,
        Err(AuthorizationError::Page { reason }) => {
            return Err(refusal(StatusCode::BAD_REQUEST, "Sign-in failed", reason));
        }
        Err(AuthorizationError::SendBack { redirect_uri, code, reason }) => {
            let fields = [("error", code), ("error_description", reason.as_str())];
            let state = form.last_value("state");
            let url = client_url(&redirect_uri, state, &issuer, &fields);
            let person = person(&http_state, &headers, address);
            let is_let_in = |person: ConsentOperator| {
                registry.clients().has_let_in(&person.operator.id, &client.id)
            };
            return Err(match person.is_some_and(is_let_in) {
                true => redirect_to_client(url.as_ref()),
                false => invalid_request(&client.name, &reason, url.as_ref()),
            });
        }
    };
    let Some(person) = person(&http_state, &headers, address) else {
        let path = uri.path_and_query().map_or("/oauth/authorize", |path| path.as_str());
        return Err(sign_in_page::ask(&http_state, path, None));
    };
    show(&http_state, &client, &request, &person, None).await
}

/// `POST /oauth/authorize`: handles the decision.
pub(super) async fn decide(
    State(http_state): State<Arc<HttpState>>,
    request: Request,
) -> Result<Response, Response> {
    let (parts, form) = read_form(request).await?;
    let registry = http_state.registry().ok_or_else(no_registry)?;
    let person = person(&http_state, &parts.headers, parts.extensions.get().copied());
    let opened = person.as_ref().zip(form.last_value("request")).and_then(|(person, sealed)| {
        http_state.seal.open::<AuthorizeRequest>(PURPOSE, &person.binding, sealed)
    });
    let (Some(person), Some(request)) = (person, opened) else {
        let why =
            "The form has expired or is not from this page. Start the sign-in again in the client.";
        return Err(refusal(StatusCode::FORBIDDEN, "Start again", why));
    };
    if form.last_value("decision") != Some("approve") {
        let fields =
            [("error", "access_denied"), ("error_description", "the person denied the request")];
        return Ok(answer_client(&request, &fields));
    }
    // The client may have changed since the page was shown.
    let AuthorizeRequest { authorization, .. } = &request;
    let client = match find_client(&http_state, registry, &authorization.client_id).await {
        Ok(client) if client.has_redirect(&authorization.redirect_uri) => client,
        Ok(_) | Err(_) => {
            let why = "The client has changed since this page was shown. Start the sign-in again in the client.";
            return Err(refusal(StatusCode::BAD_REQUEST, "Start again", why));
        }
    };
    let offer = consent_offer(&http_state, &person, &request).await?;
    let choice = match ConsentChoice::read(&form, &request, &offer) {
        Ok(choice) => choice,
        Err(problem) => {
            return show(&http_state, &client, &request, &person, Some(&problem)).await;
        }
    };
    let caller = caller(&person, &parts);
    match grant(registry, &caller, &client, &request, &person, choice).await {
        Ok(Some(code)) => Ok(answer_client(&request, &[("code", &code)])),
        Ok(None) => {
            let why = "Your request is pending. After an approver has approved it, start the sign-in again in the client.";
            Ok(refusal(StatusCode::ACCEPTED, "Approval required", why))
        }
        Err(RegistryError::Invalid { what, reason }) => {
            let problem = format!("`{what}`: {reason}");
            show(&http_state, &client, &request, &person, Some(&problem)).await
        }
        Err(error) => {
            tracing::error!(%error, "cannot grant a client access");
            let why = error.to_string();
            Err(refusal(StatusCode::SERVICE_UNAVAILABLE, "Sign-in failed", &why))
        }
    }
}

/// The client of a request, or an error page. An unknown client never gets a redirect.
async fn known_client(
    http_state: &HttpState,
    registry: &Registry,
    form: &OauthForm,
) -> Result<OAuthClient, Response> {
    let refused = |why: &str| refusal(StatusCode::BAD_REQUEST, "Unknown client", why);
    let id = match form.single("client_id") {
        Ok(Some(id)) => id,
        Ok(None) => return Err(refused("The link has no `client_id`.")),
        Err(repeated) => return Err(refused(&repeated.to_string())),
    };
    find_client(http_state, registry, id).await.map_err(|why| refused(&why))
}

/// A registered client, or the one that the client metadata document at its id describes.
async fn find_client(
    http_state: &HttpState,
    registry: &Registry,
    id: &str,
) -> Result<OAuthClient, String> {
    if !OAuthClient::is_document_id(id) {
        let missing = || "The client must register first.".to_owned();
        return registry.clients().get(id).ok_or_else(missing);
    }
    if registry.client_documents() == ClientDocuments::Refused {
        return Err(ClientDocumentError::Refused.to_string());
    }
    let clients = http_state.host.guarded_clients();
    let policy = registry.redirect_policy();
    let fetched = fetch_client_document(clients, id, policy).await;
    fetched.map_err(|error| error.to_string())
}

/// The signed-in person, or the local person where no sign-in is required.
fn person(
    http_state: &HttpState,
    headers: &HeaderMap,
    address: Option<ClientAddress>,
) -> Option<ConsentOperator> {
    // A token proves that a program has it, not that a person reads the page.
    if headers.contains_key(header::AUTHORIZATION) {
        return None;
    }
    if let Some(session) = http_state.session_of(headers, address) {
        return Some(ConsentOperator {
            binding: session.csrf().to_owned(),
            operator: session.operator,
        });
    }
    http_state.is_at_this_machine(headers).then(|| ConsentOperator {
        operator: AuthenticatedOperator::local(),
        binding: String::new(),
    })
}

async fn show(
    http_state: &HttpState,
    client: &OAuthClient,
    request: &AuthorizeRequest,
    person: &ConsentOperator,
    problem: Option<&str>,
) -> Result<Response, Response> {
    let offer = consent_offer(http_state, person, request).await?;
    if offer.is_empty() {
        let why = "You have no access that you can grant to this client.";
        return Err(refusal(StatusCode::NOT_FOUND, "Nothing to grant", why));
    }
    let sealed = http_state.seal.seal(PURPOSE, &person.binding, request);
    let operator = &person.operator;
    Ok(ConsentPage { client, request, operator, offer: &offer, sealed: &sealed, problem }.render())
}

async fn consent_offer(
    http_state: &HttpState,
    person: &ConsentOperator,
    request: &AuthorizeRequest,
) -> Result<ConsentOffer, Response> {
    let (operator, resource) = (&person.operator, request.resource());
    let offer = ConsentOffer::for_request(http_state, operator, &resource, &request.scopes).await;
    offer.map_err(|failure| {
        tracing::error!(reason = failure.message, "cannot list the capsules");
        let why = "The capsules are not available. See the log of the host.";
        refusal(StatusCode::SERVICE_UNAVAILABLE, "Sign-in failed", why)
    })
}

/// Files a request for each chosen target and approves it if this person can. `None`: all of them are pending.
async fn grant(
    registry: &Registry,
    caller: &EventCaller,
    client: &OAuthClient,
    request: &AuthorizeRequest,
    person: &ConsentOperator,
    choice: ConsentChoice,
) -> Result<Option<String>, RegistryError> {
    if client.kind == ClientKind::Document {
        registry.clients().remember(caller, client).await?;
    }
    let AuthenticatedOperator { id: operator, role, .. } = &person.operator;
    let decider =
        DecisionMaker::Operator { id: operator.clone(), role: *role, readable: Vec::new() };
    let mut holder = None;
    for (target, scopes) in choice.targets {
        // Earlier approvals of an approver are reused.
        if !registry.grants().decides_freely(&decider, &target)
            && let Some(known) =
                registry.grants().client_with_grant(&client.id, operator, &target, &scopes)
        {
            holder = Some(known);
            continue;
        }
        let new = NewRequest {
            source: RequestSource::Oauth,
            holder: GrantRecipient::Client {
                client_id: client.id.clone(),
                client_name: client.name.clone(),
                operator: operator.clone(),
            },
            requested_by: operator.clone(),
            target,
            scopes,
            reason: None,
            wanted_until: None,
        };
        let mut filed = registry.grants().file_request(caller, new).await?;
        let is_pending = filed.status == RequestStatus::Pending;
        // Usually pending: the request comes from the person's own browser.
        if is_pending && registry.grants().check_approval(caller, &decider, &filed).is_ok() {
            let decision = RequestDecision::Approve(ApprovalTerms::default());
            filed = registry.grants().decide(caller, &decider, &filed.id, decision).await?;
        }
        if filed.status == RequestStatus::Approved {
            holder = Some(filed.principal);
        }
    }
    let Some(principal) = holder else { return Ok(None) };
    let authorization = request.authorization.clone();
    let new = NewAuthorizationCode { authorization, principal, scopes: choice.scopes };
    let code = registry.tokens().issue_code(caller, new).await?;
    Ok(Some(code.expose().to_owned()))
}

/// Redirects to the client. The URI was checked against the client's registration.
fn answer_client(request: &AuthorizeRequest, fields: &[(&str, &str)]) -> Response {
    let AuthorizeRequest { authorization, state, issuer, .. } = request;
    let url = client_url(&authorization.redirect_uri, state.as_deref(), issuer, fields);
    redirect_to_client(url.as_ref())
}

fn caller(person: &ConsentOperator, parts: &Parts) -> EventCaller {
    let address = parts.extensions.get::<ClientAddress>().map(|address| address.ip);
    let caller = EventCaller::new(person.operator.id.clone(), address);
    caller.in_browser(cookies::browser_hash(&parts.headers))
}

/// It is sealed in the form that the person submits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AuthorizeRequest {
    pub(super) authorization: PendingAuthorization,
    pub(super) state: Option<String>,
    pub(super) scopes: Scopes,
    /// The issuer as the client sees it.
    pub(super) issuer: String,
}

impl AuthorizeRequest {
    /// Validates a request; the redirect URI first, because later errors are sent there.
    pub(super) fn read(
        form: &OauthForm,
        client: &OAuthClient,
        issuer: &str,
    ) -> Result<Self, AuthorizationError> {
        let text = |name: &'static str| form.single(name).ok().flatten().map(str::to_owned);
        let request = AuthorizationRequest {
            response_type: text("response_type"),
            redirect_uri: match form.single("redirect_uri") {
                Ok(given) => given.map(str::to_owned),
                Err(_) => {
                    let reason = "`redirect_uri` is repeated";
                    return Err(AuthorizationError::Page { reason });
                }
            },
            code_challenge: text("code_challenge"),
            code_challenge_method: text("code_challenge_method"),
        };
        let mut authorization = request.check(client)?;
        let redirect_uri = authorization.redirect_uri.clone();
        let send_back = |code, reason| {
            let redirect_uri = redirect_uri.clone();
            AuthorizationError::SendBack { redirect_uri, code, reason }
        };
        for name in [
            "response_type",
            "code_challenge",
            "code_challenge_method",
            "scope",
            "resource",
            "state",
        ] {
            form.single(name)
                .map_err(|repeated| send_back("invalid_request", repeated.to_string()))?;
        }
        for unsupported in ["request", "request_uri"] {
            if form.last_value(unsupported).is_some() {
                let reason = format!("`{unsupported}` is not supported");
                return Err(send_back("request_not_supported", reason));
            }
        }
        let resource = match text("resource") {
            Some(named) => OauthResource::from_address(&named, issuer).ok_or_else(|| {
                let reason =
                    format!("`resource` must be an endpoint of this host, such as {issuer}/mcp");
                send_back("invalid_target", reason)
            })?,
            None => OauthResource::Deck,
        };
        let scopes: Scopes = match text("scope") {
            // Clients request scopes of other servers, too, such as `openid`. Unknown scopes are ignored.
            Some(named) => named.split(' ').filter_map(OAuthScope::parse).collect(),
            None => resource.first_scopes(),
        };
        if scopes.is_empty() {
            let reason = format!("unknown `scope`; supported scopes: {}", resource.scopes());
            return Err(send_back("invalid_scope", reason));
        }
        authorization.resource = Some(resource.address(issuer));
        Ok(Self { authorization, state: text("state"), scopes, issuer: issuer.to_owned() })
    }

    pub(super) fn resource(&self) -> OauthResource {
        let named = self.authorization.resource.as_deref();
        named
            .and_then(|named| OauthResource::from_address(named, &self.issuer))
            .unwrap_or(OauthResource::Deck)
    }
}

//! Clients sign in: codes, tokens, renewals, and what ends them.

use std::time::Duration;

use capdeck_auth::{
    Secret,
    inbound::{
        AuthorizationError, AuthorizationRequest, ClientMetadata, ClientProof, CodeRedemption,
        GrantRecipient, GrantTarget, NewAuthorizationCode, NewRequest, OAuthClient,
        PendingAuthorization, RegistryError, Role, TokenRefusal, TokenRenewal, TokenSet,
    },
};

use crate::inbound_support::{Fixture, admin, caller, fixture, reader, request, scopes};

/// The example of RFC 7636.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const BACK: &str = "http://127.0.0.1:4711/cb";
const RESOURCE: &str = "https://deck.example/mcp";
const MINUTE: Duration = Duration::from_secs(60);

fn metadata() -> ClientMetadata {
    ClientMetadata {
        redirect_uris: vec![BACK.to_owned(), "https://app.example/cb".to_owned()],
        client_name: Some("Editor".to_owned()),
        ..ClientMetadata::default()
    }
}

async fn client(fixture: &Fixture) -> OAuthClient {
    fixture.registry.clients().register(&caller(""), metadata()).await.unwrap().client
}

fn ask() -> AuthorizationRequest {
    AuthorizationRequest {
        response_type: Some("code".to_owned()),
        redirect_uri: Some(BACK.to_owned()),
        code_challenge: Some(CHALLENGE.to_owned()),
        code_challenge_method: Some("S256".to_owned()),
    }
}

fn authorization(client: &OAuthClient) -> PendingAuthorization {
    let mut authorization = ask().check(client).unwrap();
    authorization.resource = Some(RESOURCE.to_owned());
    authorization
}

/// A person agrees, and a code is given.
async fn code(fixture: &Fixture, client: &OAuthClient) -> Secret {
    code_for(fixture, client, "opr_ann").await
}

async fn code_for(fixture: &Fixture, client: &OAuthClient, operator: &str) -> Secret {
    let new = NewRequest {
        holder: GrantRecipient::Client {
            client_id: client.id.clone(),
            client_name: client.name.clone(),
            operator: operator.to_owned(),
        },
        ..request(reader("cap_a"), "capsule:write")
    };
    let registry = &fixture.registry;
    let filed = registry.grants().file_request(&caller("opr_ann"), new).await.unwrap();
    let approve = capdeck_auth::inbound::RequestDecision::Approve(Default::default());
    registry.grants().decide(&caller("admin"), &admin(), &filed.id, approve).await.unwrap();
    let new = NewAuthorizationCode {
        authorization: authorization(client),
        principal: filed.principal,
        scopes: scopes("capsule:write"),
    };
    registry.tokens().issue_code(&caller("opr_ann"), new).await.unwrap()
}

fn proof(client: &OAuthClient) -> ClientProof {
    ClientProof { client_id: client.id.clone(), secret: None }
}

fn redemption(client: &OAuthClient, code: &Secret) -> CodeRedemption {
    CodeRedemption {
        client: proof(client),
        code: code.clone(),
        verifier: Some(Secret::new(VERIFIER)),
        redirect_uri: Some(BACK.to_owned()),
        resource: Some(RESOURCE.to_owned()),
    }
}

async fn sign_in(fixture: &Fixture, client: &OAuthClient) -> TokenSet {
    let code = code(fixture, client).await;
    fixture.registry.tokens().redeem_code(&caller(""), redemption(client, &code)).await.unwrap()
}

async fn sign_in_as(fixture: &Fixture, client: &OAuthClient, operator: &str) -> TokenSet {
    let code = code_for(fixture, client, operator).await;
    fixture.registry.tokens().redeem_code(&caller(""), redemption(client, &code)).await.unwrap()
}

async fn renew(
    fixture: &Fixture,
    client: &OAuthClient,
    token: &Secret,
) -> Result<TokenSet, RegistryError> {
    let renewal = TokenRenewal {
        client: proof(client),
        refresh_token: token.clone(),
        scopes: None,
        resource: None,
    };
    fixture.registry.tokens().renew(&caller(""), renewal).await
}

fn refusal<T: std::fmt::Debug>(result: Result<T, RegistryError>) -> TokenRefusal {
    let error = result.unwrap_err();
    let found = match &error {
        RegistryError::Token { refusal, .. } => Some(*refusal),
        _ => None,
    };
    found.ok_or(error).unwrap()
}

#[tokio::test]
async fn a_client_signs_in_and_its_token_opens_what_was_granted() {
    let fixture = fixture();
    let client = client(&fixture).await;
    let tokens = sign_in(&fixture, &client).await;
    let registry = &fixture.registry;
    let standing = registry.authenticate(tokens.access_token.expose()).unwrap();
    assert_eq!(standing.client_id.as_ref(), Some(&client.id));
    assert_eq!(standing.audience.as_deref(), Some(RESOURCE));
    assert_eq!(standing.scopes, scopes("capsule:write"));
    assert_eq!(tokens.expires_at, fixture.now() + 60 * MINUTE);
    let access = registry.access(&standing.credential).unwrap();
    assert_eq!(
        access.capsules.iter().map(|one| one.access.role).collect::<Vec<_>>(),
        [Role::Reader]
    );
    // A renewing token opens nothing, and neither does the code.
    assert!(registry.authenticate(tokens.refresh_token.expose()).is_none());
    fixture.pass(60 * MINUTE);
    assert!(registry.authenticate(tokens.access_token.expose()).is_none());
    assert_eq!(
        fixture.audit.take(),
        ["client.register", "grant.request", "grant.approve", "code.issue", "credential.issue"]
    );
}

#[tokio::test]
async fn item_15_a_code_used_twice_is_refused_and_ends_what_it_gave() {
    let fixture = fixture();
    let client = client(&fixture).await;
    let code = code(&fixture, &client).await;
    let registry = &fixture.registry;
    let tokens =
        registry.tokens().redeem_code(&caller(""), redemption(&client, &code)).await.unwrap();
    fixture.audit.take();
    let again = registry.tokens().redeem_code(&caller(""), redemption(&client, &code)).await;
    assert_eq!(refusal(again), TokenRefusal::InvalidGrant);
    assert!(registry.authenticate(tokens.access_token.expose()).is_none());
    assert!(renew(&fixture, &client, &tokens.refresh_token).await.is_err());
    let lines = fixture.audit.take();
    assert_eq!(
        lines,
        ["credential.issue invalid_grant", "credential.revoke", "credential.refresh invalid_grant"]
    );
    // Also much later, and after a restart.
    let fixture = fixture.reopen();
    assert!(fixture.registry.authenticate(tokens.access_token.expose()).is_none());
}

/// Makes a redemption wrong.
type Spoil<'a> = dyn Fn(&mut CodeRedemption) + 'a;

#[tokio::test]
async fn item_15_security_11_a_code_is_bound_to_client_redirect_verifier_and_resource() {
    let fixture = fixture();
    let (client, other) = (client(&fixture).await, client(&fixture).await);
    let grant = TokenRefusal::InvalidGrant;
    let wrong: [(&Spoil<'_>, TokenRefusal); 7] = [
        (&|one| one.client.client_id.clone_from(&other.id), grant),
        (&|one| "cli_none".clone_into(&mut one.client.client_id), TokenRefusal::InvalidClient),
        (&|one| one.redirect_uri = Some("https://app.example/cb".to_owned()), grant),
        (&|one| one.redirect_uri = Some(format!("{BACK}/")), grant),
        (&|one| one.verifier = Some(Secret::new("x".repeat(43))), grant),
        (&|one| one.verifier = None, TokenRefusal::InvalidRequest),
        (
            &|one| one.resource = Some("https://evil.example/mcp".to_owned()),
            TokenRefusal::InvalidTarget,
        ),
    ];
    for (change, expected) in wrong {
        let code = code(&fixture, &client).await;
        let mut attempt = redemption(&client, &code);
        change(&mut attempt);
        let refused = fixture.registry.tokens().redeem_code(&caller(""), attempt).await;
        assert_eq!(refusal(refused), expected);
        // The one who shows a code uses it up; only a person who is no client shows nothing.
        if expected != TokenRefusal::InvalidClient {
            let again = fixture
                .registry
                .tokens()
                .redeem_code(&caller(""), redemption(&client, &code))
                .await;
            assert_eq!(refusal(again), grant);
        }
    }
}

#[tokio::test]
async fn a_code_is_over_soon_and_lost_with_the_process() {
    let fixture = fixture();
    let client = client(&fixture).await;
    let first = code(&fixture, &client).await;
    fixture.pass(5 * MINUTE);
    let late =
        fixture.registry.tokens().redeem_code(&caller(""), redemption(&client, &first)).await;
    assert_eq!(refusal(late), TokenRefusal::InvalidGrant);
    let second = code(&fixture, &client).await;
    let fixture = fixture.reopen();
    let lost =
        fixture.registry.tokens().redeem_code(&caller(""), redemption(&client, &second)).await;
    assert_eq!(refusal(lost), TokenRefusal::InvalidGrant);
}

#[tokio::test]
async fn security_11_a_renewing_token_works_once_and_its_return_ends_the_connection() {
    let fixture = fixture();
    let client = client(&fixture).await;
    let first = sign_in(&fixture, &client).await;
    let second = renew(&fixture, &client, &first.refresh_token).await.unwrap();
    assert_eq!(second.credential, first.credential);
    assert_ne!(second.refresh_token, first.refresh_token);
    // The older access token stays until it is over.
    assert!(fixture.registry.authenticate(first.access_token.expose()).is_some());
    // The one who lost the answer gets the same one: there is never a second line of tokens.
    fixture.pass(MINUTE - Duration::from_millis(1));
    assert_eq!(renew(&fixture, &client, &first.refresh_token).await.unwrap(), second);
    let third = renew(&fixture, &client, &second.refresh_token).await.unwrap();
    // The first one is not the one before any more.
    let stolen = renew(&fixture, &client, &first.refresh_token).await;
    assert_eq!(refusal(stolen), TokenRefusal::InvalidGrant);
    for tokens in [&first, &second, &third] {
        assert!(fixture.registry.authenticate(tokens.access_token.expose()).is_none());
        assert!(renew(&fixture, &client, &tokens.refresh_token).await.is_err());
    }
}

#[tokio::test]
async fn a_connection_that_makes_room_for_another_leaves_a_line() {
    let fixture = fixture();
    let client = client(&fixture).await;
    let first = sign_in(&fixture, &client).await;
    for _ in 1..20 {
        fixture.pass(MINUTE);
        sign_in(&fixture, &client).await;
    }
    assert!(fixture.registry.authenticate(first.access_token.expose()).is_some());
    let code = code(&fixture, &client).await;
    fixture.audit.take_events();
    fixture.registry.tokens().redeem_code(&caller(""), redemption(&client, &code)).await.unwrap();
    let reported: Vec<_> = fixture
        .audit
        .take_events()
        .into_iter()
        .map(|event| (event.action, event.subject.id))
        .collect();
    let [("credential.issue", Some(_)), ("credential.revoke", Some(ended))] = reported.as_slice()
    else {
        panic!("{reported:?}");
    };
    assert_ne!(*ended, first.credential, "it was used last");
    assert!(fixture.registry.authenticate(first.access_token.expose()).is_some());
}

#[tokio::test]
async fn a_renewing_token_that_returns_late_ends_the_connection_even_after_a_restart() {
    let fixture = fixture();
    let client = client(&fixture).await;
    let first = sign_in(&fixture, &client).await;
    let second = renew(&fixture, &client, &first.refresh_token).await.unwrap();
    let fixture = fixture.reopen();
    // Soon enough, but no one knows the answer any more: refused, and nothing is ended for it.
    assert!(renew(&fixture, &client, &first.refresh_token).await.is_err());
    assert!(fixture.registry.authenticate(second.access_token.expose()).is_some());
    fixture.pass(MINUTE);
    assert!(renew(&fixture, &client, &first.refresh_token).await.is_err());
    assert!(fixture.registry.authenticate(second.access_token.expose()).is_none());
}

#[tokio::test]
async fn a_renewal_can_only_narrow_and_is_of_one_client_and_one_resource() {
    let fixture = fixture();
    let (client, other) = (client(&fixture).await, client(&fixture).await);
    let tokens = sign_in(&fixture, &client).await;
    let renewal =
        |scopes: Option<&str>, resource: Option<&str>, client: &OAuthClient, token: &Secret| {
            TokenRenewal {
                client: proof(client),
                refresh_token: token.clone(),
                scopes: scopes.map(self::scopes),
                resource: resource.map(str::to_owned),
            }
        };
    let registry = &fixture.registry;
    let token = &tokens.refresh_token;
    for (attempt, expected) in [
        (renewal(Some("capsule:admin"), None, &client, token), TokenRefusal::InvalidScope),
        (renewal(None, Some("https://evil.example"), &client, token), TokenRefusal::InvalidTarget),
        (renewal(None, None, &other, token), TokenRefusal::InvalidGrant),
        (renewal(None, None, &client, &tokens.access_token), TokenRefusal::InvalidGrant),
        (renewal(None, None, &client, &Secret::new("cap_rt_x")), TokenRefusal::InvalidGrant),
    ] {
        assert_eq!(refusal(registry.tokens().renew(&caller(""), attempt).await), expected);
    }
    let narrowed = renewal(Some("capsule:read"), Some(RESOURCE), &client, token);
    let narrowed = registry.tokens().renew(&caller(""), narrowed).await.unwrap();
    assert_eq!(narrowed.scopes, scopes("capsule:read"));
    let again = renewal(Some("capsule:write"), None, &client, &narrowed.refresh_token);
    let refused = registry.tokens().renew(&caller(""), again).await;
    assert_eq!(refusal(refused), TokenRefusal::InvalidScope);
}

#[tokio::test]
async fn a_client_gives_its_tokens_back_and_no_one_else_s() {
    let fixture = fixture();
    let (client, other) = (client(&fixture).await, client(&fixture).await);
    let registry = &fixture.registry;
    let tokens = sign_in(&fixture, &client).await;
    let opens = || registry.authenticate(tokens.access_token.expose()).is_some();
    for token in [tokens.access_token.clone(), tokens.refresh_token.clone()] {
        registry.tokens().revoke(&caller(""), proof(&other), token).await.unwrap();
        assert!(opens());
    }
    let nothing = Secret::new("cap_at_nothing");
    registry.tokens().revoke(&caller(""), proof(&client), nothing).await.unwrap();
    assert!(opens());
    let token = tokens.refresh_token.clone();
    registry.tokens().revoke(&caller(""), proof(&client), token).await.unwrap();
    assert!(!opens());
    assert!(renew(&fixture, &client, &tokens.refresh_token).await.is_err());
}

#[tokio::test]
async fn a_client_that_keeps_a_secret_has_to_show_it() {
    let fixture = fixture();
    let method = Some("client_secret_post".to_owned());
    let metadata = ClientMetadata { token_endpoint_auth_method: method, ..metadata() };
    let registered = fixture.registry.clients().register(&caller(""), metadata).await.unwrap();
    let (client, secret) = (registered.client, registered.secret.unwrap());
    for (given, works) in [(None, false), (Some(Secret::new("no")), false), (Some(secret), true)] {
        let code = code(&fixture, &client).await;
        let mut attempt = redemption(&client, &code);
        attempt.client.secret = given;
        let result = fixture.registry.tokens().redeem_code(&caller(""), attempt).await;
        assert_eq!(result.is_ok(), works);
    }
}

#[tokio::test]
async fn security_04_no_one_is_sent_to_an_address_that_the_client_did_not_register() {
    let fixture = fixture();
    let client = client(&fixture).await;
    for uri in [Some("https://evil.example/cb"), Some("http://127.0.0.1:4711/cb/"), None] {
        let ask = AuthorizationRequest { redirect_uri: uri.map(str::to_owned), ..ask() };
        let error = ask.check(&client).unwrap_err();
        assert!(matches!(error, AuthorizationError::Page { .. }), "{error}");
    }
    let port =
        AuthorizationRequest { redirect_uri: Some("http://127.0.0.1:9/cb".to_owned()), ..ask() };
    assert_eq!(port.check(&client).unwrap().redirect_uri, "http://127.0.0.1:9/cb");
    let text = |value: &str| Some(value.to_owned());
    for (ask, expected) in [
        (
            AuthorizationRequest { response_type: text("token"), ..ask() },
            "unsupported_response_type",
        ),
        (AuthorizationRequest { response_type: None, ..ask() }, "invalid_request"),
        (AuthorizationRequest { code_challenge_method: text("plain"), ..ask() }, "invalid_request"),
        (AuthorizationRequest { code_challenge: None, ..ask() }, "invalid_request"),
    ] {
        let error = ask.check(&client).unwrap_err();
        assert!(
            matches!(&error, AuthorizationError::SendBack { code, redirect_uri, .. }
                if *code == expected && redirect_uri == BACK),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn asking_for_more_takes_nothing_away() {
    let fixture = fixture();
    let client = client(&fixture).await;
    sign_in(&fixture, &client).await;
    let registry = &fixture.registry;
    let offered = registry.tokens().scopes_with_held(&client.id, "opr_ann", &scopes("deck:call"));
    assert_eq!(offered, scopes("capsule:write deck:call"));
    let other = registry.tokens().scopes_with_held(&client.id, "opr_bob", &scopes("deck:call"));
    assert_eq!(other, scopes("deck:call"));
}

#[tokio::test]
async fn no_code_is_given_before_something_was_granted() {
    let fixture = fixture();
    let client = client(&fixture).await;
    let waiting = fixture.file(GrantTarget::whole_deck(), "deck:call").await;
    let new = NewAuthorizationCode {
        authorization: ask().check(&client).unwrap(),
        principal: waiting.principal,
        scopes: scopes("deck:call"),
    };
    let refused = fixture.registry.tokens().issue_code(&caller("opr_ann"), new).await.unwrap_err();
    assert_eq!(refused.code(), "forbidden");
}

#[tokio::test]
async fn a_removed_client_ends_with_everything_it_holds() {
    let fixture = fixture();
    let client = client(&fixture).await;
    let tokens = sign_in(&fixture, &client).await;
    let registry = &fixture.registry;
    registry.clients().remove(&caller("admin"), &client.id).await.unwrap();
    assert!(registry.authenticate(tokens.access_token.expose()).is_none());
    let refused = renew(&fixture, &client, &tokens.refresh_token).await;
    assert_eq!(refusal(refused), TokenRefusal::InvalidClient);
    assert_eq!(
        registry.clients().remove(&caller("admin"), "x").await.unwrap_err().code(),
        "not_found"
    );
}

#[tokio::test]
async fn two_who_race_with_one_code_both_end_with_nothing() {
    let fixture = fixture();
    let client = client(&fixture).await;
    let code = code(&fixture, &client).await;
    let registry = &fixture.registry;
    let (caller, attempt) = (caller(""), || redemption(&client, &code));
    let (one, other) = tokio::join!(
        registry.tokens().redeem_code(&caller, attempt()),
        registry.tokens().redeem_code(&caller, attempt())
    );
    assert_ne!(one.is_ok(), other.is_ok());
    let tokens = one.or(other).unwrap();
    assert!(registry.authenticate(tokens.access_token.expose()).is_none());
}

#[tokio::test]
async fn two_who_race_with_one_renewing_token_get_the_same_answer() {
    let fixture = fixture();
    let client = client(&fixture).await;
    let tokens = sign_in(&fixture, &client).await;
    let (one, other) = tokio::join!(
        renew(&fixture, &client, &tokens.refresh_token),
        renew(&fixture, &client, &tokens.refresh_token)
    );
    assert_eq!(one.as_ref().unwrap(), other.as_ref().unwrap());
    assert!(fixture.registry.authenticate(one.unwrap().access_token.expose()).is_some());
}

#[tokio::test]
async fn the_programs_of_a_removed_operator_end_with_them() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let new = capdeck_auth::inbound::NewOperator {
        name: "Ann".to_owned(),
        role: capdeck_auth::inbound::OperatorRole::Member,
        subject: None,
        with_key: false,
    };
    let ann = registry.operators().create(&caller("admin"), new).await.unwrap().operator.id;
    let client = client(&fixture).await;
    let tokens = sign_in_as(&fixture, &client, &ann).await;
    let others = sign_in(&fixture, &client).await;
    registry.operators().remove(&caller("admin"), &ann).await.unwrap();
    assert!(registry.authenticate(tokens.access_token.expose()).is_none());
    assert!(registry.authenticate(others.access_token.expose()).is_some());
}

//! Agents sign up.

use std::time::Duration;

use capdeck_auth::inbound::{
    ApprovalMode, ApprovalTerms, EnrollmentStatus, GrantPolicy, GrantRule, GrantTarget,
    NewEnrollment, PageRequest, RegistryError, RegistryLimits, RegistryOptions, RequestDecision,
    RequestQuery, Role, RuleAction, RuleMatch,
};

use crate::inbound_support::{Fixture, admin, caller, fixture, fixture_with, reader, scopes};

const DAY: Duration = Duration::from_secs(24 * 3600);

fn new() -> NewEnrollment {
    NewEnrollment {
        client_id: "build-bot".to_owned(),
        client_name: Some("Build bot".to_owned()),
        asked_capsule: None,
        target: reader("cap_a"),
        scopes: scopes("capsule:read"),
        reason: Some("reads the release notes".to_owned()),
        contact: None,
    }
}

async fn decide(fixture: &Fixture, request: &str, decision: RequestDecision) {
    fixture.registry.grants().decide(&caller("admin"), &admin(), request, decision).await.unwrap();
}

#[tokio::test]
async fn item_18_a_token_opens_nothing_before_the_approval_and_is_the_credential_after_it() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let enrolled = registry.enrollments().enroll(&caller("build-bot"), new()).await.unwrap();
    let token = enrolled.token.unwrap();
    let id = enrolled.state.enrollment.id.clone();
    assert_eq!(enrolled.state.status, EnrollmentStatus::Pending);
    assert!(token.expose().starts_with("cap_en_"));
    assert!(registry.authenticate(token.expose()).is_none());

    let request = enrolled.state.enrollment.request.clone();
    decide(&fixture, &request, RequestDecision::Approve(ApprovalTerms::default())).await;
    let polled = registry.enrollments().poll(&caller(""), &id, token.expose()).await.unwrap();
    assert_eq!(polled.status, EnrollmentStatus::Approved);

    let standing = registry.authenticate(token.expose()).unwrap();
    let access = registry.access(&standing.credential).unwrap();
    assert_eq!((access.capsules.len(), access.role_in("cap_a")), (1, Some(Role::Reader)));
    assert_eq!(registry.enrollments().get(&id).unwrap().status, EnrollmentStatus::Active);
}

#[tokio::test]
async fn item_18_a_denied_and_an_expired_sign_up_open_nothing() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let denied = registry.enrollments().enroll(&caller(""), new()).await.unwrap();
    let no = RequestDecision::Deny { note: Some("not this one".to_owned()) };
    decide(&fixture, &denied.state.enrollment.request, no).await;
    let token = denied.token.unwrap();
    assert!(registry.authenticate(token.expose()).is_none());
    let id = &denied.state.enrollment.id;
    let polled = registry.enrollments().poll(&caller(""), id, token.expose()).await.unwrap();
    assert_eq!(polled.status, EnrollmentStatus::Denied);

    let late = registry.enrollments().enroll(&caller(""), new()).await.unwrap();
    assert_ne!(&late.state.enrollment.id, id);
    fixture.pass(DAY);
    let id = &late.state.enrollment.id;
    assert_eq!(registry.enrollments().get(id).unwrap().status, EnrollmentStatus::Expired);
    let request = &late.state.enrollment.request;
    let yes = RequestDecision::Approve(ApprovalTerms::default());
    let refused =
        registry.grants().decide(&caller("admin"), &admin(), request, yes).await.unwrap_err();
    assert_eq!(refused.code(), "wrong_state");
    assert!(registry.authenticate(late.token.unwrap().expose()).is_none());
}

#[tokio::test]
async fn item_18_a_wrong_token_and_a_wrong_id_give_the_same_answer() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let enrolled = registry.enrollments().enroll(&caller(""), new()).await.unwrap();
    let other = NewEnrollment { client_id: "other".to_owned(), ..new() };
    let other = registry.enrollments().enroll(&caller(""), other).await.unwrap().token.unwrap();
    let id = enrolled.state.enrollment.id.clone();
    fixture.audit.take();
    for token in ["", "cap_en_x", other.expose()] {
        let wrong_token = registry.enrollments().poll(&caller(""), &id, token).await.unwrap_err();
        assert_eq!(wrong_token, RegistryError::NotFound { what: "enrollment", id: id.clone() });
        let wrong_id =
            registry.enrollments().poll(&caller(""), "enr_none", token).await.unwrap_err();
        assert_eq!(wrong_id.to_string(), wrong_token.to_string().replace(&id, "enr_none"));
        assert!(registry.enrollments().withdraw(&caller(""), &id, token).await.is_err());
    }
    // Each refusal leaves one line, and none says which id was a real one.
    let lines = fixture.audit.take_events();
    assert_eq!(lines.len(), 9);
    assert!(lines.iter().all(|line| line.subject.id.is_none() && line.is_refused));
}

#[tokio::test]
async fn item_19_a_repeated_sign_up_is_one_and_its_secret_is_reported_once() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let first = registry.enrollments().enroll(&caller(""), new()).await.unwrap();
    let again = NewEnrollment { reason: Some("other words".to_owned()), ..new() };
    let again = registry.enrollments().enroll(&caller(""), again).await.unwrap();
    assert_eq!(again.state.enrollment, first.state.enrollment);
    assert_eq!(again.token, None);
    let fixture = fixture.reopen();
    let registry = &fixture.registry;
    assert_eq!(registry.enrollments().enroll(&caller(""), new()).await.unwrap().token, None);
    for different in [
        NewEnrollment { client_id: "other-bot".to_owned(), ..new() },
        NewEnrollment { target: reader("cap_b"), ..new() },
        NewEnrollment { target: GrantTarget::capsule("cap_a", Role::Writer), ..new() },
        NewEnrollment { target: GrantTarget::whole_deck(), ..new() },
    ] {
        assert!(
            registry.enrollments().enroll(&caller(""), different).await.unwrap().token.is_some()
        );
    }
    // Once it is decided, the same sign-up is a new one.
    let request = first.state.enrollment.request;
    decide(&fixture, &request, RequestDecision::Approve(ApprovalTerms::default())).await;
    assert!(registry.enrollments().enroll(&caller(""), new()).await.unwrap().token.is_some());
}

#[tokio::test]
async fn questions_that_come_too_fast_have_to_wait() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let enrolled = registry.enrollments().enroll(&caller(""), new()).await.unwrap();
    let (id, token) = (enrolled.state.enrollment.id, enrolled.token.unwrap());
    let poll = async || registry.enrollments().poll(&caller(""), &id, token.expose()).await;
    assert_eq!(poll().await.unwrap().interval, 5);
    assert_eq!(poll().await.unwrap_err(), RegistryError::TooSoon { seconds: 5 });
    fixture.pass(Duration::from_millis(4_999));
    assert_eq!(poll().await.unwrap_err(), RegistryError::TooSoon { seconds: 1 });
    fixture.pass(Duration::from_millis(1));
    assert_eq!(poll().await.unwrap().status, EnrollmentStatus::Pending);
}

#[tokio::test]
async fn a_person_finds_a_sign_up_by_its_code_while_it_waits() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let enrolled = registry.enrollments().enroll(&caller(""), new()).await.unwrap().state;
    let code = enrolled.enrollment.user_code.clone();
    assert_eq!(code.len(), 9);
    let found = |typed: &str| -> Vec<String> {
        let query = RequestQuery { user_code: Some(typed.to_owned()), ..RequestQuery::default() };
        let page = registry.grants().requests(&query, &PageRequest::default()).unwrap();
        page.items.into_iter().map(|request| request.id).collect()
    };
    for typed in [code.clone(), code.to_lowercase(), code.replace('-', " ")] {
        assert_eq!(found(&typed), [enrolled.enrollment.request.as_str()], "{typed}");
    }
    assert!(found("").is_empty());
    assert!(found("AAAA-AAAA").is_empty());
    decide(&fixture, &enrolled.enrollment.request, RequestDecision::Deny { note: None }).await;
    assert!(found(&code).is_empty());
}

#[tokio::test]
async fn an_approved_sign_up_ends_by_revocation_by_itself_and_by_being_withdrawn() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let status = |id: &str| registry.enrollments().get(id).unwrap().status;
    let mut approved = Vec::new();
    for client in ["one", "two", "three"] {
        let new = NewEnrollment { client_id: client.to_owned(), ..new() };
        let enrolled = registry.enrollments().enroll(&caller(""), new).await.unwrap();
        let request = enrolled.state.enrollment.request.clone();
        decide(&fixture, &request, RequestDecision::Approve(ApprovalTerms::default())).await;
        approved.push((enrolled.state.enrollment.id, request, enrolled.token.unwrap()));
    }
    let [(first, request, token), (second, _, given), (third, _, lasting)] = &approved[..] else {
        unreachable!()
    };
    let grant = registry.grants().request(request).unwrap().grant.unwrap();
    registry.grants().revoke(&caller("admin"), &admin(), &grant).await.unwrap();
    assert_eq!(status(first), EnrollmentStatus::Revoked);
    assert!(registry.authenticate(token.expose()).is_none());
    registry.enrollments().withdraw(&caller(""), second, given.expose()).await.unwrap();
    assert_eq!(status(second), EnrollmentStatus::Revoked);
    assert!(registry.authenticate(given.expose()).is_none());
    assert!(registry.authenticate(lasting.expose()).is_some());
    fixture.pass(90 * DAY);
    assert_eq!(status(third), EnrollmentStatus::Expired);
    assert!(registry.authenticate(lasting.expose()).is_none());
}

#[tokio::test]
async fn a_withdrawn_sign_up_leaves_nothing_behind() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let enrolled = registry.enrollments().enroll(&caller(""), new()).await.unwrap();
    let (id, token) = (enrolled.state.enrollment.id, enrolled.token.unwrap());
    registry.enrollments().withdraw(&caller(""), &id, token.expose()).await.unwrap();
    assert!(registry.enrollments().get(&id).is_none());
    assert!(registry.grants().request(&enrolled.state.enrollment.request).is_none());
    assert!(registry.clients().principal(&enrolled.state.enrollment.principal).is_none());
    assert_eq!(fixture.audit.take(), ["enrollment.create", "enrollment.withdraw"]);
}

#[tokio::test]
async fn a_rule_may_decide_a_sign_up_at_once() {
    let fixture = fixture();
    let rule = |action| GrantRule {
        matches: RuleMatch::default(),
        action,
        ceiling_role: None,
        ttl: Some(60),
    };
    let registry = &fixture.registry;
    let policy = GrantPolicy {
        mode: ApprovalMode::Policy,
        rules: vec![rule(RuleAction::Approve)],
        ..GrantPolicy::default()
    };
    registry.approval().set_policy(&caller("admin"), policy).await.unwrap();
    let enrolled = registry.enrollments().enroll(&caller(""), new()).await.unwrap();
    assert_eq!(enrolled.state.status, EnrollmentStatus::Approved);
    let token = enrolled.token.unwrap();
    assert!(registry.authenticate(token.expose()).is_some());
    fixture.pass(Duration::from_secs(60));
    assert!(registry.authenticate(token.expose()).is_none());
    let policy = GrantPolicy {
        mode: ApprovalMode::Policy,
        rules: vec![rule(RuleAction::Deny)],
        ..GrantPolicy::default()
    };
    registry.approval().set_policy(&caller("admin"), policy).await.unwrap();
    let denied = registry.enrollments().enroll(&caller(""), new()).await.unwrap();
    assert_eq!(denied.state.status, EnrollmentStatus::Denied);
    assert!(registry.authenticate(denied.token.unwrap().expose()).is_none());
}

#[tokio::test]
async fn bad_and_too_many_sign_ups_are_refused() {
    let limits = RegistryLimits { pending_enrollments: 1, ..RegistryLimits::default() };
    let fixture = fixture_with(RegistryOptions { limits, ..RegistryOptions::default() });
    let registry = &fixture.registry;
    for wrong in [
        NewEnrollment { client_id: String::new(), ..new() },
        NewEnrollment { client_id: "a\nb".to_owned(), ..new() },
        NewEnrollment { client_id: "x".repeat(101), ..new() },
        NewEnrollment { client_name: Some("\u{202e}".to_owned()), ..new() },
        NewEnrollment { target: reader(""), ..new() },
        NewEnrollment { scopes: scopes(""), ..new() },
        NewEnrollment { reason: Some("x".repeat(1001)), ..new() },
        NewEnrollment { contact: Some("a\u{0}".to_owned()), ..new() },
    ] {
        let refused = registry.enrollments().enroll(&caller(""), wrong.clone()).await.unwrap_err();
        assert_eq!(refused.code(), "invalid_input", "{wrong:?}");
    }
    assert!(!fixture.path().exists());
    registry.enrollments().enroll(&caller(""), new()).await.unwrap();
    let one_more = NewEnrollment { client_id: "other".to_owned(), ..new() };
    let refused = registry.enrollments().enroll(&caller(""), one_more).await.unwrap_err();
    assert_eq!(refused.code(), "limit_reached");
}

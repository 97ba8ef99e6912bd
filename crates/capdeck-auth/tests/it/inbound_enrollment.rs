//! Agents sign up.

use capdeck_auth::inbound::{Decision, EnrollmentStatus, NewEnrollment, Role, Terms};

use crate::inbound_support::{Fixture, admin, caller, fixture, reader, scopes};

fn new() -> NewEnrollment {
    NewEnrollment {
        client_id: "build-bot".to_owned(),
        client_name: Some("Build bot".to_owned()),
        target: reader("cap_a"),
        scopes: scopes("capsule:read"),
        reason: Some("reads the release notes".to_owned()),
        contact: None,
    }
}

async fn decide(fixture: &Fixture, request: &str, decision: Decision) {
    fixture.registry.decide(&caller("admin"), &admin(), request, decision).await.unwrap();
}

#[tokio::test]
async fn item_18_a_token_opens_nothing_before_the_approval_and_is_the_credential_after_it() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let enrolled = registry.enroll(&caller("build-bot"), new()).await.unwrap();
    let token = enrolled.token.unwrap();
    let id = enrolled.state.enrollment.id.clone();
    assert_eq!(enrolled.state.status, EnrollmentStatus::Pending);
    assert!(token.expose().starts_with("cap_en_"));
    assert!(registry.authenticate(token.expose()).is_none());

    let request = enrolled.state.enrollment.request.clone();
    decide(&fixture, &request, Decision::Approve(Terms::default())).await;
    let polled = registry.poll_enrollment(&caller(""), &id, token.expose()).await.unwrap();
    assert_eq!(polled.status, EnrollmentStatus::Approved);

    let standing = registry.authenticate(token.expose()).unwrap();
    let access = registry.access(&standing.credential).unwrap();
    let capsules: Vec<_> = access.capsules().map(|one| (one.capsule, one.role)).collect();
    assert_eq!(capsules, [("cap_a", Role::Reader)]);
    assert_eq!(registry.enrollment(&id).unwrap().status, EnrollmentStatus::Active);
}

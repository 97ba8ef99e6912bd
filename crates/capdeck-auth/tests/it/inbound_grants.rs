//! Requests become grants, grants open things, and stop to.

use std::{sync::Arc, time::Duration};

use capdeck_access::{CapsuleAccess, CapsuleGrant};
use capdeck_auth::inbound::{
    ApprovalTerms, ExistingCapsule, GrantQuery, GrantRecipient, GrantTarget, NewCredential,
    NewRequest, OperatorRole, PageRequest, RegistryError, RequestDecision, RequestStatus, Role,
    capsule_key, missing_capsule_key,
};

use crate::inbound_support::{Fixture, admin, caller, fixture, operator, reader, request, scopes};

const HOUR: Duration = Duration::from_secs(3600);

/// A token for the principal of a granted request.
async fn connect(fixture: &Fixture, principal: &str, scopes: &str) -> String {
    let new = NewCredential {
        principal: principal.to_owned(),
        scopes: self::scopes(scopes),
        audience: None,
        expires_at: fixture.now() + 1000 * HOUR,
    };
    let opened = fixture.registry.tokens().open_connection(&caller("admin"), new).await.unwrap();
    opened.token.expose().to_owned()
}

#[tokio::test]
async fn item_13_a_grant_shows_without_a_new_sign_in_and_a_revoked_one_is_gone_with_the_next_question()
 {
    let fixture = fixture();
    let registry = &fixture.registry;
    let first = fixture.grant(reader("cap_a"), "capsule:write").await;
    let token = connect(&fixture, &first.principal, "capsule:admin").await;
    let id = registry.authenticate(&token).unwrap().credential.clone();
    let before = registry.access(&id).unwrap();
    assert!(Arc::ptr_eq(&before, &registry.access(&id).unwrap()));

    let writer = GrantTarget::capsule("cap_b", Role::Writer);
    let second = fixture.grant(writer, "capsule:append").await;
    assert_eq!(second.principal, first.principal);
    let access = registry.access(&id).unwrap();
    let part = |capsule: &str, role| CapsuleGrant {
        capsule: capsule.to_owned(),
        access: CapsuleAccess { role, ..CapsuleAccess::owner() },
    };
    // The role is never more than grant and scopes together.
    assert_eq!(access.capsules, [part("cap_a", Role::Reader), part("cap_b", Role::Appender)]);

    let grant = second.grant.unwrap();
    registry.grants().revoke(&caller("admin"), &admin(), &grant).await.unwrap();
    assert_eq!(registry.access(&id).unwrap().capsules.len(), 1);
    assert!(registry.authenticate(&token).is_some());

    let grant = first.grant.unwrap();
    registry.grants().revoke(&caller("admin"), &admin(), &grant).await.unwrap();
    assert!(registry.access(&id).is_none());
    assert!(registry.authenticate(&token).is_none());
    assert_eq!(
        fixture.audit.take(),
        [
            "grant.request",
            "grant.approve",
            "credential.issue",
            "grant.request",
            "grant.approve",
            "grant.revoke",
            "grant.revoke",
            "credential.revoke",
        ]
    );
}

#[tokio::test]
async fn a_grant_ends_by_itself_and_survives_a_restart_until_then() {
    let fixture = fixture();
    let request = fixture.file(reader("cap_a"), "capsule:read").await;
    let terms =
        ApprovalTerms { expires_at: Some(fixture.now() + HOUR), ..ApprovalTerms::default() };
    let decided = fixture
        .registry
        .grants()
        .decide(&caller("admin"), &admin(), &request.id, RequestDecision::Approve(terms))
        .await
        .unwrap();
    let token = connect(&fixture, &decided.principal, "capsule:read").await;
    let fixture = fixture.reopen();
    let id = fixture.registry.authenticate(&token).unwrap().credential.clone();
    fixture.pass(HOUR - Duration::from_millis(1));
    assert!(fixture.registry.access(&id).is_some());
    fixture.pass(Duration::from_millis(1));
    assert!(fixture.registry.access(&id).is_none());
}

#[tokio::test]
async fn item_20_a_member_decides_about_their_own_capsules_only() {
    let fixture = fixture();
    let registry = &fixture.registry;
    registry.capsules().set_owner(&caller("opr_bob"), "cap_b", Some("opr_bob")).await.unwrap();
    let bob = operator("opr_bob", OperatorRole::Member);
    let approve = || RequestDecision::Approve(ApprovalTerms::default());
    for target in [reader("cap_a"), GrantTarget::whole_deck()] {
        let foreign = fixture.file(target, "capsule:read deck:read").await;
        assert!(!registry.grants().may_decide(&bob, &foreign));
        let error =
            registry.grants().decide(&caller("opr_bob"), &bob, &foreign.id, approve()).await;
        assert_eq!(error.unwrap_err().code(), "forbidden");
    }
    let own = fixture.file(reader("cap_b"), "capsule:read").await;
    let decided =
        registry.grants().decide(&caller("opr_bob"), &bob, &own.id, approve()).await.unwrap();
    assert_eq!(decided.status, RequestStatus::Approved);
    assert_eq!(decided.decided_by.as_deref(), Some("opr_bob"));
    let again =
        registry.grants().decide(&caller("opr_bob"), &bob, &own.id, approve()).await.unwrap_err();
    assert!(matches!(again, RegistryError::WrongState { state: "approved", .. }), "{again}");
}

#[tokio::test]
async fn nothing_is_made_before_the_first_change() {
    let fixture = fixture();
    assert!(fixture.registry.authenticate("cap_at_x").is_none());
    fixture.registry.announce("http://127.0.0.1:7717").await.unwrap();
    fixture.registry.save_last_used().await.unwrap();
    let refused = request(reader(""), "capsule:read");
    fixture.registry.grants().file_request(&caller("x"), refused).await.unwrap_err();
    assert!(!fixture.path().exists());
    assert_eq!(fixture.audit.take_events().len(), 1);
    fixture.file(reader("cap_a"), "capsule:read").await;
    assert!(fixture.path().join("requests.json").exists());
}

#[tokio::test]
async fn security_01_what_one_client_was_granted_is_not_another_s_nor_another_person_s() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let granted = fixture.grant(reader("cap_a"), "capsule:read").await;
    let known = registry.clients().principal_of_client("cli_1", "opr_ann").unwrap();
    assert_eq!(known.id, granted.principal);
    assert_eq!(registry.clients().principal_of_client("cli_2", "opr_ann"), None);
    assert_eq!(registry.clients().principal_of_client("cli_1", "opr_bob"), None);
    for (client_id, operator) in [("cli_2", "opr_ann"), ("cli_1", "opr_bob")] {
        let holder = GrantRecipient::Client {
            client_id: client_id.to_owned(),
            client_name: "Editor".to_owned(),
            operator: operator.to_owned(),
        };
        let new = NewRequest { holder, ..request(reader("cap_b"), "capsule:read") };
        let filed = registry.grants().file_request(&caller(operator), new).await.unwrap();
        assert_ne!(filed.principal, granted.principal);
        let query = GrantQuery { principal: Some(filed.principal), ..GrantQuery::default() };
        assert!(registry.grants().list(&query, &PageRequest::default()).unwrap().items.is_empty());
    }
}

#[tokio::test]
async fn a_request_is_taken_back_by_the_one_who_made_it_and_no_one_else() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let filed = fixture.file(reader("cap_a"), "capsule:read").await;
    for stranger in ["", "opr_bob"] {
        let refused =
            registry.grants().cancel_request(&caller(stranger), &filed.id).await.unwrap_err();
        assert_eq!(refused.code(), "not_found");
    }
    let cancelled = registry.grants().cancel_request(&caller("opr_ann"), &filed.id).await.unwrap();
    assert_eq!(cancelled.status, RequestStatus::Cancelled);
    let approve = RequestDecision::Approve(ApprovalTerms::default());
    let late =
        registry.grants().decide(&caller("admin"), &admin(), &filed.id, approve).await.unwrap_err();
    assert_eq!(late.code(), "wrong_state");
}

#[tokio::test]
async fn a_capsule_that_is_gone_takes_its_grants_and_requests_along() {
    let fixture = fixture();
    let registry = &fixture.registry;
    registry.capsules().set_owner(&caller("opr_ann"), "cap_a", Some("opr_ann")).await.unwrap();
    let granted = fixture.grant(reader("cap_a"), "capsule:read").await;
    let token = connect(&fixture, &granted.principal, "capsule:read").await;
    let waiting = fixture.file(GrantTarget::capsule("cap_a", Role::Writer), "capsule:read").await;
    let other = fixture.file(reader("cap_b"), "capsule:read").await;
    registry.capsules().forget(&caller("opr_ann"), "cap_a").await.unwrap();
    assert!(registry.authenticate(&token).is_none());
    assert_eq!(registry.capsules().owner("cap_a"), None);
    assert_eq!(registry.grants().request(&waiting.id).unwrap().status, RequestStatus::Denied);
    assert_eq!(registry.grants().request(&other.id).unwrap().status, RequestStatus::Pending);
}

fn present(id: &str, uid: &str, created_at: jiff::Timestamp) -> ExistingCapsule {
    ExistingCapsule { id: id.to_owned(), uid: uid.to_owned(), created_at }
}

#[tokio::test]
async fn what_is_about_a_capsule_that_is_gone_ends_and_the_rest_stays() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let (gone, here) = (capsule_key("team", "1"), capsule_key("team", "2"));
    let missing = missing_capsule_key("team");
    for (key, operator) in [(&gone, "opr_ann"), (&here, "opr_bob")] {
        registry.capsules().set_owner(&caller(operator), key, Some(operator)).await.unwrap();
    }
    let ended = fixture.grant(reader(&gone), "capsule:read").await;
    let kept = fixture.grant(reader(&here), "capsule:read").await;
    let waiting = fixture.file(GrantTarget::capsule(&gone, Role::Writer), "capsule:read").await;
    let for_nothing = fixture.file(GrantTarget::capsule(&missing, Role::Writer), "capsule:read");
    let for_nothing = for_nothing.await;
    let all = vec![present("team", "2", fixture.now())];
    let named = registry.capsules().referenced();
    // A capsule that is made and claimed while the others are listed keeps its owner.
    let new = capsule_key("new", "3");
    registry.capsules().set_owner(&caller("opr_cid"), &new, Some("opr_cid")).await.unwrap();
    registry.capsules().reconcile(&caller("host"), named, all.clone()).await.unwrap();
    assert_eq!(registry.capsules().of_operator("opr_cid"), [new.as_str()]);
    registry.capsules().set_owner(&caller("opr_cid"), &new, None).await.unwrap();
    assert_eq!(
        (registry.capsules().owner(&gone), registry.capsules().of_operator("opr_bob")),
        (None, vec![here])
    );
    let grant = |request: &str| {
        let request = registry.grants().request(request).unwrap();
        registry.grants().get(&request.grant.unwrap()).unwrap()
    };
    assert!(grant(&ended.id).revoked_at.is_some() && grant(&kept.id).revoked_at.is_none());
    assert_eq!(registry.grants().request(&waiting.id).unwrap().status, RequestStatus::Denied);
    assert_eq!(registry.grants().request(&for_nothing.id).unwrap().status, RequestStatus::Pending);
    // Once is enough: nothing more is written or recorded.
    fixture.audit.take();
    registry
        .capsules()
        .reconcile(&caller("host"), registry.capsules().referenced(), all)
        .await
        .unwrap();
    assert!(fixture.audit.take().is_empty());
}

#[tokio::test]
async fn records_of_the_first_version_are_bound_once_to_the_capsule_of_their_time() {
    let fixture = fixture();
    let (registry, start) = (&fixture.registry, fixture.now());
    registry.capsules().set_owner(&caller("opr_ann"), "team", Some("opr_ann")).await.unwrap();
    let bound = fixture.grant(reader("team"), "capsule:read").await;
    let stale = fixture.grant(reader("later"), "capsule:read").await;
    let waiting = fixture.file(GrantTarget::capsule("nothing", Role::Writer), "capsule:read").await;
    let all = vec![present("team", "1", start), present("later", "2", start + HOUR)];
    registry
        .capsules()
        .reconcile(&caller("host"), registry.capsules().referenced(), all)
        .await
        .unwrap();
    let key = capsule_key("team", "1");
    assert_eq!(registry.capsules().of_operator("opr_ann"), [key.as_str()]);
    let target = |request: &str| {
        let request = registry.grants().request(request).unwrap();
        let grant = request.grant.and_then(|id| registry.grants().get(&id));
        let is_over = grant.is_some_and(|grant| grant.revoked_at.is_some());
        (request.target.capsule_id().unwrap().to_owned(), is_over)
    };
    assert_eq!(target(&bound.id), (key, false));
    assert_eq!(target(&stale.id), (missing_capsule_key("later"), true), "made for an earlier one");
    // The requester does not learn whether a capsule of that name exists.
    assert_eq!(target(&waiting.id), (missing_capsule_key("nothing"), false));
    assert_eq!(registry.grants().request(&waiting.id).unwrap().status, RequestStatus::Pending);
}

#[tokio::test]
async fn the_one_who_makes_a_capsule_is_given_it_once() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let maker = fixture.grant(reader("cap_a"), "capsule:read registry:manage").await.principal;
    fixture.audit.take();
    let claimed = registry.capsules().claim(&caller(&maker), &maker, "cap_new").await.unwrap();
    assert_eq!(fixture.audit.take(), ["grant.request", "grant.approve"]);
    assert_eq!(claimed.decided_by.as_ref(), Some(&maker), "nobody else decided it");
    let grant = registry.grants().get(&claimed.grant.unwrap()).unwrap();
    assert_eq!(grant.target, GrantTarget::capsule("cap_new", Role::Owner));
    assert_eq!(grant.scopes, scopes("capsule:admin registry:manage"));
    assert_eq!(
        registry.capsules().owner("cap_new").as_deref(),
        Some("opr_ann"),
        "its person's, too"
    );
    for taken in ["cap_new", "cap_a"] {
        let refused = registry.capsules().claim(&caller(&maker), &maker, taken).await.unwrap_err();
        assert_eq!(refused.code(), "forbidden", "{taken} is somebody's already");
    }
    let no_one = registry.capsules().claim(&caller("prn_x"), "prn_x", "cap_b").await.unwrap_err();
    assert_eq!(no_one.code(), "not_found");
    assert_eq!(registry.capsules().owner("cap_b"), None);
}

#[tokio::test]
async fn a_grant_that_a_new_one_makes_pointless_is_taken_back() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let small = fixture.grant(reader("cap_a"), "capsule:read").await;
    let elsewhere = fixture.grant(reader("cap_b"), "capsule:read").await;
    let large = fixture.grant(GrantTarget::capsule("cap_a", Role::Writer), "capsule:write").await;
    let is_live = |request: &capdeck_auth::inbound::GrantRequest| {
        registry.grants().get(request.grant.as_deref().unwrap()).unwrap().is_live(fixture.now())
    };
    assert!(!is_live(&small) && is_live(&elsewhere) && is_live(&large));
    // The other way round it stays: no one agreed to less.
    let less = fixture.grant(reader("cap_a"), "capsule:read").await;
    assert!(is_live(&large) && is_live(&less));
}

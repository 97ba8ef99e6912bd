//! No one approves their own request, nor grants more than they hold. Admins may, and it is marked.

use std::net::IpAddr;

use capdeck_auth::inbound::{
    ApprovalMode, ApprovalTerms, CredentialKind, DecisionMaker, EventCaller, GrantPolicy,
    GrantRecipient, GrantRequest, GrantTarget, NewCredential, NewEnrollment, NewRequest,
    OperatorRole, Registry, RegistryError, RequestDecision, RequestSource, Role, Scopes,
    SelfApprovalLink,
};

use crate::inbound_support::{Fixture, admin, fixture, operator, reader, request, scopes};

const OFFICE: [u8; 4] = [192, 0, 2, 1];
const ELSEWHERE: [u8; 4] = [198, 51, 100, 7];

fn at(id: &str, address: impl Into<IpAddr>) -> EventCaller {
    EventCaller::new(id, Some(address.into()))
}

fn approver() -> DecisionMaker {
    operator("opr_bob", OperatorRole::Approver)
}

/// The same for a person who can read this capsule like every operator.
fn approver_reading(capsule: &str) -> DecisionMaker {
    DecisionMaker::Operator {
        id: "opr_bob".to_owned(),
        role: OperatorRole::Approver,
        readable: vec![capsule.to_owned()],
    }
}

async fn enroll(registry: &Registry, caller: &EventCaller, client_id: &str) -> GrantRequest {
    let new = NewEnrollment {
        client_id: client_id.to_owned(),
        client_name: None,
        target: reader("cap_a"),
        asked_capsule: None,
        scopes: scopes("capsule:read"),
        reason: None,
        contact: None,
    };
    let enrolled = registry.enrollments().enroll(caller, new).await.unwrap();
    registry.grants().request(&enrolled.state.enrollment.request).unwrap()
}

async fn approve(
    registry: &Registry,
    caller: &EventCaller,
    decider: &DecisionMaker,
    request: &GrantRequest,
) -> Result<Option<SelfApprovalLink>, RegistryError> {
    let decision = RequestDecision::Approve(ApprovalTerms::default());
    let decided = registry.grants().decide(caller, decider, &request.id, decision).await?;
    Ok(registry.grants().get(&decided.grant.unwrap()).unwrap().self_approved)
}

fn tied_by(refused: Result<Option<SelfApprovalLink>, RegistryError>) -> SelfApprovalLink {
    match refused {
        Err(RegistryError::SelfApproval { link }) => link,
        other => panic!("no self-approval: {other:?}"),
    }
}

#[tokio::test]
async fn an_approver_cannot_approve_what_is_their_own() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let bob = approver_reading("cap_a");
    let from = |id: &str| at(id, ELSEWHERE);
    // They asked; a program of theirs asked for another one; it is for a program of theirs.
    let own =
        NewRequest { requested_by: "opr_bob".into(), ..request(reader("cap_a"), "capsule:read") };
    let own = registry.grants().file_request(&from("opr_bob"), own).await.unwrap();
    assert_eq!(
        tied_by(approve(registry, &at("opr_bob", OFFICE), &bob, &own).await),
        SelfApprovalLink::Requester
    );
    let holder = GrantRecipient::Client {
        client_id: "cli_bob".to_owned(),
        client_name: "Bob's editor".to_owned(),
        operator: "opr_bob".to_owned(),
    };
    let program = NewRequest { holder, ..request(reader("cap_a"), "capsule:read") };
    let program = registry.grants().file_request(&from("opr_ann"), program).await.unwrap();
    assert_eq!(
        tied_by(approve(registry, &at("opr_bob", OFFICE), &bob, &program).await),
        SelfApprovalLink::Program
    );
    let by_program = NewRequest {
        requested_by: program.principal.clone(),
        source: RequestSource::Manage,
        ..request(reader("cap_a"), "capsule:read")
    };
    let by_program =
        registry.grants().file_request(&from(&program.principal), by_program).await.unwrap();
    assert_eq!(
        tied_by(approve(registry, &at("opr_bob", OFFICE), &bob, &by_program).await),
        SelfApprovalLink::Requester
    );
    // An enrollment that they sent with their own key.
    let sent = enroll(registry, &from("opr_bob"), "sent").await;
    assert_eq!(
        tied_by(approve(registry, &at("opr_bob", OFFICE), &bob, &sent).await),
        SelfApprovalLink::Requester
    );
    // Turning it down is theirs to do.
    let deny = RequestDecision::Deny { note: None };
    registry.grants().decide(&at("opr_bob", OFFICE), &bob, &own.id, deny).await.unwrap();
    // Another approver decides, and nothing is marked.
    let cleo = DecisionMaker::Operator {
        id: "opr_cleo".to_owned(),
        role: OperatorRole::Approver,
        readable: vec!["cap_a".to_owned()],
    };
    assert_eq!(approve(registry, &at("opr_cleo", OFFICE), &cleo, &program).await, Ok(None));
}

#[tokio::test]
async fn an_approver_cannot_approve_what_came_from_their_address_or_browser() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let bob = approver_reading("cap_a");
    for (client, from, decides, tied) in [
        ("a", "192.0.2.1", "192.0.2.1", true),
        ("b", "192.0.2.1", "::ffff:192.0.2.1", true),
        ("c", "2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true),
        ("d", "127.0.0.1", "127.0.0.2", true),
        ("e", "::1", "127.0.0.1", true),
        ("f", "192.0.2.1", "192.0.2.2", false),
        ("g", "2001:db8:1:2::1", "2001:db8:1:3::1", false),
    ] {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let asked = enroll(registry, &EventCaller::unknown(Some(address(from))), client).await;
        let decided = approve(registry, &at("opr_bob", address(decides)), &bob, &asked).await;
        match tied {
            true => assert_eq!(tied_by(decided), SelfApprovalLink::Address, "{from} {decides}"),
            false => assert_eq!(decided, Ok(None), "{from} {decides}"),
        }
    }
    // The person who also has an account uses the same browser, at any address.
    let browser = |caller: EventCaller| caller.in_browser(Some("hash".to_owned()));
    let asked = registry
        .grants()
        .file_request(&browser(at("opr_ann", ELSEWHERE)), request(reader("cap_a"), "capsule:read"))
        .await
        .unwrap();
    let decided = approve(registry, &browser(at("opr_bob", OFFICE)), &bob, &asked).await;
    assert_eq!(tied_by(decided), SelfApprovalLink::Browser);
    let other = at("opr_bob", OFFICE).in_browser(Some("other".to_owned()));
    assert_eq!(approve(registry, &other, &bob, &asked).await, Ok(None));
}

#[tokio::test]
async fn an_admin_approves_their_own_and_it_is_marked() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let asked = enroll(registry, &EventCaller::unknown(Some(OFFICE.into())), "nightly").await;
    fixture.audit.take();
    let done = approve(registry, &at("admin", OFFICE), &admin(), &asked).await;
    assert_eq!(done, Ok(Some(SelfApprovalLink::Address)));
    let lines = fixture.audit.take_events();
    let line = lines.iter().find(|line| line.action == "grant.approve").unwrap();
    assert_eq!(line.self_approved, Some(SelfApprovalLink::Address));
    let issued = lines.iter().find(|line| line.action == "credential.issue").unwrap();
    assert_eq!(issued.self_approved, None);
    // It is kept.
    let kept = fixture.reopen();
    let grant = kept.registry.grants().request(&asked.id).unwrap().grant.unwrap();
    assert_eq!(
        kept.registry.grants().get(&grant).unwrap().self_approved,
        Some(SelfApprovalLink::Address)
    );
    let later =
        enroll(&kept.registry, &EventCaller::unknown(Some(ELSEWHERE.into())), "daily").await;
    assert_eq!(approve(&kept.registry, &at("admin", OFFICE), &admin(), &later).await, Ok(None));
}

#[tokio::test]
async fn owners_decide_about_their_own_capsules() {
    let fixture = fixture();
    let registry = &fixture.registry;
    registry.capsules().set_owner(&at("admin", OFFICE), "cap_a", Some("opr_bob")).await.unwrap();
    let member = operator("opr_bob", OperatorRole::Member);
    let asked = enroll(registry, &at("", OFFICE), "nightly").await;
    let done = approve(registry, &at("opr_bob", OFFICE), &member, &asked).await;
    assert_eq!(done, Ok(Some(SelfApprovalLink::Address)));
}

#[tokio::test]
async fn where_everyone_has_one_address_it_ties_no_one() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let policy = GrantPolicy { shared_address: true, ..GrantPolicy::default() };
    registry.approval().set_policy(&at("admin", OFFICE), policy).await.unwrap();
    let asked = enroll(registry, &at("", OFFICE), "nightly").await;
    let bob = approver_reading("cap_a");
    assert_eq!(approve(registry, &at("opr_bob", OFFICE), &bob, &asked).await, Ok(None));
    let own = enroll(registry, &at("opr_bob", OFFICE), "own").await;
    assert_eq!(
        tied_by(approve(registry, &at("opr_bob", OFFICE), &bob, &own).await),
        SelfApprovalLink::Requester
    );
}

#[tokio::test]
async fn an_approver_grants_no_more_than_they_hold() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let (bob, here) = (approver(), at("opr_bob", ELSEWHERE));
    let decide =
        async |decider: &DecisionMaker, target: GrantTarget, wanted: &str, terms: ApprovalTerms| {
            let filed = fixture.file(target, wanted).await;
            let decided = registry
                .grants()
                .decide(&here, decider, &filed.id, RequestDecision::Approve(terms))
                .await;
            decided
                .map(|one| registry.grants().get(&one.grant.unwrap()).unwrap())
                .map_err(|error| error.code())
        };
    let whole = ApprovalTerms::default;
    let writer = || GrantTarget::capsule("cap_a", Role::Writer);
    for (target, wanted) in [
        (reader("cap_a"), "capsule:read"),
        (writer(), "capsule:write"),
        (GrantTarget::whole_deck(), "deck:read"),
        (GrantTarget::whole_deck(), "deck:call registry:manage"),
    ] {
        let refused = decide(&bob, target.clone(), wanted, whole()).await;
        assert_eq!(refused.unwrap_err(), "forbidden", "{target:?}");
    }
    // What every operator can read, they let others read, and no more.
    let reads = approver_reading("cap_a");
    assert!(decide(&reads, reader("cap_a"), "capsule:read", whole()).await.is_ok());
    for (target, wanted) in [
        (reader("cap_b"), "capsule:read"),
        (writer(), "capsule:read"),
        (reader("cap_a"), "capsule:write"),
        (reader("cap_a"), "capsule:read registry:manage"),
    ] {
        let refused = decide(&reads, target.clone(), wanted, whole()).await;
        assert_eq!(refused.unwrap_err(), "forbidden", "{target:?} {wanted}");
    }
    let narrowed = ApprovalTerms {
        target: Some(reader("cap_a")),
        scopes: Some(scopes("capsule:read")),
        ..ApprovalTerms::default()
    };
    assert!(decide(&reads, writer(), "capsule:write", narrowed).await.is_ok());
    // What their own programs were granted, for as long as that lasts.
    let end = fixture.now() + std::time::Duration::from_secs(3600);
    let holder = GrantRecipient::Client {
        client_id: "cli_bob".to_owned(),
        client_name: "Bob's editor".to_owned(),
        operator: "opr_bob".to_owned(),
    };
    let new = NewRequest {
        holder,
        wanted_until: Some(end),
        ..request(GrantTarget::whole_deck(), "deck:call")
    };
    let filed = registry.grants().file_request(&here, new).await.unwrap();
    registry
        .grants()
        .decide(&at("admin", OFFICE), &admin(), &filed.id, RequestDecision::Approve(whole()))
        .await
        .unwrap();
    let deck = decide(&bob, GrantTarget::whole_deck(), "deck:call", whole()).await.unwrap();
    assert_eq!(deck.expires_at, Some(end));
    let more = decide(&bob, GrantTarget::whole_deck(), "deck:call registry:manage", whole()).await;
    assert_eq!(more.unwrap_err(), "forbidden");
}

/// A program that holds `registry:manage`, by its credential.
async fn supervisor(fixture: &Fixture, holder: GrantRecipient) -> (DecisionMaker, String) {
    let registry = &fixture.registry;
    let policy = GrantPolicy { mode: ApprovalMode::Supervisor, ..GrantPolicy::default() };
    registry.approval().set_policy(&at("admin", OFFICE), policy).await.unwrap();
    let wanted = "capsule:write registry:manage";
    let new = NewRequest { holder, ..request(GrantTarget::capsule("cap_a", Role::Writer), wanted) };
    let filed = registry.grants().file_request(&at("admin", OFFICE), new).await.unwrap();
    approve(registry, &at("admin", OFFICE), &admin(), &filed).await.unwrap();
    let new = NewCredential {
        principal: filed.principal.clone(),
        scopes: Scopes::parse(wanted).unwrap(),
        audience: None,
        expires_at: fixture.now() + std::time::Duration::from_secs(3600),
    };
    let opened = registry.tokens().open_connection(&at("admin", OFFICE), new).await.unwrap();
    assert_eq!(opened.credential.kind, CredentialKind::Connection);
    (DecisionMaker::Supervisor { credential: opened.credential.id }, filed.principal)
}

#[tokio::test]
async fn a_program_cannot_approve_what_came_from_its_address_or_its_person() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let holder = GrantRecipient::Client {
        client_id: "cli_boss".to_owned(),
        client_name: "Boss".to_owned(),
        operator: "opr_bob".to_owned(),
    };
    let (boss, principal) = supervisor(&fixture, holder).await;
    let twin = enroll(registry, &EventCaller::unknown(Some(OFFICE.into())), "twin").await;
    let decided = approve(registry, &at(&principal, OFFICE), &boss, &twin).await;
    assert_eq!(tied_by(decided), SelfApprovalLink::Address);
    assert_eq!(approve(registry, &at(&principal, ELSEWHERE), &boss, &twin).await, Ok(None));
    // Another program of the same person.
    let holder = GrantRecipient::Client {
        client_id: "cli_other".to_owned(),
        client_name: "Other".to_owned(),
        operator: "opr_bob".to_owned(),
    };
    let other = NewRequest { holder, ..request(reader("cap_a"), "capsule:read") };
    let other = registry.grants().file_request(&at("prn_x", OFFICE), other).await.unwrap();
    let decided = approve(registry, &at(&principal, ELSEWHERE), &boss, &other).await;
    assert_eq!(tied_by(decided), SelfApprovalLink::Program);
}

#[tokio::test]
async fn an_enrolled_program_cannot_approve_a_second_enrollment_of_its_own() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let new = NewEnrollment {
        client_id: "nightly".to_owned(),
        client_name: None,
        target: GrantTarget::capsule("cap_a", Role::Writer),
        asked_capsule: None,
        scopes: scopes("capsule:write registry:manage"),
        reason: None,
        contact: None,
    };
    let enrolled = registry.enrollments().enroll(&at("", OFFICE), new).await.unwrap();
    let first = registry.grants().request(&enrolled.state.enrollment.request).unwrap();
    approve(registry, &at("admin", ELSEWHERE), &admin(), &first).await.unwrap();
    let policy = GrantPolicy { mode: ApprovalMode::Supervisor, ..GrantPolicy::default() };
    registry.approval().set_policy(&at("admin", OFFICE), policy).await.unwrap();
    let credential = registry.enrollments().get(&enrolled.state.enrollment.id).unwrap();
    let credential = credential.enrollment.credential.unwrap();
    let boss = DecisionMaker::Supervisor { credential };
    let second = enroll(registry, &at("", ELSEWHERE), "nightly").await;
    let decided = approve(registry, &at(&first.principal, OFFICE), &boss, &second).await;
    assert_eq!(tied_by(decided), SelfApprovalLink::Enrollment);
    let other = enroll(registry, &at("", ELSEWHERE), "daily").await;
    assert_eq!(approve(registry, &at(&first.principal, OFFICE), &boss, &other).await, Ok(None));
}

//! Who decides: people, programs that may, rules; and that no one gives more than was asked for or is theirs.

use std::time::Duration;

use capdeck_auth::inbound::{
    ApprovalMode, ApprovalTerms, DecisionMaker, EventCaller, GrantPolicy, GrantRecipient,
    GrantRule, GrantTarget, NewCredential, NewRequest, OAuthScope, OperatorRole, ProfileTerms,
    RequestDecision, RequestSource, RequestStatus, Role, RuleAction, RuleMatch,
};

use crate::inbound_support::{Fixture, admin, caller, fixture, operator, reader, request, scopes};

const HOUR: Duration = Duration::from_secs(3600);

fn part(role: Role, allowed: &[&str], denied: &[&str]) -> GrantTarget {
    let list = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect();
    GrantTarget::Capsule {
        capsule: "cap_a".to_owned(),
        role,
        uri_prefixes: list(allowed),
        denied_prefixes: list(denied),
    }
}

fn rule(matches: RuleMatch, action: RuleAction) -> GrantRule {
    GrantRule { matches, action, ceiling_role: None, ttl: None }
}

async fn set_policy(fixture: &Fixture, mode: ApprovalMode, rules: Vec<GrantRule>) {
    let policy = GrantPolicy { mode, rules, ..GrantPolicy::default() };
    fixture.registry.approval().set_policy(&caller("admin"), policy).await.unwrap();
}

#[tokio::test]
async fn item_20_an_approval_cannot_widen_a_request() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let asked = part(Role::Appender, &["docs://"], &["docs://secret"]);
    let until = fixture.now() + HOUR;
    let new = NewRequest { wanted_until: Some(until), ..request(asked, "capsule:append") };
    let filed = registry.grants().file_request(&caller("opr_ann"), new).await.unwrap();
    let target = |target| ApprovalTerms { target: Some(target), ..ApprovalTerms::default() };
    for terms in [
        target(part(Role::Writer, &["docs://"], &["docs://secret"])),
        target(part(Role::Appender, &[], &["docs://secret"])),
        target(part(Role::Appender, &["docs://", "notes://"], &["docs://secret"])),
        target(part(Role::Appender, &["docs://"], &[])),
        target(GrantTarget::whole_deck()),
        target(GrantTarget::capsule("cap_b", Role::Reader)),
        ApprovalTerms { scopes: Some(scopes("capsule:write")), ..ApprovalTerms::default() },
        ApprovalTerms {
            scopes: Some(scopes("capsule:read registry:manage")),
            ..ApprovalTerms::default()
        },
        ApprovalTerms { expires_at: Some(until + HOUR), ..ApprovalTerms::default() },
    ] {
        let decision = RequestDecision::Approve(terms.clone());
        let refused =
            registry.grants().decide(&caller("admin"), &admin(), &filed.id, decision).await;
        assert_eq!(refused.unwrap_err().code(), "widens", "{terms:?}");
    }
    let narrow = ApprovalTerms {
        target: Some(part(Role::Reader, &["docs://team"], &[])),
        scopes: Some(scopes("capsule:read")),
        expires_at: Some(until - HOUR / 2),
        ..ApprovalTerms::default()
    };
    let decision = RequestDecision::Approve(narrow.clone());
    let decided =
        registry.grants().decide(&caller("admin"), &admin(), &filed.id, decision).await.unwrap();
    let grant = registry.grants().get(&decided.grant.unwrap()).unwrap();
    assert_eq!(Some(grant.target), narrow.target);
    assert_eq!(grant.expires_at, narrow.expires_at);
}

#[tokio::test]
async fn rules_decide_in_order_and_the_rest_waits_for_a_person() {
    let fixture = fixture();
    let capped = GrantRule {
        ceiling_role: Some(Role::Appender),
        ttl: Some(3600),
        ..rule(
            RuleMatch { capsule: Some("cap_a".to_owned()), ..RuleMatch::default() },
            RuleAction::Approve,
        )
    };
    let deny =
        rule(RuleMatch { max_role: Some(Role::Reader), ..RuleMatch::default() }, RuleAction::Deny);
    let rules = vec![capped, deny];
    let writer = |capsule: &str| GrantTarget::capsule(capsule, Role::Writer);
    // Rules are only for the mode that is named for them.
    set_policy(&fixture, ApprovalMode::Human, rules.clone()).await;
    assert_eq!(fixture.file(writer("cap_a"), "capsule:read").await.status, RequestStatus::Pending);
    set_policy(&fixture, ApprovalMode::Policy, rules).await;
    fixture.audit.take();

    let approved = fixture.file(writer("cap_a"), "capsule:write").await;
    assert_eq!(approved.decided_by.as_deref(), Some("policy"));
    let grant = fixture.registry.grants().get(&approved.grant.unwrap()).unwrap();
    assert_eq!(grant.target.role(), Some(Role::Appender));
    assert_eq!(grant.expires_at, Some(fixture.now() + HOUR));
    assert_eq!(fixture.file(reader("cap_b"), "capsule:read").await.status, RequestStatus::Denied);
    assert_eq!(fixture.file(writer("cap_b"), "capsule:write").await.status, RequestStatus::Pending);
    let deck = fixture.file(GrantTarget::whole_deck(), "deck:call").await;
    assert_eq!(deck.status, RequestStatus::Pending);
    assert_eq!(
        fixture.audit.take(),
        [
            "grant.request",
            "grant.approve",
            "grant.request",
            "grant.deny",
            "grant.request",
            "grant.request"
        ]
    );
}

#[tokio::test]
async fn item_20_no_rule_grants_owner_or_registry_manage() {
    let fixture = fixture();
    set_policy(
        &fixture,
        ApprovalMode::Policy,
        vec![rule(RuleMatch::default(), RuleAction::Approve)],
    )
    .await;
    let owner = fixture.file(GrantTarget::capsule("cap_a", Role::Owner), "capsule:admin").await;
    assert_eq!(owner.status, RequestStatus::Pending);
    let manage = fixture.file(reader("cap_a"), "capsule:read registry:manage").await;
    assert_eq!(manage.status, RequestStatus::Pending);
    let plain = fixture.file(reader("cap_a"), "capsule:read").await;
    assert_eq!(plain.status, RequestStatus::Approved);
    // The rest of the bad input: a rule that says so is refused.
    let rule = GrantRule {
        ceiling_role: Some(Role::Owner),
        ..rule(RuleMatch::default(), RuleAction::Approve)
    };
    let policy =
        GrantPolicy { mode: ApprovalMode::Policy, rules: vec![rule], ..GrantPolicy::default() };
    assert!(fixture.registry.approval().set_policy(&caller("admin"), policy).await.is_err());
}

#[tokio::test]
async fn a_rule_that_trusts_a_client_s_id_does_not_trust_the_one_who_says_it() {
    let fixture = fixture();
    let matches = RuleMatch { client_id: Some("cli_*".to_owned()), ..RuleMatch::default() };
    set_policy(&fixture, ApprovalMode::Policy, vec![rule(matches.clone(), RuleAction::Approve)])
        .await;
    assert_eq!(fixture.file(reader("cap_a"), "capsule:read").await.status, RequestStatus::Approved);
    let claimed = NewRequest {
        source: RequestSource::Enrollment,
        ..request(reader("cap_b"), "capsule:read")
    };
    let registry = &fixture.registry;
    let filed = registry.grants().file_request(&caller(""), claimed.clone()).await.unwrap();
    assert_eq!(filed.status, RequestStatus::Pending);
    // Unless the rule says that it is about those, from a place that it trusts.
    let matches = RuleMatch {
        source: Some(RequestSource::Enrollment),
        ip_cidr: Some("192.0.2.0/24".to_owned()),
        ..matches
    };
    set_policy(&fixture, ApprovalMode::Policy, vec![rule(matches, RuleAction::Approve)]).await;
    let new = NewRequest { target: reader("cap_c"), ..claimed };
    let elsewhere = capdeck_auth::inbound::EventCaller::new("", Some([198, 51, 100, 1].into()));
    assert_eq!(
        registry.grants().file_request(&elsewhere, new.clone()).await.unwrap().status,
        RequestStatus::Pending
    );
    let new = NewRequest { target: reader("cap_d"), ..new };
    assert_eq!(
        registry.grants().file_request(&caller(""), new).await.unwrap().status,
        RequestStatus::Approved
    );
}

/// A program that holds `registry:manage` on a capsule as a writer.
async fn supervisor(fixture: &Fixture) -> (DecisionMaker, String) {
    let new = NewRequest {
        holder: GrantRecipient::New { name: "Supervisor".to_owned(), client_id: None },
        ..request(GrantTarget::capsule("cap_a", Role::Writer), "capsule:write registry:manage")
    };
    let registry = &fixture.registry;
    let filed = registry.grants().file_request(&caller("admin"), new).await.unwrap();
    let approve = RequestDecision::Approve(ApprovalTerms::default());
    registry.grants().decide(&caller("admin"), &admin(), &filed.id, approve).await.unwrap();
    let new = NewCredential {
        principal: filed.principal.clone(),
        scopes: scopes("capsule:write registry:manage"),
        audience: None,
        expires_at: fixture.now() + HOUR,
    };
    let opened = registry.tokens().open_connection(&caller("admin"), new).await.unwrap();
    (DecisionMaker::Supervisor { credential: opened.credential.id }, filed.principal)
}

#[tokio::test]
async fn a_supervisor_gives_no_more_than_it_holds_and_nothing_to_itself() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let (decider, principal) = supervisor(&fixture).await;
    let approve = || RequestDecision::Approve(ApprovalTerms::default());
    let decide = async |request: &str| {
        let elsewhere = EventCaller::new(&principal, Some([198, 51, 100, 1].into()));
        let decided = registry.grants().decide(&elsewhere, &decider, request, approve()).await;
        decided.map(|request| request.decided_by).map_err(|error| error.code())
    };
    let small = fixture.file(reader("cap_a"), "capsule:read").await;
    assert_eq!(decide(&small.id).await, Err("forbidden"), "only in the mode for it");
    set_policy(&fixture, ApprovalMode::Supervisor, Vec::new()).await;
    assert_eq!(decide(&small.id).await, Ok(Some(principal.clone())));

    let owner = fixture.file(GrantTarget::capsule("cap_a", Role::Owner), "capsule:read").await;
    assert_eq!(decide(&owner.id).await, Err("forbidden"));
    let scoped = fixture.file(reader("cap_a"), "capsule:admin").await;
    assert_eq!(decide(&scoped.id).await, Err("forbidden"));
    let elsewhere = fixture.file(reader("cap_b"), "capsule:read").await;
    assert_eq!(decide(&elsewhere.id).await, Err("not_found"));
    registry.grants().decide(&caller("admin"), &admin(), &elsewhere.id, approve()).await.unwrap();
    assert_eq!(decide(&elsewhere.id).await, Err("not_found"), "nor what became of it");
    let deck = fixture.file(GrantTarget::whole_deck(), "deck:read").await;
    assert_eq!(decide(&deck.id).await, Err("not_found"));
    let own = NewRequest {
        holder: GrantRecipient::Principal { id: principal.clone() },
        ..request(reader("cap_a"), "capsule:read")
    };
    let own = registry.grants().file_request(&caller(&principal), own).await.unwrap();
    assert_eq!(decide(&own.id).await, Err("self_approval"));
    let asked_by_it = NewRequest {
        requested_by: principal.clone(),
        ..request(part(Role::Reader, &["docs://"], &[]), "capsule:read")
    };
    let asked = registry.grants().file_request(&caller(&principal), asked_by_it).await.unwrap();
    assert_eq!(decide(&asked.id).await, Err("self_approval"));
    // A program without the scope is no one.
    let no_one = DecisionMaker::Supervisor { credential: "crd_none".to_owned() };
    assert!(!registry.grants().may_decide(&no_one, &asked));
}

#[tokio::test]
async fn a_member_gives_no_one_the_right_to_manage() {
    let fixture = fixture();
    let registry = &fixture.registry;
    registry.capsules().set_owner(&caller("opr_bob"), "cap_a", Some("opr_bob")).await.unwrap();
    let bob = operator("opr_bob", OperatorRole::Member);
    let filed = fixture.file(reader("cap_a"), "capsule:read registry:manage").await;
    let decide = async |terms| {
        registry
            .grants()
            .decide(&caller("opr_bob"), &bob, &filed.id, RequestDecision::Approve(terms))
            .await
    };
    assert_eq!(decide(ApprovalTerms::default()).await.unwrap_err().code(), "forbidden");
    let without =
        ApprovalTerms { scopes: Some(scopes("capsule:read")), ..ApprovalTerms::default() };
    let granted = decide(without).await.unwrap().grant.unwrap();
    assert!(!registry.grants().get(&granted).unwrap().scopes.allows(OAuthScope::RegistryManage));
}

#[tokio::test]
async fn a_profile_narrows_a_request_and_is_copied() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let terms = ProfileTerms {
        name: "Readers of docs".to_owned(),
        role: Some(Role::Reader),
        scopes: Some(scopes("capsule:write")),
        uri_prefixes: vec!["docs://".to_owned()],
        denied_prefixes: vec!["docs://secret".to_owned()],
        ttl: Some(3600),
        ..ProfileTerms::default()
    };
    let profile =
        registry.approval().create_profile(&caller("admin"), terms.clone()).await.unwrap();
    let same_name =
        registry.approval().create_profile(&caller("admin"), terms.clone()).await.unwrap_err();
    assert_eq!(same_name.code(), "taken");
    let asked = part(Role::Writer, &["docs://team", "notes://"], &[]);
    let filed = fixture.file(asked, "capsule:admin").await;
    let with = ApprovalTerms { profile: Some(profile.id.clone()), ..ApprovalTerms::default() };
    let decide = async |request: &str| {
        registry
            .grants()
            .decide(&caller("admin"), &admin(), request, RequestDecision::Approve(with.clone()))
            .await
    };
    let decided = decide(&filed.id).await.unwrap();
    assert_eq!(decided.profile_id.as_ref(), Some(&profile.id));
    let id = decided.grant.unwrap();
    let grant = registry.grants().get(&id).unwrap();
    assert_eq!(grant.target, part(Role::Reader, &["docs://team"], &["docs://secret"]));
    assert_eq!(grant.scopes, scopes("capsule:write"));
    assert_eq!(grant.expires_at, Some(fixture.now() + HOUR));
    // Later changes of the profile change no grant.
    let changed = ProfileTerms { role: None, ..terms };
    registry.approval().update_profile(&caller("admin"), &profile.id, changed).await.unwrap();
    assert_eq!(registry.grants().get(&id).unwrap(), grant);
    let apart = fixture.file(part(Role::Reader, &["notes://"], &[]), "capsule:read").await;
    assert_eq!(decide(&apart.id).await.unwrap_err().code(), "invalid_input");
    registry.approval().remove_profile(&caller("admin"), &profile.id).await.unwrap();
    assert_eq!(decide(&apart.id).await.unwrap_err().code(), "not_found");
}

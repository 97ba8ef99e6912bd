//! Operators sign in, have sessions, and lose them.

use std::{net::IpAddr, time::Duration};

use capdeck_auth::{
    ProviderIdentity, Secret,
    inbound::{
        AdminKey, NewOperator, NewSession, OperatorAccount, OperatorRole, OperatorSubject,
        OperatorUpdate, RegistryError, SignInPenalty, SignUpDomains,
    },
};

use crate::inbound_support::{Fixture, caller, fixture};

const KEY: &str = "a-key-of-sixteen-or-more";
const HOUR: Duration = Duration::from_secs(3600);

fn here() -> Option<IpAddr> {
    Some([192, 0, 2, 7].into())
}

fn admin_key() -> AdminKey {
    AdminKey::new(Secret::new(KEY)).unwrap()
}

async fn sign_in(fixture: &Fixture, key: &str) -> Result<NewSession, RegistryError> {
    fixture.registry.sessions().sign_in(here(), key, Some(&admin_key())).await
}

async fn ann(fixture: &Fixture) -> (String, Secret) {
    let new = NewOperator {
        name: "Ann".to_owned(),
        role: OperatorRole::Member,
        subject: None,
        with_key: true,
    };
    let made = fixture.registry.operators().create(&caller("admin"), new).await.unwrap();
    (made.operator.id, made.key.unwrap())
}

#[tokio::test]
async fn the_admin_key_and_an_operator_key_begin_sessions() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let admin = sign_in(&fixture, admin_key().reveal()).await.unwrap();
    assert_eq!(admin.session.operator.role, OperatorRole::Admin);
    let (id, key) = ann(&fixture).await;
    assert!(key.expose().starts_with("cap_op_"));
    assert_eq!(registry.operators().by_key(key.expose()).unwrap().id, id);
    let begun = sign_in(&fixture, key.expose()).await.unwrap();
    let session = registry.sessions().find(begun.token.expose()).unwrap();
    assert_eq!(session, begun.session);
    assert!(session.has_csrf(begun.session.csrf()) && !session.has_csrf(admin.session.csrf()));
    assert!(!session.has_csrf(""));
    // Neither the cookie nor the key is on disk.
    for file in ["sessions.json", "operators.json"] {
        let text = std::fs::read_to_string(fixture.path().join(file)).unwrap();
        for secret in [&begun.token, &key] {
            assert!(!text.contains(secret.expose()));
        }
    }
    assert_eq!(fixture.audit.take(), ["login.ok", "operator.create", "login.ok"]);
}

#[tokio::test]
async fn sessions_end_when_unused_when_old_and_when_signed_out() {
    let fixture = fixture();
    let key = admin_key();
    let begun = sign_in(&fixture, key.reveal()).await.unwrap();
    let fixture = fixture.reopen();
    let is_open =
        |begun: &NewSession| fixture.registry.sessions().find(begun.token.expose()).is_some();
    for _ in 0..11 {
        fixture.pass(HOUR - Duration::from_millis(1));
        assert!(is_open(&begun));
    }
    fixture.pass(HOUR);
    assert!(!is_open(&begun), "twelve hours are over");
    let unused = sign_in(&fixture, key.reveal()).await.unwrap();
    fixture.pass(HOUR);
    assert!(!is_open(&unused));
    let left = sign_in(&fixture, key.reveal()).await.unwrap();
    fixture.registry.sessions().sign_out(&caller("admin"), &left.session.id).await.unwrap();
    assert!(!is_open(&left));
    for wrong in ["", "cap_se_", begun.session.csrf()] {
        assert!(fixture.registry.sessions().find(wrong).is_none());
    }
}

#[tokio::test]
async fn a_changed_or_removed_operator_is_so_in_open_sessions() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let (id, key) = ann(&fixture).await;
    let begun = sign_in(&fixture, key.expose()).await.unwrap();
    let update = OperatorUpdate { role: Some(OperatorRole::Approver), ..OperatorUpdate::default() };
    registry.operators().update(&caller("admin"), &id, update).await.unwrap();
    let role = registry.sessions().find(begun.token.expose()).unwrap().operator.role;
    assert_eq!(role, OperatorRole::Approver);
    let rotated =
        registry.operators().rotate_key(&caller("admin"), &id).await.unwrap().key.unwrap();
    assert!(registry.sessions().find(begun.token.expose()).is_none());
    assert!(registry.operators().by_key(key.expose()).is_none());
    let begun = sign_in(&fixture, rotated.expose()).await.unwrap();
    registry.operators().remove(&caller("admin"), &id).await.unwrap();
    assert!(registry.sessions().find(begun.token.expose()).is_none());
    assert!(sign_in(&fixture, rotated.expose()).await.is_err());
    let gone = registry.operators().remove(&caller("admin"), &id).await.unwrap_err();
    assert_eq!(gone.code(), "not_found");
}

#[tokio::test]
async fn sign_ins_that_fail_have_to_wait_and_leave_one_line() {
    let fixture = fixture();
    for _ in 0..5 {
        assert_eq!(sign_in(&fixture, "wrong").await.unwrap_err().code(), "forbidden");
    }
    // Even the right key waits, so that nothing is learned meanwhile.
    let waiting = sign_in(&fixture, admin_key().reveal()).await.unwrap_err();
    assert_eq!(waiting, RegistryError::TooSoon { seconds: 1 });
    let elsewhere = Some([198, 51, 100, 1].into());
    let key = admin_key();
    assert!(fixture.registry.sessions().sign_in(elsewhere, key.reveal(), Some(&key)).await.is_ok());
    fixture.pass(Duration::from_secs(1));
    assert!(sign_in(&fixture, key.reveal()).await.is_ok());
    assert_eq!(fixture.audit.take(), ["login.fail forbidden", "login.ok", "login.ok"]);
}

#[tokio::test]
async fn the_key_of_an_operator_signs_in_while_others_at_the_address_guess() {
    let fixture = fixture();
    let new = NewOperator {
        name: "Ann".to_owned(),
        role: OperatorRole::Member,
        subject: None,
        with_key: true,
    };
    let made = fixture.registry.operators().create(&caller("admin"), new).await.unwrap();
    for _ in 0..50 {
        assert!(sign_in(&fixture, "wrong").await.is_err());
    }
    assert_eq!(sign_in(&fixture, admin_key().reveal()).await.unwrap_err().code(), "too_soon");
    assert!(sign_in(&fixture, made.key.unwrap().expose()).await.is_ok());
    // A successful sign-in gives the attacker no further guesses.
    assert_eq!(sign_in(&fixture, "wrong").await.unwrap_err().code(), "too_soon");
}

const ISSUER: &str = "https://sso.example";

fn account(account: OperatorAccount) -> OperatorSubject {
    OperatorSubject { issuer: ISSUER.to_owned(), account }
}

fn bound(name: &str, subject: OperatorSubject) -> NewOperator {
    let subject = Some(subject);
    NewOperator { name: name.to_owned(), role: OperatorRole::Member, subject, with_key: false }
}

fn identity(issuer: &str, subject: &str, email: Option<&str>) -> ProviderIdentity {
    ProviderIdentity {
        issuer: issuer.to_owned(),
        subject: subject.to_owned(),
        email: email.map(str::to_owned),
        name: None,
    }
}

/// A person comes from a provider, where no one becomes an operator by that.
async fn enter(fixture: &Fixture, identity: ProviderIdentity) -> Result<NewSession, RegistryError> {
    fixture.registry.sessions().sign_in_identity(here(), identity, &SignUpDomains::default()).await
}

#[tokio::test]
async fn an_account_at_a_provider_is_one_operator_s() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let known = |name: &str, subject: &str| {
        bound(name, account(OperatorAccount::Subject(subject.to_owned())))
    };
    let bob = registry.operators().create(&caller("admin"), known("Bob", "42")).await.unwrap();
    assert_eq!(bob.key, None);
    for (wrong, code) in [
        (known("Bob", "43"), "taken"),
        (known("Rob", "42"), "taken"),
        (known("", "1"), "invalid_input"),
        (known("Eve", ""), "invalid_input"),
    ] {
        let refused = registry.operators().create(&caller("admin"), wrong).await.unwrap_err();
        assert_eq!(refused.code(), code);
    }
    let begun = enter(&fixture, identity(ISSUER, "42", None)).await.unwrap();
    assert_eq!(begun.session.operator.id, bob.operator.id);
    fixture.audit.take();
    for (issuer, who) in [("https://sso.example/", "42"), (ISSUER, "43")] {
        let refused = enter(&fixture, identity(issuer, who, None)).await;
        assert_eq!(refused.unwrap_err().code(), "forbidden");
    }
    assert_eq!(fixture.audit.take(), ["login.fail forbidden"]);
}

#[tokio::test]
async fn an_address_binds_the_first_account_that_comes_with_it_and_no_other() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let email = |address: &str| account(OperatorAccount::Email(address.to_owned()));
    for wrong in ["", "ann", "@example.com", "ann@", "a\nb@example.com"] {
        let refused =
            registry.operators().create(&caller("admin"), bound("Ann", email(wrong))).await;
        assert_eq!(refused.unwrap_err().code(), "invalid_input", "{wrong}");
    }
    let new = bound("Ann", email("Ann@example.com"));
    let ann = registry.operators().create(&caller("admin"), new).await.unwrap().operator.id;
    let sign_in = async |issuer: &str, subject: &str, email| {
        let begun = enter(&fixture, identity(issuer, subject, email)).await;
        begun.map(|begun| begun.session.operator.id).map_err(|error| error.code())
    };
    let address = Some("ann@example.com");
    // An address that was not verified is none, and so is one of another provider.
    assert_eq!(sign_in(ISSUER, "1", None).await, Err("forbidden"));
    assert_eq!(sign_in("https://other.example", "1", address).await, Err("forbidden"));
    fixture.audit.take();
    assert_eq!(sign_in(ISSUER, "1", address).await.as_ref(), Ok(&ann));
    assert_eq!(fixture.audit.take(), ["login.ok", "operator.update"]);
    // The one who gets the address later is another person; the one who was bound may change theirs.
    assert_eq!(sign_in(ISSUER, "2", address).await, Err("forbidden"));
    assert_eq!(sign_in(ISSUER, "1", Some("new@example.com")).await, Ok(ann));
}

#[tokio::test]
async fn newcomers_of_a_domain_become_members_once() {
    let fixture = fixture();
    let newcomers = SignUpDomains { domains: vec!["example.com".to_owned()] };
    let come = async |subject: &str, email: Option<&str>| {
        let identity =
            ProviderIdentity { name: Some("Ann".to_owned()), ..identity(ISSUER, subject, email) };
        let begun =
            fixture.registry.sessions().sign_in_identity(here(), identity, &newcomers).await;
        begun.map(|begun| begun.session.operator).map_err(|error| error.code())
    };
    let ann = come("1", Some("ann@example.com")).await.unwrap();
    assert_eq!((ann.name.as_str(), ann.role), ("Ann", OperatorRole::Member));
    assert_eq!(fixture.audit.take(), ["login.ok", "operator.create"]);
    assert_eq!(come("1", None).await.unwrap(), ann);
    let other = come("2", Some("ann.too@example.com")).await.unwrap();
    assert_eq!(other.name, "ann.too@example.com", "a name belongs to one person");
    fixture.audit.take();
    for email in [None, Some("ann@elsewhere.example"), Some("eve@evil-example.com")] {
        assert_eq!(come("3", email).await, Err("forbidden"));
    }
    assert_eq!(fixture.audit.take(), ["login.fail forbidden"]);
    assert_eq!(fixture.registry.operators().list().len(), 2);
}

#[tokio::test]
async fn strangers_from_a_provider_have_to_wait_too() {
    let fixture = fixture();
    let registry = &fixture.registry;
    registry.sessions().record_failure(here(), SignInPenalty::NotCounted).await;
    for _ in 0..4 {
        let refused = enter(&fixture, identity(ISSUER, "9", None)).await.unwrap_err();
        assert_eq!(refused.code(), "forbidden");
    }
    assert_eq!(registry.sessions().check_sign_in(here()).await, Ok(()));
    registry.sessions().record_failure(here(), SignInPenalty::Counted).await;
    let waiting = enter(&fixture, identity(ISSUER, "9", None)).await.unwrap_err();
    assert_eq!(waiting, RegistryError::TooSoon { seconds: 1 });
    assert_eq!(registry.sessions().check_sign_in(here()).await.unwrap_err().code(), "too_soon");
    assert_eq!(fixture.audit.take(), ["login.fail forbidden"; 2], "one of them for no reason");
}

#[tokio::test]
async fn a_session_ends_when_its_operator_gets_another_account() {
    let fixture = fixture();
    let registry = &fixture.registry;
    let subject = |name: &str| account(OperatorAccount::Subject(name.to_owned()));
    let made = registry.operators().create(&caller("admin"), bound("Bob", subject("42"))).await;
    let id = made.unwrap().operator.id;
    let change = async |subject: Option<OperatorSubject>| {
        let update = OperatorUpdate { subject: Some(subject), ..OperatorUpdate::default() };
        registry.operators().update(&caller("admin"), &id, update).await.unwrap();
    };
    let begun = enter(&fixture, identity(ISSUER, "42", None)).await.unwrap();
    change(Some(subject("42"))).await;
    assert!(registry.sessions().find(begun.token.expose()).is_some(), "nothing has changed");
    change(None).await;
    assert!(registry.sessions().find(begun.token.expose()).is_none());
    assert_eq!(
        enter(&fixture, identity(ISSUER, "42", None)).await.unwrap_err().code(),
        "forbidden"
    );
}

#[tokio::test]
async fn sessions_of_an_admin_key_end_with_the_key() {
    let fixture = fixture();
    let begun = sign_in(&fixture, admin_key().reveal()).await.unwrap();
    let (_, key) = ann(&fixture).await;
    let own = sign_in(&fixture, key.expose()).await.unwrap();
    let fixture = fixture.reopen();
    let is_open =
        |begun: &NewSession| fixture.registry.sessions().find(begun.token.expose()).is_some();
    fixture.registry.sessions().use_admin_key(&admin_key());
    assert!(is_open(&begun) && is_open(&own));
    fixture
        .registry
        .sessions()
        .use_admin_key(&AdminKey::new(Secret::new("another-key-of-many-bytes")).unwrap());
    assert!(!is_open(&begun) && is_open(&own));
    // Nothing on disk lets anybody try keys.
    let text = std::fs::read_to_string(fixture.path().join("sessions.json")).unwrap();
    assert!(!text.contains(KEY));
}

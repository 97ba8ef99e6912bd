//! Callers who were granted capsules: each request is judged by what was granted when it was made.

use crate::{EntryScope, Role};

use super::*;

fn grant(capsule: &str, role: Role, allow: &[&str], deny: &[&str]) -> CapsuleGrant {
    let scope = EntryScope::parse(allow.iter().copied(), deny.iter().copied()).unwrap();
    CapsuleGrant { capsule: capsule.to_owned(), access: CapsuleAccess { role, scope } }
}

/// A person with grants that name capsules in these words.
fn holder(granted: &[CapsuleGrant]) -> CapsuleCaller {
    CapsuleCaller::new(
        CapsuleAuthor::client("agent").principal("prn_1"),
        Reach::Granted(granted.to_vec()),
    )
}

impl ServiceFixture {
    /// A person with grants on the capsules that have these ids now.
    fn holder(&self, granted: &[CapsuleGrant]) -> CapsuleCaller {
        let all = self.service.capsules.list();
        let keyed = |one: &CapsuleGrant| {
            let found = all.iter().find(|info| info.id == one.capsule).unwrap();
            CapsuleGrant { capsule: found.key(), ..one.clone() }
        };
        holder(&granted.iter().map(keyed).collect::<Vec<_>>())
    }
}

#[tokio::test]
async fn item_12_the_only_granted_capsule_is_meant() {
    let fixture = ServiceFixture::with(&["One", "Two"]).await;
    fixture.write(Some("one"), "docs://a", "x").await;
    let reader = grant("one", Role::Reader, &[], &[]);
    let one = fixture.holder(std::slice::from_ref(&reader));
    assert!(fixture.ask_as(&one, None, read("docs://a")).await.is_ok());
    let both = fixture.holder(&[reader, grant("two", Role::Reader, &[], &[])]);
    let failure = fixture.ask_as(&both, None, read("docs://a")).await.unwrap_err();
    assert_eq!(failure.message, "say which capsule: `one`, `two`");
    let failure = fixture.ask_as(&fixture.holder(&[]), None, read("docs://a")).await.unwrap_err();
    assert_eq!(failure.code, "capsule_required");
    assert_eq!(failure.data().unwrap()["capsules"], json!([]));
}

#[tokio::test]
async fn item_14_a_grant_on_one_capsule_is_none_on_another() {
    let fixture = ServiceFixture::with(&["One", "Two"]).await;
    fixture.write(Some("two"), "docs://a", "x").await;
    let one = fixture.holder(&[grant("one", Role::Owner, &[], &[])]);
    for operation in [
        CapsuleOperation::from(read("docs://a")),
        CapsuleOperation::from(write("docs://b", "x")),
        CapsuleOperation::from(MemoryListRequest),
    ] {
        let name = operation.name();
        let hidden = fixture.ask_as(&one, Some("two"), operation.clone()).await.unwrap_err();
        let missing = fixture.ask_as(&one, Some("xxx"), operation).await.unwrap_err();
        let message = hidden.message.replace("two", "xxx");
        assert_eq!(CapsuleError { message, ..hidden }, missing, "{name}");
    }
    let listed = fixture.ask_as(&one, None, ListCapsulesRequest { with_counts: true });
    let listed = listed.await.unwrap();
    assert_eq!(listed["capsules"].as_array().unwrap().len(), 1);
    assert_eq!(listed["capsules"][0]["role"], "owner");
}

#[tokio::test]
async fn item_07_the_role_of_the_resolved_capsule_counts() {
    let fixture = ServiceFixture::with(&["One", "Two"]).await;
    let caller = fixture.holder(&[
        grant("one", Role::Reader, &[], &[]),
        grant("two", Role::Writer, &["docs://"], &["docs://secret"]),
    ]);
    let failure = fixture.ask_as(&caller, Some("one"), write("docs://a", "x")).await.unwrap_err();
    assert_eq!(failure.code, "forbidden_role");
    let written = fixture.ask_as(&caller, Some("two"), write("docs://a", "x")).await.unwrap();
    assert_eq!(written["version"], 1);
    fixture.write(Some("two"), "docs://secret/a", "x").await;
    for (uri, code) in [("docs://secret/a", "not_found"), ("notes://a", "unknown_scheme")] {
        let failure = fixture.ask_as(&caller, Some("two"), read(uri)).await.unwrap_err();
        assert_eq!(failure.code, code, "{uri}");
    }
    let entry = fixture.ask(Some("two"), read("docs://a")).await.unwrap();
    assert_eq!((&entry["written_by"], &entry["client"]), (&json!("prn_1"), &json!("agent")));
}

#[tokio::test]
async fn two_grants_on_one_capsule_are_one() {
    let fixture = ServiceFixture::with(&["One"]).await;
    for uri in ["docs://a", "notes://a", "docs://secret/a"] {
        fixture.write(None, uri, "x").await;
    }
    let caller = fixture.holder(&[
        grant("one", Role::Reader, &["docs://"], &["docs://secret"]),
        grant("one", Role::Reader, &["notes://"], &[]),
    ]);
    assert!(fixture.ask_as(&caller, None, read("docs://a")).await.is_ok());
    assert!(fixture.ask_as(&caller, None, read("notes://a")).await.is_ok());
    assert!(fixture.ask_as(&caller, None, read("docs://secret/a")).await.is_err());
    let caller = fixture.holder(&[
        grant("one", Role::Reader, &[], &[]),
        grant("one", Role::Writer, &["notes://"], &[]),
    ]);
    assert!(fixture.ask_as(&caller, None, write("notes://b", "x")).await.is_ok());
    // The higher role is not lent to the part of the lower one.
    let failure = fixture.ask_as(&caller, None, write("docs://b", "x")).await.unwrap_err();
    assert_eq!(failure.code, "unknown_scheme");
}

#[tokio::test]
async fn grants_are_no_rights_on_this_machine() {
    let fixture = ServiceFixture::with(&["One"]).await;
    let caller = fixture.holder(&[grant("one", Role::Owner, &[], &[])]);
    for operation in [
        CapsuleOperation::from(create("Two")),
        CapsuleOperation::from(SharesRequest),
        CapsuleOperation::from(DeleteCapsuleRequest),
        CapsuleOperation::from(PurgeCapsuleRequest),
        CapsuleOperation::from(OpenShareRequest { token: "cap_sh_x".to_owned() }),
        CapsuleOperation::from(RegistryAuditVerifyRequest),
    ] {
        let name = operation.name();
        let failure = fixture.ask_as(&caller, None, operation).await.unwrap_err();
        assert_eq!(failure.code, "forbidden_role", "{name}");
        assert!(failure.message.starts_with("a grant may not "), "{}", failure.message);
    }
    // A name or an id alone opens nothing.
    for capsule in ["One", "one", "one@", "one@-"] {
        let other = holder(&[grant(capsule, Role::Reader, &[], &[])]);
        let failure = fixture.ask_as(&other, None, listing()).await.unwrap_err();
        assert_eq!(failure.code, "capsule_required", "{capsule}");
    }
}

#[test]
fn a_reach_travels_as_it_is() {
    let caller = holder(&[grant("one", Role::Writer, &["docs://"], &["docs://secret"])]);
    let text = serde_json::to_string(&caller).unwrap();
    let read: CapsuleCaller = serde_json::from_str(&text).unwrap();
    assert_eq!(read.reach, caller.reach);
    let open = holder(&[grant("one", Role::Reader, &[], &[])]);
    let read: CapsuleCaller = serde_json::from_value(json!(open)).unwrap();
    assert_eq!(read.reach, open.reach);
}

#[tokio::test]
async fn a_grant_on_a_capsule_is_none_on_a_later_one_of_that_name() {
    let fixture = ServiceFixture::with(&["One"]).await;
    let (holder, share) = (
        fixture.holder(&[grant("one", Role::Owner, &[], &[])]),
        fixture.share("one", Role::Reader, &[], &[]).await,
    );
    let mut changes = fixture.service.changes(holder.clone()).await.unwrap();
    fixture.ask(Some("one"), DeleteCapsuleRequest).await.unwrap();
    fixture.ask(None, create("One")).await.unwrap();
    fixture.write(Some("one"), "docs://a", "x").await;
    for caller in [&holder, &share.caller] {
        let failure = fixture.ask_as(caller, Some("one"), read("docs://a")).await.unwrap_err();
        assert_eq!(failure.code, "not_found");
    }
    let token = share.token.clone();
    let opened = fixture.ask(None, OpenShareRequest { token }).await.unwrap_err();
    assert_eq!(opened.code, "not_found");
    // The holder hears that there are other capsules, and nothing of what is in them.
    fixture.ask(None, create("Two")).await.unwrap();
    for _ in 0..3 {
        assert_eq!(changes.next().await, Some(CapsuleChange::Capsules));
    }
}

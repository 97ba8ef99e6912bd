//! Which capsule is meant, and what of it a caller reaches. What is hidden looks like what does not exist.

use crate::{ChangeKind, ExistingEntryMode, ImportMode, Role};

use super::*;

#[tokio::test]
async fn without_a_name_the_only_capsule_is_meant() {
    let fixture = ServiceFixture::new().await;
    let failure = fixture.ask(None, read("docs://a")).await.unwrap_err();
    assert_eq!(failure.code, "capsule_required");
    assert_eq!(failure.message, "there is no capsule yet");
    let fixture = ServiceFixture::with(&["One", "Two"]).await;
    let failure = fixture.ask(None, read("docs://a")).await.unwrap_err();
    assert_eq!(failure.code, "capsule_required");
    assert_eq!(failure.message, "say which capsule: `one`, `two`");
    assert_eq!(failure.data().unwrap()["capsules"][1]["id"], "two");
    let one = fixture.share("one", Role::Reader, &[], &[]).await;
    fixture.write(Some("one"), "docs://a", "x").await;
    assert!(fixture.ask_as(&one.caller, None, read("docs://a")).await.is_ok());
    fixture.ask(None, RevokeShareRequest { id: one.id.clone() }).await.unwrap();
    let failure = fixture.ask_as(&one.caller, None, read("docs://a")).await.unwrap_err();
    assert_eq!(failure.message, "no capsule is open to this access");
    assert_eq!(failure.data().unwrap()["capsules"], json!([]));
}

#[tokio::test]
async fn spec_26_14_another_capsule_does_not_exist() {
    let fixture = ServiceFixture::with(&["One", "Two"]).await;
    fixture.write(Some("two"), "docs://a", "x").await;
    let one = fixture.share("one", Role::Owner, &[], &[]).await.caller;
    for operation in [
        CapsuleOperation::from(read("docs://a")),
        CapsuleOperation::from(write("docs://a", "x")),
        CapsuleOperation::from(listing()),
        CapsuleOperation::from(search("x")),
        CapsuleOperation::from(OverviewRequest),
        CapsuleOperation::from(MemoryListRequest),
        CapsuleOperation::from(SharesRequest),
        CapsuleOperation::from(DeleteCapsuleRequest),
        CapsuleOperation::from(PurgeCapsuleRequest),
        CapsuleOperation::from(VerifyRequest),
        CapsuleOperation::from(AuditVerifyRequest),
    ] {
        let name = operation.name();
        let hidden = fixture.ask_as(&one, Some("two"), operation.clone()).await.unwrap_err();
        let missing = fixture.ask_as(&one, Some("xxx"), operation).await.unwrap_err();
        let as_missing = |text: &str| text.replace("two", "xxx");
        assert_eq!(hidden.code, "not_found", "{name}");
        let hidden = CapsuleError { message: as_missing(&hidden.message), ..hidden };
        assert_eq!(hidden, missing, "{name}");
    }
}

#[tokio::test]
async fn spec_26_8_hidden_and_missing_entries_are_alike() {
    let fixture = ServiceFixture::with(&["One"]).await;
    fixture.write(None, "docs://secret/a", "hidden words").await;
    fixture.write(None, "docs://open", "open words").await;
    let guest = fixture.share("one", Role::Owner, &["docs://"], &["docs://secret"]).await.caller;
    let ask = async |operation: CapsuleOperation| fixture.ask_as(&guest, None, operation).await;
    let about = |uri: &str| {
        let uri = || uri.to_owned();
        [
            CapsuleOperation::from(read(&uri())),
            CapsuleOperation::from(HistoryRequest { uri: uri() }),
            CapsuleOperation::from(DiffRequest { uri: uri(), from: 1, to: None }),
            CapsuleOperation::from(DeleteRequest { uri: uri(), if_version: None }),
            CapsuleOperation::from(PurgeRequest { uri: uri() }),
            CapsuleOperation::from(ReadBlobRequest { uri: uri(), version: None }),
        ]
    };
    for (hidden, missing) in about("docs://secret/a").into_iter().zip(about("docs://secret/z")) {
        let name = hidden.name();
        let (hidden, missing) = (ask(hidden).await.unwrap_err(), ask(missing).await.unwrap_err());
        let message = hidden.message.replace("secret/a", "secret/z");
        assert_eq!(CapsuleError { message, ..hidden }, missing, "{name}");
    }
    assert_eq!(
        uris(&fixture.ask_as(&guest, None, listing()).await.unwrap(), "entries"),
        ["docs://open"]
    );
    assert_eq!(fixture.ask_as(&guest, None, search("words")).await.unwrap()["total"], 1);
    let counted = ListCapsulesRequest { with_counts: true };
    let listed = fixture.ask_as(&guest, None, counted).await.unwrap();
    assert_eq!(listed["capsules"][0]["entries"], 1);
    let lines = fixture.ask_as(&guest, None, AuditFilter::default()).await.unwrap();
    let lines = lines["lines"].to_string();
    assert!(lines.contains("docs://open") && !lines.contains("secret"), "{lines}");
    assert_eq!(
        fixture.ask_as(&guest, None, VerifyRequest).await.unwrap_err().code,
        "forbidden_scope"
    );
}

#[tokio::test]
async fn spec_26_13_a_share_appears_and_is_gone_at_once() {
    let fixture = ServiceFixture::with(&["One"]).await;
    let guest = fixture.share("one", Role::Reader, &[], &[]).await;
    let opened = OpenShareRequest { token: guest.token.clone() };
    let share = fixture.ask(None, opened.clone()).await.unwrap();
    assert_eq!((&share["id"], &share["role"]), (&json!(guest.id), &json!("reader")));
    assert_eq!((share.get("token"), share.get("token_sha256")), (None, None));
    let list = || ListCapsulesRequest { with_counts: false };
    let listed = fixture.ask_as(&guest.caller, None, list()).await.unwrap();
    assert_eq!(listed["capsules"][0]["role"], "reader");
    assert_eq!(
        fixture.ask_as(&guest.caller, None, write("docs://a", "x")).await.unwrap_err().code,
        "forbidden_role"
    );
    let shares = fixture.ask(None, SharesRequest).await.unwrap();
    assert!(!shares.to_string().contains("sha256"));
    fixture.ask(None, RevokeShareRequest { id: guest.id }).await.unwrap();
    assert_eq!(fixture.ask_as(&guest.caller, None, list()).await.unwrap()["capsules"], json!([]));
    let failure = fixture.ask_as(&guest.caller, Some("one"), read("docs://a")).await.unwrap_err();
    assert_eq!(failure.message, "there is no capsule `one`");
    assert_eq!(fixture.code(opened).await, "not_found");
    let unknown = RevokeShareRequest { id: "shr_x".to_owned() };
    assert_eq!(fixture.code(unknown).await, "not_found");
}

#[tokio::test]
async fn a_share_has_its_own_memory_and_never_the_machine() {
    let fixture = ServiceFixture::with(&["One"]).await;
    let guest = fixture.share("one", Role::Owner, &[], &[]).await;
    let other = fixture.share("one", Role::Owner, &[], &[]).await;
    let (key, value) = ("k".to_owned(), "v".to_owned());
    let set = MemorySetRequest { key, value };
    fixture.ask_as(&guest.caller, None, set).await.unwrap();
    // The same client name behind another share is another person.
    let get = MemoryGetRequest { key: "k".to_owned() };
    assert_eq!(fixture.ask_as(&other.caller, None, get).await.unwrap_err().code, "no_such_key");
    let path = fixture.folder.path().join("out");
    for operation in [
        CapsuleOperation::from(ExportRequest { path: path.clone(), form: ExportTarget::Folder }),
        CapsuleOperation::from(ImportFilesRequest {
            path: path.clone(),
            form: ImportSource::Skills,
            existing: ExistingEntryMode::default(),
            mode: ImportMode::default(),
        }),
        CapsuleOperation::from(SharesRequest),
        CapsuleOperation::from(RevokeShareRequest { id: other.id.clone() }),
        CapsuleOperation::from(OpenShareRequest { token: other.token.clone() }),
        CapsuleOperation::from(DeleteCapsuleRequest),
        CapsuleOperation::from(PurgeCapsuleRequest),
        CapsuleOperation::from(RegistryAuditVerifyRequest),
        CapsuleOperation::from(RegistryAuditFilter(AuditFilter::default())),
        CapsuleOperation::from(create("Mine")),
    ] {
        let name = operation.name();
        let refused = fixture.ask_as(&guest.caller, None, operation).await.unwrap_err();
        assert_eq!(refused.code, "forbidden_role", "{name}");
    }
    assert!(!path.exists());
}

#[tokio::test]
async fn changes_are_reported_within_reach() {
    let fixture = ServiceFixture::with(&["One", "Two"]).await;
    let guest = fixture.share("one", Role::Reader, &["docs://"], &[]).await;
    let mut all = fixture.service.changes(person()).await.unwrap();
    let mut some = fixture.service.changes(guest.caller.clone()).await.unwrap();
    fixture.write(Some("two"), "docs://a", "x").await;
    fixture.write(Some("one"), "notes://a", "x").await;
    fixture.write(Some("one"), "docs://b", "x").await;
    let mut heard = Vec::new();
    for _ in 0..3 {
        let Some(CapsuleChange::Entry { capsule, change, .. }) = all.next().await else { panic!() };
        assert_eq!(change.kind, ChangeKind::Created);
        heard.push(format!("{capsule} {}", change.uri));
    }
    heard.sort();
    assert_eq!(heard, ["one docs://b", "one notes://a", "two docs://a"]);
    let Some(CapsuleChange::Entry { change, .. }) = some.next().await else { panic!() };
    assert_eq!(change.uri.as_str(), "docs://b");
    fixture.ask(None, RevokeShareRequest { id: guest.id }).await.unwrap();
    assert_eq!(some.next().await, Some(CapsuleChange::Capsules));
    fixture.write(Some("one"), "docs://b", "y").await;
    fixture.ask(None, create("Three")).await.unwrap();
    // The entry is out of reach now; that capsules changed says nothing about them.
    assert_eq!(some.next().await, Some(CapsuleChange::Capsules));
}

//! Several services on one folder, as several processes have them: locks and sockets do not know the difference.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use capdeck_host::{
    CapsuleAuthor, CapsuleServiceExt as _, ChangeKind, CreateCapsuleRequest, DeleteCapsuleRequest,
    ListCapsulesRequest, OverviewRequest, ReadBody, ReadRequest, WriteRequest,
};
use tempfile::TempDir;

use super::socket::{PROTOCOL, SocketRequest, SocketResponse};
use super::*;
use crate::local_socket::{self, SocketGreeting};

fn folder() -> (TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("data");
    (root, folder)
}

fn service(folder: &Path, standing: ProcessLifetime) -> SharedCapsuleService {
    SharedCapsuleService::new(SharedCapsulesSettings {
        folder: folder.to_owned(),
        schemes: None,
        audit: AuditMode::Lenient,
        version: "0.0.0-test".to_owned(),
        standing,
    })
}

fn person() -> CapsuleCaller {
    CapsuleCaller::local(CapsuleAuthor::client("tester"))
}

fn create() -> CapsuleRequest<CreateCapsuleRequest> {
    person().request(None, CreateCapsuleRequest::named("Team"))
}

fn write(uri: &str, body: &str) -> CapsuleRequest<WriteRequest> {
    let (uri, content) = (uri.to_owned(), Some(body.to_owned()));
    person().request(None, WriteRequest { uri, content, ..WriteRequest::default() })
}

fn read(uri: &str) -> CapsuleRequest<ReadRequest> {
    let (uri, body) = (uri.to_owned(), ReadBody::Banded);
    person().request(None, ReadRequest { uri, version: None, body })
}

/// The address of the next entry that changed.
async fn next_uri(changes: &mut CapsuleChanges) -> String {
    match changes.next().await {
        Some(CapsuleChange::Entry { change, .. }) => {
            assert_eq!(change.kind, ChangeKind::Created);
            change.uri.to_string()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn nothing_is_made_before_the_first_capsule() {
    let (_root, folder) = folder();
    let service = service(&folder, ProcessLifetime::Lasting);
    assert!(!service.may_have_capsules());
    let list = ListCapsulesRequest { with_counts: true };
    assert!(service.ask(person().request(None, list)).await.unwrap().capsules.is_empty());
    assert_eq!(service.ask(read("docs://a")).await.unwrap_err().code, "capsule_required");
    assert_eq!(service.ask(write("docs://a", "x")).await.unwrap_err().code, "capsule_required");
    assert!(!folder.exists());
    service.ask(create()).await.unwrap();
    assert!(service.may_have_capsules());
    service.ask(person().request(None, DeleteCapsuleRequest)).await.unwrap();
    assert!(!service.may_have_capsules());
}

#[tokio::test]
async fn what_one_writes_the_other_reads_and_hears() {
    let (_root, folder) = folder();
    let (one, other) =
        (service(&folder, ProcessLifetime::Lasting), service(&folder, ProcessLifetime::Lasting));
    one.ask(create()).await.unwrap();
    let mut at_one = one.changes(person()).await.unwrap();
    let mut at_other = other.changes(person()).await.unwrap();
    one.ask(write("docs://a", "from one")).await.unwrap();
    assert_eq!(other.ask(read("docs://a")).await.unwrap().body.unwrap(), "from one");
    other.ask(write("docs://b", "from the other")).await.unwrap();
    assert_eq!(one.ask(read("docs://b")).await.unwrap().body.unwrap(), "from the other");
    for changes in [&mut at_one, &mut at_other] {
        assert_eq!(next_uri(changes).await, "docs://a");
        assert_eq!(next_uri(changes).await, "docs://b");
    }
    let failure = other.ask(read("docs://missing")).await.unwrap_err();
    assert_eq!(failure, one.ask(read("docs://missing")).await.unwrap_err());
}

#[tokio::test]
async fn the_one_who_asks_next_takes_over() {
    let (_root, folder) = folder();
    let services = [(); 3].map(|()| service(&folder, ProcessLifetime::Lasting));
    let [one, two, three] = &services;
    one.ask(create()).await.unwrap();
    two.ask(write("docs://a", "x")).await.unwrap();
    let mut changes = two.changes(person()).await.unwrap();
    one.close().await;
    assert_eq!(one.ask(read("docs://a")).await.unwrap_err().code, "closed");
    // The process that listens takes over by itself, and says that it may have missed something.
    assert_eq!(changes.next().await, Some(CapsuleChange::Missed));
    three.ask(write("docs://b", "x")).await.unwrap();
    assert_eq!(next_uri(&mut changes).await, "docs://b");
    two.close().await;
    assert_eq!(changes.next().await, None);
    assert!(!folder.join("desk.sock").exists());
    three.ask(write("docs://c", "x")).await.unwrap();
    assert!(folder.join("desk.sock").exists());
    three.close().await;
}

#[tokio::test]
async fn short_commands_wait_for_each_other_and_hold_nothing() {
    let (_root, folder) = folder();
    service(&folder, ProcessLifetime::Passing).ask(create()).await.unwrap();
    let writes = (0..8).map(|number| {
        let service = service(&folder, ProcessLifetime::Passing);
        async move { service.ask(write(&format!("docs://{number}"), "x")).await }
    });
    for written in futures_util::future::join_all(writes).await {
        written.unwrap();
    }
    assert!(!folder.join("desk.sock").exists());
    // One that was used is no obstacle, though it is still there.
    let short = service(&folder, ProcessLifetime::Passing);
    short.ask(read("docs://0")).await.unwrap();
    let lasting = service(&folder, ProcessLifetime::Lasting);
    lasting.ask(read("docs://1")).await.unwrap();
    short.ask(read("docs://2")).await.unwrap();
}

#[tokio::test]
async fn many_requests_at_once_reach_the_other_process() {
    let (_root, folder) = folder();
    let (one, other) =
        (service(&folder, ProcessLifetime::Lasting), service(&folder, ProcessLifetime::Lasting));
    one.ask(create()).await.unwrap();
    let writes = (0..40).map(|number| other.ask(write(&format!("docs://{number}"), "x")));
    for written in futures_util::future::join_all(writes.collect::<Vec<_>>()).await {
        written.unwrap();
    }
    let overview = one.ask(person().request(None, OverviewRequest)).await.unwrap();
    assert_eq!(overview.schemes[0].entries, 40);
}

/// A process that has the folder, answers one request as far as it is given, and is gone.
async fn dying_owner(folder: &Path, protocol: u32, begins: bool) -> tokio::task::JoinHandle<()> {
    let options = StoreOptions::default();
    let service = LocalCapsuleService::open(folder, options).await.unwrap();
    let socket = LocalSocket::bind(&folder.join("desk.sock")).unwrap();
    tokio::spawn(async move {
        let (reading, mut writer) = socket.accept().await.into_split();
        let version = "9.9.9".to_owned();
        local_socket::write(&mut writer, &SocketGreeting { protocol, version }).await.unwrap();
        let mut reader = local_socket::reader(reading);
        if local_socket::read::<SocketRequest, _>(&mut reader).await.is_ok() && begins {
            local_socket::write(&mut writer, &SocketResponse::Started).await.unwrap();
        }
        drop(socket);
        service.close().await;
    })
}

#[tokio::test]
async fn a_request_that_was_not_begun_is_made_again() {
    let (_root, folder) = folder();
    service(&folder, ProcessLifetime::Passing).ask(create()).await.unwrap();
    let owner = dying_owner(&folder, PROTOCOL, false).await;
    let service = service(&folder, ProcessLifetime::Lasting);
    assert_eq!(service.ask(write("docs://a", "x")).await.unwrap().outcome.version, 1);
    owner.await.unwrap();
}

#[tokio::test]
async fn a_write_that_was_begun_is_not_repeated_and_a_read_is() {
    let (_root, folder) = folder();
    service(&folder, ProcessLifetime::Passing).ask(create()).await.unwrap();
    let owner = dying_owner(&folder, PROTOCOL, true).await;
    let first = service(&folder, ProcessLifetime::Passing);
    let failure = first.ask(write("docs://a", "x")).await.unwrap_err();
    assert_eq!(failure.code, "outcome_unknown");
    owner.await.unwrap();
    assert_eq!(first.ask(read("docs://a")).await.unwrap_err().code, "not_found");
    let owner = dying_owner(&folder, PROTOCOL, true).await;
    let second = service(&folder, ProcessLifetime::Passing);
    assert_eq!(second.ask(read("docs://a")).await.unwrap_err().code, "not_found");
    owner.await.unwrap();
}

#[tokio::test]
async fn another_version_is_named() {
    let (_root, folder) = folder();
    service(&folder, ProcessLifetime::Passing).ask(create()).await.unwrap();
    let owner = dying_owner(&folder, PROTOCOL + 1, false).await;
    let failure =
        service(&folder, ProcessLifetime::Lasting).ask(read("docs://a")).await.unwrap_err();
    assert_eq!(failure.code, "in_use");
    assert!(failure.hint.unwrap().contains("capdeck 9.9.9"));
    owner.await.unwrap();
}

#[tokio::test]
async fn a_bad_list_of_schemes_fails_what_needs_it() {
    let (_root, folder) = folder();
    let service = service(&folder, ProcessLifetime::Lasting);
    let settings =
        SharedCapsulesSettings { schemes: Some("docs".to_owned()), ..service.0.settings.clone() };
    let failure = SharedCapsuleService::new(settings).ask(create()).await.unwrap_err();
    assert_eq!(failure.code, "invalid_scheme");
    assert!(failure.message.starts_with("CAPSOL_SCHEMES: "), "{}", failure.message);
    assert!(!folder.exists());
    let settings = SharedCapsulesSettings {
        schemes: Some("runbooks".to_owned()),
        ..service.0.settings.clone()
    };
    let service = SharedCapsuleService::new(settings);
    service.ask(create()).await.unwrap();
    service.ask(write("runbooks://a", "x")).await.unwrap();
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o077, 0);
}

//! The folder: one process at a time, whole changes, and nothing written over what cannot be read.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc, time::Duration};

use capdeck_auth::inbound::{
    NewCredential, OpenRegistryError, Registry, RegistryLimits, RegistryOptions, RequestStatus,
};

use crate::inbound_support::{
    Fixture, caller, fixture, fixture_with, open, reader, request, scopes,
};

/// Every file with its text.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read_to_string(entry.path()).unwrap())
        })
        .collect()
}

async fn connected(fixture: &Fixture) -> String {
    let granted = fixture.grant(reader("cap_a"), "capsule:read").await;
    let new = NewCredential {
        principal: granted.principal,
        scopes: scopes("capsule:read"),
        audience: None,
        expires_at: fixture.now() + Duration::from_secs(3600),
    };
    let opened = fixture.registry.tokens().open_connection(&caller("admin"), new).await.unwrap();
    opened.token.expose().to_owned()
}

#[tokio::test]
async fn item_24_a_second_process_is_refused_and_learns_where_the_first_one_is() {
    let fixture = fixture();
    fixture.registry.announce("http://127.0.0.1:7717").await.unwrap();
    fixture.file(reader("cap_a"), "capsule:read").await;
    let second = open(fixture.path(), &fixture.time, &fixture.audit, RegistryOptions::default());
    let Err(error @ OpenRegistryError::InUse { .. }) = second else { unreachable!() };
    assert!(error.to_string().ends_with("which serves at http://127.0.0.1:7717"), "{error}");
    let fixture = fixture.reopen();
    assert_eq!(
        fixture
            .registry
            .grants()
            .requests(&Default::default(), &Default::default())
            .unwrap()
            .items
            .len(),
        1
    );
}

#[tokio::test]
async fn a_folder_that_another_process_made_meanwhile_is_read_before_it_is_changed() {
    let fixture = fixture();
    let other =
        open(fixture.path(), &fixture.time, &fixture.audit, RegistryOptions::default()).unwrap();
    let theirs = other
        .grants()
        .file_request(&caller("x"), request(reader("cap_b"), "capsule:read"))
        .await
        .unwrap();
    let refused = fixture
        .registry
        .grants()
        .file_request(&caller("x"), request(reader("cap_a"), "capsule:read"))
        .await;
    assert_eq!(refused.unwrap_err().code(), "in_use");
    drop(other);
    fixture.file(reader("cap_a"), "capsule:read").await;
    assert_eq!(
        fixture.registry.grants().request(&theirs.id).unwrap().status,
        RequestStatus::Pending
    );
}

#[cfg(unix)]
#[tokio::test]
async fn files_are_their_owner_s_and_hold_no_token() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = fixture();
    let token = connected(&fixture).await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&fixture.path()), 0o700);
    for (name, text) in files(&fixture.path()) {
        assert!(!text.contains(&token) && !text.contains("cap_at_"), "{name}");
        if name.ends_with(".json") {
            assert_eq!(mode(&fixture.path().join(name)), 0o600);
        }
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_named_and_left_alone() {
    let fixture = fixture();
    connected(&fixture).await;
    let (folder, time, audit) =
        (fixture.path(), Arc::clone(&fixture.time), Arc::clone(&fixture.audit));
    let Fixture { registry, folder: kept, .. } = fixture;
    drop(registry);
    let path = folder.join("grants.json");
    let good = fs::read_to_string(&path).unwrap();
    let item = good.split_once('[').unwrap().1.rsplit_once(']').unwrap().0;
    for (bad, says) in [
        (String::new(), "cannot be read"),
        (good.split_at(good.len() / 2).0.to_owned(), "cannot be read"),
        (good.replace("\"reader\"", "\"king\""), "cannot be read"),
        // A restriction of a later version would be lost, so it is no file for this one.
        (good.replacen("\"scopes\"", "\"only_on_weekdays\": true, \"scopes\"", 1), "unknown field"),
        (good.replacen("\"form\": 2", "\"form\": 3", 1), "newer version"),
        (good.replace(item, &format!("{item},{item}")), "twice"),
    ] {
        fs::write(&path, &bad).unwrap();
        let error = open(folder.clone(), &time, &audit, RegistryOptions::default()).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("grants.json") && message.contains(says), "{message}");
        assert_eq!(fs::read_to_string(&path).unwrap(), bad);
    }
    fs::write(&path, good).unwrap();
    assert!(open(folder, &time, &audit, RegistryOptions::default()).is_ok());
    drop(kept);
}

/// Kills the process, as far as files can tell, after every step of a change of several files.
#[tokio::test]
async fn a_change_of_several_files_is_there_whole_or_not_at_all() {
    let fixture = fixture();
    let filed = fixture.file(reader("cap_a"), "capsule:read").await;
    let before = files(&fixture.path());
    let approve = capdeck_auth::inbound::RequestDecision::Approve(Default::default());
    let admin = crate::inbound_support::admin();
    fixture.registry.grants().decide(&caller("admin"), &admin, &filed.id, approve).await.unwrap();
    let after = files(&fixture.path());
    let changed: BTreeMap<&String, &String> =
        after.iter().filter(|(name, text)| before.get(*name) != Some(*text)).collect();
    let names: Vec<_> = changed.keys().map(|name| name.as_str()).collect();
    assert_eq!(names, ["grants.json", "requests.json"]);
    let journal = serde_json::json!({ "form": 1, "files": changed }).to_string();
    // Steps: nothing yet; the journal is written; then the first file; then both, with the journal still there.
    for step in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        let mut present = before.clone();
        if step > 0 {
            present.insert("change.json".to_owned(), journal.clone());
            let placed = changed.iter().take(step - 1);
            present.extend(placed.map(|(name, text)| ((*name).clone(), (*text).clone())));
        }
        present.insert(".tmpA1b2C3".to_owned(), "half of someth".to_owned());
        for (name, text) in &present {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let opened =
            open(folder.path().into(), &fixture.time, &fixture.audit, RegistryOptions::default());
        let registry: Registry = opened.unwrap();
        let request = registry.grants().request(&filed.id).unwrap();
        let grants =
            registry.grants().list(&Default::default(), &Default::default()).unwrap().items;
        let expected = if step == 0 { RequestStatus::Pending } else { RequestStatus::Approved };
        assert_eq!(
            (request.status, grants.len()),
            (expected, usize::from(step > 0)),
            "step {step}"
        );
        let left = files(folder.path());
        assert!(
            !left.contains_key("change.json") && !left.contains_key(".tmpA1b2C3"),
            "step {step}"
        );
    }
}

#[tokio::test]
async fn a_change_that_names_a_file_of_another_person_s_is_not_carried_out() {
    let fixture = fixture();
    fixture.file(reader("cap_a"), "capsule:read").await;
    let (folder, time, audit) =
        (fixture.path(), Arc::clone(&fixture.time), Arc::clone(&fixture.audit));
    let Fixture { registry, folder: kept, .. } = fixture;
    drop(registry);
    fs::write(folder.join("change.json"), r#"{"form":1,"files":{"../outside":"x"}}"#).unwrap();
    let error = open(folder, &time, &audit, RegistryOptions::default()).unwrap_err();
    assert!(error.to_string().contains("no file of a registry"), "{error}");
    assert!(!kept.path().join("outside").exists());
}

#[tokio::test]
async fn a_change_that_cannot_be_written_is_not_in_force() {
    let fixture = fixture();
    let filed = fixture.file(reader("cap_a"), "capsule:read").await;
    // A folder where the journal is to be written cannot be replaced by a file.
    fs::create_dir(fixture.path().join("change.json")).unwrap();
    let approve = capdeck_auth::inbound::RequestDecision::Approve(Default::default());
    let admin = crate::inbound_support::admin();
    let registry = &fixture.registry;
    let failed =
        registry.grants().decide(&caller("admin"), &admin, &filed.id, approve).await.unwrap_err();
    assert_eq!(failed.code(), "storage_failed");
    assert_eq!(registry.grants().request(&filed.id).unwrap().status, RequestStatus::Pending);
    let events = fixture.audit.take_events();
    assert_eq!(
        events.last().map(|event| (event.error_code, event.is_refused)),
        Some((Some("storage_failed"), false))
    );
}

#[tokio::test]
async fn using_a_token_writes_nothing_until_something_changes_or_ends() {
    let fixture = fixture();
    let token = connected(&fixture).await;
    let before = files(&fixture.path());
    fixture.pass(Duration::from_secs(60));
    let id = fixture.registry.authenticate(&token).unwrap().credential.clone();
    assert_eq!(files(&fixture.path()), before);
    assert_eq!(
        fixture.registry.tokens().credential(&id).unwrap().last_used_at.get(),
        Some(fixture.now())
    );
    fixture.registry.save_last_used().await.unwrap();
    let fixture = fixture.reopen();
    assert_eq!(
        fixture.registry.tokens().credential(&id).unwrap().last_used_at.get(),
        Some(fixture.now())
    );
}

#[tokio::test]
async fn no_one_fills_the_disk_by_asking() {
    let limits = RegistryLimits {
        pending_requests: 4,
        pending_requests_of_client: 3,
        past_requests: 2,
        ..RegistryLimits::default()
    };
    let fixture = fixture_with(RegistryOptions { limits, ..RegistryOptions::default() });
    let registry = &fixture.registry;
    let file = async |capsule: &str| {
        registry.grants().file_request(&caller("x"), request(reader(capsule), "capsule:read")).await
    };
    for capsule in ["cap_a", "cap_b", "cap_c", "cap_c"] {
        file(capsule).await.unwrap();
    }
    assert_eq!(file("cap_d").await.unwrap_err().code(), "limit_reached");
    fixture.pass(Duration::from_secs(7 * 24 * 3600));
    assert_eq!(file("cap_d").await.unwrap().status, RequestStatus::Pending);
    let all = registry.grants().requests(&Default::default(), &Default::default()).unwrap();
    let expired = all.items.iter().filter(|one| one.status == RequestStatus::Expired).count();
    assert_eq!((all.items.len(), expired), (3, 2));
}

#[tokio::test]
async fn changes_are_reported_as_they_happen_even_when_no_one_waits_for_the_answer() {
    let fixture = fixture();
    let mut changes = fixture.registry.changes();
    let registry = fixture.registry.clone();
    // The future is dropped as soon as the change was begun.
    let (caller, new) = (caller("x"), request(reader("cap_a"), "capsule:read"));
    let mut filing = Box::pin(registry.grants().file_request(&caller, new));
    assert!(futures_poll(&mut filing).await);
    drop(filing);
    let event = changes.recv().await.unwrap();
    assert_eq!((event.action, event.error_code), ("grant.request", None));
    assert!(registry.grants().request(&event.subject.id.unwrap()).is_some());
}

/// Polls a future once; true when it waits.
async fn futures_poll<F: Future>(future: &mut std::pin::Pin<Box<F>>) -> bool {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(future.as_mut().poll(context).is_pending())
    })
    .await
}

use std::fs;

use super::*;

fn call() -> ApprovalRequest {
    ApprovalRequest {
        carries: None,
        capability: "fs".to_owned(),
        fingerprint: "f1".to_owned(),
        tool: "delete".to_owned(),
        definition: Some("d1".to_owned()),
        arguments_digest: "a1".to_owned(),
        arguments: r#"{"path":"x"}"#.to_owned(),
        client: "agent".to_owned(),
        principal: "local".to_owned(),
    }
}

fn store() -> (tempfile::TempDir, ApprovalStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = ApprovalStore::new(folder.path());
    (folder, store)
}

fn at(minutes: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_mins(1_000_000 + minutes)
}

#[test]
fn an_approved_call_runs_once_and_within_ten_minutes() {
    let (_folder, store) = store();
    assert_eq!(store.use_approval(&call(), at(0)).unwrap(), None);
    let waiting = store.request(&call(), at(0)).unwrap();
    assert_eq!(waiting.state, ApprovalState::Waiting);
    assert_eq!(store.request(&call(), at(1)).unwrap().id, waiting.id);
    assert_eq!(store.use_approval(&call(), at(1)).unwrap(), None);

    store.approve(&waiting.id, ApprovalDuration::Once, at(2)).unwrap();
    assert_eq!(store.use_approval(&call(), at(3)).unwrap(), Some(ApprovalDuration::Once));
    assert_eq!(store.use_approval(&call(), at(3)).unwrap(), None);

    let again = store.request(&call(), at(4)).unwrap();
    store.approve(&again.id, ApprovalDuration::Once, at(5)).unwrap();
    assert_eq!(store.use_approval(&call(), at(15)).unwrap(), None);
}

#[test]
fn a_call_waits_one_hour() {
    let (_folder, store) = store();
    let waiting = store.request(&call(), at(0)).unwrap();
    assert_eq!(store.list(at(59)).unwrap().len(), 1);
    assert_eq!(store.list(at(60)).unwrap(), []);
    let late = store.approve(&waiting.id, ApprovalDuration::Once, at(60)).unwrap_err();
    assert!(matches!(late, ApprovalError::Unknown { .. }), "{late}");
}

#[test]
fn an_approval_is_for_one_call_of_one_client() {
    let (_folder, store) = store();
    let waiting = store.request(&call(), at(0)).unwrap();
    store.approve(&waiting.id, ApprovalDuration::Once, at(0)).unwrap();
    for other in [
        ApprovalRequest { capability: "other".to_owned(), ..call() },
        ApprovalRequest { fingerprint: "f2".to_owned(), ..call() },
        ApprovalRequest { tool: "other".to_owned(), ..call() },
        ApprovalRequest { definition: Some("d2".to_owned()), ..call() },
        ApprovalRequest { definition: None, ..call() },
        ApprovalRequest { arguments_digest: "a2".to_owned(), ..call() },
        ApprovalRequest { client: "other".to_owned(), ..call() },
        ApprovalRequest { principal: "other".to_owned(), ..call() },
    ] {
        assert_eq!(store.use_approval(&other, at(1)).unwrap(), None, "{other:?}");
    }
    assert_eq!(store.use_approval(&call(), at(1)).unwrap(), Some(ApprovalDuration::Once));
}

#[test]
fn a_standing_approval_holds_for_the_tool_as_it_is_until_taken_back() {
    let (_folder, store) = store();
    let waiting = store.request(&call(), at(0)).unwrap();
    store.approve(&waiting.id, ApprovalDuration::Always, at(0)).unwrap();
    let other = ApprovalRequest {
        arguments_digest: "a2".to_owned(),
        principal: "other".to_owned(),
        ..call()
    };
    let much_later = at(60 * 24 * 365);
    assert_eq!(store.use_approval(&other, much_later).unwrap(), Some(ApprovalDuration::Always));
    let changed = ApprovalRequest { definition: Some("d2".to_owned()), ..call() };
    assert_eq!(store.use_approval(&changed, at(1)).unwrap(), None);
    let unknown = ApprovalRequest { definition: None, ..call() };
    assert_eq!(store.use_approval(&unknown, at(1)).unwrap(), None);

    let listed = store.list(much_later).unwrap();
    assert_eq!((listed[0].state, listed[0].arguments.as_str()), (ApprovalState::Standing, ""));
    store.revoke(&waiting.id, much_later).unwrap();
    assert_eq!(store.use_approval(&other, much_later).unwrap(), None);
}

#[test]
fn a_tool_no_one_knows_is_not_approved_for_good() {
    let (_folder, store) = store();
    let unknown = ApprovalRequest { definition: None, ..call() };
    let waiting = store.request(&unknown, at(0)).unwrap();
    let refused = store.approve(&waiting.id, ApprovalDuration::Always, at(0)).unwrap_err();
    assert!(matches!(refused, ApprovalError::NoDefinition { .. }), "{refused}");
    store.remember(&unknown, at(0)).unwrap();
    assert_eq!(store.use_approval(&unknown, at(0)).unwrap(), None);
}

#[test]
fn what_was_edited_opens_nothing() {
    let (folder, store) = store();
    let path = folder.path().join("approvals/calls.json");
    let approve_by_hand = |text: &str| {
        text.replace("\"approvedAt\": null", &format!("\"approvedAt\": \"{}\"", at(1)))
    };
    let stand_by_hand = |text: &str| text.replace("\"isStanding\": false", "\"isStanding\": true");
    type Edit<'a> = &'a dyn Fn(&str) -> String;
    let edits: [(&str, Edit<'_>); 3] = [
        ("approved", &approve_by_hand),
        ("standing", &|text| stand_by_hand(&approve_by_hand(text))),
        ("unsealed", &|text| {
            let text = approve_by_hand(text);
            text.lines()
                .filter(|line| !line.contains("\"seal\""))
                .collect::<String>()
                .replace("false,", "false")
        }),
    ];
    for (name, edit) in edits {
        store.request(&call(), at(0)).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let edited = edit(&text);
        assert_ne!(edited, text, "{name}");
        fs::write(&path, edited).unwrap();
        assert_eq!(store.use_approval(&call(), at(2)).unwrap(), None, "{name}");
        assert_eq!(store.list(at(2)).unwrap(), [], "{name}");
    }
    // A valid approval cannot be turned into another one.
    for (from, to) in [("\"a1\"", "\"a2\""), ("\"agent\"", "\"other\""), ("\"delete\"", "\"drop\"")]
    {
        let waiting = store.request(&call(), at(0)).unwrap();
        store.approve(&waiting.id, ApprovalDuration::Once, at(0)).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace(from, to)).unwrap();
        let other = ApprovalRequest {
            arguments_digest: "a1".replace("a1", to.trim_matches('"')),
            ..call()
        };
        assert_eq!(store.use_approval(&other, at(1)).unwrap(), None, "{to}");
        assert_eq!(store.use_approval(&call(), at(1)).unwrap(), None, "{to}");
    }
}

#[test]
fn an_unreadable_file_opens_nothing_and_is_named() {
    let (folder, store) = store();
    fs::create_dir_all(folder.path().join("approvals")).unwrap();
    fs::write(folder.path().join("approvals/calls.json"), "{ nope").unwrap();
    let error = store.use_approval(&call(), at(0)).unwrap_err();
    assert!(error.to_string().contains("calls.json"), "{error}");
}

#[test]
fn few_calls_wait_and_the_newest_are_kept() {
    let (_folder, store) = store();
    let standing = ApprovalRequest { tool: "kept".to_owned(), ..call() };
    store.remember(&standing, at(0)).unwrap();
    for number in 0..MAX_PENDING_REQUESTS + 5 {
        let asked = ApprovalRequest { arguments_digest: number.to_string(), ..call() };
        store.request(&asked, at(1)).unwrap();
    }
    let waiting: Vec<_> = store.list(at(2)).unwrap();
    assert_eq!(waiting.len(), MAX_PENDING_REQUESTS + 1);
    assert_eq!(store.use_approval(&standing, at(2)).unwrap(), Some(ApprovalDuration::Always));
    let oldest = ApprovalRequest { arguments_digest: "0".to_owned(), ..call() };
    let newest =
        ApprovalRequest { arguments_digest: (MAX_PENDING_REQUESTS + 4).to_string(), ..call() };
    let known: Vec<String> = waiting.into_iter().map(|one| one.id).collect();
    assert!(known.contains(&store.request(&newest, at(2)).unwrap().id));
    assert!(!known.contains(&store.request(&oldest, at(2)).unwrap().id));
}

#[test]
fn one_approval_serves_one_of_many_callers() {
    let (_folder, store) = store();
    let waiting = store.request(&call(), at(0)).unwrap();
    store.approve(&waiting.id, ApprovalDuration::Once, at(0)).unwrap();
    let admitted: usize = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| store.use_approval(&call(), at(1)).unwrap().is_some()))
            .collect();
        callers.into_iter().map(|caller| usize::from(caller.join().unwrap())).sum()
    });
    assert_eq!(admitted, 1);
}

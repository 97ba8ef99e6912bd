use std::{
    fs,
    sync::Arc,
    sync::atomic::{AtomicI64, Ordering},
};

use super::*;

fn record(action: &'static str) -> AuditRecord {
    AuditRecord {
        author: Arc::new(Author::client("tester").version("1").principal("prn_1")),
        action: action.into(),
        role: Some(Role::Reader),
        uri: EntryUri::parse("docs://a").ok(),
        version: Some(3),
        ..AuditRecord::default()
    }
}

fn log(folder: &std::path::Path, clock: Clock) -> AuditLog {
    AuditLog::open(folder.to_owned(), "", AuditMode::Lenient, clock).unwrap()
}

#[test]
fn the_chain_goes_on_after_a_restart_and_over_days() {
    let folder = tempfile::tempdir().unwrap();
    let seconds = Arc::new(AtomicI64::new(1_800_000_000));
    let clock = {
        let seconds = Arc::clone(&seconds);
        Clock::from_fn(move || Timestamp::from_second(seconds.load(Ordering::Relaxed)).unwrap())
    };
    // The last step goes back two days: the lines stay in order, in the newest file.
    for step in [0, 10, 86_400, 86_400, -172_800] {
        seconds.fetch_add(step, Ordering::Relaxed);
        log(folder.path(), clock.clone()).append(record("read")).unwrap();
    }
    let report = verify_audit(folder.path(), "").unwrap();
    assert_eq!((report.lines, report.last_seq, report.problems.len()), (5, Some(5), 0));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    let seqs: Vec<u64> =
        tail_audit(folder.path(), "", 3).unwrap().iter().map(|line| line.seq).collect();
    assert_eq!(seqs, [3, 4, 5]);
}

#[test]
fn every_change_to_the_trail_shows() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(folder.path(), Clock::default());
    for action in ["read", "write.create", "search", "delete"] {
        log.append(record(action)).unwrap();
    }
    let path = day_file::days(folder.path(), "").unwrap().remove(0).1;
    let good = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    let broken = |text: String| {
        fs::write(&path, text).unwrap();
        !verify_audit(folder.path(), "").unwrap().problems.is_empty()
    };
    assert!(!broken(good.clone()));
    assert!(broken(good.replace("search", "listed")));
    assert!(broken(format!("{}\n{}\n{}\n", lines[0], lines[1], lines[3])));
    assert!(broken(format!("{}\n{}\n{}\n{}\n", lines[0], lines[2], lines[1], lines[3])));
    assert!(broken(format!("{good}{}\n", lines[3])));
    assert!(broken(format!("{good}garbage\n")));
    // Older lines may be taken away with their file; what is left must hang together.
    assert!(!broken(format!("{}\n{}\n", lines[2], lines[3])));
}

#[test]
fn lines_are_found_by_what_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(folder.path(), Clock::default());
    for action in ["read", "write.create", "write.patch", "writer"] {
        log.append(record(action)).unwrap();
    }
    let found = |query: AuditQuery| query_audit(folder.path(), "", &query, 10).unwrap().len();
    assert_eq!(found(AuditQuery { action: Some("write".to_owned()), ..AuditQuery::default() }), 2);
    assert_eq!(found(AuditQuery { agent: Some("tester".to_owned()), ..AuditQuery::default() }), 4);
    assert_eq!(found(AuditQuery { agent: Some("other".to_owned()), ..AuditQuery::default() }), 0);
    assert_eq!(
        found(AuditQuery { prefix: Prefix::parse("docs://").ok(), ..AuditQuery::default() }),
        4
    );
    assert_eq!(
        found(AuditQuery { prefix: Prefix::parse("notes://").ok(), ..AuditQuery::default() }),
        0
    );
    assert_eq!(found(AuditQuery { after_seq: Some(3), ..AuditQuery::default() }), 1);
}

#[test]
fn a_line_that_cannot_be_written_is_written_later() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs");
    fs::create_dir(&logs).unwrap();
    let log = log(&logs, Clock::default());
    fs::remove_dir(&logs).unwrap();
    assert!(log.append(record("read")).is_err());
    assert!(log.settle().is_err());
    fs::create_dir(&logs).unwrap();
    log.append(record("search")).unwrap();
    let actions: Vec<String> =
        tail_audit(&logs, "", 9).unwrap().into_iter().map(|line| line.action).collect();
    assert_eq!(actions, ["read", "search"]);
    assert!(verify_audit(&logs, "").unwrap().problems.is_empty());
}

use crate::Prefix;

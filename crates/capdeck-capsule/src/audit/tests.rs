use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    sync::atomic::{AtomicI64, Ordering},
};

use capdeck_storage::WallClock;
use jiff::Timestamp;

use super::*;
use crate::{CapsuleAuthor, EntryUri, Role, day_file, service::AuditFilter};

fn record(action: &'static str) -> AuditLogLine {
    let author = CapsuleAuthor::client("tester").version("1").principal("prn_1");
    AuditLogLine {
        role: Some(Role::Reader),
        uri: EntryUri::parse("docs://a").ok(),
        version: Some(3),
        ..AuditLogLine::new(&author, action)
    }
}

/// The folder of a log, which has its head beside it.
struct Folder {
    top: tempfile::TempDir,
    logs: PathBuf,
}

impl Folder {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let logs = top.path().join("logs");
        fs::create_dir(&logs).unwrap();
        Self { top, logs }
    }

    fn path(&self) -> &Path {
        &self.logs
    }

    fn problems(&self) -> Vec<String> {
        let report = verify_audit(&self.logs, "").unwrap();
        report.problems.into_iter().map(|problem| problem.what).collect()
    }
}

fn log(folder: &Path, clock: WallClock) -> ChainedAuditLog {
    let options = StoreOptions { clock, ..StoreOptions::default() };
    ChainedAuditLog::open(folder.to_owned(), "", &options).unwrap()
}

#[test]
fn the_chain_goes_on_after_a_restart_and_over_days() {
    let folder = Folder::new();
    let seconds = Arc::new(AtomicI64::new(1_800_000_000));
    let clock = {
        let seconds = Arc::clone(&seconds);
        WallClock::from_fn(move || Timestamp::from_second(seconds.load(Ordering::Relaxed)).unwrap())
    };
    // The last step goes back two days: the lines stay in order, in the newest file.
    for step in [0, 10, 86_400, 86_400, -172_800] {
        seconds.fetch_add(step, Ordering::Relaxed);
        log(folder.path(), clock.clone()).append(record("read")).unwrap();
    }
    let report = verify_audit(folder.path(), "").unwrap();
    assert_eq!((report.lines, report.last_seq, report.problems.len()), (5, Some(5), 0));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    let seqs: Vec<u64> = query_audit(folder.path(), "", &AuditFilter::default(), 3)
        .unwrap()
        .iter()
        .map(|line| line.seq)
        .collect();
    assert_eq!(seqs, [3, 4, 5]);
}

#[test]
fn every_change_to_the_trail_shows() {
    let folder = Folder::new();
    let log = log(folder.path(), WallClock::default());
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
    // Cut at either end.
    assert!(broken(format!("{}\n{}\n", lines[2], lines[3])));
    assert!(broken(format!("{}\n{}\n", lines[0], lines[1])));
    assert!(broken(String::new()));
    assert!(!broken(good.clone()));
}

#[test]
fn lines_are_found_by_what_they_say() {
    let folder = Folder::new();
    let log = log(folder.path(), WallClock::default());
    for action in ["read", "write.create", "write.patch", "writer"] {
        log.append(record(action)).unwrap();
    }
    let found = |query: AuditFilter| query_audit(folder.path(), "", &query, 10).unwrap().len();
    assert_eq!(
        found(AuditFilter { action: Some("write".to_owned()), ..AuditFilter::default() }),
        2
    );
    assert_eq!(
        found(AuditFilter { agent: Some("tester".to_owned()), ..AuditFilter::default() }),
        4
    );
    assert_eq!(found(AuditFilter { agent: Some("other".to_owned()), ..AuditFilter::default() }), 0);
    assert_eq!(
        found(AuditFilter { prefix: Some("docs://".to_owned()), ..AuditFilter::default() }),
        4
    );
    assert_eq!(
        found(AuditFilter { prefix: Some("notes://".to_owned()), ..AuditFilter::default() }),
        0
    );
    assert_eq!(found(AuditFilter { after_seq: Some(3), ..AuditFilter::default() }), 1);
}

#[test]
fn a_line_that_cannot_be_written_is_written_later() {
    let folder = Folder::new();
    let logs = folder.logs.clone();
    let log = log(&logs, WallClock::default());
    fs::remove_dir(&logs).unwrap();
    assert!(log.append(record("read")).is_err());
    assert!(log.write_pending().is_err());
    fs::create_dir(&logs).unwrap();
    log.append(record("search")).unwrap();
    let actions: Vec<String> = query_audit(&logs, "", &AuditFilter::default(), 9)
        .unwrap()
        .into_iter()
        .map(|line| line.action)
        .collect();
    assert_eq!(actions, ["read", "search"]);
    assert!(verify_audit(&logs, "").unwrap().problems.is_empty());
}

/// Three days with two lines each.
fn three_days(folder: &Folder, action: &'static str) -> Vec<PathBuf> {
    for day in ["2026-04-20", "2026-04-21", "2026-04-22"] {
        let now: Timestamp = format!("{day}T10:00:00Z").parse().unwrap();
        let log = log(folder.path(), WallClock::from_fn(move || now));
        log.append(record(action)).unwrap();
        log.append(record("search")).unwrap();
    }
    day_file::days(folder.path(), "").unwrap().into_iter().map(|(_, path)| path).collect()
}

#[test]
fn a_log_that_was_cut_emptied_or_removed_is_named() {
    let cut = |keep: fn(&str) -> String| {
        move |path: &PathBuf| fs::write(path, keep(&fs::read_to_string(path).unwrap())).unwrap()
    };
    let first_line = cut(|text| format!("{}\n", text.lines().next().unwrap()));
    let last_line = cut(|text| format!("{}\n", text.lines().last().unwrap()));
    let nothing = cut(|_| String::new());
    let gone = |path: &PathBuf| fs::remove_file(path).unwrap();
    type Damage<'a> = &'a dyn Fn(&[PathBuf]);
    let cases: [(Damage<'_>, &str); 7] = [
        (&|days| first_line(&days[2]), "the log was cut at its end: lines 6 to 6 are missing"),
        (&|days| gone(&days[2]), "the log was cut at its end: lines 5 to 6 are missing"),
        (&|days| last_line(&days[0]), "the log was cut at its beginning: lines 1 to 1 are missing"),
        (&|days| gone(&days[0]), "the log was cut at its beginning: lines 1 to 2 are missing"),
        (&|days| gone(&days[1]), "its number is 5, expected 3: lines are missing or were added"),
        (
            &|days| days.iter().for_each(&nothing),
            "the log was emptied or removed: lines 1 to 6 are missing",
        ),
        (
            &|days| days.iter().for_each(gone),
            "the log was emptied or removed: lines 1 to 6 are missing",
        ),
    ];
    for (damage, expected) in cases {
        let folder = Folder::new();
        let days = three_days(&folder, "read");
        assert_eq!(folder.problems(), Vec::<String>::new());
        damage(&days);
        assert_eq!(folder.problems(), [expected]);
        // The next process does not hide it by going on.
        log(folder.path(), WallClock::default()).append(record("read")).unwrap();
        assert!(!folder.problems().is_empty(), "{expected}");
        let again = log(folder.path(), WallClock::default());
        again.append(record("read")).unwrap();
        assert!(!folder.problems().is_empty(), "{expected}");
    }
}

#[test]
fn another_log_in_its_place_is_named() {
    let (folder, other) = (Folder::new(), Folder::new());
    three_days(&folder, "read");
    three_days(&other, "list");
    for (_, path) in day_file::days(other.path(), "").unwrap() {
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    assert_eq!(folder.problems(), ["line 6 of the log is not the one that was written"]);
    // Going on with it does not hide it.
    log(folder.path(), WallClock::default()).append(record("read")).unwrap();
    assert!(!folder.problems().is_empty());
}

#[test]
fn a_process_that_ends_before_it_wrote_the_head_raises_no_alarm() {
    let folder = Folder::new();
    let head = folder.top.path().join("audit-head.json");
    three_days(&folder, "read");
    let before = fs::read(&head).unwrap();
    for action in ["read", "search", "delete"] {
        log(folder.path(), WallClock::default()).append(record(action)).unwrap();
        let newest = fs::read(&head).unwrap();
        fs::write(&head, &before).unwrap();
        assert_eq!(folder.problems(), Vec::<String>::new(), "{action}");
        log(folder.path(), WallClock::default()).append(record("read")).unwrap();
        assert_eq!(folder.problems(), Vec::<String>::new(), "{action}");
        assert_ne!(newest, before);
    }
    // A log from before there were heads.
    fs::remove_file(&head).unwrap();
    log(folder.path(), WallClock::default()).append(record("read")).unwrap();
    assert_eq!(folder.problems(), Vec::<String>::new());
    assert!(head.exists());
}

#[test]
fn a_machine_that_went_down_may_lose_lines_that_were_not_synced() {
    let folder = Folder::new();
    let days = three_days(&folder, "read");
    let head = folder.top.path().join("audit-head.json");
    let text = fs::read_to_string(&days[2]).unwrap();
    fs::write(&days[2], format!("{}\n", text.lines().next().unwrap())).unwrap();
    let boot = crate::machine::boot_id().unwrap_or_default();
    let said = fs::read_to_string(&head).unwrap();
    let other_boot = said.replace(&boot, &"0".repeat(boot.len()));
    fs::write(&head, &other_boot).unwrap();
    drop(log(folder.path(), WallClock::default()));
    assert_eq!(folder.problems(), Vec::<String>::new());
    let last = query_audit(folder.path(), "", &AuditFilter::default(), 1).unwrap().remove(0);
    assert_eq!(
        (last.action.as_str(), last.subject.as_deref(), last.seq),
        ("audit.lost", Some("1 lines"), 6)
    );
    // What the disk had for sure was cut by hand.
    let newest = day_file::days(folder.path(), "").unwrap().pop().unwrap().1;
    fs::remove_file(newest).unwrap();
    fs::write(&head, other_boot.replace("\"synced\":0", "\"synced\":6")).unwrap();
    drop(log(folder.path(), WallClock::default()));
    assert_eq!(folder.problems(), ["the log was cut at its end: lines 6 to 6 are missing"]);
}

#[test]
fn pruned_days_are_not_missed() {
    let folder = Folder::new();
    three_days(&folder, "read");
    let chain = log(folder.path(), WallClock::default());
    let pruned = chain.prune("2026-04-22".parse().unwrap()).unwrap();
    assert_eq!(pruned, PrunedLines { files: 2, lines: 4 });
    assert_eq!(folder.problems(), Vec::<String>::new());
    // The newest file stays, however old it is.
    assert_eq!(chain.prune("2030-01-01".parse().unwrap()).unwrap(), PrunedLines::default());
    chain.append(record("read")).unwrap();
    drop(chain);
    log(folder.path(), WallClock::default()).append(record("read")).unwrap();
    assert_eq!(folder.problems(), Vec::<String>::new());
    assert_eq!(verify_audit(folder.path(), "").unwrap().first_seq, Some(5));
}

#[test]
fn lines_of_changes_are_recovered_once() {
    let folder = Folder::new();
    let change = |id: &str, seq| AuditLogLine {
        change_id: Some(id.to_owned()),
        seq,
        ..record("write.create")
    };
    let chain = log(folder.path(), WallClock::default());
    chain.append(record("read")).unwrap();
    let disk = StoreDisk::new(folder.top.path().join("tmp"), WriteDurability::Cached);
    chain.append_changes(vec![change("one", 1), change("two", 1)], &disk).unwrap();
    assert_eq!(chain.recover(vec![change("two", 1), change("three", 2)]).unwrap(), 1);
    assert_eq!(chain.recover(vec![change("two", 1), change("three", 2)]).unwrap(), 0);
    let lines = query_audit(folder.path(), "", &AuditFilter::default(), 9).unwrap();
    let ids: Vec<_> = lines.iter().map(|line| line.change_id.as_deref()).collect();
    assert_eq!(ids, [None, Some("one"), Some("two"), Some("three")]);
    let recovered: Vec<bool> = lines.iter().map(|line| line.recovered_at.is_some()).collect();
    assert_eq!(recovered, [false, false, false, true]);
    assert_eq!(lines[3].ts, Timestamp::UNIX_EPOCH);
    assert_eq!(folder.problems(), Vec::<String>::new());
}

//! A process that writes is killed at random moments, again and again (conformance list, item 1). What was confirmed is
//! there, every version has its audit line and its signal, once, and the audit raises no alarm.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use capdeck_capsule::{
    AuditFilter, AuditOutcome, CapsuleAccess, CapsuleAuthor, CapsuleRegistry, ListQuery,
    PollSignalsRequest, query_audit,
};

use crate::{
    session::TestSession,
    stage::{options, uri},
};

/// Kills in an ordinary run. `CAPDECK_CRASH_KILLS` sets another number; a thousand take some minutes.
const KILLS: u64 = 20;
/// A new folder begins after so many kills, so that checking it all does not take ever longer.
const KILLS_PER_FOLDER: usize = 25;

/// How much is compared.
#[derive(PartialEq)]
enum Depth {
    /// The last confirmed version of each entry; the verification reads the rest.
    Latest,
    /// Every confirmed version and its signal.
    Everything,
}

/// What the killed writers said was done: the highest confirmed version of each entry with every body confirmed.
#[derive(Default)]
struct Confirmed {
    /// Bodies by address and version.
    writes: BTreeMap<String, BTreeMap<u64, String>>,
    deletes: BTreeMap<String, u64>,
    /// Each key is one writer's, and its numbers grow.
    memory: BTreeMap<String, u64>,
    memory_count: usize,
    count: usize,
}

#[test]
fn spec_26_1_a_killed_writer_leaves_old_or_new_and_loses_nothing_confirmed() {
    kill_writers("lenient");
}

/// Where recording is required, a write is confirmed only when its line lasts.
#[test]
fn a_killed_writer_leaves_a_line_for_every_write_where_recording_is_required() {
    kill_writers("strict");
}

fn kill_writers(audit: &str) {
    #[expect(clippy::disallowed_methods, reason = "tests choose their length by the environment")]
    let wanted = std::env::var("CAPDECK_CRASH_KILLS").ok();
    let kills: u64 = wanted.map_or(KILLS, |number| number.parse().unwrap());
    let mut random = u64::from(std::process::id()) | 1;
    let mut count = 0;
    for first in (0..kills).step_by(KILLS_PER_FOLDER) {
        let folder = tempfile::tempdir().unwrap();
        let mut confirmed = Confirmed::default();
        for round in first..kills.min(first + KILLS_PER_FOLDER as u64) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            run_and_kill(folder.path(), round, audit, random, &mut confirmed);
            if audit == "strict" {
                // As they are, before the next process could write lines from the journal.
                confirmed.check_lines(&lines_of(folder.path()));
            }
            check(folder.path(), &confirmed, Depth::Latest);
        }
        check(folder.path(), &confirmed, Depth::Everything);
        count += confirmed.count;
    }
    assert!(count > kills as usize, "the writers hardly wrote: {count}");
}

/// Lets a writer run for a random number of confirmed writes and a little more, then kills it.
fn run_and_kill(folder: &Path, round: u64, audit: &str, random: u64, confirmed: &mut Confirmed) {
    let mut writer = start(folder, round, audit);
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(
        lines.next().as_deref(),
        Some("ready"),
        "the writer did not start: {:?}",
        writer.wait()
    );
    for line in lines.by_ref().take((random % 24) as usize) {
        confirmed.note(&line);
    }
    // Not right after a confirmation, but anywhere in what comes next.
    for _ in 0..(random >> 8) % 400_000 {
        std::hint::spin_loop();
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
    // What it had said before it was killed is still in the pipe.
    lines.for_each(|line| confirmed.note(&line));
}

/// Files may grow to a few kilobytes only, so sooner or later a write fails, at any step of the writer.
#[test]
fn a_disk_that_takes_no_more_loses_nothing_confirmed() {
    let folder = tempfile::tempdir().unwrap();
    let mut confirmed = Confirmed::default();
    for round in 0..3 {
        let mut command = Command::new("sh");
        // Without its signal the limit is an error of the write.
        command.args(["-c", "trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"", "sh"]);
        command
            .arg((8 * (round + 1)).to_string())
            .arg(program())
            .arg(folder.path())
            .arg(round.to_string())
            .arg("lenient");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut writer = command.spawn().unwrap();
        // What it complains of is read beside, so that a long complaint cannot fill the pipe and hold it up.
        let errors = writer.stderr.take().unwrap();
        let reported = std::thread::spawn(|| std::io::read_to_string(errors).unwrap());
        let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert_eq!(lines.next().as_deref(), Some("ready"));
        lines.for_each(|line| confirmed.note(&line));
        let status = writer.wait().unwrap();
        let reported = reported.join().unwrap();
        assert!(!status.success() && reported.contains("File too large"), "{reported}");
        check(folder.path(), &confirmed, Depth::Everything);
    }
    assert!(confirmed.count > 0);
}

fn start(folder: &Path, seed: u64, audit: &str) -> Child {
    let mut command = Command::new(program());
    command
        .arg(folder)
        .arg(seed.to_string())
        .arg(audit)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command.spawn().unwrap()
}

/// Cargo builds examples along with the tests, into the folder beside `deps`.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().with_file_name("examples").join("capsule_writer");
    assert!(path.exists(), "`{}` is missing; run `cargo build --examples`", path.display());
    path
}

impl Confirmed {
    fn note(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["write", address, version, body] => {
                let versions = self.writes.entry((*address).to_owned()).or_default();
                let before = versions.insert(version.parse().unwrap(), (*body).to_owned());
                assert!(before.is_none(), "a version was confirmed twice: {line}");
            }
            ["delete", address, version] => {
                let last = self.deletes.entry((*address).to_owned()).or_default();
                *last = (*last).max(version.parse().unwrap());
            }
            ["memory", key, value] => {
                self.memory.insert((*key).to_owned(), value.parse().unwrap());
                self.memory_count += 1;
            }
            other => panic!("{other:?}"),
        }
        self.count += 1;
    }
}

/// What the audit says was done: how often each change of each version, and how many memories were set.
struct Lines {
    changes: BTreeMap<(String, String, u64), usize>,
    memories: usize,
}

/// The lines of the capsule as they are in its files now.
fn lines_of(folder: &Path) -> Lines {
    let logs = folder.join("boxes/crash/.capsol/logs");
    let query = AuditFilter { outcome: Some(AuditOutcome::Ok), ..AuditFilter::default() };
    let mut lines = Lines { changes: BTreeMap::new(), memories: 0 };
    for line in query_audit(&logs, "", &query, usize::MAX).unwrap() {
        match (line.action.as_str(), line.uri, line.version) {
            (action @ ("write.replace" | "delete"), Some(uri), Some(version)) => {
                let change = (action.to_owned(), uri.to_string(), version);
                *lines.changes.entry(change).or_default() += 1;
            }
            ("memory.set", None, None) => lines.memories += 1,
            ("write.replace" | "delete" | "memory.set", uri, version) => {
                panic!("a line says too little: {} {uri:?} {version:?}", line.action)
            }
            _ => {}
        }
    }
    lines
}

impl Confirmed {
    /// Every confirmed change has its line.
    fn check_lines(&self, lines: &Lines) {
        let line = |action: &str, address: &str, version: u64| {
            let change = (action.to_owned(), address.to_owned(), version);
            assert!(lines.changes.contains_key(&change), "no line of {change:?}");
        };
        for (address, versions) in &self.writes {
            versions.keys().for_each(|version| line("write.replace", address, *version));
        }
        for (address, version) in &self.deletes {
            line("delete", address, *version);
        }
        assert!(lines.memories >= self.memory_count, "{} lines of memories", lines.memories);
    }
}

/// Every version that there is has one line, whether or not it was confirmed, and there is no line of another one.
async fn check_each_version(session: &TestSession, lines: &Lines) {
    let mut kept = BTreeMap::new();
    let listed = ListQuery { limit: 200, ..ListQuery::default() };
    let current = session.list(listed).await.unwrap().entries.into_iter();
    kept.extend(current.map(|meta| (meta.uri.to_string(), meta.version)));
    let deleted = session.deleted().await.unwrap().into_iter();
    kept.extend(deleted.map(|gone| (gone.uri.to_string(), gone.version)));
    let mut expected: BTreeMap<(String, u64), usize> = BTreeMap::new();
    for (address, last) in kept {
        expected.extend((1..=last).map(|version| ((address.clone(), version), 1)));
    }
    let of = |wanted: &str| -> BTreeMap<(String, u64), usize> {
        let changes = lines.changes.iter().filter(|((action, ..), _)| action == wanted);
        changes.map(|((_, uri, version), count)| ((uri.clone(), *version), *count)).collect()
    };
    assert_eq!(of("write.replace"), expected);
    assert!(of("delete").values().all(|count| *count == 1), "{:?}", of("delete"));
}

/// Opens the folder as the next process would and compares it with what was confirmed.
#[tokio::main(flavor = "current_thread")]
async fn check(folder: &Path, confirmed: &Confirmed, depth: Depth) {
    let capsules = CapsuleRegistry::open(folder, options()).await.unwrap();
    let author = CapsuleAuthor::client("writer");
    let session =
        capsules.handle("crash", author, CapsuleAccess::owner()).await.map(TestSession).unwrap();
    let store = capsules.store("crash").await.unwrap();
    // The audit is part of it: a process that was killed raises no alarm.
    let report = store.verify().await.unwrap();
    assert!(report.is_clean(), "{report:#?}");
    assert_eq!(report.remarks, []);
    let lines = lines_of(folder);
    confirmed.check_lines(&lines);
    check_each_version(&session, &lines).await;
    let root = capsules.root("crash").unwrap();
    assert_eq!(fs::read_dir(root.join("tmp")).unwrap().count(), 0, "a temporary file was left");
    let listed =
        session.list(ListQuery { limit: 200, ..ListQuery::default() }).await.unwrap().entries;
    let current: BTreeMap<String, u64> =
        listed.iter().map(|meta| (meta.uri.to_string(), meta.version)).collect();
    for (address, versions) in &confirmed.writes {
        let deleted = confirmed.deletes.get(address).copied().unwrap_or_default();
        let (last, _) = versions.last_key_value().unwrap();
        match current.get(address) {
            // DeletedEntry by a call that was confirmed or cut off; every version must still come back.
            None => {
                let gone = session.deleted().await.unwrap();
                let known = gone.iter().find(|gone| gone.uri.as_str() == address);
                let known = known.unwrap_or_else(|| panic!("{address} is lost"));
                assert!(known.version >= *last, "{address}: {known:?}, confirmed {last}");
            }
            Some(version) => {
                assert!(version >= last, "{address} is in version {version}, {last} was confirmed");
                assert!(*version > deleted, "{address} came back after it was deleted");
                let compared = if depth == Depth::Latest { 1 } else { versions.len() };
                for (version, body) in versions.iter().rev().take(compared) {
                    let read = store.read(&uri(address), Some(*version)).await.unwrap();
                    assert_eq!(read.body, *body, "{address} {version}");
                }
            }
        }
    }
    for (key, last) in &confirmed.memory {
        let value: u64 = session.memory_get(key).await.unwrap().parse().unwrap();
        assert!(value >= *last, "the memory has {value} for {key}, {last} was confirmed");
    }
    if depth == Depth::Everything {
        check_signals(&session, confirmed).await;
    }
    capsules.close().await;
}

/// Every confirmed write was informed, and nothing twice.
async fn check_signals(session: &TestSession, confirmed: &Confirmed) {
    let mut reported: HashSet<(String, String, u64)> = HashSet::new();
    let mut request = PollSignalsRequest { limit: 100, ..PollSignalsRequest::default() };
    loop {
        let page = session.poll_signals(request.clone()).await.unwrap();
        for signal in page.signals {
            let change = (signal.kind, signal.uri.unwrap().to_string(), signal.version.unwrap());
            assert!(reported.insert(change.clone()), "{change:?} was announced twice");
        }
        if !page.has_more {
            break;
        }
        request.after = page.next_cursor;
    }
    for (address, versions) in &confirmed.writes {
        for version in versions.keys() {
            let is_told =
                |kind: &str| reported.contains(&(kind.to_owned(), address.clone(), *version));
            assert!(
                is_told("entry.created") || is_told("entry.updated"),
                "{address} {version} was not told"
            );
        }
    }
}

//! Measures the capsule store beside SQLite doing the same work on the same disk: writes and reads by 1, 16 and 64
//! callers with every write on the disk before it is answered, search, and opening a capsule of 10,000 entries.
//!
//! Started by `bench/capsules`. Each write of either side keeps the old version, a signal and an audit line.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measuring program: it prints, and a failed measurement ends it"
)]

use std::{
    fs,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use capdeck_capsule::{
    Access, Author, CapsuleSession, CapsuleUpdate, Capsules, Durability, EntryUri, SearchRequest,
    StoreOptions, Write,
};
use rusqlite::{Connection, params};
use serde::Serialize;

const ENTRIES: usize = 10_000;
const CALLERS: [usize; 3] = [1, 16, 64];
/// How long each side is kept busy per figure.
const SPAN: Duration = Duration::from_secs(4);
const QUERIES: [&str; 8] = [
    "deploy the service",
    "token expiry policy",
    "\"blue green\"",
    "databse migration",
    "cache inval*",
    "why is the queue slow",
    "rollback",
    "handler retry timeout backoff",
];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Figures {
    entries: usize,
    cores: usize,
    optimised: bool,
    writes: Vec<Pair>,
    reads: Vec<Pair>,
    search: Sides,
    open: OpenFigures,
}

#[derive(Serialize)]
struct Pair {
    callers: usize,
    #[serde(flatten)]
    sides: Sides,
}

#[derive(Serialize)]
struct Sides {
    capsule: Spread,
    sqlite: Spread,
}

/// A closed loop of calls.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Spread {
    calls: usize,
    per_second: f64,
    p50_us: f64,
    p99_us: f64,
}

/// Milliseconds until a capsule of all entries answers.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OpenFigures {
    capsule_ms: f64,
    first_search_ms: f64,
    sqlite_ms: f64,
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let folder = tempfile::tempdir_in(".").unwrap();
    runtime.block_on(fill_capsule(folder.path()));
    let database = folder.path().join("baseline.sqlite");
    fill_database(&database);

    let begun = Instant::now();
    let (capsules, session) = runtime.block_on(open(folder.path(), Durability::Synced));
    let capsule_ms = milliseconds(begun);
    let begun = Instant::now();
    runtime.block_on(session.search(SearchRequest::words("deploy"))).unwrap();
    let first_search_ms = milliseconds(begun);
    let begun = Instant::now();
    let sqlite_ms = {
        let connection = connect(&database);
        let count: i64 =
            connection.query_row("SELECT count(*) FROM entries", [], |row| row.get(0)).unwrap();
        assert_eq!(count as usize, ENTRIES);
        milliseconds(begun)
    };
    let open = OpenFigures { capsule_ms, first_search_ms, sqlite_ms };
    let search = Sides {
        capsule: runtime.block_on(search_capsule(&session)),
        sqlite: search_database(&database),
    };
    let mut reads = Vec::new();
    let mut writes = Vec::new();
    for callers in CALLERS {
        let sides = Sides {
            capsule: runtime.block_on(load_capsule(&session, callers, Work::Read)),
            sqlite: load_database(&database, callers, Work::Read),
        };
        reads.push(Pair { callers, sides });
    }
    for callers in CALLERS {
        let sides = Sides {
            capsule: runtime.block_on(load_capsule(&session, callers, Work::Write)),
            sqlite: load_database(&database, callers, Work::Write),
        };
        writes.push(Pair { callers, sides });
    }
    let report =
        runtime.block_on(async { capsules.store("bench").await.unwrap().verify().await.unwrap() });
    assert!(report.is_clean(), "{report:?}");
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let optimised = !cfg!(debug_assertions);
    let figures = Figures { entries: ENTRIES, cores, optimised, writes, reads, search, open };
    let text = serde_json::to_string_pretty(&figures).unwrap();
    fs::write("bench/results/capsules.json", format!("{text}\n")).unwrap();
    println!("{text}");
}

#[derive(Clone, Copy, PartialEq)]
enum Work {
    Read,
    Write,
}

fn body(number: usize) -> String {
    const WORDS: [&str; 40] = [
        "deploy",
        "service",
        "token",
        "expiry",
        "policy",
        "blue",
        "green",
        "database",
        "migration",
        "cache",
        "invalidation",
        "queue",
        "slow",
        "rollback",
        "handler",
        "retry",
        "timeout",
        "backoff",
        "request",
        "session",
        "cluster",
        "node",
        "metrics",
        "alert",
        "incident",
        "release",
        "branch",
        "review",
        "schema",
        "index",
        "shard",
        "replica",
        "latency",
        "budget",
        "limit",
        "quota",
        "worker",
        "thread",
        "socket",
        "buffer",
    ];
    let mut random = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut text = format!("# Entry {number}\n\n");
    for place in 0..250 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Half of the words are rare, as in real text.
        if random.is_multiple_of(2) {
            text.push_str(WORDS[(random >> 8) as usize % WORDS.len()]);
        } else {
            text.push_str(&format!("term{}", (random >> 8) % 30_000));
        }
        text.push_str(if place % 12 == 11 { ".\n" } else { " " });
    }
    text
}

fn uri(number: usize) -> EntryUri {
    let number = number % ENTRIES;
    EntryUri::parse(&format!("docs://area{}/entry{number}", number % 50)).unwrap()
}

async fn open(folder: &Path, durability: Durability) -> (Capsules, CapsuleSession) {
    let options = StoreOptions { durability, ..StoreOptions::default() };
    let capsules = Capsules::open(folder, options).await.unwrap();
    if capsules.list().is_empty() {
        let new = CapsuleUpdate { name: Some("bench".to_owned()), ..CapsuleUpdate::default() };
        capsules.create(new).await.unwrap();
    }
    let session =
        capsules.session("bench", Author::client("bench"), Access::owner()).await.unwrap();
    (capsules, session)
}

async fn fill_capsule(folder: &Path) {
    let (capsules, session) = open(folder, Durability::Cached).await;
    for number in 0..ENTRIES {
        session.write(Write::create(uri(number), body(number))).await.unwrap();
    }
    capsules.close().await;
}

async fn load_capsule(session: &CapsuleSession, callers: usize, work: Work) -> Spread {
    let begun = Instant::now();
    let mut tasks = Vec::new();
    for caller in 0..callers {
        let session = session.clone();
        tasks.push(tokio::spawn(async move {
            let mut times = Vec::new();
            for number in (caller..).step_by(callers) {
                let call = Instant::now();
                match work {
                    Work::Read => drop(session.read(&uri(number * 7), None).await.unwrap()),
                    Work::Write => drop(
                        session.write(Write::replace(uri(number), body(number + 1))).await.unwrap(),
                    ),
                }
                times.push(call.elapsed());
                if begun.elapsed() > SPAN {
                    break;
                }
            }
            times
        }));
    }
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    spread(times, begun.elapsed())
}

async fn search_capsule(session: &CapsuleSession) -> Spread {
    let begun = Instant::now();
    let mut times = Vec::new();
    for number in 0..1_000 {
        let query = QUERIES[number % QUERIES.len()];
        let call = Instant::now();
        session.search(SearchRequest::words(query)).await.unwrap();
        times.push(call.elapsed());
    }
    spread(times, begun.elapsed())
}

fn connect(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(60)).unwrap();
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    connection.pragma_update(None, "synchronous", "FULL").unwrap();
    connection
}

fn fill_database(path: &Path) {
    let mut connection = connect(path);
    connection
        .execute_batch(
            "CREATE TABLE entries (uri TEXT PRIMARY KEY, version INTEGER, body TEXT, meta TEXT);
             CREATE TABLE history (uri TEXT, version INTEGER, body TEXT, meta TEXT, PRIMARY KEY (uri, version));
             CREATE TABLE signals (seq INTEGER PRIMARY KEY, line TEXT);
             CREATE TABLE audit (seq INTEGER PRIMARY KEY, line TEXT);
             CREATE VIRTUAL TABLE words USING fts5(uri UNINDEXED, body, tokenize = 'porter');",
        )
        .unwrap();
    let transaction = connection.transaction().unwrap();
    for number in 0..ENTRIES {
        let (uri, body) = (uri(number).to_string(), body(number));
        transaction
            .execute("INSERT INTO entries VALUES (?1, 1, ?2, '{}')", params![uri, body])
            .unwrap();
        transaction.execute("INSERT INTO words VALUES (?1, ?2)", params![uri, body]).unwrap();
    }
    transaction.commit().unwrap();
}

fn load_database(path: &Path, callers: usize, work: Work) -> Spread {
    let begun = Instant::now();
    let path = Arc::new(path.to_owned());
    let running: Vec<_> = (0..callers)
        .map(|caller| {
            let path = Arc::clone(&path);
            thread::spawn(move || {
                let mut connection = connect(&path);
                let mut times = Vec::new();
                for number in (caller..).step_by(callers) {
                    let call = Instant::now();
                    match work {
                        Work::Read => read_row(&connection, &uri(number * 7)),
                        Work::Write => write_row(&mut connection, &uri(number), &body(number + 1)),
                    }
                    times.push(call.elapsed());
                    if begun.elapsed() > SPAN {
                        break;
                    }
                }
                times
            })
        })
        .collect();
    let times = running.into_iter().flat_map(|handle| handle.join().unwrap()).collect();
    spread(times, begun.elapsed())
}

fn read_row(connection: &Connection, uri: &EntryUri) {
    let mut statement = connection
        .prepare_cached("SELECT version, body, meta FROM entries WHERE uri = ?1")
        .unwrap();
    let length = statement.query_row([uri.as_str()], |row| row.get::<_, String>(1)).unwrap().len();
    assert!(length > 0);
}

/// The same that a capsule keeps, but without its text index, which a capsule has in memory.
fn write_row(connection: &mut Connection, uri: &EntryUri, body: &str) {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    let address = uri.as_str();
    let line =
        format!("{{\"agent\":\"bench\",\"action\":\"write.replace\",\"uri\":\"{address}\"}}");
    for (statement, values) in [
        (
            "INSERT OR REPLACE INTO history SELECT uri, version, body, meta FROM entries WHERE uri = ?1",
            vec![address],
        ),
        ("UPDATE entries SET version = version + 1, body = ?2 WHERE uri = ?1", vec![address, body]),
        ("INSERT INTO signals (line) VALUES (?1)", vec![line.as_str()]),
        ("INSERT INTO audit (line) VALUES (?1)", vec![line.as_str()]),
    ] {
        let mut prepared = transaction.prepare_cached(statement).unwrap();
        prepared.execute(rusqlite::params_from_iter(values)).unwrap();
    }
    transaction.commit().unwrap();
}

fn search_database(path: &Path) -> Spread {
    let connection = connect(path);
    let begun = Instant::now();
    let mut times = Vec::new();
    for number in 0..1_000 {
        let query = QUERIES[number % QUERIES.len()];
        let call = Instant::now();
        // Any of the words, as a capsule searches; SQLite knows no typing errors.
        let words: Vec<&str> = query.split_whitespace().collect();
        let question = if query.starts_with('"') { query.to_owned() } else { words.join(" OR ") };
        let mut statement = connection
            .prepare_cached("SELECT uri, snippet(words, 1, '', '', '…', 30) FROM words WHERE words MATCH ?1 ORDER BY bm25(words) LIMIT 10")
            .unwrap();
        let rows = statement.query_map([question], |row| row.get::<_, String>(0)).unwrap();
        assert!(rows.count() <= 10);
        times.push(call.elapsed());
    }
    spread(times, begun.elapsed())
}

fn spread(mut times: Vec<Duration>, span: Duration) -> Spread {
    times.sort_unstable();
    let at = |share: f64| {
        let place = ((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1));
        times.get(place).map_or(0.0, |time| rounded(time.as_secs_f64() * 1e6))
    };
    let per_second = rounded(times.len() as f64 / span.as_secs_f64());
    Spread { calls: times.len(), per_second, p50_us: at(0.5), p99_us: at(0.99) }
}

fn milliseconds(begun: Instant) -> f64 {
    rounded(begun.elapsed().as_secs_f64() * 1e3)
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

//! `capsule-bench measure` measures the capsule store beside SQLite doing the same work on the same disk: writes and reads
//! by 1, 16 and 64 callers with every write on the disk before it is answered, search, and opening a capsule of 10,000
//! entries. `capsule-bench render` writes the last figures into the document.
//!
//! Started by `bench/capsules`. Each write of either side keeps the old version, a signal and an audit line.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
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
    CapsuleAccess, CapsuleAuthor, CapsuleHandle, CapsuleRegistry, CapsuleUpdate, EntryUri,
    SearchQuery, Store, StoreOptions, StoreWrite, WriteDurability,
    service::{ReadBody, ReadRequest},
};
use capdeck_test::bench::{
    CapsuleComparison, CapsuleFigures, CapsuleRow, ClosedLoop, OpenFigures, render_capsules,
    replace_capsule_block,
};
use rusqlite::{Connection, params};

const ENTRIES: usize = 10_000;
const CALLERS: [usize; 3] = [1, 16, 64];
/// How long each side is kept busy in its turn.
const SPAN: Duration = Duration::from_secs(1);
/// Turns of each side per figure.
const TURNS: usize = 4;
/// Entries between the first ones of two turns.
const STRIDE: usize = 2_503;
const SEARCHES: usize = 1_000;
const RESULTS: &str = "bench/results/capsules.json";
const DOCUMENT: &str = "docs/reference/benchmarks.md";
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

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("measure") => measure(),
        Some("render") => write_block(),
        _ => panic!("usage: capsule-bench measure|render"),
    }
}

fn write_block() {
    let json = fs::read_to_string(RESULTS).expect("figures: run `bench/capsules` first");
    let figures: CapsuleFigures = serde_json::from_str(&json).unwrap();
    let document = fs::read_to_string(DOCUMENT).unwrap();
    let replaced = replace_capsule_block(&document, &render_capsules(&figures)).expect("a block");
    fs::write(DOCUMENT, replaced).unwrap();
}

fn measure() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let folder = tempfile::tempdir_in(".").unwrap();
    runtime.block_on(fill_capsule(folder.path()));
    let database = folder.path().join("baseline.sqlite");
    fill_database(&database);

    let started = Instant::now();
    let (capsules, session) = runtime.block_on(open(folder.path(), WriteDurability::Synced));
    let capsule_ms = milliseconds(started);
    let started = Instant::now();
    runtime.block_on(session.search(SearchQuery::words("deploy"))).unwrap();
    let first_search_ms = milliseconds(started);
    let started = Instant::now();
    let sqlite_ms = {
        let connection = connect(&database);
        let count: i64 =
            connection.query_row("SELECT count(*) FROM entries", [], |row| row.get(0)).unwrap();
        assert_eq!(count as usize, ENTRIES);
        milliseconds(started)
    };
    let open = OpenFigures { capsule_ms, first_search_ms, sqlite_ms };
    let search = search_both(&runtime, &session, &database);
    let store = runtime.block_on(capsules.store("bench")).unwrap();
    let row = |callers: usize, work: BenchWork| {
        let (mut capsule, mut sqlite) = (BenchTimes::default(), BenchTimes::default());
        for turn in 0..TURNS {
            let first = turn * STRIDE;
            capsule.add(runtime.block_on(load_capsule(&session, &store, callers, work, first)));
            sqlite.add(load_database(&database, callers, work, first));
        }
        let sides = CapsuleComparison { capsule: capsule.figures(), sqlite: sqlite.figures() };
        CapsuleRow { callers, sides }
    };
    let rows = |work: BenchWork| CALLERS.map(|callers| row(callers, work)).into();
    let reads = rows(BenchWork::Read);
    let recorded_reads = rows(BenchWork::RecordedRead);
    let writes = rows(BenchWork::Write);
    let report = runtime.block_on(store.verify()).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let figures = CapsuleFigures {
        processor: CapsuleFigures::processor_name(),
        cores: thread::available_parallelism().map_or(1, usize::from),
        build: if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned(),
        entries: ENTRIES,
        writes,
        reads,
        recorded_reads,
        search,
        open,
    };
    let text = serde_json::to_string_pretty(&figures).unwrap();
    fs::write(RESULTS, format!("{text}\n")).unwrap();
    println!("{}", render_capsules(&figures));
}

#[derive(Clone, Copy, PartialEq)]
enum BenchWork {
    Read,
    RecordedRead,
    Write,
}

/// What one side took for its calls.
#[derive(Default)]
struct BenchTimes {
    times: Vec<Duration>,
    span: Duration,
}

impl BenchTimes {
    fn add(&mut self, other: Self) {
        self.times.extend(other.times);
        self.span += other.span;
    }

    fn figures(mut self) -> ClosedLoop {
        self.times.sort_unstable();
        let at = |share: f64| {
            let place = (self.times.len() as f64 * share) as usize;
            self.times.get(place).map_or(0.0, |time| rounded(time.as_secs_f64() * 1e6))
        };
        let per_second = rounded(self.times.len() as f64 / self.span.as_secs_f64());
        ClosedLoop { calls: self.times.len(), per_second, p50_us: at(0.5), p99_us: at(0.99) }
    }
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

async fn open(folder: &Path, durability: WriteDurability) -> (CapsuleRegistry, CapsuleHandle) {
    let options = StoreOptions { durability, ..StoreOptions::default() };
    let capsules = CapsuleRegistry::open(folder, options).await.unwrap();
    if capsules.list().is_empty() {
        let new = CapsuleUpdate { name: Some("bench".to_owned()), ..CapsuleUpdate::default() };
        capsules.create(new).await.unwrap();
    }
    let session = capsules
        .handle("bench", CapsuleAuthor::client("bench"), CapsuleAccess::owner())
        .await
        .unwrap();
    (capsules, session)
}

async fn fill_capsule(folder: &Path) {
    let (capsules, session) = open(folder, WriteDurability::Cached).await;
    for number in 0..ENTRIES {
        session.put(StoreWrite::create(uri(number), body(number))).await.unwrap();
    }
    capsules.close().await;
}

async fn load_capsule(
    session: &CapsuleHandle,
    store: &Arc<dyn Store>,
    callers: usize,
    work: BenchWork,
    first: usize,
) -> BenchTimes {
    let started = Instant::now();
    let mut tasks = Vec::new();
    for caller in 0..callers {
        let (session, store) = (session.clone(), store.clone());
        tasks.push(tokio::spawn(async move {
            let mut times = Vec::new();
            for number in (first + caller..).step_by(callers) {
                let entry = uri(number * 7);
                let content = (work == BenchWork::Write).then(|| body(number + 1));
                let call = Instant::now();
                match content {
                    Some(body) => {
                        drop(session.put(StoreWrite::replace(entry, body)).await.unwrap());
                    }
                    None if work == BenchWork::Read => {
                        drop(store.read(&entry, None).await.unwrap());
                    }
                    None => {
                        let (uri, body) = (entry.to_string(), ReadBody::Banded);
                        let read = ReadRequest { uri, version: None, body };
                        drop(session.read(read).await.unwrap());
                    }
                }
                times.push(call.elapsed());
                if started.elapsed() > SPAN {
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
    BenchTimes { times, span: started.elapsed() }
}

fn connect(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(60)).unwrap();
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    connection.pragma_update(None, "synchronous", "FULL").unwrap();
    // A capsule's audit line is handed to the system and not waited for: so is this one, where it stands alone.
    let trail = path.with_file_name("trail.sqlite");
    connection.execute("ATTACH ?1 AS trail", [trail.to_str().unwrap()]).unwrap();
    connection.pragma_update(Some("trail"), "journal_mode", "WAL").unwrap();
    connection.pragma_update(Some("trail"), "synchronous", "OFF").unwrap();
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
             CREATE TABLE trail.reads (seq INTEGER PRIMARY KEY, line TEXT);
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

fn load_database(path: &Path, callers: usize, work: BenchWork, first: usize) -> BenchTimes {
    let started = Instant::now();
    let path = Arc::new(path.to_owned());
    let running: Vec<_> = (0..callers)
        .map(|caller| {
            let path = Arc::clone(&path);
            thread::spawn(move || {
                let mut connection = connect(&path);
                let mut times = Vec::new();
                for number in (first + caller..).step_by(callers) {
                    let entry = uri(number * 7);
                    let content = (work == BenchWork::Write).then(|| body(number + 1));
                    let call = Instant::now();
                    match content {
                        Some(body) => write_row(&mut connection, &entry, &body),
                        None => read_row(&connection, &entry),
                    }
                    if work == BenchWork::RecordedRead {
                        record_read(&connection, &entry);
                    }
                    times.push(call.elapsed());
                    if started.elapsed() > SPAN {
                        break;
                    }
                }
                times
            })
        })
        .collect();
    let times = running.into_iter().flat_map(|handle| handle.join().unwrap()).collect();
    BenchTimes { times, span: started.elapsed() }
}

fn read_row(connection: &Connection, uri: &EntryUri) {
    let mut statement = connection
        .prepare_cached("SELECT version, body, meta FROM entries WHERE uri = ?1")
        .unwrap();
    let length = statement.query_row([uri.as_str()], |row| row.get::<_, String>(1)).unwrap().len();
    assert!(length > 0);
}

fn record_read(connection: &Connection, uri: &EntryUri) {
    let line = format!("{{\"agent\":\"bench\",\"action\":\"read\",\"uri\":\"{uri}\"}}");
    let mut statement =
        connection.prepare_cached("INSERT INTO trail.reads (line) VALUES (?1)").unwrap();
    statement.execute([line]).unwrap();
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

/// One question to each side, again and again.
fn search_both(
    runtime: &tokio::runtime::Runtime,
    session: &CapsuleHandle,
    database: &Path,
) -> CapsuleComparison {
    let connection = connect(database);
    let (mut capsule, mut sqlite) = (BenchTimes::default(), BenchTimes::default());
    for query in QUERIES.iter().cycle().take(SEARCHES) {
        let started = Instant::now();
        runtime.block_on(session.search(SearchQuery::words(query))).unwrap();
        capsule.add(BenchTimes { times: vec![started.elapsed()], span: started.elapsed() });
        let started = Instant::now();
        search_rows(&connection, query);
        sqlite.add(BenchTimes { times: vec![started.elapsed()], span: started.elapsed() });
    }
    CapsuleComparison { capsule: capsule.figures(), sqlite: sqlite.figures() }
}

fn search_rows(connection: &Connection, query: &str) {
    // Any of the words, as a capsule searches; SQLite knows no typing errors.
    let words: Vec<&str> = query.split_whitespace().collect();
    let question = if query.starts_with('"') { query.to_owned() } else { words.join(" OR ") };
    let mut statement = connection
        .prepare_cached("SELECT uri, snippet(words, 1, '', '', '…', 30) FROM words WHERE words MATCH ?1 ORDER BY bm25(words) LIMIT 10")
        .unwrap();
    let rows = statement.query_map([question], |row| row.get::<_, String>(0)).unwrap();
    assert!(rows.count() <= 10);
}

fn milliseconds(started: Instant) -> f64 {
    rounded(started.elapsed().as_secs_f64() * 1e3)
}

fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

//! Writes to a capsule from several tasks at once until it is killed, and says what was confirmed.
//!
//! `capsule_writer FOLDER SEED strict|lenient`: after `ready` each line on stdout is a write that was acknowledged, printed after the
//! fact: `write <uri> <version> <body>`, `delete <uri> <version>`, `memory <key> <value>`. The crash test reads them.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed write ends the program, and the test tells"
)]

use std::io::Write as _;

use capdeck_capsule::{
    AuditMode, CapsuleAccess, CapsuleAuthor, CapsuleHandle, CapsuleRegistry, CapsuleUpdate,
    EntryUri, StoreError, StoreOptions, StoreWrite, WriteDurability,
    service::{DeleteRequest, MemorySetRequest},
};

const TASKS: u64 = 6;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, folder, seed, audit] = arguments.as_slice() else {
        panic!("usage: capsule_writer FOLDER SEED strict|lenient")
    };
    let seed: u64 = seed.parse().unwrap();
    let audit = match audit.as_str() {
        "strict" => AuditMode::Strict,
        "lenient" => AuditMode::Lenient,
        other => panic!("no audit mode: {other}"),
    };
    tokio::runtime::Runtime::new().unwrap().block_on(run(folder, seed, audit));
}

async fn run(folder: &str, seed: u64, audit: AuditMode) {
    // With the journal and without: what a kill of the process leaves does not depend on what reached the disk, and
    // without waiting for it there are many more steps to be killed in.
    let durability =
        if seed.is_multiple_of(2) { WriteDurability::Synced } else { WriteDurability::Cached };
    let options = StoreOptions { durability, audit, ..StoreOptions::default() };
    let capsules = CapsuleRegistry::open(folder.as_ref(), options).await.unwrap();
    if capsules.find("crash").is_err() {
        let new = CapsuleUpdate { name: Some("crash".to_owned()), ..CapsuleUpdate::default() };
        capsules.create(new).await.unwrap();
    }
    let author = CapsuleAuthor::client("writer");
    let session = capsules.handle("crash", author, CapsuleAccess::owner()).await.unwrap();
    say("ready");
    let mut tasks = Vec::new();
    for task in 0..TASKS {
        tasks.push(tokio::spawn(write_on(session.clone(), seed * TASKS + task)));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

/// Writes and deletes without an end. All tasks share few entries, so that they meet.
async fn write_on(session: CapsuleHandle, seed: u64) {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move |most: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % most
    };
    for round in 0_u64.. {
        let scheme = ["docs", "api-data", "skills"][next(3) as usize];
        let uri = EntryUri::new(scheme, &format!("entry{}", next(4))).unwrap();
        let number = seed * 1_000_000 + round;
        match next(10) {
            0 => {
                match session.delete(DeleteRequest { uri: uri.to_string(), if_version: None }).await
                {
                    Ok(deleted) => say(&format!("delete {uri} {}", deleted.entry.version)),
                    Err(StoreError::NotFound { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            1 => {
                let key = format!("key{}", seed % TASKS);
                let set = MemorySetRequest { key: key.clone(), value: number.to_string() };
                session.memory_set(set).await.unwrap();
                say(&format!("memory {key} {number}"));
            }
            _ => {
                let written = session
                    .put(StoreWrite::replace(uri.clone(), number.to_string()))
                    .await
                    .unwrap();
                say(&format!("write {uri} {} {number}", written.version));
            }
        }
    }
}

/// One call to the system for one line, so that a kill leaves no half of it.
fn say(line: &str) {
    std::io::stdout().write_all(format!("{line}\n").as_bytes()).unwrap();
}

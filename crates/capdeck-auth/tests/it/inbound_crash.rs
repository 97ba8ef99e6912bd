//! A process that changes the registry is killed at random moments, again and again.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use capdeck_auth::inbound::{
    GrantQuery, PageRequest, Registry, RegistryOptions, RequestQuery, RequestStatus,
};

const KILLS: u64 = 12;

#[test]
fn a_killed_process_leaves_whole_changes_and_loses_nothing_confirmed() {
    let folder = tempfile::tempdir().unwrap();
    let mut confirmed = Vec::new();
    let mut random = u64::from(std::process::id()) | 1;
    for round in 0..KILLS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        run_and_kill(folder.path(), round, random, &mut confirmed);
        check(folder.path(), &confirmed);
    }
    assert!(confirmed.len() > KILLS as usize, "hardly anything was done: {}", confirmed.len());
}

/// Lets it run for a random number of confirmed changes and a little more, then kills it.
fn run_and_kill(folder: &Path, round: u64, random: u64, confirmed: &mut Vec<String>) {
    let mut command = Command::new(program());
    command.arg(folder.join("registry")).arg(round.to_string());
    let mut writer = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().as_deref(), Some("ready"));
    confirmed.extend(lines.by_ref().take((random % 12) as usize));
    // Not right after a confirmation, but anywhere in what comes next.
    for _ in 0..(random >> 8) % 400_000 {
        std::hint::spin_loop();
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
    // What it had said before it was killed is still in the pipe.
    confirmed.extend(lines);
}

fn check(folder: &Path, confirmed: &[String]) {
    let folder = folder.join("registry");
    let registry = Registry::open(folder.clone(), RegistryOptions::default()).unwrap();
    for line in confirmed {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["filed", request] => assert!(registry.grants().request(request).is_some(), "{line}"),
            ["granted", request, grant] => {
                let request = registry.grants().request(request).unwrap();
                assert_eq!(request.grant.as_deref(), Some(grant), "{line}");
            }
            _ => assert_eq!(line, "a line that is known"),
        }
    }
    // A grant is never there without its decision, nor a decision without its grant.
    let mut page = PageRequest { cursor: None, limit: Some(200) };
    let mut approved = 0;
    loop {
        let requests = registry.grants().requests(&RequestQuery::default(), &page).unwrap();
        for request in requests.items {
            assert!(registry.clients().principal(&request.principal).is_some());
            match (request.status, request.grant) {
                (RequestStatus::Approved, Some(id)) => {
                    assert_eq!(registry.grants().get(&id).unwrap().request_id, request.id);
                    approved += 1;
                }
                (status, grant) => assert_eq!((status, grant), (RequestStatus::Pending, None)),
            }
        }
        page.cursor = requests.next_cursor;
        if page.cursor.is_none() {
            break;
        }
    }
    page.cursor = None;
    let mut grants = 0;
    loop {
        let part = registry.grants().list(&GrantQuery::default(), &page).unwrap();
        grants += part.items.len();
        page.cursor = part.next_cursor;
        if page.cursor.is_none() {
            break;
        }
    }
    assert_eq!(grants, approved);
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let is_stray = |name: &String| name.starts_with(".tmp") || name == "change.json";
    assert_eq!(names.map(|name| name.into_string().unwrap()).find(is_stray), None);
}

/// Cargo builds examples along with the tests, into the folder beside `deps`.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().with_file_name("examples").join("registry_writer");
    assert!(path.exists(), "`{}` is missing; run `cargo build --examples`", path.display());
    path
}

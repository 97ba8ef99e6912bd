//! The machine goes down: everything that was not synced is there or not, file by file, and the journal is.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use proptest::prelude::*;

use super::{
    SignalLine, StoreEngine,
    disk::WriteDurability,
    model_tests::{Model, Operation, observed, operation, perform},
};
use crate::{StoreOptions, day_file};

/// Where nothing waits for a disk, if there is such a place.
fn quick_folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn open(root: &Path) -> StoreEngine {
    let options = StoreOptions { durability: WriteDurability::Synced, ..StoreOptions::default() };
    StoreEngine::open(root, options).unwrap()
}

/// All files below a folder, by their path in it.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                let below = entry.path().strip_prefix(root).unwrap().to_owned();
                found.insert(below, fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

/// What a disk could be left with that had `before` for sure and was on its way to `after`.
fn cut_off(
    root: &Path,
    before: &BTreeMap<PathBuf, Vec<u8>>,
    after: &BTreeMap<PathBuf, Vec<u8>>,
    mut choices: impl Iterator<Item = u8>,
) {
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for path in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
        let (old, new) = (before.get(path), after.get(path));
        let is_synced = path.starts_with("journal");
        let left = match (choices.next().unwrap() % 3, new) {
            (_, new) if is_synced || old == new => new.cloned(),
            (0, new) => new.cloned(),
            // Names and lengths may last where contents do not; what is only added to keeps what it had.
            (1, Some(new)) => {
                let kept = old.filter(|old| new.starts_with(old)).map_or(0, Vec::len);
                new.get(..kept).map(<[u8]>::to_vec)
            }
            _ => old.cloned(),
        };
        let place = root.join(path);
        match left {
            None => drop(fs::remove_file(place)),
            Some(bytes) => {
                fs::create_dir_all(place.parent().unwrap()).unwrap();
                fs::write(&place, bytes).unwrap();
                File::options().write(true).open(place).unwrap().set_modified(then).unwrap();
            }
        }
    }
}

/// As after the next start of the machine.
fn start_again(root: &Path) {
    for entry in fs::read_dir(root.join("journal")).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap();
        let mut changed = b"{\"boot\":\"another\"}".to_vec();
        changed.extend_from_slice(&bytes[end..]);
        fs::write(path, changed).unwrap();
    }
}

fn do_all(engine: &StoreEngine, model: &mut Model, operations: &[Operation]) {
    for operation in operations {
        let after = model.after(operation);
        let result = perform(engine, operation);
        assert_eq!(result.is_ok(), after.is_some(), "{operation:?}: {result:?}");
        *model = after.unwrap_or_else(|| model.clone());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_confirmed_is_lost_when_the_machine_goes_down(
        settled in prop::collection::vec(operation(), 0..10),
        confirmed in prop::collection::vec(operation(), 1..14),
        choices in prop::collection::vec(any::<u8>(), 64),
    ) {
        let folder = quick_folder();
        let engine = open(folder.path());
        let mut model = Model::default();
        do_all(&engine, &mut model, &settled);
        engine.files.finish().unwrap();
        let before = files(folder.path());
        prop_assert!(!before.keys().any(|path| path.starts_with("journal")));
        do_all(&engine, &mut model, &confirmed);
        drop(engine);
        let after = files(folder.path());
        cut_off(folder.path(), &before, &after, choices.into_iter().cycle());
        start_again(folder.path());
        let engine = open(folder.path());
        prop_assert_eq!(&observed(&engine), &model);
        let mut reported = Vec::new();
        for (_, path) in day_file::days(&engine.files.layout.folder("signals"), "").unwrap() {
            let lines = day_file::lines::<SignalLine>(&path).unwrap();
            reported.extend(lines.map(|line| line.unwrap().seq));
        }
        prop_assert_eq!(&reported, &(1..=reported.len() as u64).collect::<Vec<_>>());
        // Once it was gone through, it is gone.
        prop_assert_eq!(fs::read_dir(folder.path().join("journal")).unwrap().count(), 0);
        drop(engine);
        prop_assert_eq!(&observed(&open(folder.path())), &model);
    }
}

#[test]
fn edits_by_hand_survive_a_kill_and_a_machine_that_goes_down() {
    let folder = quick_folder();
    let write = |engine: &StoreEngine, number| {
        perform(engine, &Operation::Replace(0, number, None)).unwrap();
    };
    for is_new_boot in [false, true] {
        let engine = open(folder.path());
        write(&engine, 1);
        let file = folder.path().join("knowledge/docs/a.md");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("body 1", "by hand")).unwrap();
        // A clock of files may tick more slowly than this goes.
        let later = SystemTime::now() + Duration::from_secs(1);
        File::options().write(true).open(&file).unwrap().set_modified(later).unwrap();
        drop(engine);
        if is_new_boot {
            start_again(folder.path());
        }
        let engine = open(folder.path());
        let uri = crate::EntryUri::parse("docs://a").unwrap();
        assert!(engine.read(&uri, None).unwrap().body.starts_with("by hand"), "{is_new_boot}");
    }
}

#[test]
fn a_clock_that_went_back_makes_no_file_a_person_elses() {
    let folder = quick_folder();
    let engine = open(folder.path());
    let file = folder.path().join("knowledge/docs/a.md");
    perform(&engine, &Operation::Replace(0, 1, None)).unwrap();
    let first = fs::read(&file).unwrap();
    perform(&engine, &Operation::Replace(0, 2, None)).unwrap();
    drop(engine);
    // The second version was confirmed and is lost; the first was written while the clock was ahead.
    fs::write(&file, first).unwrap();
    let ahead = SystemTime::now() + Duration::from_secs(3_600);
    File::options().write(true).open(&file).unwrap().set_modified(ahead).unwrap();
    start_again(folder.path());
    let engine = open(folder.path());
    let uri = crate::EntryUri::parse("docs://a").unwrap();
    let entry = engine.read(&uri, None).unwrap();
    assert_eq!((entry.meta.version, entry.body.starts_with("body 2")), (2, true), "{}", entry.body);
}

#[test]
fn a_journal_cannot_lead_out_of_the_capsule() {
    let folder = quick_folder();
    let root = folder.path().join("capsule");
    drop(open(&root));
    for path in ["../outside.md", "/outside.md", "knowledge/../../outside.md", ""] {
        let redo = super::journal_record::JournalChange {
            path: path.to_owned(),
            change: super::journal_record::FileOperation::Put(b"out"),
        };
        let record =
            super::journal_record::encode(jiff::Timestamp::now(), &[redo], [].into_iter()).unwrap();
        let bytes = [b"{\"boot\":\"another\"}\n".to_vec(), record].concat();
        fs::write(root.join("journal/1.log"), bytes).unwrap();
        let error = StoreEngine::open(&root, StoreOptions::default()).unwrap_err();
        assert_eq!(error.code(), "unsafe_path", "{path}: {error}");
        assert!(!folder.path().join("outside.md").exists());
    }
    // What is no journal at all says nothing.
    fs::write(root.join("journal/1.log"), "garbage").unwrap();
    drop(open(&root));
}

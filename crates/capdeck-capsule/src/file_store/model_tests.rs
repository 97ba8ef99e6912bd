//! The store against a plain map, with crashes at every step of every operation.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc, thread};

use proptest::prelude::*;

use super::{StoreEngine, disk::WriteDurability, memory_file};
use crate::{
    BlobSource, CapsuleAuthor, ChangeAuthor, Entry, EntryScope, EntryUri, ListQuery, MemoryOwner,
    PatchStep, Role, StoreError, StoreOptions, StoreWrite,
};

const URIS: [&str; 5] = ["docs://a", "docs://a/b", "skills://s", "api-data://x", "api-data://x/y"];

#[derive(Debug, Clone)]
pub(super) enum Operation {
    Create(usize, u8),
    Replace(usize, u8, Option<u64>),
    Append(usize, u8),
    /// Replaces, and gives it these bytes besides.
    Attach(usize, u8),
    /// Takes the bytes away again.
    Detach(usize),
    Delete(usize),
    Restore(usize, u64),
    Purge(usize),
    Remember(u8),
    Collect,
}

/// One entry as it should be.
#[derive(Debug, Clone, Default, PartialEq)]
struct Expected {
    /// Bodies of all versions, and their blobs.
    versions: Vec<(String, Option<u8>)>,
    is_deleted: bool,
}

impl Expected {
    /// The blob that a write keeps which says nothing of one.
    fn blob(&self) -> Option<u8> {
        self.versions.last().filter(|_| !self.is_deleted)?.1
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Model {
    entries: BTreeMap<EntryUri, Expected>,
    memory: Option<u8>,
}

fn uri(number: usize) -> EntryUri {
    EntryUri::parse(URIS[number % URIS.len()]).unwrap()
}

fn body(uri: &EntryUri, number: u8) -> String {
    match uri.scheme() {
        "api-data" => format!("{{\"number\": {number}}}"),
        _ => format!("body {number}\n---\nuri: docs://fake\n"),
    }
}

impl Model {
    /// What the operation makes of it; `None` when it must fail.
    pub(super) fn after(&self, operation: &Operation) -> Option<Self> {
        let mut next = self.clone();
        let current = |uri: &EntryUri| self.entries.get(uri).filter(|entry| !entry.is_deleted);
        let mut write = |uri: EntryUri, body: String, blob: Option<Option<u8>>| {
            let entry = next.entries.entry(uri).or_default();
            let blob = blob.unwrap_or_else(|| entry.blob());
            entry.versions.push((body, blob));
            entry.is_deleted = false;
        };
        match operation {
            Operation::Create(number, text) => {
                let uri = uri(*number);
                if current(&uri).is_some() {
                    return None;
                }
                write(uri.clone(), body(&uri, *text), None);
            }
            Operation::Replace(number, text, expected) => {
                let uri = uri(*number);
                let version = current(&uri).map_or(0, |entry| entry.versions.len() as u64);
                if expected.is_some_and(|expected| expected != version) {
                    return None;
                }
                write(uri.clone(), body(&uri, *text), None);
            }
            Operation::Append(number, text) => {
                let uri = uri(*number);
                let entry = current(&uri)?;
                if uri.scheme() == "api-data" {
                    return None;
                }
                let (last, _) = entry.versions.last()?;
                let joint = if last.ends_with('\n') { "" } else { "\n" };
                write(uri, format!("{last}{joint}more {text}"), None);
            }
            Operation::Attach(number, blob) => {
                let uri = uri(*number);
                write(uri.clone(), body(&uri, *blob), Some(Some(*blob)));
            }
            Operation::Detach(number) => {
                let uri = uri(*number);
                write(uri.clone(), body(&uri, 0), Some(None));
            }
            Operation::Delete(number) => {
                current(&uri(*number))?;
                next.entries.get_mut(&uri(*number))?.is_deleted = true;
            }
            Operation::Restore(number, version) => {
                let entry = self.entries.get(&uri(*number))?;
                let (old, blob) = entry.versions.get(version.checked_sub(1)? as usize)?.clone();
                write(uri(*number), old, Some(blob));
            }
            Operation::Purge(number) => {
                next.entries.remove(&uri(*number))?;
            }
            Operation::Remember(value) => next.memory = Some(*value),
            Operation::Collect => {}
        }
        Some(next)
    }
}

pub(super) fn perform(engine: &StoreEngine, operation: &Operation) -> Result<(), StoreError> {
    let by = ChangeAuthor { author: Arc::new(CapsuleAuthor::client("model")), role: Role::Owner };
    match operation {
        Operation::Create(number, text) => engine
            .write(StoreWrite::create(uri(*number), body(&uri(*number), *text)), &by)
            .map(|_| ()),
        Operation::Replace(number, text, expected) => {
            let write = StoreWrite::replace(uri(*number), body(&uri(*number), *text));
            engine.write(StoreWrite { if_version: *expected, ..write }, &by).map(|_| ())
        }
        Operation::Append(number, text) => {
            let step = PatchStep::Append { text: format!("more {text}") };
            engine.write(StoreWrite::patch(uri(*number), vec![step]), &by).map(|_| ())
        }
        Operation::Attach(number, blob) => {
            let source = BlobSource::Bytes { bytes: bytes(*blob), mime: "text/plain".to_owned() };
            let write = StoreWrite::replace(uri(*number), body(&uri(*number), *blob));
            engine.write(StoreWrite { blob: Some(source), ..write }, &by).map(|_| ())
        }
        Operation::Detach(number) => {
            let write = StoreWrite::replace(uri(*number), body(&uri(*number), 0));
            engine.write(StoreWrite { blob: Some(BlobSource::Remove), ..write }, &by).map(|_| ())
        }
        Operation::Delete(number) => engine.delete(&uri(*number), None, &by).map(|_| ()),
        Operation::Restore(number, version) => {
            engine.restore(&uri(*number), *version, None, &by).map(|_| ())
        }
        Operation::Purge(number) => engine.purge(&uri(*number), &by),
        Operation::Remember(value) => {
            memory_file::change(&engine.files, "key", Some(value.to_string()), &by)
        }
        Operation::Collect => engine.collect_blobs().map(|_| ()),
    }
}

fn bytes(blob: u8) -> Vec<u8> {
    vec![blob; 3]
}

/// A version in the model's words; its blob must be there.
fn version(engine: &StoreEngine, entry: Entry) -> (String, Option<u8>) {
    let blob = entry.meta.blob.map(|reference| {
        let found = fs::read(engine.files.layout.blob(&reference.sha256)).unwrap();
        assert_eq!(found, bytes(found[0]), "a torn blob");
        found[0]
    });
    (entry.body, blob)
}

/// What the store says of itself, in the model's words.
pub(super) fn observed(engine: &StoreEngine) -> Model {
    let mut model = Model::default();
    let listed = engine
        .state
        .read()
        .list(&ListQuery { limit: 200, ..ListQuery::default() }, &EntryScope::all())
        .unwrap();
    for meta in listed.items {
        let history = engine.history(&meta.uri).unwrap();
        let numbers: Vec<u64> = history.iter().map(|version| version.version).collect();
        assert_eq!(numbers, (1..=meta.version).collect::<Vec<_>>(), "gaps in {}", meta.uri);
        let read = |number: u64| version(engine, engine.read(&meta.uri, Some(number)).unwrap());
        let versions = numbers.into_iter().map(read).collect();
        assert_eq!(engine.read(&meta.uri, None).unwrap().meta.version, meta.version);
        model.entries.insert(meta.uri, Expected { versions, is_deleted: false });
    }
    let deleted = engine.state.read().deleted(&EntryScope::all());
    for deleted in deleted {
        let scheme = engine.scheme(&deleted.uri).unwrap();
        let read = |number: u64| {
            let entry = engine.files.layout.load_version(&deleted.uri, number, scheme.format);
            let entry = entry.unwrap().unwrap();
            version(engine, entry)
        };
        let versions = (1..=deleted.version).map(read).collect();
        model.entries.insert(deleted.uri.clone(), Expected { versions, is_deleted: true });
    }
    let owner = MemoryOwner::Client("model".to_owned());
    let memory = memory_file::load(&engine.files, &owner).unwrap().remove("key");
    model.memory = memory.map(|value| value.parse().unwrap());
    model
}

fn open(root: &Path) -> StoreEngine {
    let options = StoreOptions { durability: WriteDurability::Cached, ..StoreOptions::default() };
    StoreEngine::open(root, options).unwrap()
}

pub(super) fn operation() -> impl Strategy<Value = Operation> {
    let number = 0..URIS.len();
    prop_oneof![
        2 => (number.clone(), any::<u8>()).prop_map(|(uri, text)| Operation::Create(uri, text)),
        4 => (number.clone(), any::<u8>(), prop::option::of(0..4_u64))
            .prop_map(|(uri, text, expected)| Operation::Replace(uri, text, expected)),
        2 => (number.clone(), any::<u8>()).prop_map(|(uri, text)| Operation::Append(uri, text)),
        2 => (number.clone(), 0..3_u8).prop_map(|(uri, blob)| Operation::Attach(uri, blob)),
        1 => number.clone().prop_map(Operation::Detach),
        2 => number.clone().prop_map(Operation::Delete),
        2 => (number.clone(), 0..5_u64).prop_map(|(uri, version)| Operation::Restore(uri, version)),
        1 => number.prop_map(Operation::Purge),
        1 => any::<u8>().prop_map(Operation::Remember),
        1 => Just(Operation::Collect),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_is_a_map_that_survives_crashes(
        steps in prop::collection::vec((operation(), prop::option::of(0..16_u64)), 1..24),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut engine = open(folder.path());
        let mut model = Model::default();
        for (operation, crash) in steps {
            if let Some(crash) = crash {
                engine.files.disk.crash.after(crash);
            }
            let result = perform(&engine, &operation);
            let after = model.after(&operation);
            if engine.files.disk.crash.happened() {
                engine = open(folder.path());
                prop_assert_eq!(fs::read_dir(folder.path().join("tmp")).unwrap().count(), 0);
                let found = observed(&engine);
                // Done or not done, and if it was said to be done, done.
                let is_after = after.as_ref() == Some(&found);
                prop_assert!(is_after || (result.is_err() && found == model), "{:?}: {:?} became {:?}", operation, model, found);
                model = found;
            } else {
                engine.files.disk.crash.cancel();
                prop_assert_eq!(result.is_ok(), after.is_some(), "{:?}: {:?}", operation, result);
                model = after.unwrap_or(model);
            }
        }
        prop_assert_eq!(&observed(&engine), &model);
        drop(engine);
        prop_assert_eq!(&observed(&open(folder.path())), &model);
    }

    #[test]
    fn two_at_once_are_one_after_the_other(
        steps in prop::collection::vec((operation(), operation(), prop::option::of(0..24_u64)), 1..14),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut engine = open(folder.path());
        let mut model = Model::default();
        for (one, other, crash) in steps {
            if let Some(crash) = crash {
                engine.files.disk.crash.after(crash);
            }
            let (first, second) = thread::scope(|scope| {
                let second = scope.spawn(|| perform(&engine, &other));
                (perform(&engine, &one), second.join().unwrap())
            });
            let has_crashed = engine.files.disk.crash.happened();
            engine.files.disk.crash.cancel();
            if has_crashed {
                engine = open(folder.path());
            }
            let found = observed(&engine);
            let (first, second) = ((&one, first.is_ok()), (&other, second.is_ok()));
            let fits = [[first, second], [second, first]]
                .into_iter()
                .any(|order| outcomes(&model, &order, has_crashed).contains(&found));
            prop_assert!(fits, "{:?} {:?}: {:?} became {:?}", first, second, model, found);
            model = found;
        }
        drop(engine);
        prop_assert_eq!(&observed(&open(folder.path())), &model);
    }
}

/// What operations in this order may lead to, when each said whether it was done. After a crash, those that did not say so
/// may be done or not.
fn outcomes(model: &Model, order: &[(&Operation, bool)], has_crashed: bool) -> Vec<Model> {
    let Some(((operation, is_done), rest)) = order.split_first() else {
        return vec![model.clone()];
    };
    let mut possible = Vec::new();
    let after = model.after(operation);
    if let Some(after) = after.as_ref().filter(|_| *is_done || has_crashed) {
        possible.extend(outcomes(after, rest, has_crashed));
    }
    if !is_done && (after.is_none() || has_crashed) {
        possible.extend(outcomes(model, rest, has_crashed));
    }
    possible
}

#[test]
fn blobs_are_collected_beside_deletions() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path());
    thread::scope(|scope| {
        let deleting = scope.spawn(|| {
            for _ in 0..50 {
                perform(&engine, &Operation::Attach(1, 2)).unwrap();
                perform(&engine, &Operation::Delete(1)).unwrap();
            }
            perform(&engine, &Operation::Purge(1)).unwrap();
        });
        while !deleting.is_finished() {
            perform(&engine, &Operation::Collect).unwrap();
        }
        deleting.join().unwrap();
    });
}

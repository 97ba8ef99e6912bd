use super::*;
use crate::project::plan::FileAction;

struct Fixture {
    dir: tempfile::TempDir,
    state: ProjectState,
}

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let state = ProjectState::new(&dir.path().join("state"), &dir.path().join("project"));
        fs::create_dir(dir.path().join("project")).unwrap();
        Self { dir, state }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("project").join(name)
    }

    fn change(&self, name: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
        let bytes = |text: &str| text.as_bytes().to_vec();
        let path = self.path(name);
        if let Some(before) = before {
            fs::write(&path, before).unwrap();
        }
        let (before, after) = (before.map(bytes), after.map(bytes));
        FileChange {
            path,
            action: FileAction::Update,
            what: "a test".to_owned(),
            before,
            after,
            is_program: false,
            is_private: false,
        }
    }

    fn changes(&self) -> Vec<FileChange> {
        vec![
            self.change("new/a", None, Some("a")),
            self.change("changed", Some("old"), Some("new")),
            self.change("gone", Some("x"), None),
            self.change("last", Some("1"), Some("2")),
        ]
    }

    fn commit(&self) -> InstallJournal {
        InstallJournal::commit(
            &self.state,
            &self.changes(),
            InstallManifest::default(),
            &BTreeMap::new(),
        )
        .unwrap()
    }

    fn texts(&self) -> [Option<String>; 4] {
        ["new/a", "changed", "gone", "last"].map(|name| fs::read_to_string(self.path(name)).ok())
    }
}

fn done() -> [Option<String>; 4] {
    [Some("a".to_owned()), Some("new".to_owned()), None, Some("2".to_owned())]
}

#[test]
fn a_run_that_stops_after_any_step_is_finished_by_the_next() {
    for taken in 0..=4 {
        let fixture = Fixture::new();
        let journal = fixture.commit();
        for step in journal.steps.iter().take(taken) {
            assert!(journal.take(step).unwrap());
        }
        // What a run leaves that is killed while it writes the next file.
        for step in journal.steps.iter().skip(taken).take(1) {
            fs::create_dir_all(step.path.parent().unwrap()).unwrap();
            fs::write(beside(&step.path), "half").unwrap();
        }
        drop(journal);
        let pending = InstallJournal::pending(&fixture.state).unwrap().unwrap();
        assert_eq!(pending.finish().unwrap(), Vec::<PathBuf>::new());
        assert_eq!(fixture.texts(), done(), "after {taken} steps");
        assert!(InstallJournal::pending(&fixture.state).unwrap().is_none());
        for folder in ["", "new"] {
            for entry in fs::read_dir(fixture.path(folder)).unwrap() {
                let name = entry.unwrap().file_name();
                assert!(!name.to_string_lossy().starts_with(".capdeck-"), "{name:?}");
            }
        }
    }
}

#[test]
fn nothing_is_in_force_before_everything_is_staged() {
    let fixture = Fixture::new();
    let changes = fixture.changes();
    let before = fixture.texts();
    let stage = fixture.state.dir.join("journal.new");
    fs::create_dir_all(&stage).unwrap();
    fs::write(stage.join("steps.json"), "{\"steps\":[{\"pa").unwrap();
    assert!(InstallJournal::pending(&fixture.state).unwrap().is_none());
    assert_eq!(fixture.texts(), before);
    let journal = InstallJournal::commit(
        &fixture.state,
        &changes,
        InstallManifest::default(),
        &BTreeMap::new(),
    )
    .unwrap();
    journal.finish().unwrap();
    assert_eq!(fixture.texts(), done());
}

#[test]
fn what_changed_in_between_is_left_alone() {
    let fixture = Fixture::new();
    let journal = fixture.commit();
    fs::write(fixture.path("changed"), "mine").unwrap();
    assert_eq!(journal.finish().unwrap(), [fixture.path("changed")]);
    assert_eq!(fs::read_to_string(fixture.path("changed")).unwrap(), "mine");
}

#[cfg(unix)]
#[test]
fn what_is_kept_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new();
    let kept = BTreeMap::from([("hash".to_owned(), b"a secret".to_vec())]);
    let _journal = InstallJournal::commit(
        &fixture.state,
        &fixture.changes(),
        InstallManifest::default(),
        &kept,
    )
    .unwrap();
    for (path, expected) in [("", 0o700), ("kept", 0o700), ("kept/hash", 0o600), ("journal", 0o700)]
    {
        let mode = fs::metadata(fixture.state.dir.join(path)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, expected, "{path}");
    }
}

#[test]
fn steps_that_were_taken_are_taken_back() {
    for taken in 0..=4 {
        let fixture = Fixture::new();
        let changes = fixture.changes();
        let before = fixture.texts();
        let manifest = InstallManifest::default();
        let journal =
            InstallJournal::commit(&fixture.state, &changes, manifest, &BTreeMap::new()).unwrap();
        for step in journal.steps.iter().take(taken) {
            assert!(journal.take(step).unwrap());
        }
        let folders = [fixture.path("new")].into();
        let recorded = InstallManifest::default();
        InstallJournal::roll_back(&fixture.state, &changes, &folders, &recorded).unwrap();
        assert_eq!(fixture.texts(), before, "{taken}");
        assert!(!fixture.path("new").exists(), "{taken}");
        assert!(InstallJournal::pending(&fixture.state).unwrap().is_none(), "{taken}");
    }
}

#[test]
fn what_changed_in_between_is_not_taken_back() {
    let fixture = Fixture::new();
    let changes = fixture.changes();
    let manifest = InstallManifest::default();
    let journal =
        InstallJournal::commit(&fixture.state, &changes, manifest, &BTreeMap::new()).unwrap();
    journal.finish().unwrap();
    fs::write(fixture.path("last"), "theirs").unwrap();
    let recorded = InstallManifest::default();
    InstallJournal::roll_back(&fixture.state, &changes, &BTreeSet::new(), &recorded).unwrap();
    let [_, changed, _, last] = fixture.texts();
    assert_eq!((changed.as_deref(), last.as_deref()), (Some("old"), Some("theirs")));
}

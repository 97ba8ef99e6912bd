//! Entries and grants: kept, read, replaced, taken back, and never in clear.

use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt as _, path::Path, thread};

use capdeck_auth::{
    KeySettings, Secret, Vault, VaultError, VaultGrant, VaultHolder, VaultLookupErrorKind,
};

/// A vault in a folder of its own.
struct Fixture {
    folder: tempfile::TempDir,
    vault: Vault,
}

fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::new(folder.path(), KeySettings::default());
    Fixture { folder, vault }
}

fn holder(name: &str) -> VaultHolder {
    VaultHolder::new(name, "user-file", Path::new("/deck/file.md"))
}

fn grant(holder: VaultHolder, reference: &str, entry: &str) -> VaultGrant {
    VaultGrant { holder, reference: reference.to_owned(), entry: entry.to_owned() }
}

impl Fixture {
    fn set(&self, name: &str, value: &str) {
        self.vault.set(name, &Secret::new(value)).unwrap();
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(format!("vault/values/{name}.json"))
    }

    fn show(&self, name: &str) -> Result<String, VaultError> {
        self.vault.value(name).map(|value| value.expose().to_owned())
    }

    /// Every file below the folder with its text.
    fn files(&self) -> Vec<(std::path::PathBuf, String)> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
                    found.push((path, text));
                }
            }
        }
        found
    }
}

#[test]
fn a_value_is_kept_sealed_and_readable_by_its_owner_only() {
    let fixture = fixture();
    assert!(fixture.vault.list().unwrap().is_empty());
    assert_eq!(fixture.show("TOKEN"), Err(VaultError::Missing { name: "TOKEN".to_owned() }));
    fixture.set("TOKEN", "canary-first");
    let first = fixture.vault.facts("TOKEN").unwrap();
    fixture.set("TOKEN", "canary-second-é\n-----BEGIN");
    fixture.vault.grant(grant(holder("canary-holder"), "TOKEN", "TOKEN")).unwrap();
    assert_eq!(fixture.show("TOKEN").unwrap(), "canary-second-é\n-----BEGIN");
    let facts = fixture.vault.facts("TOKEN").unwrap();
    assert_eq!((facts.bytes, facts.created_at), (27, first.created_at));

    for (path, text) in fixture.files() {
        assert!(!text.contains("canary"), "{}", path.display());
        let is_lock = path.extension().is_some_and(|end| end == "lock");
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert!(is_lock || mode == 0o600, "{}: {mode:o}", path.display());
    }
    let mode = fs::metadata(fixture.folder.path().join("vault")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    // Another process has nothing but the folder.
    let other = Vault::new(fixture.folder.path(), KeySettings::default());
    assert_eq!(other.value("TOKEN").unwrap().expose(), "canary-second-é\n-----BEGIN");
}

#[test]
fn bad_names_and_values_are_refused() {
    let fixture = fixture();
    for name in ["", "token", "9A", "A-B", "../A", "A/B", &"A".repeat(129)] {
        let error = fixture.vault.set(name, &Secret::new("canary-1")).unwrap_err();
        assert!(matches!(error, VaultError::BadName { .. }), "{name}: {error}");
        assert!(error.hint().starts_with("call it `"), "{}", error.hint());
        assert!(matches!(fixture.vault.value(name), Err(VaultError::BadName { .. })));
        assert!(matches!(fixture.vault.delete(name), Err(VaultError::BadName { .. })));
    }
    for (value, reason) in [
        ("", "it is empty"),
        (&"x".repeat(65_537), "it is longer than 65536 bytes"),
        ("canary\0", "it holds a zero byte, which no header or variable can"),
    ] {
        let error = fixture.vault.set("TOKEN", &Secret::new(value)).unwrap_err();
        assert_eq!(error.to_string(), format!("the value cannot be saved: {reason}"));
    }
    fixture.set("TOKEN", &"x".repeat(65_536));
    let bad = fixture.vault.grant(grant(holder("a"), "a b", "TOKEN")).unwrap_err();
    assert!(matches!(bad, VaultError::BadReference { .. }), "{bad}");
    assert_eq!(fixture.vault.list().unwrap().len(), 1);
}

#[test]
fn only_the_holder_of_a_grant_reads_an_entry_and_only_under_its_reference() {
    let fixture = fixture();
    fixture.set("FIRST", "canary-1");
    fixture.set("SECOND", "canary-2");
    let (github, linear) = (holder("github"), holder("linear"));
    fixture.vault.grant(grant(github.clone(), "KEY", "FIRST")).unwrap();
    fixture.vault.grant(grant(linear.clone(), "KEY", "SECOND")).unwrap();
    let resolve = |holder: &VaultHolder, reference: &str| {
        let found = fixture.vault.resolve(holder, reference);
        found.map(|value| value.expose().to_owned()).map_err(|miss| (miss.kind, miss.hint))
    };
    assert_eq!(resolve(&github, "KEY").unwrap(), "canary-1");
    assert_eq!(resolve(&linear, "KEY").unwrap(), "canary-2");
    // The entry's own name is another reference.
    let ungranted = |hint: &str| Err((VaultLookupErrorKind::Ungranted, hint.to_owned()));
    assert_eq!(resolve(&github, "FIRST"), ungranted("run: capdeck vault grant github FIRST"));
    for stranger in [
        VaultHolder { path: "/project/file.md".to_owned(), ..github.clone() },
        VaultHolder { kind: "project-file".to_owned(), ..github.clone() },
        holder("gitlab"),
    ] {
        assert!(resolve(&stranger, "KEY").is_err(), "{stranger:?}");
    }
    // A grant under the same reference replaces the earlier one.
    fixture.vault.grant(grant(github.clone(), "KEY", "SECOND")).unwrap();
    assert_eq!(resolve(&github, "KEY").unwrap(), "canary-2");

    // A deleted value leaves its grants for the next one.
    assert!(fixture.vault.delete("SECOND").unwrap());
    assert!(!fixture.vault.delete("SECOND").unwrap());
    let gone = (VaultLookupErrorKind::Missing, "run: capdeck vault set SECOND".to_owned());
    assert_eq!(resolve(&github, "KEY"), Err(gone));
    fixture.set("SECOND", "canary-3");
    assert_eq!(resolve(&github, "KEY").unwrap(), "canary-3");

    assert!(fixture.vault.revoke("github", "FIRST", None).unwrap().is_empty());
    assert!(fixture.vault.revoke("github", "SECOND", Some("OTHER")).unwrap().is_empty());
    assert_eq!(fixture.vault.revoke("github", "SECOND", None).unwrap().len(), 1);
    let nothing =
        (VaultLookupErrorKind::Missing, "run: capdeck vault set KEY --grant github".to_owned());
    assert_eq!(resolve(&github, "KEY"), Err(nothing));
    assert_eq!(resolve(&linear, "KEY").unwrap(), "canary-3");
}

#[test]
fn a_changed_cut_or_swapped_file_is_refused_and_the_others_are_not() {
    let fixture = fixture();
    fixture.set("ONE", "canary-1");
    fixture.set("TWO", "canary-2");
    let good = fs::read_to_string(fixture.file("ONE")).unwrap();
    let two = fs::read_to_string(fixture.file("TWO")).unwrap();
    for (broken, reason) in [
        (two, "it was changed after it was sealed"),
        (good.replace("\"data\": \"", "\"data\": \"AAAA"), "it was changed after it was sealed"),
        (good.replace("capdeck-v1", "capdeck-v2"), "that this version does not know"),
        (
            good.chars().take(good.len() / 2).collect(),
            "it is not a sealed file, or only part of one",
        ),
        (String::new(), "it is not a sealed file, or only part of one"),
        (r#"{"value": "canary-x"}"#.to_owned(), "it is not a sealed file, or only part of one"),
    ] {
        fs::write(fixture.file("ONE"), &broken).unwrap();
        let error = fixture.vault.value("ONE").unwrap_err();
        assert!(error.to_string().ends_with(reason), "{error}");
        assert!(error.hint().contains("restore `"), "{}", error.hint());
        let listed = fixture.vault.list().unwrap();
        assert!(listed[0].facts.is_err() && listed[1].facts.is_ok(), "{listed:?}");
        // A new key for what cannot be opened would lose it for good.
        assert!(fixture.vault.rekey(None).is_err());
        assert_eq!(fs::read_to_string(fixture.file("ONE")).unwrap(), broken);
    }
    assert_eq!(fixture.show("TWO").unwrap(), "canary-2");
    fs::write(fixture.file("ONE"), &good).unwrap();
    assert_eq!(fixture.show("ONE").unwrap(), "canary-1");
    fs::set_permissions(fixture.file("ONE"), fs::Permissions::from_mode(0o644)).unwrap();
    let error = fixture.vault.value("ONE").unwrap_err();
    assert!(error.hint().starts_with("run: chmod 600 "), "{}", error.hint());
    // Setting it again, or deleting it, is always possible.
    fs::write(fixture.file("TWO"), "").unwrap();
    fixture.set("TWO", "canary-3");
    assert!(fixture.vault.delete("ONE").unwrap());
    assert_eq!(fixture.show("TWO").unwrap(), "canary-3");
}

#[test]
fn grants_cannot_be_made_up_in_the_file() {
    let fixture = fixture();
    fixture.set("ONE", "canary-1");
    let path = fixture.folder.path().join("vault/grants.json");
    fixture.vault.grant(grant(holder("a"), "ONE", "ONE")).unwrap();
    let before = fs::read_to_string(&path).unwrap();
    fixture.vault.revoke("a", "ONE", None).unwrap();
    for broken in ["[]", "", r#"[{"holder":{"name":"a"}}]"#] {
        fs::write(&path, broken).unwrap();
        let miss = fixture.vault.resolve(&holder("a"), "ONE").unwrap_err();
        assert_eq!(miss.kind, VaultLookupErrorKind::Unavailable, "{miss}");
        assert!(fixture.vault.grant(grant(holder("b"), "ONE", "ONE")).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), broken, "nothing is lost");
    }
    fs::write(&path, before).unwrap();
    assert_eq!(fixture.vault.resolve(&holder("a"), "ONE").unwrap().expose(), "canary-1");
}

#[test]
fn many_writers_lose_nothing() {
    let fixture = fixture();
    thread::scope(|scope| {
        for number in 0..8 {
            let folder = fixture.folder.path();
            scope.spawn(move || {
                // As a process of its own: even the key is made by the one who comes first.
                let vault = Vault::new(folder, KeySettings::default());
                let name = format!("KEY_{number}");
                vault.set(&name, &Secret::new(format!("canary-{number}"))).unwrap();
                vault.grant(grant(holder(&name), &name, &name)).unwrap();
                if number % 4 == 0 {
                    vault.rekey(None).unwrap();
                }
            });
        }
    });
    let grants: BTreeSet<String> =
        fixture.vault.grants().unwrap().into_iter().map(|grant| grant.entry).collect();
    assert_eq!(grants.len(), 8);
    for number in 0..8 {
        let name = format!("KEY_{number}");
        let value = fixture.vault.resolve(&holder(&name), &name).unwrap();
        assert_eq!(value.expose(), format!("canary-{number}"));
    }
}

//! Where the key comes from, what is wrong with it, and changing it.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use capdeck_auth::{
    KeySettings, LoginMethod, Secret, SignInState, Vault, VaultError, VaultGrant, VaultHolder,
    VaultLookupErrorKind,
};

use crate::support::*;

/// Two keys as programs write them.
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const OTHER: &str = "HxAdHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA";

fn write(path: &Path, text: &str, mode: u32) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    path.to_owned()
}

fn from_text(text: &str) -> KeySettings {
    KeySettings { caplets_key: Some(Secret::new(text)), ..KeySettings::default() }
}

fn keep(vault: &Vault, name: &str, value: &str) -> Result<(), VaultError> {
    vault.set(name, &Secret::new(value)).map(drop)
}

fn show(vault: &Vault, name: &str) -> Result<String, VaultError> {
    vault.value(name).map(|value| value.expose().to_owned())
}

#[test]
fn every_form_and_place_of_one_key_opens_the_same_vault() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let state = at("state");
    keep(&Vault::new(&state, from_text(KEY)), "TOKEN", "canary-1").unwrap();
    assert!(!state.join("vault/key").exists(), "a key from outside is not written down");
    let prefixed = format!("caplets-vault-key-v1.{KEY}\n");
    let file = write(&at("caplets-key"), &prefixed, 0o600);
    let raw = write(&at("raw-key"), KEY, 0o400);
    for settings in [
        from_text(&prefixed),
        from_text(&format!("{KEY}=")),
        KeySettings { key_file: Some(raw.clone()), ..KeySettings::default() },
        KeySettings { caplets_key_file: Some(file.clone()), ..KeySettings::default() },
        KeySettings { caplets_key_file: Some(file.clone()), ..from_text(KEY) },
        // The key that Caplets left on this machine.
        KeySettings { caplets_places: vec![at("none"), file], ..KeySettings::default() },
        // Our own variable counts more.
        KeySettings { key_file: Some(raw), ..from_text(OTHER) },
    ] {
        let vault = Vault::new(&state, settings.clone());
        assert_eq!(show(&vault, "TOKEN").as_deref(), Ok("canary-1"), "{settings:?}");
    }
}

#[test]
fn a_key_source_that_is_no_good_is_named_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let file = |path: PathBuf| KeySettings { key_file: Some(path), ..KeySettings::default() };
    let open = write(&at("open key"), KEY, 0o640);
    let other = write(&at("other"), OTHER, 0o600);
    let both = KeySettings { caplets_key_file: Some(other), ..from_text(KEY) };
    for (settings, message, hint) in [
        (from_text("canary"), "`CAPLETS_ENCRYPTION_KEY` holds no key".to_owned(), "32 bytes"),
        (
            file(write(&at("short"), "AAECAwQFBgcICQoLDA0O", 0o600)),
            format!("`{}` holds no key", at("short").display()),
            "32 bytes",
        ),
        (
            file(write(&at("empty"), "\n", 0o600)),
            format!("`{}` holds no key", at("empty").display()),
            "32 bytes",
        ),
        (
            file(open.clone()),
            format!("others may read the key file `{}`", open.display()),
            &format!("run: chmod 600 '{}'", open.display()),
        ),
        (
            file(at("nowhere")),
            format!(
                "`CAPDECK_KEY_FILE` names the key file `{}`, which does not exist",
                at("nowhere").display()
            ),
            "unset CAPDECK_KEY_FILE",
        ),
        (
            both,
            "`CAPLETS_ENCRYPTION_KEY` and `CAPLETS_ENCRYPTION_KEY_FILE` hold two different keys"
                .to_owned(),
            "unset CAPLETS_ENCRYPTION_KEY or",
        ),
    ] {
        let vault = Vault::new(&at("state"), settings);
        let error = keep(&vault, "TOKEN", "canary-1").unwrap_err();
        assert_eq!(error.to_string(), message);
        assert!(error.hint().contains(hint), "{}", error.hint());
        assert!(error.is_about_the_key());
        assert!(!at("state/vault/values/TOKEN.json").exists());
    }
}

#[test]
fn another_key_reads_nothing_writes_nothing_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let right = Vault::new(folder.path(), from_text(KEY));
    let wrong = Vault::new(folder.path(), from_text(OTHER));
    let holder = VaultHolder::new("github", "user-file", Path::new("/deck/github.md"));
    let grant = VaultGrant {
        holder: holder.clone(),
        reference: "TOKEN".to_owned(),
        entry: "TOKEN".to_owned(),
    };
    keep(&right, "TOKEN", "canary-1").unwrap();
    right.grant(grant.clone()).unwrap();
    let error = show(&wrong, "TOKEN").unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("was sealed with key ") && text.contains("from `CAPLETS_ENCRYPTION_KEY`")
    );
    assert!(!error.is_about_the_key());
    assert!(keep(&wrong, "TOKEN", "canary-2").is_err());
    assert!(keep(&wrong, "NEW", "canary-2").is_err());
    assert!(wrong.grant(grant).is_err());
    assert_eq!(
        wrong.resolve(&holder, "TOKEN").unwrap_err().kind,
        VaultLookupErrorKind::Unavailable
    );
    assert_eq!(wrong.list().unwrap().len(), 1);
    assert_eq!(show(&right, "TOKEN").as_deref(), Ok("canary-1"));
    assert_eq!(right.resolve(&holder, "TOKEN").unwrap().expose(), "canary-1");
}

#[test]
fn a_lost_key_is_not_replaced_behind_the_person_s_back() {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::new(folder.path(), KeySettings::default());
    keep(&vault, "TOKEN", "canary-1").unwrap();
    let key = folder.path().join("vault/key");
    let kept = fs::read_to_string(&key).unwrap();
    assert!(kept.starts_with("capdeck-vault-key-v1."));
    fs::remove_file(&key).unwrap();
    for error in [show(&vault, "TOKEN").unwrap_err(), keep(&vault, "OTHER", "x").unwrap_err()] {
        assert!(error.to_string().starts_with("the vault has entries, but its key"), "{error}");
        assert!(error.hint().starts_with("put the key back"), "{}", error.hint());
    }
    assert!(!key.exists());
    write(&key, &kept, 0o600);
    assert_eq!(show(&vault, "TOKEN").as_deref(), Ok("canary-1"));
}

#[test]
fn a_new_key_opens_everything_and_the_old_one_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let vault = Vault::new(folder.path(), KeySettings::default());
    for number in 0..3 {
        keep(&vault, &format!("KEY_{number}"), &format!("canary-{number}")).unwrap();
    }
    let key = folder.path().join("vault/key");
    let old = fs::read_to_string(&key).unwrap();
    let old_file = fs::read_to_string(folder.path().join("vault/values/KEY_0.json")).unwrap();
    let done = vault.rekey(None).unwrap();
    assert_eq!((done.files, done.place), (3, key.display().to_string()));
    let new = fs::read_to_string(&key).unwrap();
    assert_ne!(new, old);
    assert_eq!(new.lines().count(), 1);
    for number in 0..3 {
        let value = show(&vault, &format!("KEY_{number}")).unwrap();
        assert_eq!(value, format!("canary-{number}"));
    }
    let with_old = Vault::new(folder.path(), from_text(&old));
    assert!(show(&with_old, "KEY_0").is_err());

    // A rotation that was cut off leaves both keys in the file, and files under either.
    write(&key, &format!("{new}{old}"), 0o600);
    fs::write(folder.path().join("vault/values/KEY_0.json"), old_file).unwrap();
    assert_eq!(show(&vault, "KEY_0").as_deref(), Ok("canary-0"));
    assert_eq!(show(&vault, "KEY_1").as_deref(), Ok("canary-1"));
    vault.rekey(None).unwrap();
    assert_eq!(fs::read_to_string(&key).unwrap().lines().count(), 1);
    assert_eq!(show(&vault, "KEY_0").as_deref(), Ok("canary-0"));
}

#[test]
fn a_key_of_another_person_is_not_changed_but_can_be_left() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let vault = Vault::new(&state, from_text(KEY));
    keep(&vault, "TOKEN", "canary-1").unwrap();
    let error = vault.rekey(None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the key comes from `CAPLETS_ENCRYPTION_KEY`, which Capdeck does not change"
    );
    // As the hint says: the key becomes ours, then it is changed.
    let own = state.join("vault/key");
    assert!(error.hint().starts_with(&format!("write that key to {}", own.display())));
    write(&own, KEY, 0o600);
    let vault = Vault::new(&state, KeySettings::default());
    vault.rekey(None).unwrap();
    assert_eq!(show(&vault, "TOKEN").as_deref(), Ok("canary-1"));

    // The key that Caplets left is never written to; the new one goes to our own file.
    let state = folder.path().join("second");
    let caplets = write(&folder.path().join("vault-key"), KEY, 0o600);
    let settings = KeySettings { caplets_places: vec![caplets.clone()], ..KeySettings::default() };
    let vault = Vault::new(&state, settings);
    keep(&vault, "TOKEN", "canary-2").unwrap();
    vault.rekey(None).unwrap();
    assert_eq!(fs::read_to_string(caplets).unwrap(), KEY);
    assert!(state.join("vault/key").exists());
    assert_eq!(show(&vault, "TOKEN").as_deref(), Ok("canary-2"));
}

#[tokio::test]
async fn sign_ins_are_sealed_with_the_same_key_and_rotate_with_it() {
    let (mock, folder) = (Mock::start().await, Folder::new());
    let sign_in = folder.sign_in(mock.settings());
    consent(&mock, &sign_in).await;
    let sealed = fs::read_to_string(folder.file()).unwrap();
    folder.vault().rekey(None).unwrap();
    assert_ne!(fs::read_to_string(folder.file()).unwrap(), sealed);
    assert_eq!(token(&sign_in).await.as_deref(), Some("canary-access-1"));

    // Without its key a sign-in is none, and a new one can be made.
    fs::remove_file(folder.path().join("vault/key")).unwrap();
    let other = folder.sign_in(mock.settings());
    assert_eq!(token(&other).await, None);
    assert!(other.status().unwrap_err().to_string().contains("is gone"));
    consent(&mock, &other).await;
    assert_eq!(other.status().unwrap().state, SignInState::SignedIn);

    // No one is sent to a browser when the outcome could not be kept.
    let key = folder.path().join("vault/key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let asked = mock.asked(METADATA).len();
    let error = other.begin(&[], LoginMethod::Browser).await.unwrap_err();
    assert!(error.hint().unwrap().starts_with("run: chmod 600 "), "{error}");
    assert_eq!(mock.asked(METADATA).len(), asked);
}

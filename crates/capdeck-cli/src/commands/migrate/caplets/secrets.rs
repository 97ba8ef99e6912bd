//! The vault and the sign-ins.

use std::{
    fs,
    path::{Path, PathBuf},
};

use capdeck_auth::{
    CapletsKey, CapletsSealedValue, CapletsSignIn, Secret, VaultGrant, VaultHolder,
};
use capdeck_definition::{Deck, Definition};
use capdeck_host::{sign_in, vault_holder};
use capdeck_install::{CapletsStore, StoredVaultGrant, StoredVaultValue};
use serde::Deserialize;
use serde_json::Value;

use super::places::CapletsPlaces;
use crate::{
    commands::migrate::{
        staging::StagedSetup,
        system::{MigrationScene, SetupItem, SetupItemKind},
    },
    errors::CommandFailure,
    runtime::with_caller,
};

/// Takes the values of the vault, who may read them, and the sign-ins.
pub(super) fn take_secrets(
    places: &CapletsPlaces,
    store: &CapletsStore,
    deck: &Deck,
    staged: &StagedSetup,
    scene: &MigrationScene<'_>,
    items: &mut Vec<SetupItem>,
) -> Result<(), CommandFailure> {
    let values = values(places, store);
    let sign_ins = sign_ins(places, store, items);
    let known = scene.settings.vault.grants()?;
    let moved = moved_grants(&known, places, staged);
    if values.is_empty() && sign_ins.is_empty() && moved.is_empty() {
        return Ok(());
    }
    let key = CapletsVaultKey::find(places, scene);
    key.keep(staged)?;
    let taken = take_values(&values, &key, staged, items)?;
    let grants = grants(places, store);
    let grants: Vec<&StoredVaultGrant> =
        grants.iter().filter(|grant| taken.contains(&grant.value)).collect();
    // Sign-ins are resolved in the copy, whose files may read the same.
    let (mut copies, mut reals) = (Vec::new(), moved);
    for grant in &grants {
        let holders = holders(grant, places, deck, staged);
        if holders.is_empty() {
            let name = format!("{} → {}", grant.caplet, grant.value);
            items.push(SetupItem::leave(SetupItemKind::Grant, name, "there is no such capability"));
        }
        for (copy, real) in holders {
            let (reference, entry) = (grant.reference.clone(), grant.value.clone());
            copies.push(VaultGrant {
                holder: copy,
                reference: reference.clone(),
                entry: entry.clone(),
            });
            reals.push(VaultGrant { holder: real, reference, entry });
        }
    }
    for grant in &copies {
        staged.vault.grant(grant.clone())?;
    }
    take_sign_ins(sign_ins, staged, items)?;
    for grant in copies {
        staged.vault.revoke(&grant.holder.name, &grant.entry, Some(&grant.reference))?;
    }
    for grant in known.into_iter().chain(reals) {
        let is_there = staged.vault.grants()?.contains(&grant);
        if !is_there {
            staged.vault.grant(grant)?;
        }
    }
    Ok(())
}

/// Grants of the person's own vault to files of the old folder, which was read in place: the same for the new places.
fn moved_grants(
    known: &[VaultGrant],
    places: &CapletsPlaces,
    staged: &StagedSetup,
) -> Vec<VaultGrant> {
    let deck = places.deck.canonicalize().unwrap_or_else(|_| places.deck.clone());
    let moved = |grant: &VaultGrant| {
        let below = Path::new(&grant.holder.path).strip_prefix(&deck).ok()?;
        let path = staged.real(&staged.deck_dir().join(below)).display().to_string();
        let holder = VaultHolder { path, ..grant.holder.clone() };
        Some(VaultGrant { holder, ..grant.clone() })
    };
    known.iter().filter_map(moved).collect()
}

/// The key that values of Caplets are encrypted with.
struct CapletsVaultKey {
    key: Option<CapletsKey>,
    text: Option<Secret>,
}

impl CapletsVaultKey {
    fn find(places: &CapletsPlaces, scene: &MigrationScene<'_>) -> Self {
        let env = &scene.context.env;
        let here = env.current_dir.clone().unwrap_or_default();
        let file = env.caplets_key_file.as_ref().map(|file| here.join(file));
        let read = |file: PathBuf| fs::read_to_string(file).ok().map(Secret::new);
        let text = env.caplets_key.clone().or_else(|| file.and_then(read));
        let text = text.or_else(|| read(places.state.join("vault/vault-key")));
        let key = text.as_ref().and_then(CapletsKey::parse);
        Self { text: text.filter(|_| key.is_some()), key }
    }

    /// A vault without a key of its own goes on with this one, which would go with Caplets.
    fn keep(&self, staged: &StagedSetup) -> Result<(), CommandFailure> {
        let own = staged.state_dir().join("vault/key");
        let Some(text) = self.text.as_ref().filter(|_| !own.exists()) else { return Ok(()) };
        capdeck_storage::replace_file(
            &own,
            text.expose().as_bytes(),
            capdeck_storage::FileReaders::Owner,
        )
        .map_err(|error| CommandFailure::file("write", &own, &error))
    }
}

/// The values of the database, then those of older versions that it does not have.
fn values(places: &CapletsPlaces, store: &CapletsStore) -> Vec<StoredVaultValue> {
    let mut values = store.values.clone();
    for (name, sealed) in json_files(&places.state.join("vault/values")) {
        if !values.iter().any(|value| value.name == name) {
            values.push(StoredVaultValue { name, sealed });
        }
    }
    values
}

/// Puts values into the copy of the vault. Returns the names of those that it has then.
fn take_values(
    values: &[StoredVaultValue],
    key: &CapletsVaultKey,
    staged: &StagedSetup,
    items: &mut Vec<SetupItem>,
) -> Result<Vec<String>, CommandFailure> {
    let mut taken = Vec::new();
    for StoredVaultValue { name, sealed } in values {
        let leave = |why: &str| SetupItem::leave(SetupItemKind::Secret, name, why);
        let sealed: Option<CapletsSealedValue> = serde_json::from_value(sealed.clone()).ok();
        let opened = key.key.as_ref().zip(sealed).map(|(key, sealed)| key.open(&sealed));
        let value = match opened {
            Some(Some(value)) => value,
            Some(None) => {
                items.push(leave("it was encrypted with another key"));
                continue;
            }
            None => {
                items.push(leave("the key of the vault is not there"));
                continue;
            }
        };
        match staged.vault.value(name) {
            Ok(known) if known == value => {
                taken.push(name.clone());
                let note = "your vault has it already";
                items.push(SetupItem::in_place(SetupItemKind::Secret, name, note));
            }
            Ok(_) => items.push(leave("your vault has another value of that name")),
            Err(_) => {
                staged.vault.set(name, &value)?;
                taken.push(name.clone());
                items.push(SetupItem::take(SetupItemKind::Secret, name, None));
            }
        }
    }
    Ok(taken)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OlderGrant {
    stored_key: String,
    reference_name: String,
    caplet_id: String,
    origin: OlderOrigin,
}

#[derive(Deserialize)]
struct OlderOrigin {
    kind: String,
    path: PathBuf,
}

/// The grants of the database, and those of older versions.
fn grants(places: &CapletsPlaces, store: &CapletsStore) -> Vec<StoredVaultGrant> {
    let mut grants = store.grants.clone();
    let file = places.state.join("vault/access-grants.json");
    let older: Value =
        fs::read(file).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    let listed = older.get("grants").unwrap_or(&older).as_array().cloned().unwrap_or_default();
    for grant in listed {
        let Ok(grant) = serde_json::from_value::<OlderGrant>(grant) else { continue };
        let is_stored = grant.origin.kind == "stored-record";
        grants.push(StoredVaultGrant {
            caplet: grant.caplet_id,
            reference: grant.reference_name,
            value: grant.stored_key,
            file: Some(grant.origin.path).filter(|_| !is_stored),
        });
    }
    grants
}

/// Who a grant is for: in the copy, and where its file will be.
fn holders(
    grant: &StoredVaultGrant,
    places: &CapletsPlaces,
    deck: &Deck,
    staged: &StagedSetup,
) -> Vec<(VaultHolder, VaultHolder)> {
    if let Some(file) = grant.file.as_ref().filter(|file| !file.starts_with(&places.deck)) {
        // A project's file is read where it is.
        let is_config = file.extension().is_some_and(|extension| extension == "json");
        let kind = if is_config { "project-config" } else { "project-file" };
        let holder = VaultHolder::new(&grant.caplet, kind, file);
        return if file.exists() { vec![(holder.clone(), holder)] } else { Vec::new() };
    }
    let is_it = |one: &&Definition| {
        let parent = one.parent.as_ref().or(one.member_of.as_ref());
        one.id.as_str() == grant.caplet || parent.is_some_and(|id| id.as_str() == grant.caplet)
    };
    let found = deck.definitions.iter().map(AsRef::as_ref).filter(is_it);
    let pair = |definition: &Definition| {
        let copy = vault_holder(definition);
        let real = staged.real(&definition.source.path);
        let real = VaultHolder { path: real.display().to_string(), ..copy.clone() };
        (copy, real)
    };
    found.map(pair).collect()
}

/// The sign-ins of the database, then those of older versions that it does not have.
fn sign_ins(
    places: &CapletsPlaces,
    store: &CapletsStore,
    items: &mut Vec<SetupItem>,
) -> Vec<CapletsSignIn> {
    let mut found: Vec<CapletsSignIn> = Vec::new();
    let stored = store.sign_ins.iter().filter_map(|text| serde_json::from_str(text).ok());
    let older = json_files(&places.state.join("auth")).into_iter().map(|(_, bundle)| bundle);
    for bundle in stored.chain(older) {
        let name = bundle.get("server").and_then(Value::as_str).unwrap_or("?").to_owned();
        match serde_json::from_value::<CapletsSignIn>(bundle) {
            Ok(sign_in) if !found.iter().any(|known| known.server == sign_in.server) => {
                found.push(sign_in);
            }
            Ok(_) => {}
            // The parser's message would quote a token.
            Err(_) => {
                let why = format!("it is damaged; sign in with: capdeck auth login {name}");
                items.push(SetupItem::leave(SetupItemKind::SignIn, name, why));
            }
        }
    }
    found
}

/// Keeps the sign-ins in the copy, each where its capability looks for it.
fn take_sign_ins(
    sign_ins: Vec<CapletsSignIn>,
    staged: &StagedSetup,
    items: &mut Vec<SetupItem>,
) -> Result<(), CommandFailure> {
    if sign_ins.is_empty() {
        return Ok(());
    }
    let host = staged.settings.open_host()?;
    let caller = std::sync::Arc::new(capdeck_host::NoCaller);
    let taken =
        with_caller(host, capdeck_host::ClientProfile::default(), caller, async |session, _| {
            let snapshot = session.snapshot();
            let take = |bundle: &CapletsSignIn| -> Result<(), String> {
                let found = sign_in(&snapshot, &bundle.server).map_err(|error| error.message)?;
                let status = found.adopt(bundle).map_err(|error| error.to_string())?;
                let status = status.map_err(|error| error.to_string())?;
                status.problem.map_or(Ok(()), Err)
            };
            Ok(sign_ins.iter().map(|one| (one.server.clone(), take(one))).collect::<Vec<_>>())
        })?;
    for (id, outcome) in taken {
        items.push(match outcome {
            Ok(()) => SetupItem::take(SetupItemKind::SignIn, id, None),
            Err(why) => {
                let why = format!("{why}; sign in with: capdeck auth login {id}");
                SetupItem::leave(SetupItemKind::SignIn, id, why)
            }
        });
    }
    Ok(())
}

/// The JSON files of a folder, by name.
fn json_files(folder: &Path) -> Vec<(String, Value)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let value = serde_json::from_slice(&fs::read(entry.path()).ok()?).ok()?;
        Some((name.strip_suffix(".json")?.to_owned(), value))
    };
    let mut files: Vec<(String, Value)> = entries.filter_map(read).collect();
    files.sort_by(|one, other| one.0.cmp(&other.0));
    files
}

//! Private memory of agents: `memory/<agent>.json`, a flat map.

use std::{fs, io};

use super::capsule_files::CapsuleFiles;
use crate::{
    AuditLogLine, ChangeAuthor, MemoryMap, MemoryOwner, StoreError, StoreResult, store::check_key,
};

pub(super) fn load(files: &CapsuleFiles, owner: &MemoryOwner) -> StoreResult<MemoryMap> {
    let path = files.layout.memory(owner);
    files.layout.check_file(&path)?;
    let failed = || StoreError::io("read the memory");
    match capdeck_storage::read_if_exists(&path).map_err(failed())? {
        Some(text) => serde_json::from_slice(&text).map_err(io::Error::other).map_err(failed()),
        None => Ok(MemoryMap::new()),
    }
}

/// Sets a key, or removes it.
pub(super) fn change(
    files: &CapsuleFiles,
    key: &str,
    value: Option<String>,
    by: &ChangeAuthor,
) -> StoreResult<()> {
    files.writable()?;
    check_key(key)?;
    let (owner, limits) = (by.author.owner(), &files.options.limits);
    let bytes = value.as_ref().map(|value| value.len() as u64);
    if let Some(bytes) = bytes.filter(|bytes| *bytes > limits.memory_value) {
        return Err(StoreError::TooLarge { what: "the value", bytes, most: limits.memory_value });
    }
    let path = files.layout.memory(&owner);
    let _memory = files.stripe(&path.to_string_lossy()).lock();
    let mut memory = load(files, &owner)?;
    let action = match value {
        Some(value) => {
            if !memory.contains_key(key) && memory.len() as u64 >= limits.memory_keys {
                let (what, most) = ("keys in a memory", limits.memory_keys);
                return Err(StoreError::QuotaExceeded { what, most });
            }
            if !path.exists() {
                check_room(files)?;
            }
            memory.insert(key.to_owned(), value);
            "memory.set"
        }
        None => {
            memory.remove(key).ok_or_else(|| StoreError::NoSuchKey { key: key.to_owned() })?;
            "memory.delete"
        }
    };
    let line = AuditLogLine { bytes, ..files.line_of(by, action)? };
    files.replace_file(path, serde_json::to_vec_pretty(&memory), line, "save the memory")
}

/// Names of clients are free to choose, so their number must end somewhere.
fn check_room(files: &CapsuleFiles) -> StoreResult<()> {
    let most = files.options.limits.memories;
    let folder = fs::read_dir(files.layout.folder("memory"));
    let count = folder.map_err(StoreError::io("read the memories"))?.count() as u64;
    if count < most { Ok(()) } else { Err(StoreError::QuotaExceeded { what: "memories", most }) }
}

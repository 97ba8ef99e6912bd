//! Private memory of agents: `memory/<agent>.json`, a flat map.

use std::{collections::BTreeMap, fs, io};

use super::{
    engine::StoreEngine,
    recorder::{ChangeDetails, ChangeRecorder},
};
use crate::{AuditLogLine, MemoryItem, MemoryOwner, StoreError};

const MAX_KEY_LENGTH: usize = 128;

type MemoryMap = BTreeMap<String, String>;

impl StoreEngine {
    pub(crate) fn memory_get(&self, owner: &MemoryOwner, key: &str) -> Result<String, StoreError> {
        check_key(key)?;
        self.load_memory(owner)?
            .remove(key)
            .ok_or_else(|| StoreError::NoSuchKey { key: key.to_owned() })
    }

    pub(crate) fn memory_set(
        &self,
        owner: &MemoryOwner,
        key: &str,
        value: &str,
        recorder: Option<&ChangeRecorder>,
    ) -> Result<(), StoreError> {
        self.writable()?;
        check_key(key)?;
        let limits = &self.options.limits;
        let bytes = value.len() as u64;
        if bytes > limits.memory_value {
            return Err(StoreError::TooLarge {
                what: "the value",
                bytes,
                most: limits.memory_value,
            });
        }
        let path = self.layout.memory(owner);
        let _memory = self.stripe(&path.to_string_lossy()).lock();
        let mut memory = self.load_memory(owner)?;
        if !memory.contains_key(key) && memory.len() as u64 >= limits.memory_keys {
            return Err(StoreError::QuotaExceeded {
                what: "keys in a memory",
                most: limits.memory_keys,
            });
        }
        if !path.exists() {
            self.check_room()?;
        }
        memory.insert(key.to_owned(), value.to_owned());
        let note =
            ChangeDetails { action: "memory.set", bytes: Some(bytes), ..ChangeDetails::default() };
        self.save_memory(owner, &memory, self.line_of(recorder, note)?)
    }

    pub(crate) fn memory_delete(
        &self,
        owner: &MemoryOwner,
        key: &str,
        recorder: Option<&ChangeRecorder>,
    ) -> Result<(), StoreError> {
        self.writable()?;
        check_key(key)?;
        let path = self.layout.memory(owner);
        let _memory = self.stripe(&path.to_string_lossy()).lock();
        let mut memory = self.load_memory(owner)?;
        memory.remove(key).ok_or_else(|| StoreError::NoSuchKey { key: key.to_owned() })?;
        let note = ChangeDetails { action: "memory.delete", ..ChangeDetails::default() };
        self.save_memory(owner, &memory, self.line_of(recorder, note)?)
    }

    pub(crate) fn memory_list(&self, owner: &MemoryOwner) -> Result<Vec<MemoryItem>, StoreError> {
        let memory = self.load_memory(owner)?;
        Ok(memory.into_iter().map(|(key, value)| MemoryItem { key, value }).collect())
    }

    /// Items that hold all words of a question; those whose key does come first.
    pub(crate) fn memory_search(
        &self,
        owner: &MemoryOwner,
        query: &str,
    ) -> Result<Vec<MemoryItem>, StoreError> {
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        if words.is_empty() {
            return Err(StoreError::invalid("query", "it has no words"));
        }
        let holds = |text: &str| words.iter().all(|word| text.contains(word));
        let mut found: Vec<(bool, MemoryItem)> = Vec::new();
        for item in self.memory_list(owner)? {
            let key = item.key.to_lowercase();
            if holds(&format!("{key}\n{}", item.value.to_lowercase())) {
                found.push((!holds(&key), item));
            }
        }
        found.sort_by_key(|(is_weaker, _)| *is_weaker);
        Ok(found.into_iter().map(|(_, item)| item).collect())
    }

    fn load_memory(&self, owner: &MemoryOwner) -> Result<MemoryMap, StoreError> {
        let path = self.layout.memory(owner);
        self.check_file(&path)?;
        let failed = || StoreError::io("read the memory");
        match fs::read(path) {
            Ok(text) => serde_json::from_slice(&text).map_err(io::Error::other).map_err(failed()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(MemoryMap::new()),
            Err(error) => Err(failed()(error)),
        }
    }

    fn save_memory(
        &self,
        owner: &MemoryOwner,
        memory: &MemoryMap,
        line: Option<AuditLogLine>,
    ) -> Result<(), StoreError> {
        const OPERATION: &str = "save the memory";
        let text = serde_json::to_vec_pretty(memory).map_err(io::Error::other);
        self.replace_file(
            self.layout.memory(owner),
            text.map_err(StoreError::io(OPERATION))?,
            line,
            OPERATION,
        )
    }

    /// Names of clients are free to choose, so their number must end somewhere.
    fn check_room(&self) -> Result<(), StoreError> {
        let most = self.options.limits.memories;
        let folder = fs::read_dir(self.layout.root().join("memory"));
        let count = folder.map_err(StoreError::io("read the memories"))?.count() as u64;
        if count < most {
            Ok(())
        } else {
            Err(StoreError::QuotaExceeded { what: "memories", most })
        }
    }
}

fn check_key(key: &str) -> Result<(), StoreError> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_.:-/".contains(letter);
    if (1..=MAX_KEY_LENGTH).contains(&key.len()) && key.chars().all(is_plain) {
        return Ok(());
    }
    let rule = format!("1 to {MAX_KEY_LENGTH} letters, digits, `_`, `.`, `:`, `-` or `/`");
    Err(StoreError::invalid("key", rule))
}

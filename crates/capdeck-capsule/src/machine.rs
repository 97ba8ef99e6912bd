//! What is known about the machine that this process runs on.

use std::{fs, sync::OnceLock};

/// A name for this run of the machine, where the system gives one. As long as it stays the same, nothing that was written
/// is lost by a process that ends.
pub(crate) fn boot_id() -> Option<String> {
    static BOOT: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(id.trim().to_owned()).filter(|id| !id.is_empty())
    };
    BOOT.get_or_init(read).clone()
}

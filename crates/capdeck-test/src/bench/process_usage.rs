//! Processor time and memory of another process, as Linux tells them.

use std::{fs, time::Duration};

use super::ProcessMemory;

/// Clock ticks of `/proc/…/stat`; fixed at 100 a second for user space on Linux.
const TICK: Duration = Duration::from_millis(10);

/// Processor time used so far, user and system. Zero where there is no `/proc`.
pub(super) fn processor_time(id: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // The second field is the program's name in parentheses and may hold spaces.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks =
        fields.split_whitespace().skip(11).take(2).filter_map(|text| text.parse::<u32>().ok());
    TICK * ticks.sum()
}

/// Resident memory in bytes. Zero where there is no `/proc`.
pub(crate) fn resident_memory(id: u32) -> u64 {
    memory_of(id).resident
}

/// Memory of a process. Zero where there is no `/proc`.
pub(super) fn memory_of(id: u32) -> ProcessMemory {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kibibytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        kibibytes.unwrap_or_default() * 1024
    };
    ProcessMemory { resident: bytes("VmRSS:"), own: bytes("RssAnon:") }
}

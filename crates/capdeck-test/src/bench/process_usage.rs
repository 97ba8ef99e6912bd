//! Processor time and memory of another process, as Linux reports them.

use std::{fs, time::Duration};

use super::{ProcessMemory, TreeMemory};

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

/// Memory of a process and all its descendants.
pub(crate) fn tree_memory(id: u32) -> TreeMemory {
    let of_one = |id: &u32| {
        let map = memory_map(*id);
        TreeMemory { processes: 1, pss: sum(&map, "Pss:"), rss: sum(&map, "Rss:") }
    };
    let parents = parents();
    let mut tree = vec![id];
    let mut seen = 0;
    while let Some(above) = tree.get(seen).copied() {
        tree.extend(parents.iter().filter(|(_, parent)| *parent == above).map(|(id, _)| *id));
        seen += 1;
    }
    tree.iter().map(of_one).fold(TreeMemory::default(), |left, right| TreeMemory {
        processes: left.processes + right.processes,
        pss: left.pss + right.pss,
        rss: left.rss + right.rss,
    })
}

pub(super) fn children_of(id: u32) -> Vec<u32> {
    parents().into_iter().filter(|(_, parent)| *parent == id).map(|(child, _)| child).collect()
}

/// Every process with its parent.
fn parents() -> Vec<(u32, u32)> {
    let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter_map(|id| Some((id, parent(id)?))).collect()
}

pub(super) fn command_line(id: u32) -> String {
    String::from_utf8_lossy(&fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default())
        .into_owned()
}

fn parent(id: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The second field is the program's name in parentheses and may hold spaces.
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

/// A sum over the memory map of a process, in bytes.
pub(super) fn memory_map_sum(id: u32, name: &str) -> u64 {
    sum(&memory_map(id), name)
}

fn memory_map(id: u32) -> String {
    fs::read_to_string(format!("/proc/{id}/smaps_rollup")).unwrap_or_default()
}

fn sum(map: &str, name: &str) -> u64 {
    let lines = map.lines().filter(|line| line.starts_with(name));
    let sizes = lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    sizes.sum::<u64>() * 1024
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio, id};

    use super::tree_memory;

    #[test]
    fn children_count_with_their_parent() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let tree = tree_memory(id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(tree.processes >= 2 && tree.pss > 0 && tree.pss <= tree.rss, "{tree:?}");
    }
}

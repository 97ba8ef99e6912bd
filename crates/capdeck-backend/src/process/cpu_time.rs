//! How much work a process group has done, where the system tells.

use std::{fs, time::Duration};

use rustix::process::Pid;

/// The processor time of a group so far, with that of children that have ended. `None` on a system without `/proc`.
pub(super) fn of_group(group: Pid) -> Option<Duration> {
    let group = group.as_raw_nonzero().get();
    let entries = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    let is_process = |name: &[u8]| name.first().is_some_and(u8::is_ascii_digit);
    let processes = entries.filter(|entry| is_process(entry.file_name().as_encoded_bytes()));
    // A process may end while it is read.
    let stats = processes.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let ticks: u64 = stats.filter_map(|stat| ticks_in_group(&stat, group)).sum();
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Some(Duration::from_millis(ticks.saturating_mul(1000) / per_second))
}

/// The time in `/proc/PID/stat`, if the process is in the group.
fn ticks_in_group(stat: &str, group: i32) -> Option<u64> {
    // The name before it is in brackets and may hold anything.
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let is_member = fields.get(2)?.parse() == Ok(group);
    let times = fields.get(11..15).filter(|_| is_member)?;
    times.iter().map(|ticks| ticks.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_a_process_and_its_children_are_added() {
        let stat = "7 (a) b (c) S 1 42 42 0 -1 4194560 900 0 0 0 30 4 5 1 20 0 1 0 100 0 0";
        assert_eq!(ticks_in_group(stat, 42), Some(40));
        assert_eq!(ticks_in_group(stat, 7), None);
        assert_eq!(ticks_in_group("7 (a", 7), None);
    }
}

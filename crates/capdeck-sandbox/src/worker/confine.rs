//! Walls around the worker process, put up by itself before it reads any code.
//!
//! Resource limits work on every Unix; the filter of system calls and Landlock are Linux only. Each is
//! tried on its own and reported: a missing wall does not keep the others from standing. After this the process
//! can read and write the pipe it already has, ask for memory and the time, and nothing else.

#[cfg(target_os = "linux")]
mod system_calls;

use std::{fs, time::Duration};

use rustix::{
    process::{Resource, Rlimit, setrlimit},
    time::{ClockId, clock_gettime},
};

use crate::protocol::Isolation;

/// Puts up what this system offers. The process may use this much more address space than it does now.
pub(super) fn confine(address_space: u64) -> Isolation {
    // The host comes first; scripts take what is left when the machine is busy.
    let _as_before = rustix::process::nice(5);
    let landlock = landlock();
    let resource_limits = limit_resources(address_space);
    let system_call_filter = filter_system_calls();
    Isolation { resource_limits, system_call_filter, landlock }
}

/// Lets the kernel end the process when a run computes far longer than it may, should nobody else do it:
/// some built-in functions cannot be interrupted, and the host may be gone.
pub(super) fn back_stop(cpu: Duration) {
    let used = Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default();
    let seconds = (used + cpu).as_secs() + 2;
    let _unlimited = setrlimit(Resource::Cpu, Rlimit { current: Some(seconds), maximum: None });
}

fn limit_resources(address_space: u64) -> bool {
    let pages = fs::read_to_string("/proc/self/statm").ok();
    let used = pages.and_then(|text| text.split(' ').next()?.parse::<u64>().ok()).unwrap_or(0);
    let page = rustix::param::page_size() as u64;
    let limits = [
        // The three that are open stay usable; a fourth cannot be opened.
        (Resource::Nofile, 3),
        (Resource::Nproc, 0),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
        (Resource::As, used * page + address_space),
    ];
    let set = limits.map(|(resource, most)| {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }).is_ok()
    });
    set.iter().all(|done| *done)
}

#[cfg(target_os = "linux")]
fn landlock() -> bool {
    use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetStatus, Scope};
    let abi = ABI::V6;
    let restricted = Ruleset::default()
        .handle_access(AccessFs::from_all(abi))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(abi)))
        .and_then(|rules| rules.scope(Scope::from_all(abi)))
        .and_then(Ruleset::create)
        .and_then(landlock::RulesetCreated::restrict_self);
    restricted.is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced)
}

#[cfg(not(target_os = "linux"))]
fn landlock() -> bool {
    false
}

#[cfg(target_os = "linux")]
fn filter_system_calls() -> bool {
    rustix::thread::set_no_new_privs(true).is_ok() && system_calls::filter()
}

#[cfg(not(target_os = "linux"))]
fn filter_system_calls() -> bool {
    false
}

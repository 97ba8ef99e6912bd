//! Confines the worker process, before it reads any code.
//!
//! Resource limits work on every Unix; the system call filter and Landlock are Linux only. Each is applied
//! independently and reported. After this the process can use its open pipe, memory and the clock, and nothing else.

#[cfg(target_os = "linux")]
mod system_calls;

use std::{fs, time::Duration};

use rustix::{
    process::{Resource, Rlimit, setrlimit},
    time::{ClockId, clock_gettime},
};

use crate::protocol::WorkerIsolation;

/// What confining needs from outside, gathered while that can still be read.
pub(super) struct Confinement {
    address_space: u64,
    #[cfg(target_os = "linux")]
    system_calls: Option<system_calls::CallFilter>,
}

impl Confinement {
    /// The process may use this much more address space than now.
    pub(super) fn prepare(address_space: u64) -> Self {
        let pages = fs::read_to_string("/proc/self/statm").ok();
        let used = pages.and_then(|text| text.split(' ').next()?.parse::<u64>().ok()).unwrap_or(0);
        Self {
            address_space: used * rustix::param::page_size() as u64 + address_space,
            #[cfg(target_os = "linux")]
            system_calls: system_calls::CallFilter::new(),
        }
    }

    /// Applies the available mechanisms to this process, for good.
    pub(super) fn apply(&self) -> WorkerIsolation {
        // The host has priority over scripts on a busy machine.
        let _as_before = rustix::process::nice(5);
        let landlock = landlock();
        let resource_limits = limit_resources(self.address_space);
        let system_call_filter = self.filter_system_calls();
        WorkerIsolation { resource_limits, system_call_filter, landlock }
    }

    #[cfg(target_os = "linux")]
    fn filter_system_calls(&self) -> bool {
        let Some(filter) = &self.system_calls else { return false };
        rustix::thread::set_no_new_privs(true).is_ok() && filter.apply()
    }

    #[cfg(not(target_os = "linux"))]
    fn filter_system_calls(&self) -> bool {
        false
    }
}

/// Sets a kernel CPU limit as a last resort: some built-in functions cannot be interrupted, and the host may be gone.
pub(super) fn back_stop(cpu: Duration) {
    let used = Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default();
    let seconds = (used + cpu).as_secs() + 2;
    let _unlimited = setrlimit(Resource::Cpu, Rlimit { current: Some(seconds), maximum: None });
}

fn limit_resources(address_space: u64) -> bool {
    let limits = [
        // The three open descriptors stay usable; a fourth cannot be opened.
        (Resource::Nofile, 3),
        (Resource::Nproc, 0),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
        (Resource::As, address_space),
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

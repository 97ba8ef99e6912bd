//! The system calls that an engine needs. All others fail with "not permitted".

use std::{collections::BTreeMap, env::consts::ARCH};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter_all_threads,
};

/// Harmless with any arguments: memory, time, waiting, exit.
const ALWAYS: &[i64] = &[
    libc::SYS_close,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_clock_gettime,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Executable memory is rejected.
const EXECUTABLE: u64 = libc::PROT_EXEC as u64;

pub(super) struct CallFilter(BpfProgram);

impl CallFilter {
    pub(super) fn new() -> Option<Self> {
        program().map(Self)
    }

    pub(super) fn apply(&self) -> bool {
        apply_filter_all_threads(&self.0).is_ok()
    }
}

fn program() -> Option<BpfProgram> {
    let equal = |argument, value| (argument, SeccompCmpOp::Eq, value);
    let not_executable = (2, SeccompCmpOp::MaskedEq(EXECUTABLE), 0);
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALWAYS.iter().map(|call| (*call, Vec::new())).collect();
    // Only the three standard descriptors work, not those that a parent left open.
    rules.insert(libc::SYS_read, vec![rule(vec![equal(0, 0)])?]);
    for call in [libc::SYS_write, libc::SYS_writev] {
        rules.insert(call, vec![rule(vec![equal(0, 1)])?, rule(vec![equal(0, 2)])?]);
    }
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        rules.insert(call, vec![rule(vec![not_executable.clone()])?]);
    }
    // The process raises its own CPU limit before every run; other limits cannot change.
    let own_cpu_limit = vec![equal(0, 0), equal(1, libc::RLIMIT_CPU as u64)];
    rules.insert(libc::SYS_prlimit64, vec![rule(own_cpu_limit)?]);
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, ARCH.try_into().ok()?);
    filter.ok()?.try_into().ok()
}

/// A rule that requires all conditions: argument index, comparison, value.
fn rule(conditions: Vec<(u8, SeccompCmpOp, u64)>) -> Option<SeccompRule> {
    let conditions = conditions.into_iter().map(|(argument, operator, value)| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value).ok()
    });
    SeccompRule::new(conditions.collect::<Option<Vec<_>>>()?).ok()
}

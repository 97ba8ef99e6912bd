//! The few system calls that an engine needs. All others answer "not permitted".

use std::{collections::BTreeMap, env::consts::ARCH};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter_all_threads,
};

/// Harmless with any arguments: memory, time, waiting, the pipes, ending.
const ALWAYS: &[i64] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_writev,
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

/// Memory that could be executed is refused.
const EXECUTABLE: u64 = libc::PROT_EXEC as u64;

/// Puts the filter on every thread of the process.
pub(super) fn filter() -> bool {
    program().is_some_and(|program| apply_filter_all_threads(&program).is_ok())
}

fn program() -> Option<BpfProgram> {
    let not_executable = || {
        let condition = SeccompCondition::new(
            2,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::MaskedEq(EXECUTABLE),
            0,
        );
        SeccompRule::new(vec![condition.ok()?]).ok()
    };
    // Its own limit of computing time is raised before every run; nothing else about limits changes.
    let own_cpu_limit = [(0, 0), (1, u64::from(libc::RLIMIT_CPU))].map(|(argument, value)| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value).ok()
    });
    let own_cpu_limit: Option<Vec<SeccompCondition>> = own_cpu_limit.into_iter().collect();
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALWAYS.iter().map(|call| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_mmap, vec![not_executable()?]);
    rules.insert(libc::SYS_mprotect, vec![not_executable()?]);
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(own_cpu_limit?).ok()?]);
    #[expect(clippy::cast_sign_loss, reason = "error numbers are positive")]
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, ARCH.try_into().ok()?);
    filter.ok()?.try_into().ok()
}

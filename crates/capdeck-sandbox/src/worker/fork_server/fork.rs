//! The system calls behind the fork server, and the only unsafe code of this crate.

#![expect(unsafe_code, reason = "no safe function copies a process or closes files of others")]

use std::io;

use rustix::process::Pid;

pub(super) enum ForkedSide {
    Parent(Pid),
    Child,
}

/// Copies this process. The caller has made sure that it has one thread.
pub(super) fn fork() -> io::Result<ForkedSide> {
    // SAFETY: In a process with several threads, a copy may find a lock that is held by a thread it does not have. The fork
    // server has checked that it has one thread and starts none, so the copy may do what this process may. Both
    // sides own their copy of every open file, and of the memory.
    let forked = unsafe { libc::fork() };
    match forked {
        0 => Ok(ForkedSide::Child),
        process => Pid::from_raw(process)
            .filter(|_| process > 0)
            .map(ForkedSide::Parent)
            .ok_or_else(io::Error::last_os_error),
    }
}

/// Closes files that the host's parents left open, so that no copy has them. Nothing here may have opened any yet.
pub(super) fn close_inherited() {
    // SAFETY: Only files above the three standard ones are closed. The caller has opened none, so no value owns them.
    let _kept_by_old_kernels = unsafe { libc::close_range(3, libc::c_uint::MAX, 0) };
}

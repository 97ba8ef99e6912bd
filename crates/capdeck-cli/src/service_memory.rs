//! Memory that a service keeps while it waits for requests. The figures are in `docs/design/059-size-and-memory.md`.
//!
//! A start runs through much of the program once, and the kernel maps what it reads of the file in pieces of 64 KiB and
//! more: 20 MB, of which a waiting service uses two. Large messages and values come and go, and the C library keeps what
//! they took once it has seen a few of them.

use std::time::Duration;

/// After the start, and after the first requests of a client that started it.
const START_TIME: Duration = Duration::from_secs(2);

/// Lets large blocks of memory go back to the system when they are freed. The C library would raise this bound to the size
/// of the largest block that was ever freed, up to 32 MiB, and keep all smaller ones.
pub(crate) fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    linux::return_large_blocks();
}

/// Gives the pages of the program's code back to the kernel a moment from now. The ones that are used again are mapped
/// again from the kernel's cache, each in about a microsecond.
pub(crate) fn give_back_later() {
    tokio::spawn(async {
        tokio::time::sleep(START_TIME).await;
        #[cfg(target_os = "linux")]
        linux::give_back();
    });
}

#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "no safe function gives back mapped pages or sets up the C library's allocator"
)]
mod linux {
    use std::{fs, os::unix::ffi::OsStrExt as _};

    use rustix::mm::{Advice, madvise};

    /// Smaller blocks are used again at once; larger ones cost a call of the system each.
    #[cfg(target_env = "gnu")]
    const LARGE_BLOCK_BYTES: i32 = 256 << 10;

    #[cfg(target_env = "gnu")]
    pub(super) fn return_large_blocks() {
        // SAFETY: It sets a number of the allocator, under the allocator's own lock.
        let _as_before = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES) };
    }

    pub(super) fn give_back() {
        let (Ok(program), Ok(maps)) =
            (fs::read_link("/proc/self/exe"), fs::read("/proc/self/maps"))
        else {
            return;
        };
        let lines = maps.split(|byte| *byte == b'\n');
        let own = lines.filter(|line| line.ends_with(program.as_os_str().as_bytes()));
        for (start, bytes) in own.filter_map(unwritten_range) {
            // SAFETY: The range is a private mapping of the program's own file that has no write permission and was not
            // written by the loader: code, or the first segment, which has the headers and constants. Each of its pages is
            // equal to the file's, and reading one after this maps it again. A running program's file cannot be changed.
            let _unchanged = unsafe { madvise(start as *mut _, bytes, Advice::LinuxDontNeed) };
        }
    }

    /// The start and length of a mapping that the loader does not write to: `start-end permissions offset …`.
    fn unwritten_range(line: &[u8]) -> Option<(usize, usize)> {
        let line = std::str::from_utf8(line).ok()?;
        let mut fields = line.split(' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let (permissions, offset) = (fields.next()?, fields.next()?);
        let is_first = offset.bytes().all(|digit| digit == b'0');
        let address = |text| usize::from_str_radix(text, 16).ok();
        let (start, end) = (address(start)?, address(end)?);
        (permissions == "r-xp" || permissions == "r--p" && is_first)
            .then_some((start, end.checked_sub(start)?))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn only_what_the_loader_does_not_write_is_given_back() {
            let range = |line: &str| unwritten_range(line.as_bytes());
            let first = "1000-3000 r--p 00000000 fe:00 7    /bin/capdeck";
            assert_eq!(range(first), Some((0x1000, 0x2000)));
            let code = "3000-4000 r-xp 00002000 fe:00 7    /bin/capdeck";
            assert_eq!(range(code), Some((0x3000, 0x1000)));
            assert_eq!(range("4000-5000 r--p 00003000 fe:00 7    /bin/capdeck"), None);
            assert_eq!(range("5000-6000 rw-p 00004000 fe:00 7    /bin/capdeck"), None);
            assert_eq!(range("garbage"), None);
        }

        #[test]
        fn the_program_goes_on() {
            #[cfg(target_env = "gnu")]
            return_large_blocks();
            give_back();
            assert_eq!(unwritten_range(b"1000-2000 r-xp 0 x"), Some((0x1000, 0x1000)));
        }
    }
}

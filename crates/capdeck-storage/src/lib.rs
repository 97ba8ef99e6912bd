//! What every store of this host is built from: files that are replaced in one step, locks across processes, the clock
//! that stamps records, and the spelling of bytes and hashes in them. It knows no format and no store.
//!
//! The main types are [`StagedFile`] (a synced file that is not yet at its place), [`FileLock`] and [`WallClock`]. Start
//! with [`replace_file`]. A kill or a power cut at any instant leaves the old file or the new one, never a part.

mod atomic_file;
mod clock;
mod file_lock;
mod folder;
mod hex;
mod log_follower;

pub use atomic_file::{
    FileReaders, StagedFile, TEMPORARY_PREFIX, private_options, read_if_exists, remove_if_exists,
    replace_file, replace_file_unsynced, stage_file,
};
pub use clock::{WallClock, unix_seconds};
pub use file_lock::FileLock;
pub use folder::{folder_of, is_open_to_others, list_folder, make_private_folder, sync_folder};
pub use hex::{from_hex, sha256_hex, to_hex};
pub use log_follower::LogFollower;

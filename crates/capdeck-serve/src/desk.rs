//! The capsules of this machine, for every process that wants them.
//!
//! One process at a time has the data folder. [`SharedDesk`] is the way for all of them: it takes the folder when it is
//! free, else it asks the process that has it, over a socket in that folder. When that process ends, whoever asks next
//! takes the folder over. The answers come from a `LocalDesk` either way.

mod answering;
mod protocol;
mod remote;
mod shared;

pub use self::shared::{SharedDesk, SharedDeskSettings, Standing};

//! Content that is installed, read from folders: what is found by which name, and which files belong to it.

mod find;
mod folder;

pub(crate) use find::{find_file, find_skill, inside};
pub(crate) use folder::{FolderFile, read_folder};

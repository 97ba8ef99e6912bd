//! Edits of the files that define capabilities: taking one out, switching it off and on, and taking that back.
//!
//! A capability is a file, a folder, or an entry among others of a file. [`DefinitionPlace`] finds which, and everything
//! else of a file keeps its bytes.

mod place;
mod removed;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    atomic_file::{WriteError, replace_file},
    edit::{EditError, SyntaxError},
};

pub use self::{
    place::{DefinitionOwner, DefinitionPlace},
    removed::{RemovedDefinitions, UndoneRemoval},
};

/// Why a definition was not edited.
#[derive(Debug, thiserror::Error)]
pub enum DeckEditError {
    #[error("cannot read `{}`: {source}", file.display())]
    Read {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot read `{}`: {source}", file.display())]
    Syntax {
        file: PathBuf,
        #[source]
        source: SyntaxError,
    },
    #[error("cannot edit `{}`: {source}", file.display())]
    Edit {
        file: PathBuf,
        #[source]
        source: EditError,
    },
    /// The file defines it in a way that is not understood here.
    #[error("`{id}` is not found in `{}`", file.display())]
    NotFound { id: String, file: PathBuf },
    /// Other entries of the capability file name it.
    #[error("{} of `{}` need the server `{id}`", users.join(", "), file.display())]
    InUse { id: String, file: PathBuf, users: Vec<String> },
    #[error("`{}` is a link", file.display())]
    Link { file: PathBuf },
    #[error("no removal of `{id}` is recorded")]
    NotRemoved { id: String },
    #[error("`{}` is there again", file.display())]
    Occupied { file: PathBuf },
    /// Another edit is in the way; the text that was taken out is shown.
    #[error("`{}` has changed since, so the entry cannot be put back by itself", file.display())]
    Changed { file: PathBuf, removed: String },
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("cannot move `{}`: {source}", file.display())]
    Move {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
}

fn read(file: &Path) -> Result<String, DeckEditError> {
    fs::read_to_string(file).map_err(|source| DeckEditError::Read { file: file.to_owned(), source })
}

impl DefinitionPlace {
    /// Switches the capability off, or on again. False where it was so already.
    pub fn set_disabled(&self, is_disabled: bool) -> Result<bool, DeckEditError> {
        let file = self.file();
        let before = read(&file)?;
        let after = self.toggled(&before, is_disabled)?;
        if before == after {
            return Ok(false);
        }
        replace_file(&file, after.as_bytes())?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests;

//! Why an agent was not connected. Nothing was written in any of these cases but the last two.

use std::{io, path::PathBuf};

use crate::{
    atomic_file::WriteError,
    edit::{EditError, SyntaxError},
};

/// Why an entry was not written or taken out.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("`{client}` has no configuration file of {scope} scope")]
    NoSuchScope { client: &'static str, scope: &'static str },
    #[error("there is no project here for `{client}` to be connected in")]
    NoProject { client: &'static str },
    #[error("`{}` cannot be read: {source}", file.display())]
    Read {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` is a folder, not a file", file.display())]
    IsFolder { file: PathBuf },
    #[error("`{}` is not UTF-8 text", file.display())]
    NotText { file: PathBuf },
    #[error("`{}` cannot be read, so it is left as it is: {source}", file.display())]
    Unreadable {
        file: PathBuf,
        #[source]
        source: SyntaxError,
    },
    #[error("`{}` cannot be edited: {source}", file.display())]
    Uneditable {
        file: PathBuf,
        #[source]
        source: EditError,
    },
    #[error("`{}` leads out of the project", file.display())]
    LeadsOutside { file: PathBuf },
    #[error("`{}` has an entry `{name}` that is not Capdeck's", file.display())]
    Taken { name: String, file: PathBuf },
    #[error("the entry `{name}` in `{}` is not Capdeck's", file.display())]
    NotOurs { name: String, file: PathBuf },
    #[error("`{}` may not be written to", file.display())]
    ReadOnly { file: PathBuf },
    #[error("`{}` was changed in the meantime", file.display())]
    Changed { file: PathBuf },
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("`{}` cannot be removed: {source}", file.display())]
    Delete {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
}

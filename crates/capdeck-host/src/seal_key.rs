//! The key that seals state which clients store for the host, the same across restarts.

use std::{fs, io};

use crate::{Host, durable};

const LENGTH: usize = 32;

impl Host {
    /// Loads the host's key, or creates it. Only its owner can read the file.
    pub fn seal_key(&self) -> io::Result<[u8; LENGTH]> {
        let path = self.settings().state_dir.join("seal.key");
        match fs::read(&path).map(<[u8; LENGTH]>::try_from) {
            Ok(Ok(key)) => return Ok(key),
            Ok(Err(_)) => {
                tracing::warn!(path = %path.display(), "the key is damaged; a new one is created");
                fs::remove_file(&path)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        durable::create_key::<LENGTH>(&path)?;
        let made = fs::read(&path)?;
        <[u8; LENGTH]>::try_from(made).map_err(|_| io::Error::other("the key is damaged"))
    }
}

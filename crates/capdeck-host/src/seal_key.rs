//! The key that seals state which clients store for the host, the same across restarts.

use std::{
    fs,
    io::{self, Write as _},
};

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
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let mut key = [0_u8; LENGTH];
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        if path.exists() {
            durable::save(&path, &key)?;
            return Ok(key);
        }
        fs::create_dir_all(&self.settings().state_dir)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.settings().state_dir)?;
        file.write_all(&key)?;
        file.as_file().sync_all()?;
        match file.persist_noclobber(&path) {
            Ok(_) => Ok(key),
            // Another process was first; its key is used.
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                let made = fs::read(&path)?;
                <[u8; LENGTH]>::try_from(made).map_err(|_| io::Error::other("the key is damaged"))
            }
            Err(error) => Err(error.error),
        }
    }
}

//! A key of this machine that authenticates the entries Capdeck wrote.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use sha2::{Digest, Sha256};

/// The block size of SHA-256, to which HMAC pads its key.
const SHA256_BLOCK_BYTES: usize = 64;

pub(super) struct SealKey([u8; 32]);

impl SealKey {
    /// Loads the key, or creates it. Only its owner can read the file.
    pub(super) fn load_or_create(path: &Path) -> io::Result<Self> {
        match fs::read(path) {
            Ok(bytes) => bytes.as_slice().try_into().map(Self).map_err(|_| {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!(
                        "`{}` is not a valid key; delete the file to create a new one",
                        path.display()
                    ),
                )
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create(path)?;
                Self::load_or_create(path)
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn seal(&self, fields: &[&str]) -> String {
        // The lengths prevent moving the border between two neighbouring fields.
        let lengths: Vec<[u8; 8]> =
            fields.iter().map(|field| (field.len() as u64).to_be_bytes()).collect();
        let parts = lengths.iter().zip(fields);
        let parts = parts.flat_map(|(length, field)| [length.as_slice(), field.as_bytes()]);
        hmac(&self.0, parts)
    }
}

fn hmac<'a>(key: &[u8], parts: impl Iterator<Item = &'a [u8]>) -> String {
    let padded = |pad: u8| {
        let mut block = [pad; SHA256_BLOCK_BYTES];
        block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        Sha256::new_with_prefix(block)
    };
    let mut inner = padded(0x36);
    parts.for_each(|part| inner.update(part));
    let outer = padded(0x5c).chain_update(inner.finalize()).finalize();
    outer.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a new key, unless another process was faster.
fn create(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    let (one, other) = (uuid::Uuid::new_v4(), uuid::Uuid::new_v4());
    file.write_all(one.as_bytes())?;
    file.write_all(other.as_bytes())?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => fs::File::open(folder)?.sync_all(),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_is_hmac_sha256() {
        // Case 2 of RFC 4231.
        let seal = hmac(b"Jefe", [b"what do ya want ".as_slice(), b"for nothing?"].into_iter());
        assert_eq!(seal, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    #[test]
    fn fields_cannot_be_shifted_and_keys_differ() {
        let (one, other) = (SealKey([1; 32]), SealKey([2; 32]));
        assert_eq!(one.seal(&["a", "bc"]), one.seal(&["a", "bc"]));
        assert_ne!(one.seal(&["a", "bc"]), one.seal(&["ab", "c"]));
        assert_ne!(one.seal(&["a"]), one.seal(&["a", ""]));
        assert_ne!(one.seal(&["a"]), other.seal(&["a"]));
    }

    #[test]
    fn a_key_is_made_once_and_only_its_owner_reads_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("approvals/key");
        let first = SealKey::load_or_create(&path).unwrap();
        let second = SealKey::load_or_create(&path).unwrap();
        assert_eq!(first.0, second.0);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0);
        fs::write(&path, "short").unwrap();
        assert!(SealKey::load_or_create(&path).is_err());
    }
}

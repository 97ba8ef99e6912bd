//! Encryption keys and authenticated encryption.

use std::fmt;

use base64::{
    Engine,
    alphabet::URL_SAFE,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use capdeck_storage::to_hex;
use chacha20poly1305::{
    XChaCha20Poly1305, XNonce,
    aead::{Aead, KeyInit, Payload},
};
use ring::aead;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

const NONCE: usize = 24;

const OWN_PREFIX: &str = "capdeck-vault-key-v1.";
const CAPLETS_PREFIX: &str = "caplets-vault-key-v1.";

/// URL-safe base64, with or without the padding that some tools write.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A 32-byte encryption key. Debug shows only its id; the memory is wiped on drop.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SealingKey {
    bytes: Zeroizing<[u8; 32]>,
    id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system's random number generator failed")]
pub(crate) struct RandomnessError;

impl SealingKey {
    pub(crate) fn random() -> Result<Self, RandomnessError> {
        let mut bytes = Zeroizing::new([0; 32]);
        getrandom::fill(bytes.as_mut()).map_err(|_| RandomnessError)?;
        Ok(Self::new(bytes))
    }

    /// Reads a key in any form that Capdeck or Caplets writes: base64url, with or without a prefix.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = [OWN_PREFIX, CAPLETS_PREFIX]
            .iter()
            .find_map(|prefix| text.strip_prefix(prefix))
            .unwrap_or(text);
        let decoded = Zeroizing::new(BASE64.decode(text).ok()?);
        let mut bytes = Zeroizing::new([0; 32]);
        if decoded.len() != bytes.len() {
            return None;
        }
        bytes.copy_from_slice(&decoded);
        Some(Self::new(bytes))
    }

    pub(crate) fn to_text(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("{OWN_PREFIX}{}", *Zeroizing::new(BASE64.encode(*self.bytes))))
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Encrypts a message. Only the same key and binding can decrypt it.
    pub(crate) fn seal(&self, binding: &[&str], message: &[u8]) -> Result<String, RandomnessError> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).map_err(|_| RandomnessError)?;
        let payload = Payload { msg: message, aad: &self.associated(binding) };
        // Encryption fails only for messages of many gigabytes.
        let sealed =
            self.cipher().encrypt(&XNonce::from(nonce), payload).map_err(|_| RandomnessError)?;
        Ok(BASE64.encode([nonce.as_slice(), &sealed].concat()))
    }

    /// Decrypts the output of [`Self::seal`]; `None` when it was modified or bound to something else.
    pub(crate) fn open(&self, binding: &[&str], sealed: &str) -> Option<Zeroizing<Vec<u8>>> {
        let bytes = BASE64.decode(sealed).ok()?;
        let (nonce, message) = bytes.split_first_chunk::<NONCE>()?;
        let payload = Payload { msg: message, aad: &self.associated(binding) };
        self.cipher().decrypt(&XNonce::from(*nonce), payload).ok().map(Zeroizing::new)
    }

    /// Decrypts AES-256-GCM, which Caplets encrypts its values with.
    pub(crate) fn open_aes_gcm(
        &self,
        nonce: &str,
        ciphertext: &str,
        tag: &str,
    ) -> Option<Zeroizing<Vec<u8>>> {
        let nonce = aead::Nonce::try_assume_unique_for_key(&BASE64.decode(nonce).ok()?).ok()?;
        let mut sealed = Zeroizing::new(BASE64.decode(ciphertext).ok()?);
        sealed.extend(BASE64.decode(tag).ok()?);
        let key = aead::UnboundKey::new(&aead::AES_256_GCM, self.bytes.as_ref()).ok()?;
        let key = aead::LessSafeKey::new(key);
        let length = key.open_in_place(nonce, aead::Aad::empty(), &mut sealed).ok()?.len();
        sealed.truncate(length);
        Some(sealed)
    }

    fn new(bytes: Zeroizing<[u8; 32]>) -> Self {
        let mut digest = Sha256::new();
        digest.update(b"capdeck key id\0");
        digest.update(*bytes);
        let id = to_hex(digest.finalize()).chars().take(16).collect();
        Self { bytes, id }
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&*self.bytes).into())
    }

    /// The associated data: every part with its length, so that parts cannot run into each other.
    fn associated(&self, binding: &[&str]) -> Vec<u8> {
        let mut text = Vec::new();
        for part in [self.id.as_str()].iter().chain(binding) {
            text.extend_from_slice(&(part.len() as u64).to_be_bytes());
            text.extend_from_slice(part.as_bytes());
        }
        text
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Key({})", self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_key_is_the_same_key() {
        let key = SealingKey::random().unwrap();
        let text = key.to_text();
        let raw = text.strip_prefix(OWN_PREFIX).unwrap();
        for form in [
            text.to_string(),
            raw.to_owned(),
            format!("{raw}=\n"),
            format!("  {CAPLETS_PREFIX}{raw}\n"),
        ] {
            assert_eq!(SealingKey::parse(&form).as_ref(), Some(&key), "{form}");
        }
        for wrong in
            ["", "AAAA", "not base64!", raw.split_at(1).1, &format!("{raw}AA"), "other-v1.AAAA"]
        {
            assert_eq!(SealingKey::parse(wrong), None, "{wrong}");
        }
        assert_eq!(format!("{key:?}"), format!("Key({})", key.id()));
        assert_eq!(key.id().len(), 16);
    }

    #[test]
    fn a_sealed_text_opens_with_its_key_and_binding_only() {
        let (key, other) = (SealingKey::random().unwrap(), SealingKey::random().unwrap());
        let sealed = key.seal(&["value", "AB", "C"], b"canary").unwrap();
        assert_eq!(key.open(&["value", "AB", "C"], &sealed).unwrap().as_slice(), b"canary");
        assert!(other.open(&["value", "AB", "C"], &sealed).is_none());
        for binding in [&["value", "A", "BC"][..], &["value", "AB"], &["grants", "AB", "C"], &[]] {
            assert!(key.open(binding, &sealed).is_none(), "{binding:?}");
        }
        for position in 0..sealed.len() {
            let mut bytes = sealed.clone().into_bytes();
            bytes[position] = if bytes[position] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            assert!(key.open(&["value", "AB", "C"], &changed).is_none(), "{position}");
        }
        for cut in [0, 1, 20, sealed.len() - 1] {
            assert!(key.open(&["value", "AB", "C"], sealed.split_at(cut).0).is_none(), "{cut}");
        }
    }
}

//! Encrypted text that a client stores for the server and cannot read, change or reuse.
//!
//! A sealed text expires, and opens only with the same purpose and binding. A failure gives no reason: that would
//! reveal whether the text was ever valid.

use std::{
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use chacha20poly1305::{
    XChaCha20Poly1305, XNonce,
    aead::{Aead, KeyInit, Payload},
};

const NONCE: usize = 24;
const EXPIRY: usize = 8;

/// Seals and opens texts. Sealers with the same key and scope open each other's texts.
#[derive(Clone)]
pub struct TextSealer {
    /// `None` without randomness for a key; then nothing is sealed or opened.
    cipher: Option<XChaCha20Poly1305>,
    scope: String,
}

/// The text could not be opened, or sealing is not possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this was not issued here for this use, or it has expired")]
pub struct SealError;

impl TextSealer {
    /// A sealer with a persistent key: texts stay valid after a restart.
    pub fn new(key: &[u8; 32]) -> Self {
        Self { cipher: Some(XChaCha20Poly1305::new(key.into())), scope: String::new() }
    }

    /// A sealer with a random key: texts are valid for its lifetime.
    pub fn random() -> Self {
        let mut key = [0_u8; 32];
        match getrandom::fill(&mut key) {
            Ok(()) => Self::new(&key),
            Err(error) => {
                tracing::error!(%error, "no randomness for a key; nothing can be sealed");
                Self { cipher: None, scope: String::new() }
            }
        }
    }

    /// Derives a sealer for one of several scopes that must not open each other's texts.
    #[must_use]
    pub fn scoped(&self, scope: impl Into<String>) -> Self {
        Self { cipher: self.cipher.clone(), scope: scope.into() }
    }

    /// Seals a payload for a purpose, bound to all of `binding`.
    pub fn seal(
        &self,
        purpose: &str,
        binding: &[&[u8]],
        lifetime: Duration,
        payload: &[u8],
    ) -> Result<String, SealError> {
        let cipher = self.cipher.as_ref().ok_or(SealError)?;
        let mut nonce = [0_u8; NONCE];
        getrandom::fill(&mut nonce).map_err(|_| SealError)?;
        let expiry = now().saturating_add(lifetime);
        let expiry = u64::try_from(expiry.as_millis()).unwrap_or(u64::MAX);
        let message = [expiry.to_be_bytes().as_slice(), payload].concat();
        let aad = self.associated(purpose, binding);
        let sealed = cipher
            .encrypt(&XNonce::from(nonce), Payload { msg: &message, aad: &aad })
            .map_err(|_| SealError)?;
        Ok(URL_SAFE_NO_PAD.encode([nonce.as_slice(), &sealed].concat()))
    }

    /// Opens the output of [`Self::seal`] for the same purpose and binding.
    pub fn open(
        &self,
        purpose: &str,
        binding: &[&[u8]],
        sealed: &str,
    ) -> Result<Vec<u8>, SealError> {
        let cipher = self.cipher.as_ref().ok_or(SealError)?;
        let bytes = URL_SAFE_NO_PAD.decode(sealed).map_err(|_| SealError)?;
        let (nonce, message) = bytes.split_first_chunk::<NONCE>().ok_or(SealError)?;
        let aad = self.associated(purpose, binding);
        let mut message = cipher
            .decrypt(&XNonce::from(*nonce), Payload { msg: message, aad: &aad })
            .map_err(|_| SealError)?;
        let expiry = *message.first_chunk::<EXPIRY>().ok_or(SealError)?;
        if now() >= Duration::from_millis(u64::from_be_bytes(expiry)) {
            return Err(SealError);
        }
        message.drain(..EXPIRY);
        Ok(message)
    }

    /// The associated data: every part with its length, so that parts cannot run into each other.
    fn associated(&self, purpose: &str, binding: &[&[u8]]) -> Vec<u8> {
        let mut text = Vec::new();
        for part in [purpose.as_bytes(), self.scope.as_bytes()].iter().chain(binding) {
            text.extend_from_slice(&(part.len() as u64).to_be_bytes());
            text.extend_from_slice(part);
        }
        text
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

impl Default for TextSealer {
    fn default() -> Self {
        Self::random()
    }
}

impl fmt::Debug for TextSealer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Sealer").field("scope", &self.scope).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn what_was_sealed_opens_with_the_same_key_only() {
        let sealed =
            TextSealer::new(&[7; 32]).seal("state", &[b"me"], HOUR, b"secret words").unwrap();
        assert_eq!(
            TextSealer::new(&[7; 32]).open("state", &[b"me"], &sealed).unwrap(),
            b"secret words"
        );
        assert_eq!(TextSealer::new(&[8; 32]).open("state", &[b"me"], &sealed), Err(SealError));
        assert_eq!(TextSealer::random().open("state", &[b"me"], &sealed), Err(SealError));
    }

    #[test]
    fn another_purpose_binding_or_scope_does_not_open_it() {
        let sealer = TextSealer::new(&[7; 32]);
        let sealed = sealer.seal("state", &[b"ab", b"c"], HOUR, b"x").unwrap();
        assert!(sealer.open("state", &[b"ab", b"c"], &sealed).is_ok());
        for binding in [&[b"a".as_slice(), b"bc"] as &[&[u8]], &[b"ab"], &[b"ab", b"c", b""], &[]] {
            assert_eq!(sealer.open("state", binding, &sealed), Err(SealError));
        }
        assert_eq!(sealer.open("cursor", &[b"ab", b"c"], &sealed), Err(SealError));
        assert_eq!(sealer.scoped("b").open("state", &[b"ab", b"c"], &sealed), Err(SealError));
    }

    #[test]
    fn expired_changed_and_made_up_texts_do_not_open() {
        let sealer = TextSealer::random();
        let expired = sealer.seal("state", &[], Duration::ZERO, b"x").unwrap();
        assert_eq!(sealer.open("state", &[], &expired), Err(SealError));
        let sealed = sealer.seal("state", &[], HOUR, b"x").unwrap();
        for position in 0..sealed.len() {
            let mut bytes = sealed.clone().into_bytes();
            bytes[position] = if bytes[position] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            assert_eq!(sealer.open("state", &[], &changed), Err(SealError), "{position}");
        }
        for made_up in ["", "AAAA", "not base64!", &format!("{sealed}-TAMPERED"), &"A".repeat(200)]
        {
            assert_eq!(sealer.open("state", &[], made_up), Err(SealError));
        }
        assert!(!format!("{sealer:?}").contains("cipher"));
    }
}

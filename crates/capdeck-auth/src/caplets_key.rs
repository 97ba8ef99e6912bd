//! Reads values that Caplets encrypted, so that they can be taken over. Nothing is written in its form.

use std::fmt;

use serde::Deserialize;

use crate::{Secret, sealing_key::SealingKey};

/// The key of a vault of Caplets.
#[derive(Clone)]
pub struct CapletsKey(SealingKey);

/// One encrypted value, with its bytes as base64url text.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CapletsSealedValue {
    pub version: i64,
    pub algorithm: String,
    pub nonce: String,
    pub ciphertext: String,
    pub auth_tag: String,
}

impl CapletsKey {
    /// Reads the key as its file or variable has it.
    pub fn parse(text: &Secret) -> Option<Self> {
        SealingKey::parse(text.expose()).map(Self)
    }

    /// The value; none where it was encrypted with another key, in another form, or was changed since.
    pub fn open(&self, sealed: &CapletsSealedValue) -> Option<Secret> {
        let CapletsSealedValue { version, algorithm, nonce, ciphertext, auth_tag } = sealed;
        if *version != 1 || algorithm != "aes-256-gcm" {
            return None;
        }
        let opened = self.0.open_aes_gcm(nonce, ciphertext, auth_tag)?;
        std::str::from_utf8(&opened).ok().map(Secret::new)
    }
}

impl fmt::Debug for CapletsKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CapletsKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `canary`, encrypted with a key of 32 sevens and a nonce of twelve ones.
    fn sealed() -> CapletsSealedValue {
        use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
        use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &[7; 32]).unwrap());
        let mut bytes = b"canary".to_vec();
        let nonce = Nonce::assume_unique_for_key([1; 12]);
        let tag = key.seal_in_place_separate_tag(nonce, Aad::empty(), &mut bytes).unwrap();
        CapletsSealedValue {
            version: 1,
            algorithm: "aes-256-gcm".to_owned(),
            nonce: URL_SAFE_NO_PAD.encode([1; 12]),
            ciphertext: URL_SAFE_NO_PAD.encode(&bytes),
            auth_tag: URL_SAFE_NO_PAD.encode(tag.as_ref()),
        }
    }

    fn key(byte: u8) -> CapletsKey {
        use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
        let text = format!("caplets-vault-key-v1.{}\n", URL_SAFE_NO_PAD.encode([byte; 32]));
        CapletsKey::parse(&Secret::new(text)).unwrap()
    }

    #[test]
    fn a_value_opens_with_its_key_and_as_it_was_written_only() {
        let value = sealed();
        assert_eq!(key(7).open(&value).unwrap().expose(), "canary");
        assert!(key(8).open(&value).is_none());
        for changed in [
            CapletsSealedValue { version: 2, ..sealed() },
            CapletsSealedValue { algorithm: "aes-128-gcm".to_owned(), ..sealed() },
            CapletsSealedValue { nonce: "AAAA".to_owned(), ..sealed() },
            CapletsSealedValue { ciphertext: "not base64!".to_owned(), ..sealed() },
            CapletsSealedValue { auth_tag: value.ciphertext.clone(), ..sealed() },
        ] {
            assert!(key(7).open(&changed).is_none(), "{changed:?}");
        }
    }
}

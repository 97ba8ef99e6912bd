//! The proof that whoever redeems a code is who asked for it (RFC 7636). Only `S256`: `plain` proves nothing to whoever can
//! read the request.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

/// What a client said when it asked for a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodeChallenge([u8; 32]);

impl CodeChallenge {
    /// Reads a challenge, or says what is wrong with it.
    pub(super) fn parse(
        challenge: Option<&str>,
        method: Option<&str>,
    ) -> Result<Self, &'static str> {
        let challenge = challenge.ok_or("`code_challenge` is missing")?;
        match method {
            Some("S256") => {}
            // Without a method the standard means `plain`.
            Some("plain") | None => return Err("`code_challenge_method` has to be `S256`"),
            Some(_) => return Err("`code_challenge_method` is not known; use `S256`"),
        }
        let bytes = URL_SAFE_NO_PAD.decode(challenge).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or("`code_challenge` is not 43 letters of base64url")
    }

    /// Whether a verifier is the one.
    pub(super) fn is_met_by(&self, verifier: &str) -> bool {
        let is_verifier = (43..=128).contains(&verifier.len())
            && verifier.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte));
        let digest: [u8; 32] = Sha256::digest(verifier).into();
        is_verifier && bool::from(digest.ct_eq(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    #[test]
    fn the_standard_s_example_is_met() {
        let challenge = CodeChallenge::parse(Some(CHALLENGE), Some("S256")).unwrap();
        assert!(challenge.is_met_by("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"));
        for wrong in
            ["", CHALLENGE, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXl", &"a".repeat(129)]
        {
            assert!(!challenge.is_met_by(wrong), "{wrong}");
        }
    }

    #[test]
    fn item_15_plain_pkce_is_refused() {
        for (challenge, method) in [
            (Some(CHALLENGE), Some("plain")),
            (Some(CHALLENGE), None),
            (Some(CHALLENGE), Some("s256")),
            (None, Some("S256")),
            (None, None),
            (Some("short"), Some("S256")),
            (Some(""), Some("S256")),
            (Some("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM="), Some("S256")),
        ] {
            assert!(CodeChallenge::parse(challenge, method).is_err(), "{challenge:?} {method:?}");
        }
    }
}

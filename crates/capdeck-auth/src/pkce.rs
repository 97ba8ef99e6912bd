//! The proof that the client that redeems a code is the one that requested it (RFC 7636), for sign-ins elsewhere and at
//! this host. Only `S256`: `plain` proves nothing against a reader of the request.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

use crate::{OAuthError, OAuthResult, Secret};

pub(crate) struct PkceVerifier {
    pub(crate) verifier: Secret,
}

impl PkceVerifier {
    pub(crate) fn new() -> OAuthResult<Self> {
        Ok(Self { verifier: Secret::new(random::<32>()?) })
    }

    /// The S256 challenge of the verifier.
    pub(crate) fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(self.verifier.expose()))
    }
}

/// This many random bytes, in letters that a URL takes as they are.
pub(crate) fn random<const BYTES: usize>() -> OAuthResult<String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|_| OAuthError::Client {
        reason: "the system's random number generator failed".to_owned(),
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// What a client said when it asked for a code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CodeChallenge([u8; 32]);

impl CodeChallenge {
    /// Reads a challenge, or says what is wrong with it.
    pub(crate) fn parse(
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

    pub(crate) fn is_met_by(&self, verifier: &str) -> bool {
        let is_verifier = (43..=128).contains(&verifier.len())
            && verifier.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte));
        let digest: [u8; 32] = Sha256::digest(verifier).into();
        is_verifier && bool::from(digest.ct_eq(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_that_of_the_standard_s_example() {
        let verifier = Secret::new("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        let challenge = PkceVerifier { verifier }.challenge();
        assert_eq!(challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn random_values_differ_and_are_long_enough() {
        let (one, two) = (PkceVerifier::new().unwrap(), PkceVerifier::new().unwrap());
        assert_ne!(one.verifier, two.verifier);
        assert_eq!(one.verifier.expose().len(), 43);
        assert_eq!(random::<24>().unwrap().len(), 32);
    }

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

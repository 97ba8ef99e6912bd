//! PKCE verifiers and other random values of a sign-in.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use super::OAuthError;
use crate::Secret;

pub(super) struct Pkce {
    pub(super) verifier: Secret,
}

impl Pkce {
    pub(super) fn new() -> Result<Self, OAuthError> {
        Ok(Self { verifier: Secret::new(random::<32>()?) })
    }

    pub(super) fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(self.verifier.expose()))
    }
}

pub(super) fn random<const BYTES: usize>() -> Result<String, OAuthError> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|_| OAuthError::Client {
        reason: "the system's random number generator failed".to_owned(),
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_that_of_the_standard_s_example() {
        let verifier = Secret::new("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        let challenge = Pkce { verifier }.challenge();
        assert_eq!(challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn random_values_differ_and_are_long_enough() {
        let (one, two) = (Pkce::new().unwrap(), Pkce::new().unwrap());
        assert_ne!(one.verifier, two.verifier);
        assert_eq!(one.verifier.expose().len(), 43);
        assert_eq!(random::<24>().unwrap().len(), 32);
    }
}

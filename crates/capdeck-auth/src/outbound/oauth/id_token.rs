//! Validates an identity token: signature, issuer, audience, times (OpenID Connect Core 3.1.3.7), with the public keys of its
//! issuer (RFC 7517, 7518, 8037).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use sha2::{Digest, Sha256};
use url::Url;

use super::{OAuthError, OAuthResult, fetch::GuardedFetcher};
use crate::Secret;

const MAX_CLOCK_SKEW_SECONDS: u64 = 60;

pub(super) struct ExpectedClaims<'a> {
    pub(super) issuer: &'a str,
    /// False when the issuer's identifier is unknown.
    pub(super) knows_issuer: bool,
    pub(super) client_id: &'a str,
    /// The nonce of the request, if a browser was used.
    pub(super) nonce: Option<&'a str>,
    pub(super) subject: Option<&'a str>,
    pub(super) access_token: &'a Secret,
    pub(super) now: u64,
}

#[derive(Deserialize)]
struct IdTokenHeader {
    alg: String,
    kid: Option<String>,
}

#[derive(Deserialize)]
struct IdTokenClaims {
    iss: Option<String>,
    aud: Option<Value>,
    azp: Option<String>,
    exp: Option<f64>,
    iat: Option<f64>,
    nbf: Option<f64>,
    nonce: Option<String>,
    sub: Option<String>,
    at_hash: Option<String>,
}

pub(super) async fn verify(
    fetcher: &GuardedFetcher,
    keys: Option<&Url>,
    token: &str,
    expected: &ExpectedClaims<'_>,
) -> OAuthResult<String> {
    const KEYS_LABEL: &str = "the issuer's keys";
    let keys = keys.ok_or(wrong("its issuer publishes no keys to check it with"))?;
    let (signed, signature) = token.rsplit_once('.').ok_or(wrong("it is not a JWT"))?;
    let (header, claims) = signed.split_once('.').ok_or(wrong("it is not a JWT"))?;
    let header: IdTokenHeader = decode(header)?;
    let claims: IdTokenClaims = decode(claims)?;
    let signature =
        URL_SAFE_NO_PAD.decode(signature).map_err(|_| wrong("its signature cannot be read"))?;
    let mut asked_again = false;
    loop {
        let found = fetcher.document::<KeySet>(KEYS_LABEL, keys).await?;
        let set = found.ok_or(wrong("its issuer publishes no keys to check it with"))?;
        match set.verify(&header.alg, header.kid.as_deref(), signed.as_bytes(), &signature) {
            SignatureVerdict::Genuine => break,
            SignatureVerdict::Forged => return Err(wrong("its signature is not its issuer's")),
            // The issuer may just have rotated its keys.
            SignatureVerdict::NoSuchKey if !asked_again => asked_again = true,
            SignatureVerdict::NoSuchKey => return Err(wrong("its issuer has no such key")),
        }
    }
    claims.check(&header.alg, expected)
}

impl IdTokenClaims {
    fn check(self, algorithm: &str, expected: &ExpectedClaims<'_>) -> OAuthResult<String> {
        if expected.knows_issuer && self.iss.as_deref() != Some(expected.issuer) {
            return Err(wrong("it has another issuer"));
        }
        let (meant, others) = match &self.aud {
            Some(Value::String(one)) => (one == expected.client_id, false),
            Some(Value::Array(all)) => {
                (all.iter().any(|one| one == expected.client_id), all.len() > 1)
            }
            _ => (false, false),
        };
        let party = self.azp.as_deref();
        let is_party = party == Some(expected.client_id) || (party.is_none() && !others);
        if !meant || !is_party {
            return Err(wrong("it is meant for another program"));
        }
        self.check_times(expected.now)?;
        if expected.nonce.is_some() && self.nonce.as_deref() != expected.nonce {
            return Err(wrong("it belongs to another sign-in"));
        }
        // The hash is half as long as that of the signature; only that length is checked.
        if let Some(hash) = &self.at_hash
            && algorithm.ends_with("256")
        {
            let digest = Sha256::digest(expected.access_token.expose());
            let half = digest.get(..16).unwrap_or_default();
            if *hash != URL_SAFE_NO_PAD.encode(half) {
                return Err(wrong("it belongs to another token"));
            }
        }
        let subject = self.sub.filter(|sub| !sub.is_empty()).ok_or(wrong("it has no subject"))?;
        if expected.subject.is_some_and(|earlier| earlier != subject) {
            return Err(wrong("its subject is not that of the first sign-in"));
        }
        Ok(subject)
    }

    fn check_times(&self, now: u64) -> OAuthResult<()> {
        // Numeric dates may be fractions.
        let now = now as f64;
        let skew = MAX_CLOCK_SKEW_SECONDS as f64;
        let expires = self.exp.ok_or(wrong("it does not say when it ends"))?;
        let issued = self.iat.ok_or(wrong("it does not say when it was made"))?;
        if expires <= now - skew {
            return Err(wrong("it has expired"));
        }
        if issued > now + skew || self.nbf.is_some_and(|from| from > now + skew) {
            return Err(wrong("it is from the future; compare the clocks"));
        }
        Ok(())
    }
}

fn decode<T: DeserializeOwned>(part: &str) -> OAuthResult<T> {
    let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| wrong("it is not a JWT"))?;
    serde_json::from_slice(&bytes).map_err(|_| wrong("it is not a JWT"))
}

fn wrong(reason: &'static str) -> OAuthError {
    OAuthError::IdToken { reason }
}

#[derive(Debug, Clone, Default, Deserialize)]
struct KeySet {
    /// Sets may contain keys of unknown types.
    keys: Vec<Value>,
}

#[derive(Debug, Deserialize)]
struct JsonKey {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// An asymmetric signature algorithm. Shared secrets and `none` prove no identity.
#[derive(Clone, Copy)]
enum SigningAlgorithm {
    Rsa(&'static RsaParameters),
    /// With the length of one coordinate.
    Ecdsa(&'static str, &'static dyn VerificationAlgorithm, usize),
    Ed25519,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SignatureVerdict {
    Genuine,
    Forged,
    /// No key of the set could have made the signature; there may be a newer set.
    NoSuchKey,
}

impl SigningAlgorithm {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "RS256" => Self::Rsa(&RSA_PKCS1_2048_8192_SHA256),
            "RS384" => Self::Rsa(&RSA_PKCS1_2048_8192_SHA384),
            "RS512" => Self::Rsa(&RSA_PKCS1_2048_8192_SHA512),
            "PS256" => Self::Rsa(&RSA_PSS_2048_8192_SHA256),
            "ES256" => Self::Ecdsa("P-256", &ECDSA_P256_SHA256_FIXED, 32),
            "ES384" => Self::Ecdsa("P-384", &ECDSA_P384_SHA384_FIXED, 48),
            "EdDSA" | "Ed25519" => Self::Ed25519,
            _ => return None,
        })
    }

    fn key_kind(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Rsa(_) => ("RSA", None),
            Self::Ecdsa(curve, ..) => ("EC", Some(curve)),
            Self::Ed25519 => ("OKP", Some("Ed25519")),
        }
    }
}

impl KeySet {
    /// Verifies the message against the set. With a key id only that key counts.
    fn verify(
        &self,
        name: &str,
        key_id: Option<&str>,
        message: &[u8],
        signature: &[u8],
    ) -> SignatureVerdict {
        let Some(algorithm) = SigningAlgorithm::parse(name) else {
            return SignatureVerdict::Forged;
        };
        let keys = self.keys.iter().filter_map(|key| JsonKey::deserialize(key).ok());
        let mut verdict = SignatureVerdict::NoSuchKey;
        for key in keys.filter(|key| key.fits(name, algorithm, key_id)) {
            if key.signed(algorithm, message, signature).is_some() {
                return SignatureVerdict::Genuine;
            }
            verdict = SignatureVerdict::Forged;
        }
        verdict
    }
}

impl JsonKey {
    fn fits(&self, name: &str, algorithm: SigningAlgorithm, key_id: Option<&str>) -> bool {
        let (kind, curve) = algorithm.key_kind();
        self.kty == kind
            && self.crv.as_deref() == curve
            && self.usage.as_deref().is_none_or(|usage| usage == "sig")
            && self.alg.as_deref().is_none_or(|alg| alg == name)
            && key_id.is_none_or(|wanted| self.kid.as_deref() == Some(wanted))
    }

    fn signed(&self, algorithm: SigningAlgorithm, message: &[u8], signature: &[u8]) -> Option<()> {
        match algorithm {
            SigningAlgorithm::Rsa(parameters) => {
                let (n, e) = (number(self.n.as_deref()?)?, number(self.e.as_deref()?)?);
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature).ok()
            }
            SigningAlgorithm::Ecdsa(_, method, length) => {
                let (x, y) =
                    (decode_base64(self.x.as_deref()?)?, decode_base64(self.y.as_deref()?)?);
                let point = [&[4], x.as_slice(), &y].concat();
                let is_whole = x.len() == length && y.len() == length;
                let key = is_whole.then(|| UnparsedPublicKey::new(method, point))?;
                key.verify(message, signature).ok()
            }
            SigningAlgorithm::Ed25519 => {
                let key = decode_base64(self.x.as_deref()?)?;
                UnparsedPublicKey::new(&ED25519, key).verify(message, signature).ok()
            }
        }
    }
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// Strips leading zeros, which some issuers write.
fn number(text: &str) -> Option<Vec<u8>> {
    let bytes = decode_base64(text)?;
    let start = bytes.iter().position(|byte| *byte != 0)?;
    bytes.get(start..).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(claims: &Value) -> OAuthResult<String> {
        let access_token = Secret::new("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y");
        let expected = ExpectedClaims {
            issuer: "https://sso.example.com",
            knows_issuer: true,
            client_id: "c-1",
            nonce: Some("n-1"),
            subject: Some("ann"),
            access_token: &access_token,
            now: 1_000,
        };
        let claims: IdTokenClaims = serde_json::from_value(claims.clone()).unwrap();
        claims.check("RS256", &expected)
    }

    #[test]
    fn an_identity_is_for_us_from_whom_we_asked_and_about_now() {
        let good = json!({
            "iss": "https://sso.example.com", "aud": ["x", "c-1"], "azp": "c-1", "sub": "ann",
            "exp": 1_500, "iat": 1_000.5, "nonce": "n-1", "at_hash": "77QmUPtjPfzWtF2AnpK9RQ",
        });
        assert_eq!(check(&good), Ok("ann".to_owned()));
        for (member, value, reason) in [
            ("iss", json!("https://sso.example.com/"), "it has another issuer"),
            ("iss", Value::Null, "it has another issuer"),
            ("aud", json!("c-2"), "it is meant for another program"),
            ("aud", json!(["c-2"]), "it is meant for another program"),
            ("aud", Value::Null, "it is meant for another program"),
            ("azp", json!("c-2"), "it is meant for another program"),
            ("azp", Value::Null, "it is meant for another program"),
            ("exp", json!(940), "it has expired"),
            ("exp", Value::Null, "it does not say when it ends"),
            ("iat", json!(1_061), "it is from the future; compare the clocks"),
            ("iat", Value::Null, "it does not say when it was made"),
            ("nbf", json!(1_061), "it is from the future; compare the clocks"),
            ("nonce", json!("n-2"), "it belongs to another sign-in"),
            ("nonce", Value::Null, "it belongs to another sign-in"),
            ("at_hash", json!("AAAA"), "it belongs to another token"),
            ("sub", json!(""), "it has no subject"),
            ("sub", Value::Null, "it has no subject"),
            ("sub", json!("bob"), "its subject is not that of the first sign-in"),
        ] {
            let mut claims = good.clone();
            claims[member] = value;
            assert_eq!(check(&claims), Err(wrong(reason)), "{member}");
        }
        for (member, value) in
            [("exp", json!(941)), ("iat", json!(1_060)), ("at_hash", Value::Null)]
        {
            let mut claims = good.clone();
            claims[member] = value;
            assert!(check(&claims).is_ok(), "{member}");
        }
        let mut alone = good.clone();
        (alone["aud"], alone["azp"]) = (json!("c-1"), Value::Null);
        assert!(check(&alone).is_ok());
    }
}

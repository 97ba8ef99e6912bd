//! Public keys of an issuer and signature verification (RFC 7517, 7518, 8037).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct KeySet {
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SigningAlgorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Es256,
    Es384,
    EdDsa,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignatureVerdict {
    Genuine,
    Forged,
    /// No key of the set could have made the signature; there may be a newer set.
    NoSuchKey,
}

impl SigningAlgorithm {
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "RS256" => Self::Rs256,
            "RS384" => Self::Rs384,
            "RS512" => Self::Rs512,
            "PS256" => Self::Ps256,
            "ES256" => Self::Es256,
            "ES384" => Self::Es384,
            "EdDSA" | "Ed25519" => Self::EdDsa,
            _ => return None,
        })
    }

    fn key_kind(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Rs256 | Self::Rs384 | Self::Rs512 | Self::Ps256 => ("RSA", None),
            Self::Es256 => ("EC", Some("P-256")),
            Self::Es384 => ("EC", Some("P-384")),
            Self::EdDsa => ("OKP", Some("Ed25519")),
        }
    }
}

impl KeySet {
    /// Verifies the message against the set. With a key id only that key counts.
    pub(super) fn verify(
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
        let rsa = |parameters: &'static RsaParameters| {
            let (n, e) = (number(self.n.as_deref()?)?, number(self.e.as_deref()?)?);
            RsaPublicKeyComponents { n, e }.verify(parameters, message, signature).ok()
        };
        let curve = |method: &'static dyn VerificationAlgorithm, half: usize| {
            let (x, y) = (decode(self.x.as_deref()?)?, decode(self.y.as_deref()?)?);
            let point = [&[4], x.as_slice(), &y].concat();
            let whole = x.len() == half && y.len() == half;
            whole.then(|| UnparsedPublicKey::new(method, point).verify(message, signature).ok())?
        };
        match algorithm {
            SigningAlgorithm::Rs256 => rsa(&RSA_PKCS1_2048_8192_SHA256),
            SigningAlgorithm::Rs384 => rsa(&RSA_PKCS1_2048_8192_SHA384),
            SigningAlgorithm::Rs512 => rsa(&RSA_PKCS1_2048_8192_SHA512),
            SigningAlgorithm::Ps256 => rsa(&RSA_PSS_2048_8192_SHA256),
            SigningAlgorithm::Es256 => curve(&ECDSA_P256_SHA256_FIXED, 32),
            SigningAlgorithm::Es384 => curve(&ECDSA_P384_SHA384_FIXED, 48),
            SigningAlgorithm::EdDsa => {
                let key = decode(self.x.as_deref()?)?;
                UnparsedPublicKey::new(&ED25519, key).verify(message, signature).ok()
            }
        }
    }
}

fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// Strips leading zeros, which some issuers write.
fn number(text: &str) -> Option<Vec<u8>> {
    let bytes = decode(text)?;
    let start = bytes.iter().position(|byte| *byte != 0)?;
    bytes.get(start..).map(<[u8]>::to_vec)
}

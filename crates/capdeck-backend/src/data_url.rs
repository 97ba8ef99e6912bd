//! `data:text/plain;base64,…`: content in the arguments themselves.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::Bytes;
use percent_encoding::percent_decode_str;

/// What a data URL holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DataUrl {
    pub(crate) bytes: Bytes,
    pub(crate) mime_type: Option<String>,
}

/// Models leave padding out and mix the two alphabets; both are read.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const BASE64: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);

impl DataUrl {
    /// Reads one; the error is the end of a sentence.
    pub(crate) fn read(text: &str) -> Result<Self, &'static str> {
        let rest = text.trim().strip_prefix("data:").ok_or("is no data URL")?;
        let (head, data) = rest.split_once(',').ok_or("has no comma")?;
        let (kind, is_base64) = match head.strip_suffix(";base64") {
            Some(kind) => (kind, true),
            None => (head, false),
        };
        let bytes = if is_base64 {
            let data = percent_decode_str(data).decode_utf8_lossy();
            decode_base64(&data).map_err(|_error| "is not base64 after the comma")?
        } else {
            percent_decode_str(data).collect()
        };
        let mime_type = (!kind.is_empty()).then(|| kind.to_owned());
        Ok(Self { bytes: bytes.into(), mime_type })
    }
}

/// The bytes of a base64 text.
pub(crate) fn decode_base64(text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    let letters: String = text
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .map(|letter| match letter {
            '-' => '+',
            '_' => '/',
            other => other,
        })
        .collect();
    BASE64.decode(letters)
}

//! `data:text/plain;base64,…`: content in the arguments themselves.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::Bytes;
use percent_encoding::percent_decode_str;

use crate::{CallError, ErrorCode};

/// What a data URL holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DataUrl {
    pub(super) bytes: Bytes,
    pub(super) mime_type: Option<String>,
}

/// Models leave padding out and mix the two alphabets; both are read.
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const BASE64: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);

impl DataUrl {
    /// Reads one.
    pub(super) fn read(text: &str) -> Result<Self, CallError> {
        let unusable = |reason: &str| {
            CallError::new(ErrorCode::RequestInvalid, format!("`media.dataUrl` {reason}"))
                .hint("write it as `data:text/plain;base64,aGVsbG8=`")
        };
        let rest = text.trim().strip_prefix("data:").ok_or_else(|| unusable("is no data URL"))?;
        let (head, data) = rest.split_once(',').ok_or_else(|| unusable("has no comma"))?;
        let (kind, is_base64) = match head.strip_suffix(";base64") {
            Some(kind) => (kind, true),
            None => (head, false),
        };
        let bytes = if is_base64 {
            let data: String = data
                .chars()
                .filter(|letter| !letter.is_ascii_whitespace())
                .map(|letter| match letter {
                    '-' => '+',
                    '_' => '/',
                    other => other,
                })
                .collect();
            BASE64.decode(data).map_err(|_error| unusable("is not base64 after the comma"))?
        } else {
            percent_decode_str(data).collect()
        };
        let mime_type = (!kind.is_empty()).then(|| kind.to_owned());
        Ok(Self { bytes: bytes.into(), mime_type })
    }
}

//! The character encoding of a response: as declared by the server, else UTF-8.

use capdeck_auth::SecretScrubber;
use encoding_rs::{Encoding, UTF_8};

use crate::capture::CapturedStream;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BodyCharset(&'static Encoding);

impl BodyCharset {
    /// Uses the byte order mark, then the `charset` of the content type. An unknown name is ignored.
    pub(super) fn of(content_type: Option<&str>, body: &[u8]) -> Self {
        let marked = Encoding::for_bom(body).map(|(encoding, _length)| encoding);
        let named = || Encoding::for_label(label(content_type?)?.as_bytes());
        Self(marked.or_else(named).unwrap_or(UTF_8))
    }

    /// Decodes the first bytes of a body, without the mark and cut between characters.
    pub(super) fn text(
        self,
        body: &CapturedStream,
        max_bytes: u64,
        scrubber: &SecretScrubber,
    ) -> String {
        if self.0 == UTF_8 {
            let text = body.text(max_bytes);
            return text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        }
        let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        let bytes = body.head().get(..max_bytes).unwrap_or(body.head());
        let is_whole = bytes.len() as u64 == body.total();
        let mut decoder = self.0.new_decoder_with_bom_removal();
        let room = decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(bytes.len());
        let mut text = String::with_capacity(room);
        // The buffer is large enough: see the length above.
        let _result = decoder.decode_to_string(bytes, &mut text, is_whole);
        // Secrets were searched among the bytes, where another encoding hides them.
        scrubber.text(&text).into_owned()
    }
}

/// `iso-8859-1` of `text/plain; charset="iso-8859-1"`.
fn label(content_type: &str) -> Option<&str> {
    let mut parameters = content_type.split(';').skip(1).filter_map(|part| part.split_once('='));
    let (_, label) = parameters.find(|(key, _)| key.trim().eq_ignore_ascii_case("charset"))?;
    Some(label.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_comes_before_a_name_and_an_unknown_name_says_nothing() {
        for (content_type, body, expected) in [
            (None, &b""[..], "UTF-8"),
            (Some("text/plain"), b"", "UTF-8"),
            (Some("text/plain; charset=utf-8"), b"", "UTF-8"),
            (Some("text/plain; charset=iso-8859-1"), b"", "windows-1252"),
            (Some("text/plain;format=flowed; Charset=\"Shift_JIS\""), b"", "Shift_JIS"),
            (Some("text/plain; charset=klingon"), b"", "UTF-8"),
            (Some("text/plain; charset=iso-8859-1"), b"\xef\xbb\xbfa", "UTF-8"),
            (Some("application/json"), b"\xff\xfea\0", "UTF-16LE"),
        ] {
            assert_eq!(BodyCharset::of(content_type, body).0.name(), expected, "{content_type:?}");
        }
    }
}

//! The file name in a `Content-Disposition` header.

use encoding_rs::Encoding;
use percent_encoding::percent_decode_str;

/// Returns the server's name, not yet made safe. `filename*`, which can hold any character, comes before `filename`.
pub(super) fn file_name(disposition: &str) -> Option<String> {
    let parameters = parameters(disposition);
    let value = |name: &str| {
        let found = parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    };
    let name =
        value("filename*").and_then(extended).or_else(|| value("filename").map(str::to_owned));
    name.filter(|name| !name.is_empty())
}

/// Parses `UTF-8'en'na%C3%AFve.csv`: an encoding, a language and the text.
fn extended(value: &str) -> Option<String> {
    let (charset, rest) = value.split_once('\'')?;
    let (_language, text) = rest.split_once('\'')?;
    let encoding = Encoding::for_label(charset.as_bytes())?;
    let bytes: Vec<u8> = percent_decode_str(text).collect();
    Some(encoding.decode_without_bom_handling(&bytes).0.into_owned())
}

/// Parses `key=value` and `key="value; with marks"` after the first word.
fn parameters(disposition: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    let mut rest = disposition.split_once(';').map_or("", |(_, rest)| rest);
    while let Some((key, after)) = rest.split_once('=') {
        // Text before the last `;` has no value.
        let key = key.rsplit(';').next().unwrap_or(key).trim();
        let after = after.trim_start();
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => unquote(quoted),
            None => {
                let (value, next) = after.split_once(';').unwrap_or((after, ""));
                (value.trim().to_owned(), next)
            }
        };
        found.push((key, value));
        rest = next;
    }
    found
}

/// Returns the text up to the closing quote, and the rest. A backslash before a quote or a backslash is an escape;
/// others are part of the name, because some servers send paths of their own machine.
fn unquote(quoted: &str) -> (String, &str) {
    let mut value = String::new();
    let mut letters = quoted.char_indices().peekable();
    while let Some((_, letter)) = letters.next() {
        match letter {
            '"' => break,
            '\\' => match letters.next_if(|(_, next)| matches!(next, '"' | '\\')) {
                Some((_, escaped)) => value.push(escaped),
                None => value.push(letter),
            },
            _ => value.push(letter),
        }
    }
    let end = letters.peek().map_or(quoted.len(), |(index, _)| *index);
    (value, quoted.get(end..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_however_they_are_written() {
        for (disposition, expected) in [
            ("attachment", None),
            ("attachment; filename=", None),
            ("attachment; filename=report.pdf", Some("report.pdf")),
            ("attachment; FileName = \"a b.pdf\" ; size=3", Some("a b.pdf")),
            (r#"attachment; filename="a;b=\"c\".csv"; x=y"#, Some(r#"a;b="c".csv"#)),
            (r#"attachment; filename="C:\tmp\a.csv""#, Some(r"C:\tmp\a.csv")),
            ("attachment; filename=\"no end", Some("no end")),
            ("attachment; filename*=UTF-8''na%C3%AFve%20x.csv", Some("naïve x.csv")),
            ("attachment; filename=plain.csv; filename*=iso-8859-1'de'%FC.csv", Some("ü.csv")),
            ("attachment; filename=plain.csv; filename*=klingon''x", Some("plain.csv")),
            ("attachment; odd; filename=x.csv", Some("x.csv")),
            ("inline; \"", None),
        ] {
            assert_eq!(file_name(disposition).as_deref(), expected, "{disposition}");
        }
    }
}

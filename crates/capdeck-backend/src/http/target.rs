//! Builds the URL of a request from a base URL and a path that stays below it.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use url::Url;

use crate::{CallError, ErrorCode};

/// All characters except those that are safe in one path segment.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// Parses a resolved base URL with the same rules as in a file.
pub(crate) fn parse_base(text: &str) -> Result<Url, CallError> {
    let refuse = |reason: &str| {
        CallError::new(ErrorCode::ConfigInvalid, format!("`baseUrl` cannot be used: {reason}"))
            .hint("give an https URL without user name, query or fragment")
    };
    let url = Url::parse(text).map_err(|error| refuse(&error.to_string()))?;
    let is_local = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    match url.scheme() {
        "https" => {}
        "http" if is_local => {}
        "http" => return Err(refuse("plain http is allowed for this machine only")),
        _ => return Err(refuse("it is neither http nor https")),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refuse("it holds a user name or password"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(refuse("it has a query or a fragment"));
    }
    Ok(url)
}

pub(crate) fn encode_segment(value: &str) -> PercentEncode<'_> {
    utf8_percent_encode(value, SEGMENT)
}

/// Returns the URL of a resolved path, which starts with `/`.
pub(crate) fn below(base: &Url, path: &str) -> Result<Url, CallError> {
    let base_path = base.path().trim_end_matches('/');
    let full_path = format!("{base_path}{path}");
    if full_path.split(['/', '\\']).any(is_dot_segment) {
        return Err(CallError::new(
            ErrorCode::RequestInvalid,
            "the path has a `.` or `..` segment, which would leave the API's base path",
        )
        .hint("use a value that is a single name"));
    }
    let mut url = base.clone();
    url.set_path(&full_path);
    // The parser may still normalise; the final path counts.
    let is_inside = url.path() == base_path
        || url.path().strip_prefix(base_path).is_some_and(|rest| rest.starts_with('/'));
    if url.origin() != base.origin() || !is_inside {
        return Err(CallError::new(
            ErrorCode::RequestInvalid,
            "the path leads outside of the API's base URL",
        ));
    }
    Ok(url)
}

/// Returns true for `.`, `..` and their encoded forms, which servers and URL parsers treat alike.
fn is_dot_segment(segment: &str) -> bool {
    let plain = segment.to_ascii_lowercase().replace("%2e", ".");
    plain == "." || plain == ".."
}

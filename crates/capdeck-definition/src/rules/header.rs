//! Which header names a file may set.

use crate::diagnostic::{Diagnostic, FileFindings, TextPosition};

/// Headers that belong to the transport or to sign-in. Lower case.
///
/// `capdeck-auth` has the same list for what is sent: neither crate may use the other, because files must not know of
/// requests and secrets not of files. A test of `capdeck-backend`, which uses both, holds them together.
pub const FORBIDDEN_HEADERS: [&str; 15] = [
    "accept",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "host",
    "keep-alive",
    "mcp-protocol-version",
    "mcp-session-id",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether a header is the one that signs requests in.
pub(crate) fn is_authorization(name: &str) -> bool {
    name.eq_ignore_ascii_case("authorization")
}

/// The token of `Bearer <token>`, whatever the case of the scheme.
pub(crate) fn bearer_token(value: &str) -> Option<&str> {
    let (scheme, token) = value.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Checks one configured header name.
pub(crate) fn check_name(name: &str, place: TextPosition, findings: &mut FileFindings) {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        findings.add(
            Diagnostic::error("bad-header", format!("`{name}` is not a header name"))
                .with_fix("use letters, digits and `-`")
                .at(place),
        );
        return;
    }
    let lower = name.to_ascii_lowercase();
    if FORBIDDEN_HEADERS.contains(&lower.as_str()) {
        let fix = if lower == "authorization" {
            "use `auth` with `type: bearer` and `token`"
        } else {
            "remove it; it is set for each request"
        };
        findings.add(
            Diagnostic::error(
                "forbidden-header",
                format!("the header `{name}` cannot be set here"),
            )
            .with_fix(fix)
            .at(place),
        );
    }
}

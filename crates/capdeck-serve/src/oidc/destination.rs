//! Where to continue after the sign-in: always a page of this host.

use url::Url;

/// Long enough for a request to the consent page.
const MAX_PATH_BYTES: usize = 4096;

/// A path of this host; `None` for anything that a browser could read as another host.
pub(super) fn own_path(wanted: &str) -> Option<String> {
    // Browsers read a backslash as a slash and drop line breaks.
    let is_plain = wanted.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if !is_plain || wanted.len() > MAX_PATH_BYTES || !wanted.starts_with('/') {
        return None;
    }
    let base = Url::parse("http://host.invalid").ok()?;
    let resolved = base.join(wanted).ok()?;
    // Normalize first, as a browser does: `/.//other.example` is another host, too.
    let path = resolved.as_str().strip_prefix(base.as_str().trim_end_matches('/'))?;
    (path.starts_with('/') && !path.starts_with("//")).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn security_04_only_paths_of_this_host_are_gone_to() {
        for good in
            ["/", "/#/capsules/team", "/oauth/authorize?client_id=a&state=%2F%2Fx", "/a?b#c"]
        {
            assert_eq!(own_path(good).as_deref(), Some(good));
        }
        for bad in [
            "",
            "https://evil.example/",
            "//evil.example/",
            "///evil.example/",
            "/\\evil.example",
            "\\\\evil.example",
            "/\t/evil.example",
            "/\n/evil.example",
            " //evil.example",
            "javascript:alert(1)",
            "evil.example",
            "#/x",
            "/ü",
        ] {
            assert_eq!(own_path(bad), None, "{bad:?}");
        }
        assert_eq!(own_path(&format!("/{}", "x".repeat(MAX_PATH_BYTES))), None);
        assert_eq!(own_path("/.//evil.example"), None);
        assert_eq!(own_path("/a/..//evil.example"), None);
    }
}

//! The address at which people reach an `up`.

use url::Url;

use crate::errors::Failure;

/// Takes an address that clients can use, without a slash at its end. It becomes the issuer of tokens and part of every
/// address that clients are told, so a wrong one is refused at the start and not found out by each of them. There is no
/// path in it because clients look for `/.well-known/…` at the root.
pub(super) fn checked(text: &str) -> Result<String, Failure> {
    let refused = |why: &str| {
        Failure::setup("BAD_PUBLIC_URL", format!("CAPDECK_PUBLIC_URL cannot be used: {why}"))
            .hint("use the address that people open, such as https://deck.example")
    };
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "https" | "http"));
    let url =
        url.ok_or_else(|| refused("it is no address that begins with https:// or http://"))?;
    let is_bare = url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    if !is_bare {
        return Err(refused("it has more than a name and a port"));
    }
    Ok(text.trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_clients_can_use_is_taken() {
        for (text, taken) in [
            ("https://deck.example", Some("https://deck.example")),
            ("https://deck.example:8443/", Some("https://deck.example:8443")),
            ("http://[::1]:7717", Some("http://[::1]:7717")),
            ("deck.example", None),
            ("localhost:7717", None),
            ("ftp://deck.example", None),
            ("https://", None),
            ("https://deck.example/capdeck", None),
            ("https://deck.example/?a=b", None),
            ("https://ann:secret@deck.example", None),
        ] {
            assert_eq!(checked(text).ok().as_deref(), taken, "{text}");
        }
    }
}

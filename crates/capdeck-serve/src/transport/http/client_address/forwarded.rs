//! The header `Forwarded` (RFC 7239): what each proxy says about where it got a request from.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::HeaderMap;

/// What one proxy says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Hop {
    /// Where it got the request from; none when it does not say, or hides it.
    pub(super) address: Option<IpAddr>,
    /// Whether it says anything about that at all.
    pub(super) names_client: bool,
    /// Whether it was asked over HTTPS, if it says so.
    pub(super) is_https: Option<bool>,
}

/// A header that is not written as it has to be. Nothing in it can be believed, for a part of it may be the client's.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// What all proxies say, the nearest last; none when the header is not there.
pub(super) fn hops(headers: &HeaderMap) -> Result<Vec<Hop>, Malformed> {
    let mut hops = Vec::new();
    for line in headers.get_all(http::header::FORWARDED) {
        let line = line.to_str().map_err(|_| Malformed)?;
        for element in split(line, ',')? {
            // An empty element stands for nothing, as in every list of HTTP.
            if !element.trim().is_empty() {
                hops.push(hop(element)?);
            }
        }
    }
    Ok(hops)
}

fn hop(element: &str) -> Result<Hop, Malformed> {
    let mut hop = Hop::default();
    let mut seen: Vec<String> = Vec::new();
    for pair in split(element, ';')?.into_iter().map(str::trim).filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or(Malformed)?;
        let (name, value) = (name.to_ascii_lowercase(), unquoted(value)?);
        if seen.contains(&name) {
            return Err(Malformed);
        }
        match name.as_str() {
            "for" => {
                hop.names_client = true;
                hop.address = address(&value);
            }
            "proto" => hop.is_https = Some(value.eq_ignore_ascii_case("https")),
            _ => {}
        }
        seen.push(name);
    }
    Ok(hop)
}

/// Splits outside of quotes.
fn split(text: &str, mark: char) -> Result<Vec<&str>, Malformed> {
    let (mut parts, mut rest) = (Vec::new(), text);
    let (mut is_quoted, mut is_escaped) = (false, false);
    let mut from = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            letter if letter == mark && !is_quoted => {
                let (part, after) = rest.split_at(at - from);
                parts.push(part);
                rest = after.strip_prefix(mark).unwrap_or_default();
                from = at + mark.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(rest);
    if is_quoted { Err(Malformed) } else { Ok(parts) }
}

fn unquoted(value: &str) -> Result<String, Malformed> {
    let Some(inside) = value.strip_prefix('"') else {
        // Outside of quotes there is neither a quote nor a blank.
        let is_plain = !value.is_empty() && !value.contains(['"', ' ', '\t']);
        return if is_plain { Ok(value.to_owned()) } else { Err(Malformed) };
    };
    let inside = inside.strip_suffix('"').ok_or(Malformed)?;
    let (mut text, mut is_escaped) = (String::new(), false);
    for letter in inside.chars() {
        match letter {
            '\\' if !is_escaped => is_escaped = true,
            // The value ended before: what follows it belongs to nothing.
            '"' if !is_escaped => return Err(Malformed),
            letter => {
                text.push(letter);
                is_escaped = false;
            }
        }
    }
    if is_escaped { Err(Malformed) } else { Ok(text) }
}

/// An address with or without its port. `unknown` and names that a proxy made up are none.
pub(super) fn address(text: &str) -> Option<IpAddr> {
    if let Ok(with_port) = text.parse::<SocketAddr>() {
        return Some(with_port.ip());
    }
    match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        Some(bare) => bare.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn read(lines: &[&str]) -> Result<Vec<String>, Malformed> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("forwarded", HeaderValue::from_str(line).unwrap());
        }
        let told = |hop: Hop| {
            let address = hop.address.map_or_else(|| "?".to_owned(), |ip| ip.to_string());
            format!("{address}{}", if hop.is_https == Some(true) { " https" } else { "" })
        };
        Ok(hops(&headers)?.into_iter().map(told).collect())
    }

    #[test]
    fn every_form_of_the_header_is_read() {
        for (line, expected) in [
            ("for=192.0.2.43", "192.0.2.43"),
            ("For=\"192.0.2.43:4711\";Proto=HTTPS;by=10.0.0.1", "192.0.2.43 https"),
            ("for=\"[2001:db8::17]:4711\"", "2001:db8::17"),
            ("for=\"[2001:db8::17]\";host=\"a, b; c\";proto=https", "2001:db8::17 https"),
            ("for=\"192.0.2\\.43\"", "192.0.2.43"),
            ("proto=http;for=unknown", "?"),
            ("for=_hidden", "?"),
            ("for=\"_SEVKISEK:80\"; proto=https", "? https"),
            ("by=10.0.0.1", "?"),
        ] {
            assert_eq!(read(&[line]).unwrap(), [expected], "{line}");
        }
        let several = read(&["for=192.0.2.1, for=192.0.2.2;proto=https,", "for=192.0.2.3"]);
        assert_eq!(several.unwrap(), ["192.0.2.1", "192.0.2.2 https", "192.0.2.3"]);
        assert_eq!(read(&[]).unwrap(), [""; 0]);
    }

    #[test]
    fn what_is_written_wrongly_is_not_guessed_at() {
        for line in [
            "for=\"192.0.2.43",
            "for=\"192.0.2.43\\\"",
            "for=\"192.0.2.43\"x",
            "for=\"a\"\"b\"",
            "for",
            "for=",
            "for=192.0.2.1 192.0.2.2",
            "for=192.0.2.1;for=192.0.2.2",
            "for=a\"b\"",
        ] {
            assert_eq!(read(&[line]), Err(Malformed), "{line}");
        }
        // A quote that the client left open does not swallow what the proxy adds behind it.
        assert_eq!(read(&["for=\"127.0.0.1, for=192.0.2.7"]), Err(Malformed));
        assert_eq!(read(&["for=\"127.0.0.1", "for=192.0.2.7"]), Err(Malformed));
    }
}

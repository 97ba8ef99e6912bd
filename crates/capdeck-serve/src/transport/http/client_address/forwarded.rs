//! The header `Forwarded` (RFC 7239).

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::HeaderMap;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ForwardedHop {
    /// The client of this hop; `None` when absent or hidden.
    pub(super) address: Option<IpAddr>,
    pub(super) names_client: bool,
    pub(super) is_https: Option<bool>,
}

/// A malformed header is rejected as a whole, because a part of it may come from the client.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MalformedHeader;

/// All hops, the nearest last; empty without the header.
pub(super) fn hops(headers: &HeaderMap) -> Result<Vec<ForwardedHop>, MalformedHeader> {
    let mut hops = Vec::new();
    for line in headers.get_all(http::header::FORWARDED) {
        let line = line.to_str().map_err(|_| MalformedHeader)?;
        for element in split(line, ',')? {
            // Empty list elements are allowed in HTTP.
            if !element.trim().is_empty() {
                hops.push(hop(element)?);
            }
        }
    }
    Ok(hops)
}

fn hop(element: &str) -> Result<ForwardedHop, MalformedHeader> {
    let mut hop = ForwardedHop::default();
    let mut seen: Vec<String> = Vec::new();
    for pair in split(element, ';')?.into_iter().map(str::trim).filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or(MalformedHeader)?;
        let (name, value) = (name.to_ascii_lowercase(), unquoted(value)?);
        if seen.contains(&name) {
            return Err(MalformedHeader);
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

fn split(text: &str, mark: char) -> Result<Vec<&str>, MalformedHeader> {
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
    if is_quoted { Err(MalformedHeader) } else { Ok(parts) }
}

fn unquoted(value: &str) -> Result<String, MalformedHeader> {
    let Some(inside) = value.strip_prefix('"') else {
        // Outside of quotes there is neither a quote nor a space.
        let is_plain = !value.is_empty() && !value.contains(['"', ' ', '\t']);
        return if is_plain { Ok(value.to_owned()) } else { Err(MalformedHeader) };
    };
    let inside = inside.strip_suffix('"').ok_or(MalformedHeader)?;
    let (mut text, mut is_escaped) = (String::new(), false);
    for letter in inside.chars() {
        match letter {
            '\\' if !is_escaped => is_escaped = true,
            // Text after a quoted value is invalid.
            '"' if !is_escaped => return Err(MalformedHeader),
            letter => {
                text.push(letter);
                is_escaped = false;
            }
        }
    }
    if is_escaped { Err(MalformedHeader) } else { Ok(text) }
}

/// An address with or without its port. `unknown` and obfuscated names are `None`.
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

    fn read(lines: &[&str]) -> Result<Vec<String>, MalformedHeader> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("forwarded", HeaderValue::from_str(line).unwrap());
        }
        let read_hop = |hop: ForwardedHop| {
            let address = hop.address.map_or_else(|| "?".to_owned(), |ip| ip.to_string());
            format!("{address}{}", if hop.is_https == Some(true) { " https" } else { "" })
        };
        Ok(hops(&headers)?.into_iter().map(read_hop).collect())
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
            assert_eq!(read(&[line]), Err(MalformedHeader), "{line}");
        }
        // An open quote of the client must not hide the proxy's element behind it.
        assert_eq!(read(&["for=\"127.0.0.1, for=192.0.2.7"]), Err(MalformedHeader));
        assert_eq!(read(&["for=\"127.0.0.1", "for=192.0.2.7"]), Err(MalformedHeader));
    }
}

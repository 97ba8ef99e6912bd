//! The address of the client: the socket's peer, or from a trusted proxy's `X-Forwarded-*` or `Forwarded` headers.

mod forwarded;

use std::net::IpAddr;

use axum::response::Response;
use capdeck_auth::inbound::IpNetwork;
use http::{HeaderMap, HeaderValue, StatusCode, request::Parts};

use super::problem;

/// Headers that proxies add, besides those with [`FORWARDED_PREFIX`].
const PROXY_HEADERS: [&str; 9] = [
    "forwarded",
    "via",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-original-forwarded-for",
    "true-client-ip",
    "cf-connecting-ip",
    "fly-client-ip",
];
const FORWARDED_PREFIX: &str = "x-forwarded-";

/// True when any proxy forwarded the request. Such a request is not local, even from a loopback socket.
pub(super) fn is_forwarded(headers: &HeaderMap) -> bool {
    let is_of_proxy =
        |name: &str| name.starts_with(FORWARDED_PREFIX) || PROXY_HEADERS.contains(&name);
    headers.keys().any(|name| is_of_proxy(name.as_str()))
}

#[derive(Debug, Clone, Copy)]
pub(super) struct SocketPeer(pub(super) IpAddr);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientAddress {
    pub(crate) ip: IpAddr,
    /// True when the client used HTTPS to a trusted proxy.
    pub(crate) is_https: bool,
}

/// Why the client's address is unknown although a trusted proxy forwarded the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnclearAddress {
    Malformed,
    TwoClients,
}

impl UnclearAddress {
    fn message(self) -> &'static str {
        match self {
            Self::Malformed => "the header `Forwarded` is not valid (RFC 7239)",
            Self::TwoClients => {
                "`Forwarded` and `X-Forwarded-For` name two different clients; configure the proxy to remove the header that it does not set"
            }
        }
    }
}

impl ClientAddress {
    pub(crate) fn rate_limit_key(&self) -> IpAddr {
        counted_address(self.ip)
    }

    fn from_headers(
        peer: IpAddr,
        headers: &HeaderMap,
        trusted: &[IpNetwork],
    ) -> Result<Self, UnclearAddress> {
        let is_trusted = |ip: &IpAddr| trusted.iter().any(|network| network.holds(*ip));
        if !is_trusted(&peer) {
            return Ok(Self { ip: peer, is_https: false });
        }
        // The last hop not written by a trusted proxy is the client; earlier ones may be forged. A hop without an address ends the
        // search.
        let client = |hops: &[Option<IpAddr>]| {
            let mut ip = peer;
            for hop in hops.iter().rev().map_while(|hop| *hop) {
                ip = hop;
                if !is_trusted(&hop) {
                    break;
                }
            }
            ip
        };
        let hops = forwarded::hops(headers).map_err(|_| UnclearAddress::Malformed)?;
        let listed: Vec<_> =
            header_items(headers, "x-forwarded-for").map(forwarded::address).collect();
        let named: Vec<_> =
            hops.iter().filter(|hop| hop.names_client).map(|hop| hop.address).collect();
        let ip = match (listed.is_empty(), named.is_empty()) {
            (_, true) => client(&listed),
            (true, false) => client(&named),
            // A proxy that sets one of them forwards the other from the client, and nothing shows which.
            (false, false) if client(&listed) != client(&named) => {
                return Err(UnclearAddress::TwoClients);
            }
            (false, false) => client(&listed),
        };
        let sent = [
            header_items(headers, "x-forwarded-proto").last().map(|word| word == "https"),
            hops.last().and_then(|hop| hop.is_https),
        ];
        let is_https = sent.contains(&Some(true)) && !sent.contains(&Some(false));
        Ok(Self { ip, is_https })
    }
}

/// The IPv4 address, or the IPv6 network of one customer.
pub(super) fn counted_address(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(inner) => inner.into(),
            None => IpAddr::V6((u128::from(address) >> 64 << 64).into()),
        },
    }
}

fn header_items<'h>(headers: &'h HeaderMap, name: &str) -> impl Iterator<Item = &'h str> {
    let texts =
        headers.get_all(name).into_iter().filter_map(|value: &HeaderValue| value.to_str().ok());
    texts.flat_map(|text| text.split(',')).map(str::trim)
}

/// Adds a [`ClientAddress`] to a request; fails when it is ambiguous.
pub(super) fn set_client_address(
    request: &mut Parts,
    trusted: &[IpNetwork],
) -> Result<(), Response> {
    let Some(SocketPeer(peer)) = request.extensions.get().copied() else { return Ok(()) };
    let address = ClientAddress::from_headers(peer, &request.headers, trusted)
        .map_err(|unclear| problem(StatusCode::BAD_REQUEST, "unclear_origin", unclear.message()))?;
    request.extensions.insert(address);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(peer: &str, headers: &[(&'static str, &str)]) -> (String, bool) {
        let address = located(peer, headers).unwrap();
        (address.ip.to_string(), address.is_https)
    }

    fn located(
        peer: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<ClientAddress, UnclearAddress> {
        let trusted = [IpNetwork::parse("10.0.0.0/8").unwrap()];
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                (http::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
            })
            .collect();
        ClientAddress::from_headers(peer.parse().unwrap(), &headers, &trusted)
    }

    #[test]
    fn a_proxy_is_believed_only_when_it_is_trusted() {
        let passed = [("x-forwarded-for", "192.0.2.7"), ("x-forwarded-proto", "https")];
        assert_eq!(seen("10.1.2.3", &passed), ("192.0.2.7".to_owned(), true));
        assert_eq!(seen("198.51.100.1", &passed), ("198.51.100.1".to_owned(), false));
        assert_eq!(seen("10.1.2.3", &[]), ("10.1.2.3".to_owned(), false));
    }

    #[test]
    fn what_the_client_wrote_itself_is_not_believed() {
        let forged = [("x-forwarded-for", "127.0.0.1, 192.0.2.7, 10.9.9.9")];
        assert_eq!(seen("10.1.2.3", &forged).0, "192.0.2.7");
        assert_eq!(seen("10.1.2.3", &[("x-forwarded-for", "nonsense")]).0, "10.1.2.3");
        assert!(!seen("10.1.2.3", &[("x-forwarded-proto", "https, http")]).1);
    }

    #[test]
    fn an_address_may_come_with_its_port() {
        for (said, expected) in [
            ("192.0.2.7:5678", "192.0.2.7"),
            ("[2001:db8::7]:80", "2001:db8::7"),
            ("[2001:db8::7]", "2001:db8::7"),
            ("2001:db8::7", "2001:db8::7"),
            ("127.0.0.1, 192.0.2.7:5678 , 10.9.9.9:80", "192.0.2.7"),
            ("192.0.2.7:", "10.1.2.3"),
            ("192.0.2.7:99999", "10.1.2.3"),
            ("[192.0.2.7]", "10.1.2.3"),
            ("127.0.0.1, unknown", "10.1.2.3"),
        ] {
            assert_eq!(seen("10.1.2.3", &[("x-forwarded-for", said)]).0, expected, "{said}");
        }
    }

    #[test]
    fn every_header_of_a_proxy_shows_that_a_request_was_passed_on() {
        let passed = |name: &'static str| {
            let name = http::HeaderName::from_static(name);
            is_forwarded(&HeaderMap::from_iter([(name, HeaderValue::from_static("x"))]))
        };
        for name in PROXY_HEADERS {
            assert!(passed(name), "{name}");
        }
        for name in ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-x"] {
            assert!(passed(name), "{name}");
        }
        for name in ["host", "authorization", "x-forward", "viable"] {
            assert!(!passed(name), "{name}");
        }
    }

    #[test]
    fn both_ways_to_say_it_are_read() {
        let passed = [("forwarded", "for=192.0.2.7;proto=https")];
        assert_eq!(seen("10.1.2.3", &passed), ("192.0.2.7".to_owned(), true));
        assert_eq!(seen("198.51.100.1", &passed), ("198.51.100.1".to_owned(), false));
        let forged = [("forwarded", "for=127.0.0.1, for=192.0.2.7;proto=http, for=10.9.9.9")];
        assert_eq!(seen("10.1.2.3", &forged), ("192.0.2.7".to_owned(), false));
        // A hidden address is not guessed from earlier hops.
        let hidden = [("forwarded", "for=127.0.0.1, for=unknown")];
        assert_eq!(seen("10.1.2.3", &hidden).0, "10.1.2.3");
        let both = [
            ("forwarded", "for=\"192.0.2.7:99\";proto=https"),
            ("x-forwarded-for", "192.0.2.7"),
            ("x-forwarded-proto", "https"),
        ];
        assert_eq!(seen("10.1.2.3", &both), ("192.0.2.7".to_owned(), true));
        let said_by_one = [("forwarded", "by=10.1.2.3"), ("x-forwarded-for", "192.0.2.7")];
        assert_eq!(seen("10.1.2.3", &said_by_one).0, "192.0.2.7");
    }

    #[test]
    fn a_header_that_the_proxy_does_not_write_cannot_stand_in_for_the_one_it_does() {
        for theirs in ["for=127.0.0.1", "for=10.1.2.3", "for=unknown", "for=_me"] {
            let forged = [("forwarded", theirs), ("x-forwarded-for", "192.0.2.7")];
            assert_eq!(located("10.1.2.3", &forged), Err(UnclearAddress::TwoClients), "{theirs}");
        }
        let forged = [("forwarded", "for=192.0.2.7"), ("x-forwarded-for", "127.0.0.1")];
        assert_eq!(located("10.1.2.3", &forged), Err(UnclearAddress::TwoClients));
        // An open quote would hide the proxy's element behind it.
        let open = [("forwarded", "for=\"127.0.0.1, for=192.0.2.7")];
        assert_eq!(located("10.1.2.3", &open), Err(UnclearAddress::Malformed));
        // Headers of untrusted peers are ignored.
        assert_eq!(seen("198.51.100.1", &forged), ("198.51.100.1".to_owned(), false));
        assert_eq!(seen("198.51.100.1", &open).0, "198.51.100.1");
        let scheme = [("forwarded", "for=192.0.2.7;proto=https"), ("x-forwarded-proto", "http")];
        assert!(!seen("10.1.2.3", &scheme).1);
    }

    #[test]
    fn one_customer_is_one_key() {
        let key =
            |ip: &str| ClientAddress { ip: ip.parse().unwrap(), is_https: false }.rate_limit_key();
        assert_eq!(key("2001:db8:1:2:3::4"), key("2001:db8:1:2:ffff::1"));
        assert_ne!(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
        assert_eq!(key("::ffff:192.0.2.1"), key("192.0.2.1"));
    }
}

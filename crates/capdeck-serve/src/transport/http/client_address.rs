//! Where a request comes from: the other end of its socket, or what a proxy that is trusted says.

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use capdeck_auth::inbound::Network;
use http::{HeaderMap, HeaderValue};

/// The other end of the socket, left with every request by the connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct SocketPeer(pub(super) IpAddr);

/// Where a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientAddress {
    pub(crate) ip: IpAddr,
    /// Whether the client spoke HTTPS, to a proxy that is trusted.
    pub(crate) is_https: bool,
}

impl ClientAddress {
    /// What limits count by: one address, or the network that one customer has of the newer kind.
    pub(crate) fn counted(&self) -> IpAddr {
        match self.ip {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => match address.to_ipv4_mapped() {
                Some(inner) => inner.into(),
                None => IpAddr::V6((u128::from(address) >> 64 << 64).into()),
            },
        }
    }

    fn of(peer: IpAddr, headers: &HeaderMap, trusted: &[Network]) -> Self {
        let is_trusted = |ip: &IpAddr| trusted.iter().any(|network| network.holds(*ip));
        if !is_trusted(&peer) {
            return Self { ip: peer, is_https: false };
        }
        let hops: Vec<&str> = words(headers, "x-forwarded-for").collect();
        // The last one that no proxy of ours wrote is the client; what stands before it is anybody's word.
        let hops = hops.iter().rev().map_while(|hop| hop.parse::<IpAddr>().ok());
        let mut ip = peer;
        for hop in hops {
            ip = hop;
            if !is_trusted(&hop) {
                break;
            }
        }
        let is_https = words(headers, "x-forwarded-proto").last() == Some("https");
        Self { ip, is_https }
    }
}

fn words<'h>(headers: &'h HeaderMap, name: &str) -> impl Iterator<Item = &'h str> {
    let texts =
        headers.get_all(name).into_iter().filter_map(|value: &HeaderValue| value.to_str().ok());
    texts.flat_map(|text| text.split(',')).map(str::trim)
}

/// Leaves a [`ClientAddress`] with every request.
pub(super) async fn locate(
    State(trusted): State<Arc<[Network]>>,
    mut request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<SocketPeer>().map(|peer| peer.0);
    if let Some(peer) = peer {
        let address = ClientAddress::of(peer, request.headers(), &trusted);
        request.extensions_mut().insert(address);
    }
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(peer: &str, headers: &[(&'static str, &str)]) -> (String, bool) {
        let trusted = [Network::parse("10.0.0.0/8").unwrap()];
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                (http::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
            })
            .collect();
        let address = ClientAddress::of(peer.parse().unwrap(), &headers, &trusted);
        (address.ip.to_string(), address.is_https)
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
    fn one_customer_is_one_key() {
        let key = |ip: &str| ClientAddress { ip: ip.parse().unwrap(), is_https: false }.counted();
        assert_eq!(key("2001:db8:1:2:3::4"), key("2001:db8:1:2:ffff::1"));
        assert_ne!(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
        assert_eq!(key("::ffff:192.0.2.1"), key("192.0.2.1"));
    }
}

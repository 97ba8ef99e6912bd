//! Which addresses a remote may send us to.
//!
//! Metadata comes from outside and names further addresses to ask. A server on the Internet must not use us to reach
//! what stands behind our door, so every address is held against the place of the server itself: twice, as it is
//! written and as its name resolves.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::OAuthError;

/// How far requests may go, decided by where the server itself is. Public addresses over HTTPS are always allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reach {
    /// The server is on the Internet: nothing else.
    Public,
    /// The server is in a private network: that, too.
    Private,
    /// The server is on this machine: that, too, even without TLS.
    Loopback,
}

/// Resolves names and keeps only the addresses within reach.
#[derive(Debug, Clone, Copy)]
pub struct GuardedResolver(pub Reach);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Public,
    Private,
    Loopback,
    /// Link-local (cloud metadata services live there), multicast, reserved.
    Never,
}

impl Reach {
    /// The reach of a server at this address. A name that does not resolve is taken for public, the strictest.
    pub async fn of(server: &Url) -> Self {
        let places: Vec<Place> = match server.host() {
            Some(Host::Ipv4(address)) => vec![place(address.into())],
            Some(Host::Ipv6(address)) => vec![place(address.into())],
            Some(Host::Domain(name)) if is_local_name(name) => vec![Place::Loopback],
            Some(Host::Domain(name)) => match tokio::net::lookup_host((name, 443)).await {
                Ok(found) => found.map(|address| place(address.ip())).collect(),
                Err(_) => Vec::new(),
            },
            None => Vec::new(),
        };
        // One public address is enough to be the strictest: names can be given any address.
        let only = |wanted: Place| !places.is_empty() && places.iter().all(|one| *one == wanted);
        if only(Place::Loopback) {
            Self::Loopback
        } else if only(Place::Private) {
            Self::Private
        } else {
            Self::Public
        }
    }

    /// Refuses an address by how it is written.
    pub(super) fn check(self, what: &'static str, url: &Url) -> Result<(), OAuthError> {
        let forbidden = |reason: &'static str| OAuthError::ForbiddenUrl {
            what,
            origin: url.origin().ascii_serialization(),
            reason,
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(forbidden("it holds a user name or a password"));
        }
        let literal = match url.host() {
            Some(Host::Ipv4(address)) => Some(place(address.into())),
            Some(Host::Ipv6(address)) => Some(place(address.into())),
            Some(Host::Domain(name)) if is_local_name(name) => Some(Place::Loopback),
            Some(Host::Domain(_)) => None,
            None => return Err(forbidden("it names no host")),
        };
        match url.scheme() {
            "https" => {}
            "http" if literal == Some(Place::Loopback) && self == Self::Loopback => {}
            "http" => return Err(forbidden("it is not protected by HTTPS")),
            _ => return Err(forbidden("it is no web address")),
        }
        match literal {
            Some(place) if !self.allows(place) => {
                Err(forbidden("it lies in a network the server itself is not in"))
            }
            _ => Ok(()),
        }
    }

    fn allows(self, place: Place) -> bool {
        match place {
            Place::Public => true,
            Place::Private => self == Self::Private,
            Place::Loopback => self == Self::Loopback,
            Place::Never => false,
        }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.0;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> =
                found.filter(|address| reach.allows(place(address.ip()))).collect();
            if allowed.is_empty() {
                return Err("its address lies in a network the server itself is not in".into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

fn is_local_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || name.to_ascii_lowercase().ends_with(".localhost")
}

fn place(address: IpAddr) -> Place {
    match address {
        IpAddr::V4(address) => place_v4(address),
        IpAddr::V6(address) => place_v6(address),
    }
}

fn place_v4(address: Ipv4Addr) -> Place {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        (127, ..) => Place::Loopback,
        (10, ..) | (172, 16..=31, _) | (192, 168, _) | (100, 64..=127, _) => Place::Private,
        (0 | 224.., ..) | (169, 254, _) | (192, 0, 0 | 2) | (198, 18 | 19, _) => Place::Never,
        (198, 51, 100) | (203, 0, 113) => Place::Never,
        _ => Place::Public,
    }
}

fn place_v6(address: Ipv6Addr) -> Place {
    if let Some(inner) = address.to_ipv4_mapped() {
        return place_v4(inner);
    }
    let parts = address.segments();
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        // A tunnel to an address that is not public leads around the check.
        match place_v4(Ipv4Addr::new(a, b, c, d)) {
            Place::Public => Place::Public,
            _ => Place::Never,
        }
    };
    match parts {
        _ if address.is_loopback() => Place::Loopback,
        [0x2002, high, low, ..] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0xfc00..=0xfdff, ..] => Place::Private,
        [0x2000..=0x3fff, ..] if parts.first_chunk() != Some(&[0x2001, 0xdb8]) => Place::Public,
        _ => Place::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(reach: Reach, address: &str) -> Option<String> {
        let url = Url::parse(address).unwrap();
        reach.check("the token endpoint", &url).err().map(|error| error.to_string())
    }

    #[test]
    fn a_public_server_reaches_nothing_inside() {
        assert_eq!(refused(Reach::Public, "https://sso.example.com/x"), None);
        for inside in [
            "https://127.0.0.1/",
            "https://localhost/",
            "https://x.localhost./",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://0177.0.0.1/",
            "https://10.1.2.3/",
            "https://192.168.0.1/",
            "https://172.20.1.1/",
            "https://100.64.0.1/",
            "https://169.254.169.254/latest/meta-data",
            "https://0.0.0.0/",
            "https://255.255.255.255/",
            "https://[::1]/",
            "https://[::]/",
            "https://[::ffff:10.0.0.1]/",
            "https://[fd00::1]/",
            "https://[fe80::1]/",
            "https://[64:ff9b::7f00:1]/",
            "https://[2002:7f00:1::]/",
        ] {
            let message = refused(Reach::Public, inside).unwrap_or_else(|| panic!("{inside}"));
            assert!(message.contains("network the server itself is not in"), "{message}");
        }
    }

    #[test]
    fn plain_http_is_for_this_machine_and_only_when_the_server_is_on_it() {
        assert_eq!(refused(Reach::Loopback, "http://localhost:1/"), None);
        assert_eq!(refused(Reach::Loopback, "http://[::1]:1/"), None);
        assert_eq!(refused(Reach::Loopback, "https://sso.example.com/"), None);
        assert_eq!(refused(Reach::Private, "https://10.0.0.1/"), None);
        for (reach, address) in [
            (Reach::Public, "http://localhost:1/"),
            (Reach::Public, "http://sso.example.com/"),
            (Reach::Loopback, "http://sso.example.com/"),
            (Reach::Private, "http://10.0.0.1/"),
            (Reach::Private, "https://127.0.0.1/"),
            (Reach::Loopback, "https://10.0.0.1/"),
            (Reach::Loopback, "https://169.254.169.254/"),
            (Reach::Loopback, "javascript:alert(1)"),
            (Reach::Loopback, "file:///etc/passwd"),
            (Reach::Loopback, "https://user:canary@sso.example.com/"),
        ] {
            let message = refused(reach, address).unwrap_or_else(|| panic!("{address}"));
            assert!(!message.contains("canary"), "{message}");
        }
    }

    #[tokio::test]
    async fn the_reach_is_that_of_the_server() {
        for (address, expected) in [
            ("http://127.0.0.1:1/mcp", Reach::Loopback),
            ("http://localhost:1/mcp", Reach::Loopback),
            ("https://10.0.0.1/mcp", Reach::Private),
            ("https://1.1.1.1/mcp", Reach::Public),
            ("https://169.254.169.254/mcp", Reach::Public),
        ] {
            assert_eq!(Reach::of(&Url::parse(address).unwrap()).await, expected, "{address}");
        }
    }

    #[tokio::test]
    async fn names_that_resolve_to_the_inside_are_not_connected_to() {
        let resolve = |reach: Reach| GuardedResolver(reach).resolve("localhost".parse().unwrap());
        assert!(resolve(Reach::Public).await.is_err());
        assert!(resolve(Reach::Private).await.is_err());
        assert!(resolve(Reach::Loopback).await.unwrap().all(|address| address.ip().is_loopback()));
    }
}

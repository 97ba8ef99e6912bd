//! The network addresses that requests may use.
//!
//! Documents, metadata and redirects come from outside and name further addresses, which must not give access to
//! private networks. Every address is checked against a [`NetworkReach`]: as written, and again after name resolution. The
//! resolver returns only addresses that passed, so DNS rebinding cannot bypass the check.

#[cfg(test)]
mod tests;

use std::{
    fmt::Debug,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

/// The networks that requests may use. Public addresses over HTTPS are always allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NetworkReach {
    /// Only the public Internet.
    Public,
    /// Also private networks.
    Private,
    /// Also this machine, even without TLS.
    Loopback,
    Inside,
}

/// The reason an address is not allowed. Contains only a host name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReachError {
    #[error("it holds a user name or a password")]
    UserInfo,
    #[error("it names no host")]
    NoHost,
    #[error("it is not protected by HTTPS")]
    NotProtected,
    #[error("it is no web address")]
    NotWeb,
    /// A definition can allow this address.
    #[error("`{host}` is {place}")]
    Inside { host: String, place: &'static str },
    /// No setting allows this address.
    #[error("`{host}` is {place}")]
    Never { host: String, place: &'static str },
}

impl NetworkReach {
    /// Returns the reach of the addresses that a server may name. An unresolvable name counts as public, the
    /// strictest.
    pub async fn for_server(server: &Url) -> Self {
        let places: Vec<AddressClass> = match (written_place(server), server.host_str()) {
            (Some(place), _) => vec![place],
            (None, Some(name)) => match tokio::net::lookup_host((name, 443)).await {
                Ok(found) => found.map(|address| place(address.ip())).collect(),
                Err(_) => Vec::new(),
            },
            (None, None) => Vec::new(),
        };
        // One public address selects the strictest reach: a name can resolve to any address.
        let only =
            |wanted: AddressClass| !places.is_empty() && places.iter().all(|one| *one == wanted);
        if only(AddressClass::Loopback) {
            Self::Loopback
        } else if only(AddressClass::Private) {
            Self::Private
        } else {
            Self::Public
        }
    }

    pub fn check(self, url: &Url) -> Result<(), ReachError> {
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ReachError::UserInfo);
        }
        let Some(host) = url.host_str() else { return Err(ReachError::NoHost) };
        let written = written_place(url);
        match url.scheme() {
            "https" => {}
            "http" if written == Some(AddressClass::Loopback) => {}
            "http" => return Err(ReachError::NotProtected),
            _ => return Err(ReachError::NotWeb),
        }
        match written {
            Some(place) if !self.allows(place) => Err(out_of_reach(host, place)),
            _ => Ok(()),
        }
    }

    fn allows(self, place: AddressClass) -> bool {
        match place {
            AddressClass::Public => true,
            AddressClass::Private => matches!(self, Self::Private | Self::Inside),
            AddressClass::Loopback => matches!(self, Self::Loopback | Self::Inside),
            AddressClass::Metadata | AddressClass::Never => false,
        }
    }
}

fn out_of_reach(host: &str, place: AddressClass) -> ReachError {
    let host = host.to_owned();
    if NetworkReach::Inside.allows(place) {
        ReachError::Inside { host, place: place.label() }
    } else {
        ReachError::Never { host, place: place.label() }
    }
}

/// Returns the place of an IP literal or a local name, without a lookup.
fn written_place(url: &Url) -> Option<AddressClass> {
    match url.host()? {
        Host::Ipv4(address) => Some(place(address.into())),
        Host::Ipv6(address) => Some(place(address.into())),
        Host::Domain(name) => is_local_name(name).then_some(AddressClass::Loopback),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressClass {
    Public,
    /// Private networks, shared carrier networks, unique local addresses.
    Private,
    Loopback,
    /// A cloud service that gives credentials to any local client.
    Metadata,
    /// Link-local, multicast, unspecified, documentation, test and reserved addresses.
    Never,
}

impl AddressClass {
    fn label(self) -> &'static str {
        match self {
            Self::Public => "on the Internet",
            Self::Private => "in a private network",
            Self::Loopback => "this machine",
            Self::Metadata => "a metadata service",
            Self::Never => "not an address that servers have",
        }
    }
}

/// Returns whether a name means this machine, regardless of the resolver.
fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

fn place(address: IpAddr) -> AddressClass {
    match address {
        IpAddr::V4(address) => place_v4(address),
        IpAddr::V6(address) => place_v6(address),
    }
}

fn place_v4(address: Ipv4Addr) -> AddressClass {
    match address.octets() {
        [169, 254, 169, 254]
        | [169, 254, 170, 2 | 23]
        | [100, 100, 100, 200]
        | [168, 63, 129, 16] => AddressClass::Metadata,
        [127, ..] => AddressClass::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => {
            AddressClass::Private
        }
        [0 | 224.., ..] | [169, 254, ..] | [192, 0, 0 | 2, _] | [192, 88, 99, _] => {
            AddressClass::Never
        }
        [198, 18 | 19, ..] | [198, 51, 100, _] | [203, 0, 113, _] => AddressClass::Never,
        _ => AddressClass::Public,
    }
}

fn place_v6(address: Ipv6Addr) -> AddressClass {
    if let Some(inner) = address.to_ipv4_mapped() {
        return place_v4(inner);
    }
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressClass::Loopback,
        [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] | [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254] => {
            AddressClass::Metadata
        }
        [0xfc00..=0xfdff, ..] => AddressClass::Private,
        // Tunnels: 6to4, NAT64 and, in any network, ISATAP.
        [0x2002, high, low, ..]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2000..=0x3fff, _, _, _, 0 | 0x200, 0x5efe, high, low] => embedded(high, low),
        // Teredo and other protocol assignments, then documentation addresses.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => {
            AddressClass::Never
        }
        [0x2000..=0x3fff, ..] => AddressClass::Public,
        _ => AddressClass::Never,
    }
}

/// A tunnel to an address that is not public would bypass the check.
fn embedded(high: u16, low: u16) -> AddressClass {
    let [a, b] = high.to_be_bytes();
    let [c, d] = low.to_be_bytes();
    match place_v4(Ipv4Addr::new(a, b, c, d)) {
        AddressClass::Public => AddressClass::Public,
        _ => AddressClass::Never,
    }
}

/// Finds the addresses of a name. A trait, because tests give a name another address with each question, which the
/// system's resolver cannot be made to do.
#[async_trait::async_trait]
pub trait NameResolver: Debug + Send + Sync {
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

#[derive(Debug, Clone, Copy)]
pub struct SystemResolver;

/// The resolver of a client: it returns only addresses within its reach. The client connects to one of those, so a
/// name cannot change between the check and the connection.
#[derive(Debug, Clone)]
pub struct GuardedResolver {
    reach: NetworkReach,
    names: Arc<dyn NameResolver>,
}

impl GuardedResolver {
    pub fn new(reach: NetworkReach, names: Arc<dyn NameResolver>) -> Self {
        Self { reach, names }
    }

    /// Why no request to this name would be made. `None` also when nothing answers for it.
    pub async fn refusal(&self, name: &str) -> Option<ReachError> {
        let found = self.clone().look_up(name.to_owned()).await;
        found.err().and_then(|error| error.downcast::<ReachError>().ok()).map(|reason| *reason)
    }

    async fn look_up(
        self,
        name: String,
    ) -> Result<Vec<IpAddr>, Box<dyn std::error::Error + Send + Sync>> {
        // Some resolvers send these names to the network.
        if is_local_name(&name) && !self.reach.allows(AddressClass::Loopback) {
            return Err(out_of_reach(&name, AddressClass::Loopback).into());
        }
        let mut allowed = Vec::new();
        let mut refused = None;
        for address in self.names.addresses(&name).await? {
            match place(address) {
                place if self.reach.allows(place) => allowed.push(address),
                place => refused = Some(place),
            }
        }
        match refused {
            Some(place) if allowed.is_empty() => Err(out_of_reach(&name, place).into()),
            _ => Ok(allowed),
        }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.clone();
        Box::pin(async move {
            let allowed = resolver.look_up(name.as_str().to_owned()).await?;
            // The client sets the port.
            Ok(Box::new(allowed.into_iter().map(|address| SocketAddr::new(address, 0))) as Addrs)
        })
    }
}

#[async_trait::async_trait]
impl NameResolver for SystemResolver {
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

//! The network addresses that requests may use.
//!
//! Documents, metadata and redirects come from outside and name further addresses, which must not give access to
//! private networks. Every address is checked against a [`NetworkReach`]: as written, and again after name resolution. The
//! resolver returns only addresses that passed, so DNS rebinding cannot bypass the check.

mod place;
mod resolver;
#[cfg(test)]
mod tests;

use url::{Host, Url};

use self::place::{AddressClass, is_local_name, place};
pub use self::resolver::{GuardedResolver, NameResolver, SystemResolver};

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
    pub async fn of(server: &Url) -> Self {
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

//! Which addresses requests may go to.
//!
//! Documents, metadata and redirects come from outside and name further addresses. None of them may use us to get at what
//! stands behind our door, so every address is held against a [`Reach`]: as it is written, and again as its name resolves.
//! The resolver hands on only addresses that passed, so what is connected to is what was checked, however often a name
//! changes its mind.

mod place;
mod resolver;
#[cfg(test)]
mod tests;

use url::{Host, Url};

use self::place::{Place, is_local_name, place};
pub use self::resolver::{GuardedResolver, Names, SystemNames};

/// How far requests may go. Public addresses over HTTPS are always within reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reach {
    /// The Internet and nothing else.
    Public,
    /// Private networks, too.
    Private,
    /// This machine, too, even without TLS.
    Loopback,
    /// Private networks and this machine.
    Inside,
}

/// Why an address is out of reach. It repeats nothing but a host's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutOfReach {
    #[error("it holds a user name or a password")]
    UserInfo,
    #[error("it names no host")]
    NoHost,
    #[error("it is not protected by HTTPS")]
    NotProtected,
    #[error("it is no web address")]
    NotWeb,
    /// A file may open this place.
    #[error("`{host}` is {place}")]
    Inside { host: String, place: &'static str },
    /// Nothing opens this place.
    #[error("`{host}` is {place}")]
    Never { host: String, place: &'static str },
}

impl Reach {
    /// The reach of what a server at this address may name. A name that does not resolve is taken for public, the
    /// strictest.
    pub async fn of(server: &Url) -> Self {
        let places: Vec<Place> = match (written_place(server), server.host_str()) {
            (Some(place), _) => vec![place],
            (None, Some(name)) => match tokio::net::lookup_host((name, 443)).await {
                Ok(found) => found.map(|address| place(address.ip())).collect(),
                Err(_) => Vec::new(),
            },
            (None, None) => Vec::new(),
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
    pub fn check(self, url: &Url) -> Result<(), OutOfReach> {
        if !url.username().is_empty() || url.password().is_some() {
            return Err(OutOfReach::UserInfo);
        }
        let Some(host) = url.host_str() else { return Err(OutOfReach::NoHost) };
        let written = written_place(url);
        match url.scheme() {
            "https" => {}
            "http" if written == Some(Place::Loopback) => {}
            "http" => return Err(OutOfReach::NotProtected),
            _ => return Err(OutOfReach::NotWeb),
        }
        match written {
            Some(place) if !self.allows(place) => Err(out_of_reach(host, place)),
            _ => Ok(()),
        }
    }

    fn allows(self, place: Place) -> bool {
        match place {
            Place::Public => true,
            Place::Private => matches!(self, Self::Private | Self::Inside),
            Place::Loopback => matches!(self, Self::Loopback | Self::Inside),
            Place::Metadata | Place::Never => false,
        }
    }
}

fn out_of_reach(host: &str, place: Place) -> OutOfReach {
    let host = host.to_owned();
    if Reach::Inside.allows(place) {
        OutOfReach::Inside { host, place: place.worded() }
    } else {
        OutOfReach::Never { host, place: place.worded() }
    }
}

/// The place an address says by itself, without a name to look up.
fn written_place(url: &Url) -> Option<Place> {
    match url.host()? {
        Host::Ipv4(address) => Some(place(address.into())),
        Host::Ipv6(address) => Some(place(address.into())),
        Host::Domain(name) => is_local_name(name).then_some(Place::Loopback),
    }
}

//! Classifies IP addresses by network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressClass {
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
    pub(super) fn label(self) -> &'static str {
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
pub(super) fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

pub(super) fn place(address: IpAddr) -> AddressClass {
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

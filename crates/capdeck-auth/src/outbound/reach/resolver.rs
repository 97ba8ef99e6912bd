//! Resolves names for HTTP clients and returns only addresses within reach.

use std::{
    fmt::Debug,
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{NetworkReach, is_local_name, out_of_reach, place, place::AddressClass};

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

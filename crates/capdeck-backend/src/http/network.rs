//! The network addresses that one endpoint may use.
//!
//! The definition's setting applies to its own addresses, to those in its documents and to those of redirects. One
//! exception: an address of this machine written in the definition allows that origin.

use capdeck_auth::{GuardedClients, NetworkReach, ReachError};
use capdeck_definition::{CapabilityId, HttpBlock, NetworkAccess as Networks};
use reqwest::Client;
use url::{Origin, Url};

use crate::{CallError, ErrorCode};

#[derive(Debug)]
pub(super) struct EndpointNetwork {
    id: CapabilityId,
    clients: GuardedClients,
    reach: NetworkReach,
    local: Vec<Origin>,
}

impl EndpointNetwork {
    pub(super) fn new(id: &CapabilityId, block: &impl HttpBlock, clients: &GuardedClients) -> Self {
        let reach = match block.outgoing().network {
            Networks::Public => NetworkReach::Public,
            Networks::Private => NetworkReach::Inside,
        };
        let local = block.addresses().into_iter().filter(|address| is_local(address));
        let local = local.filter_map(|address| Some(Url::parse(address).ok()?.origin())).collect();
        Self { id: id.clone(), clients: clients.clone(), reach, local }
    }

    pub(super) fn client(&self, url: &Url) -> Result<Client, CallError> {
        let is_local = self.local.contains(&url.origin());
        self.client_within(if is_local { NetworkReach::Loopback } else { self.reach }, url)
    }

    /// The same for an address that only a remote named.
    pub(super) fn client_for_remote_url(&self, url: &Url) -> Result<Client, CallError> {
        self.client_within(self.reach, url)
    }

    fn client_within(&self, reach: NetworkReach, url: &Url) -> Result<Client, CallError> {
        reach.check(url).map_err(|reason| self.blocked_error(&reason))?;
        self.clients
            .get(reach)
            .map_err(|error| CallError::internal("the HTTP client cannot be built").detail(error))
    }

    pub(super) fn blocked_error(&self, reason: &ReachError) -> CallError {
        let id = &self.id;
        let message = format!("`{id}` names an address that is not contacted: {reason}");
        let error = CallError::new(ErrorCode::Denied, message);
        match reason {
            ReachError::Inside { .. } => error.hint(format!(
                "if the service is yours, add `network: private` to the definition of `{id}`"
            )),
            ReachError::NotProtected | ReachError::NotWeb | ReachError::NoHost => {
                error.hint("an https address is needed")
            }
            ReachError::UserInfo => error.hint("put credentials under `auth`"),
            ReachError::Never { .. } => error.hint("no setting opens this address"),
        }
    }
}

/// Returns true when this machine is named plainly. Other notations of its address may hide it.
fn is_local(address: &str) -> bool {
    let address = address.to_ascii_lowercase();
    let rest = address.strip_prefix("http://").or_else(|| address.strip_prefix("https://"));
    ["localhost", "127.0.0.1", "[::1]"].into_iter().any(|host| {
        let after = rest.and_then(|rest| rest.strip_prefix(host));
        after.is_some_and(|after| after.is_empty() || after.starts_with([':', '/', '?', '#']))
    })
}

#[cfg(test)]
mod tests {
    use super::is_local;

    #[test]
    fn only_a_plainly_written_address_says_that_this_machine_is_meant() {
        for plain in [
            "http://localhost",
            "http://localhost:8080/v1",
            "HTTPS://LocalHost/",
            "http://127.0.0.1?x",
            "http://[::1]:1#x",
        ] {
            assert!(is_local(plain), "{plain}");
        }
        for hidden in [
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://127.0.0.2/",
            "http://127.0.0.1.example.com/",
            "http://localhost.example.com/",
            "http://localhost.",
            "http://x.localhost/",
            "http://x@localhost/",
            "http://localhost@evil.example/",
            "http://localhost\\@evil.example/",
            "http://[::ffff:127.0.0.1]/",
            "http://[0:0:0:0:0:0:0:1]/",
            "http:/localhost",
            " http://localhost",
            "ftp://localhost",
        ] {
            assert!(!is_local(hidden), "{hidden}");
        }
    }
}

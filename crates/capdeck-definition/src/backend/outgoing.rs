//! What every HTTP block says about the requests it makes: where they may go, how often, how many.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{GoogleDiscoveryApi, GraphQlEndpoint, HttpApi, OpenApiEndpoint};

/// How often a request that may be repeated is sent again, where a file does not say.
const RETRIES: u8 = 2;

/// How many requests run at once, where a file does not say.
const MAX_CONCURRENCY: u16 = 16;

/// A block that makes HTTP requests.
pub trait HttpBlock {
    /// Its rules for requests, with defaults put in.
    fn outgoing(&self) -> Outgoing;

    /// The addresses that stand in the block itself.
    fn addresses(&self) -> Vec<&str>;
}

/// The rules for the requests of one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outgoing {
    pub network: Network,
    pub retries: u8,
    pub max_concurrency: u16,
    pub rate_limit: Option<RateLimit>,
}

/// Which networks requests may go to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// The Internet only.
    #[default]
    Public,
    /// Private networks and this machine, too.
    Private,
}

/// At most this many requests in any stretch of time of this length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RateLimit {
    #[schemars(range(min = 1, max = 10_000))]
    pub requests: u16,
    pub per: RatePeriod,
}

/// The stretch of time a rate is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RatePeriod {
    Second,
    Minute,
}

impl Outgoing {
    fn new(
        network: Network,
        retries: Option<u8>,
        max_concurrency: Option<u16>,
        rate_limit: Option<RateLimit>,
    ) -> Self {
        Self {
            network,
            retries: retries.unwrap_or(RETRIES),
            max_concurrency: max_concurrency.unwrap_or(MAX_CONCURRENCY),
            rate_limit,
        }
    }
}

impl Network {
    pub(super) fn is_public(&self) -> bool {
        *self == Self::Public
    }
}

impl RatePeriod {
    /// The name as a file has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Minute => "minute",
        }
    }
}

impl HttpBlock for HttpApi {
    fn outgoing(&self) -> Outgoing {
        Outgoing::new(self.network, self.retries, self.max_concurrency, self.rate_limit)
    }

    fn addresses(&self) -> Vec<&str> {
        vec![&self.base_url]
    }
}

impl HttpBlock for OpenApiEndpoint {
    fn outgoing(&self) -> Outgoing {
        Outgoing::new(self.network, self.retries, self.max_concurrency, self.rate_limit)
    }

    fn addresses(&self) -> Vec<&str> {
        [&self.spec_url, &self.base_url].into_iter().flatten().map(String::as_str).collect()
    }
}

impl HttpBlock for GoogleDiscoveryApi {
    fn outgoing(&self) -> Outgoing {
        Outgoing::new(self.network, self.retries, self.max_concurrency, self.rate_limit)
    }

    fn addresses(&self) -> Vec<&str> {
        [&self.discovery_url, &self.base_url].into_iter().flatten().map(String::as_str).collect()
    }
}

impl HttpBlock for GraphQlEndpoint {
    fn outgoing(&self) -> Outgoing {
        Outgoing::new(self.network, self.retries, self.max_concurrency, self.rate_limit)
    }

    fn addresses(&self) -> Vec<&str> {
        self.schema_url.iter().chain([&self.endpoint_url]).map(String::as_str).collect()
    }
}

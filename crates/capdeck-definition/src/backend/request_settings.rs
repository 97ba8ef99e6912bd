//! What every HTTP block says about the requests it makes: where they may go, how often, how many.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use strum::IntoStaticStr;

use super::number;
use crate::{BackendAuth, GoogleDiscoveryApi, GraphQlEndpoint, HttpApi, OpenApiEndpoint};

/// How often a request that may be repeated is sent again, where a file does not say.
const DEFAULT_RETRIES: u8 = 2;

/// How many requests run at once, where a file does not say.
const MAX_CONCURRENCY: u16 = 16;

/// What every HTTP block may say about its requests.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestSettings {
    #[serde(default)]
    pub auth: BackendAuth,
    #[serde(default = "number::<60_000>")]
    #[schemars(range(min = 1))]
    pub request_timeout_ms: u64,
    /// Which networks requests may go to. `private` also opens private networks and this machine.
    pub network: Option<NetworkAccess>,
    /// How often a request that may be repeated is sent again after a passing failure. 2 when absent.
    #[schemars(range(min = 0, max = 5))]
    pub retries: Option<u8>,
    /// How many requests run at once; others wait for their turn. 16 when absent.
    #[schemars(range(min = 1, max = 1_000))]
    pub max_concurrency: Option<u16>,
    /// How many requests are sent in any second or minute; others wait for their turn.
    pub rate_limit: Option<RateLimit>,
}

pub trait HttpBlock {
    fn requests(&self) -> &RequestSettings;

    /// Its rules for requests, with defaults put in.
    fn outgoing(&self) -> OutgoingSettings {
        let requests = self.requests();
        OutgoingSettings {
            network: requests.network.unwrap_or_default(),
            retries: requests.retries.unwrap_or(DEFAULT_RETRIES),
            max_concurrency: requests.max_concurrency.unwrap_or(MAX_CONCURRENCY),
            rate_limit: requests.rate_limit,
        }
    }

    /// The addresses in the block itself.
    fn addresses(&self) -> Vec<&str>;
}

/// The rules for the requests of one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutgoingSettings {
    pub network: NetworkAccess,
    pub retries: u8,
    pub max_concurrency: u16,
    pub rate_limit: Option<RateLimit>,
}

/// Which networks requests may go to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Network")]
pub enum NetworkAccess {
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum RatePeriod {
    Second,
    Minute,
}

impl RatePeriod {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl HttpBlock for HttpApi {
    fn requests(&self) -> &RequestSettings {
        &self.requests
    }

    fn addresses(&self) -> Vec<&str> {
        vec![&self.base_url]
    }
}

impl HttpBlock for OpenApiEndpoint {
    fn requests(&self) -> &RequestSettings {
        &self.import.requests
    }

    fn addresses(&self) -> Vec<&str> {
        [&self.spec_url, &self.import.base_url].into_iter().flatten().map(String::as_str).collect()
    }
}

impl HttpBlock for GoogleDiscoveryApi {
    fn requests(&self) -> &RequestSettings {
        &self.import.requests
    }

    fn addresses(&self) -> Vec<&str> {
        [&self.discovery_url, &self.import.base_url]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect()
    }
}

impl HttpBlock for GraphQlEndpoint {
    fn requests(&self) -> &RequestSettings {
        &self.requests
    }

    fn addresses(&self) -> Vec<&str> {
        self.schema_url.iter().chain([&self.endpoint_url]).map(String::as_str).collect()
    }
}

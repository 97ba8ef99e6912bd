//! Texts at addresses, fetched with the client that all outgoing requests use.

use capdeck_auth::Reach;
use capdeck_host::fetch_text;
use capdeck_install::{Fetch, FetchError};

use crate::runtime::single_thread;

const LARGEST: u64 = 10 << 20;

/// Fetches within a reach.
#[derive(Debug)]
pub(super) struct Texts {
    pub(super) reach: Reach,
}

impl Fetch for Texts {
    fn fetch(&self, url: &str) -> Result<Vec<u8>, FetchError> {
        let failed = |message: String, hint| FetchError { message, hint };
        let runtime = single_thread().map_err(|failure| failed(failure.message, failure.hint))?;
        let fetching = fetch_text(url, self.reach, LARGEST, env!("CARGO_PKG_VERSION"));
        runtime.block_on(fetching).map_err(|error| failed(error.message, error.hint))
    }
}

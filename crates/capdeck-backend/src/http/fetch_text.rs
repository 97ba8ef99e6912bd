//! Fetches one text without credentials and retries; redirects have the same address rules.

use std::{sync::Arc, time::Duration};

use capdeck_auth::{NetworkReach, SystemResolver};
use reqwest::header::LOCATION;
use url::Url;

use super::client;
use crate::{CallError, ErrorCode, api_connection::read_body};

const FETCH_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_REDIRECTS: usize = 5;

/// Fetches at most `limit` bytes.
pub async fn fetch_text(
    url: &str,
    reach: NetworkReach,
    limit: u64,
    client_version: &str,
) -> Result<Vec<u8>, CallError> {
    let fetching = fetch(url, reach, limit, client_version);
    tokio::time::timeout(FETCH_TIMEOUT, fetching).await.unwrap_or_else(|_elapsed| {
        let message = format!("no answer within {} s", FETCH_TIMEOUT.as_secs());
        Err(CallError::new(ErrorCode::ServerUnavailable, message))
    })
}

async fn fetch(
    url: &str,
    reach: NetworkReach,
    limit: u64,
    client_version: &str,
) -> Result<Vec<u8>, CallError> {
    let refused = |message: String| CallError::new(ErrorCode::RequestInvalid, message);
    let mut url = Url::parse(url).map_err(|_| refused("this is no address".to_owned()))?;
    let http = client::build_guarded(client_version, reach, Arc::new(SystemResolver))
        .map_err(|error| CallError::new(ErrorCode::InternalError, error))?;
    for _redirect in 0..=MAX_REDIRECTS {
        reach.check(&url).map_err(|reason| refused(reason.to_string()))?;
        let sent = http.get(url.clone()).send().await;
        let mut response = sent.map_err(|error| super::no_response_error(&url, error))?;
        let status = response.status();
        if status.is_redirection() {
            let next = response.headers().get(LOCATION).and_then(|place| place.to_str().ok());
            let next = next.and_then(|place| url.join(place).ok());
            url = next.ok_or_else(|| refused("it redirects to nowhere".to_owned()))?;
        } else if status.is_success() {
            return read_body(&mut response, &url, limit).await.map(Vec::from);
        } else {
            let message = format!("HTTP {status}");
            return Err(CallError::new(ErrorCode::ServerUnavailable, message));
        }
    }
    Err(refused(format!("it redirects more than {MAX_REDIRECTS} times")))
}

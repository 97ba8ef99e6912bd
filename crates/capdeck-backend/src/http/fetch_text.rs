//! Fetches one text without credentials and retries; redirects have the same address rules.

use std::{sync::Arc, time::Duration};

use capdeck_auth::{Reach, SystemNames};
use reqwest::header::LOCATION;
use url::Url;

use super::client;
use crate::{CallError, ErrorCode, described::read_body};

const DEADLINE: Duration = Duration::from_secs(30);
const MOST_REDIRECTS: usize = 5;

/// Fetches at most `limit` bytes.
pub async fn fetch_text(
    url: &str,
    reach: Reach,
    limit: u64,
    client_version: &str,
) -> Result<Vec<u8>, CallError> {
    let fetching = fetch(url, reach, limit, client_version);
    tokio::time::timeout(DEADLINE, fetching).await.unwrap_or_else(|_elapsed| {
        let message = format!("no answer within {} s", DEADLINE.as_secs());
        Err(CallError::new(ErrorCode::ServerUnavailable, message))
    })
}

async fn fetch(
    url: &str,
    reach: Reach,
    limit: u64,
    client_version: &str,
) -> Result<Vec<u8>, CallError> {
    let refused = |message: String| CallError::new(ErrorCode::RequestInvalid, message);
    let mut url = Url::parse(url).map_err(|_| refused("this is no address".to_owned()))?;
    let http = client::build_guarded(client_version, reach, Arc::new(SystemNames))
        .map_err(|error| CallError::new(ErrorCode::InternalError, error))?;
    for _redirect in 0..=MOST_REDIRECTS {
        reach.check(&url).map_err(|reason| refused(reason.to_string()))?;
        let sent = http.get(url.clone()).send().await;
        let mut response = sent.map_err(|error| super::failure(&url, error))?;
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
    Err(refused(format!("it redirects more than {MOST_REDIRECTS} times")))
}

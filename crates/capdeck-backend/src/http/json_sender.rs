//! Posts JSON to a configured receiver.

use std::time::Duration;

use reqwest::header::CONTENT_TYPE;

use super::client;
use crate::{CallError, ErrorCode};

const SEND_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub struct JsonSender {
    http: reqwest::Client,
    url: String,
    headers: Vec<(String, String)>,
}

impl JsonSender {
    pub fn new(
        url: String,
        headers: Vec<(String, String)>,
        client_version: &str,
    ) -> Result<Self, CallError> {
        Ok(Self { http: client::build(client_version)?, url, headers })
    }

    /// Sends one body. A status other than success is an error.
    pub async fn send(&self, body: String) -> Result<(), CallError> {
        let mut request = self
            .http
            .post(&self.url)
            .timeout(SEND_TIMEOUT)
            .header(CONTENT_TYPE, "application/json");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let unavailable = |reason: String| CallError::new(ErrorCode::ServerUnavailable, reason);
        // Neither the address nor the headers are shown: both may contain a key.
        let answer = request.body(body).send().await;
        let answer = answer.map_err(|error| unavailable(error.without_url().to_string()))?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            status => Err(unavailable(format!("HTTP {status}"))),
        }
    }
}

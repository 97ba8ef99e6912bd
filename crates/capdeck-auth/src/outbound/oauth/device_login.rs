//! Device authorization flow: a page, a code, and polling until the person is done (RFC 8628).

use std::time::Duration;

use serde::Deserialize;
use tokio::time::{Instant, sleep};
use url::Url;

use super::{
    OAuthError, OAuthResult, SignInStatus, error::error_code, fetch::parse, login::SignInAttempt,
};
use crate::Secret;

const ENDPOINT_LABEL: &str = "the device endpoint";

const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Added to the poll interval on `slow_down`.
const SLOW_DOWN_STEP: Duration = Duration::from_secs(5);

/// The bounds of the poll interval a server may set.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(50);
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(60);

const DEFAULT_CODE_LIFETIME: Duration = Duration::from_secs(600);

/// A pending sign-in on another device. Dropping it cancels it.
pub struct DeviceLogin {
    pub verification_url: Url,
    /// The same page with the code filled in, if the service has one.
    pub complete_url: Option<Url>,
    pub user_code: String,
    pub lasts: Duration,
    device_code: Secret,
    pause: Duration,
    started: SignInAttempt,
}

#[derive(Deserialize)]
struct DeviceCodeResponse {
    device_code: String,
    user_code: String,
    // Some services use the name of an early draft.
    #[serde(alias = "verification_url")]
    verification_uri: String,
    verification_uri_complete: Option<String>,
    expires_in: Option<f64>,
    interval: Option<f64>,
}

impl DeviceLogin {
    pub(super) async fn start(started: SignInAttempt, endpoint: &Url) -> OAuthResult<Self> {
        let scope = started.scopes.join(" ");
        let mut fields = vec![("resource", started.plan.resource.as_str())];
        if !scope.is_empty() {
            fields.push(("scope", &scope));
        }
        let basic = started.client.identify(&mut fields);
        let answer = started.fetcher.form(ENDPOINT_LABEL, endpoint, &fields, basic).await?;
        if answer.status != 200 {
            return Err(OAuthError::AuthorizationRefused { error: error_code(&answer.body) });
        }
        let offered: DeviceCodeResponse = parse(ENDPOINT_LABEL, endpoint, &answer.body)?;
        let page = |text: &str| started.fetcher.url("the page for the code", text);
        Ok(Self {
            verification_url: page(&offered.verification_uri)?,
            complete_url: offered.verification_uri_complete.as_deref().map(page).transpose()?,
            user_code: displayable_code(&offered.user_code),
            lasts: seconds(offered.expires_in).unwrap_or(DEFAULT_CODE_LIFETIME),
            device_code: Secret::new(offered.device_code),
            pause: seconds(offered.interval)
                .unwrap_or(DEFAULT_POLL_INTERVAL)
                .clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL),
            started,
        })
    }

    /// Polls until the person is done, until the timeout or until the code expires.
    pub async fn finish(self, timeout: Duration) -> OAuthResult<SignInStatus> {
        let start = Instant::now();
        let mut pause = self.pause;
        loop {
            if start.elapsed() + pause > timeout {
                return Err(OAuthError::TimedOut { seconds: timeout.as_secs() });
            }
            sleep(pause).await;
            let answer =
                self.started.request().poll(&self.started.fetcher, &self.device_code).await;
            match answer.as_ref().err().map(|error| next_pause(error, pause)).transpose()? {
                Some(Some(longer)) => pause = longer,
                Some(None) | None => return self.started.complete(answer, None).await,
            }
            if start.elapsed() > self.lasts {
                return Err(OAuthError::CodeExpired);
            }
        }
    }
}

/// The pause before the next poll; `None` when this error is the final response.
fn next_pause(error: &OAuthError, pause: Duration) -> OAuthResult<Option<Duration>> {
    match error {
        OAuthError::TokenRefused { error: Some(code), .. } => match code.as_str() {
            "authorization_pending" => Ok(Some(pause)),
            "slow_down" => Ok(Some(pause + SLOW_DOWN_STEP)),
            "access_denied" => Err(OAuthError::AuthorizationRefused { error: Some(code.clone()) }),
            "expired_token" => Err(OAuthError::CodeExpired),
            _ => Ok(None),
        },
        // Network errors are temporary; the person may be in the middle of the sign-in.
        OAuthError::Unreachable { .. } | OAuthError::Status { .. } => {
            Ok(Some((pause * 2).min(MAX_POLL_INTERVAL)))
        }
        _ => Ok(None),
    }
}

fn seconds(number: Option<f64>) -> Option<Duration> {
    Duration::try_from_secs_f64(number?).ok()
}

/// Removes characters that a terminal could interpret.
fn displayable_code(code: &str) -> String {
    code.chars().filter(|letter| letter.is_alphanumeric() || *letter == '-').take(64).collect()
}

impl std::fmt::Debug for DeviceLogin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let issuer = &self.started.plan.issuer;
        formatter.debug_struct("DeviceLogin").field("issuer", issuer).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_go_on_until_the_answer_is_final() {
        let pause = Duration::from_secs(5);
        let refused = |code: &str| OAuthError::TokenRefused {
            issuer: "https://sso.example.com".to_owned(),
            error: Some(code.to_owned()),
        };
        let asks = |error: OAuthError| next_pause(&error, pause).unwrap().unwrap().as_secs();
        assert_eq!(asks(refused("authorization_pending")), 5);
        assert_eq!(asks(refused("slow_down")), 10);
        let status =
            OAuthError::Status { what: "the token endpoint", origin: String::new(), status: 503 };
        assert_eq!(asks(status), 10);
        assert_eq!(next_pause(&refused("expired_token"), pause), Err(OAuthError::CodeExpired));
        let denied = OAuthError::AuthorizationRefused { error: Some("access_denied".to_owned()) };
        assert_eq!(next_pause(&refused("access_denied"), pause), Err(denied));
        assert_eq!(next_pause(&refused("invalid_grant"), pause), Ok(None));
    }

    #[test]
    fn a_code_is_shown_without_what_a_terminal_would_act_on() {
        assert_eq!(displayable_code("ABCD-1234"), "ABCD-1234");
        assert_eq!(displayable_code("\u{1b}[31mAB\nCD \u{202e}1"), "31mABCD1");
    }
}

//! A sign-in on another device: a page, a code, and asking until the person is done (RFC 8628).

use std::time::Duration;

use serde::Deserialize;
use tokio::time::{Instant, sleep};
use url::Url;

use super::{OAuthError, SignInStatus, error::plain_code, fetch::parse, started::Started};
use crate::Secret;

const WHAT: &str = "the device endpoint";

/// How long to wait between questions when the server does not say.
const USUAL_PAUSE: Duration = Duration::from_secs(5);

/// How much longer to wait when the server asks for it.
const SLOWER: Duration = Duration::from_secs(5);

/// The bounds of what a server may ask for.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How long a code is good when the server does not say.
const USUAL_LIFE: Duration = Duration::from_secs(600);

/// A sign-in that waits for the person on another device. Dropping it gives it up.
pub struct DeviceLogin {
    /// The page to open, anywhere.
    pub verification_url: Url,
    /// The same page with the code already entered, where the service has one.
    pub complete_url: Option<Url>,
    /// What to enter there.
    pub user_code: String,
    /// How long the code is good.
    pub lasts: Duration,
    device_code: Secret,
    pause: Duration,
    started: Started,
}

#[derive(Deserialize)]
struct Offered {
    device_code: String,
    user_code: String,
    // Some services still use the name of an early draft.
    #[serde(alias = "verification_url")]
    verification_uri: String,
    verification_uri_complete: Option<String>,
    expires_in: Option<f64>,
    interval: Option<f64>,
}

#[derive(Deserialize)]
struct Refused {
    error: Option<String>,
}

impl DeviceLogin {
    /// Asks for a code.
    pub(super) async fn start(started: Started, endpoint: &Url) -> Result<Self, OAuthError> {
        let scope = started.scopes.join(" ");
        let mut fields = vec![("resource", started.plan.resource.as_str())];
        if !scope.is_empty() {
            fields.push(("scope", &scope));
        }
        let basic = started.client.identify(&mut fields);
        let answer = started.fetcher.form(WHAT, endpoint, &fields, basic).await?;
        if answer.status != 200 {
            let refused: Option<Refused> = serde_json::from_slice(&answer.body).ok();
            let error = plain_code(refused.and_then(|refused| refused.error));
            return Err(OAuthError::AuthorizationRefused { error });
        }
        let offered: Offered = parse(WHAT, endpoint, &answer.body)?;
        let page = |text: &str| started.fetcher.url("the page for the code", text);
        Ok(Self {
            verification_url: page(&offered.verification_uri)?,
            complete_url: offered.verification_uri_complete.as_deref().map(page).transpose()?,
            user_code: shown(&offered.user_code),
            lasts: seconds(offered.expires_in).unwrap_or(USUAL_LIFE),
            device_code: Secret::new(offered.device_code),
            pause: seconds(offered.interval)
                .unwrap_or(USUAL_PAUSE)
                .clamp(SHORTEST_PAUSE, LONGEST_PAUSE),
            started,
        })
    }

    /// Asks until the person is done, at most this long and as long as the code is good.
    pub async fn finish(self, patience: Duration) -> Result<SignInStatus, OAuthError> {
        let start = Instant::now();
        let mut pause = self.pause;
        loop {
            if start.elapsed() + pause > patience {
                return Err(OAuthError::TimedOut { seconds: patience.as_secs() });
            }
            sleep(pause).await;
            let answer =
                self.started.request().poll(&self.started.fetcher, &self.device_code).await;
            match next(&answer.as_ref().err(), pause) {
                Next::Ask { after } => pause = after,
                Next::GiveUp(error) => return Err(error),
                Next::Done => return self.started.complete(answer, None).await,
            }
            if start.elapsed() > self.lasts {
                return Err(OAuthError::CodeExpired);
            }
        }
    }
}

/// What an answer to a question means.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Ask { after: Duration },
    GiveUp(OAuthError),
    Done,
}

fn next(error: &Option<&OAuthError>, pause: Duration) -> Next {
    match error {
        Some(OAuthError::TokenRefused { error: Some(code), .. }) => match code.as_str() {
            "authorization_pending" => Next::Ask { after: pause },
            "slow_down" => Next::Ask { after: pause + SLOWER },
            "access_denied" => {
                Next::GiveUp(OAuthError::AuthorizationRefused { error: Some(code.clone()) })
            }
            "expired_token" => Next::GiveUp(OAuthError::CodeExpired),
            _ => Next::Done,
        },
        // Trouble on the way passes; the person may be half through.
        Some(OAuthError::Unreachable { .. } | OAuthError::Status { .. }) => {
            Next::Ask { after: (pause * 2).min(LONGEST_PAUSE) }
        }
        _ => Next::Done,
    }
}

fn seconds(number: Option<f64>) -> Option<Duration> {
    Duration::try_from_secs_f64(number?).ok()
}

/// A code as it can be shown: a terminal must not read anything into it.
fn shown(code: &str) -> String {
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
        let asks = |error: OAuthError| match next(&Some(&error), pause) {
            Next::Ask { after } => after.as_secs(),
            other => panic!("{other:?}"),
        };
        assert_eq!(asks(refused("authorization_pending")), 5);
        assert_eq!(asks(refused("slow_down")), 10);
        let status =
            OAuthError::Status { what: "the token endpoint", origin: String::new(), status: 503 };
        assert_eq!(asks(status), 10);
        assert_eq!(
            next(&Some(&refused("expired_token")), pause),
            Next::GiveUp(OAuthError::CodeExpired)
        );
        let denied = OAuthError::AuthorizationRefused { error: Some("access_denied".to_owned()) };
        assert_eq!(next(&Some(&refused("access_denied")), pause), Next::GiveUp(denied));
        assert_eq!(next(&Some(&refused("invalid_grant")), pause), Next::Done);
        assert_eq!(next(&None, pause), Next::Done);
    }

    #[test]
    fn a_code_is_shown_without_what_a_terminal_would_act_on() {
        assert_eq!(shown("ABCD-1234"), "ABCD-1234");
        assert_eq!(shown("\u{1b}[31mAB\nCD \u{202e}1"), "31mABCD1");
    }
}

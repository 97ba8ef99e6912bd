//! What a credential claims to be.

use std::time::Duration;

use super::super::token::TokenKind;

/// What the tokens of shares start with.
const SHARE_PREFIX: &str = "cap_sh_";
/// The longest wait after secrets that can be guessed.
const MAX_WAIT: Duration = Duration::from_secs(15 * 60);
/// The longest wait after secrets that cannot. A browser or an agent whose session is over must soon learn that it is.
const MAX_GENERATED_WAIT: Duration = Duration::from_secs(30);
/// Secrets that cannot be guessed may fail this many times as often: an office whose sessions end together is no attack.
const GENERATED_FACTOR: u32 = 4;

/// The class of a credential, by its form. Failures of one class do not slow down another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CredentialClass {
    /// The admin key, and whatever has no form of its own.
    AdminKey,
    AccessToken,
    RefreshToken,
    EnrollmentToken,
    OperatorKey,
    SessionCookie,
    ClientSecret,
    AuthorizationCode,
    ShareToken,
    /// The code that an agent shows to the person who approves it.
    UserCode,
    /// An account at a provider of sign-ins.
    ProviderAccount,
}

impl CredentialClass {
    /// The class of a text that was sent as a credential.
    pub fn of(text: &str) -> Self {
        let kinds = [
            (TokenKind::Access, Self::AccessToken),
            (TokenKind::Refresh, Self::RefreshToken),
            (TokenKind::Enrollment, Self::EnrollmentToken),
            (TokenKind::Operator, Self::OperatorKey),
            (TokenKind::Session, Self::SessionCookie),
            (TokenKind::ClientSecret, Self::ClientSecret),
            (TokenKind::Code, Self::AuthorizationCode),
        ];
        // The whole form counts, not only its start: a short text may be a guess of a short admin key, whatever it starts with.
        if let Some((_, class)) = kinds.into_iter().find(|(kind, _)| kind.fits(text)) {
            return class;
        }
        let is_share = text.strip_prefix(SHARE_PREFIX).is_some_and(|rest| rest.len() == 43);
        if is_share { Self::ShareToken } else { Self::AdminKey }
    }

    /// Its name in the audit and in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AdminKey => "admin_key",
            Self::AccessToken => "access_token",
            Self::RefreshToken => "refresh_token",
            Self::EnrollmentToken => "enrollment_token",
            Self::OperatorKey => "operator_key",
            Self::SessionCookie => "session_cookie",
            Self::ClientSecret => "client_secret",
            Self::AuthorizationCode => "authorization_code",
            Self::ShareToken => "share_token",
            Self::UserCode => "user_code",
            Self::ProviderAccount => "provider_account",
        }
    }

    /// Whether a secret of this class could be found by trying.
    fn is_guessable(self) -> bool {
        match self {
            Self::AdminKey | Self::UserCode | Self::ProviderAccount => true,
            Self::AccessToken
            | Self::RefreshToken
            | Self::EnrollmentToken
            | Self::OperatorKey
            | Self::SessionCookie
            | Self::ClientSecret
            | Self::AuthorizationCode
            | Self::ShareToken => false,
        }
    }

    /// How failures of this class are held against their sender.
    pub(super) fn rule(self, free_failures: u32) -> BackoffRule {
        if self.is_guessable() {
            let (max_wait, forget_after) = (MAX_WAIT, 2 * MAX_WAIT);
            return BackoffRule { free_failures, max_wait, forget_after };
        }
        BackoffRule {
            free_failures: free_failures.saturating_mul(GENERATED_FACTOR),
            max_wait: MAX_GENERATED_WAIT,
            forget_after: 2 * MAX_GENERATED_WAIT,
        }
    }
}

/// How failures are held against their sender.
#[derive(Debug, Clone, Copy)]
pub(super) struct BackoffRule {
    /// Failures that cost nothing. The wait after the next one is a second, and doubles with each.
    pub(super) free_failures: u32,
    pub(super) max_wait: Duration,
    /// How long a sender has to send nothing of the class until nothing is held against it.
    pub(super) forget_after: Duration,
}

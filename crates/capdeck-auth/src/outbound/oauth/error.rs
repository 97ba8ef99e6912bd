//! Errors of a sign-in.

use crate::ReachError;

pub type OAuthResult<T> = Result<T, OAuthError>;

/// A failed step of a sign-in. No variant contains a token, a secret or a query string.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OAuthError {
    #[error("{what} `{text}` is not a URL")]
    NotAUrl { what: &'static str, text: String },
    #[error("{what} at `{origin}` is not allowed: {reason}")]
    ForbiddenUrl { what: &'static str, origin: String, reason: ReachError },
    #[error("{what} at `{origin}` cannot be reached: {reason}")]
    Unreachable { what: &'static str, origin: String, reason: String },
    #[error("{what} at `{origin}` answered with HTTP status {status}")]
    Status { what: &'static str, origin: String, status: u16 },
    #[error("{what} at `{origin}` sent something unusable: {reason}")]
    BadAnswer { what: &'static str, origin: String, reason: String },
    #[error("the server describes itself as `{resource}`, which is not `{server}`")]
    ResourceMismatch { resource: String, server: String },
    #[error("the server names no authorization server to sign in at")]
    NoAuthorizationServer,
    #[error("`{issuer}` publishes no authorization server metadata")]
    NoMetadata { issuer: String },
    #[error("the authorization server calls itself `{found}`, but `{expected}` was asked")]
    IssuerMismatch { expected: String, found: String },
    #[error("`{issuer}` does not support PKCE with S256")]
    NoPkce { issuer: String },
    #[error("`{issuer}` lets no program register itself, and no client is configured")]
    NoRegistration { issuer: String },
    #[error("`{issuer}` refused to register this program{}", code(.error))]
    RegistrationRefused { issuer: String, error: Option<String> },
    #[error(
        "`{issuer}` supports only client authentication that Capdeck does not have ({methods})"
    )]
    NoClientAuthentication { issuer: String, methods: String },
    #[error("`{issuer}` does not let people sign in on another device")]
    NoDeviceFlow { issuer: String },
    #[error("`{issuer}` refused the token request{}", code(.error))]
    TokenRefused { issuer: String, error: Option<String> },
    #[error("the answer in the browser did not come from `{issuer}`; the sign-in was given up")]
    WrongResponder { issuer: String },
    #[error("the sign-in was refused{}", code(.error))]
    AuthorizationRefused { error: Option<String> },
    #[error("the answer in the browser holds no code")]
    NoCode,
    #[error("the identity token is not acceptable: {reason}")]
    IdToken { reason: &'static str },
    #[error("`redirectUri` `{uri}` cannot be listened on: {reason}")]
    RedirectUri { uri: String, reason: String },
    #[error("the sign-in was not finished within {seconds} s")]
    TimedOut { seconds: u64 },
    #[error("the code was not entered in time")]
    CodeExpired,
    #[error("there is no sign-in to renew")]
    NotSignedIn,
    #[error("the sign-in came without a refresh token, so it cannot be renewed")]
    NotRenewable,
    #[error("the sign-in file `{path}` cannot be used: {reason}")]
    Store { path: String, reason: String },
    #[error("sign-ins cannot be saved: {0}")]
    Key(crate::KeyError),
    #[error("the HTTP client cannot be built: {reason}")]
    Client { reason: String },
}

impl OAuthError {
    pub fn hint(&self) -> Option<String> {
        if let Self::Key(error) = self {
            return Some(error.hint());
        }
        let hint = match self {
            Self::NotAUrl { .. } => "correct the `auth` block of the definition",
            Self::NoRegistration { .. } => {
                "register a client with the service and give its `clientId` in the `auth` block"
            }
            Self::NoClientAuthentication { .. } => {
                "give a `clientSecret` in the `auth` block, or another client"
            }
            Self::NoAuthorizationServer | Self::NoMetadata { .. } => {
                "give `issuer`, or `authorizationUrl` and `tokenUrl`, in the `auth` block"
            }
            Self::ResourceMismatch { .. }
            | Self::IssuerMismatch { .. }
            | Self::WrongResponder { .. } => {
                "this is what an attack looks like; ask the people who run the server"
            }
            Self::NoPkce { .. } => {
                "without PKCE the code could be stolen; ask for it to be enabled"
            }
            Self::RedirectUri { .. } => {
                "use an address on this machine such as `http://127.0.0.1:8123/callback`, with a free port"
            }
            Self::Store { .. } => "remove the file and sign in again",
            Self::TimedOut { .. } | Self::CodeExpired => {
                "start the sign-in again and finish it in the browser"
            }
            Self::NoDeviceFlow { .. } => "leave out `--device`",
            Self::Unreachable { .. } | Self::Status { .. } => "try again later",
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// Returns whether only a new sign-in helps, not a retry.
    pub fn needs_sign_in(&self) -> bool {
        matches!(self, Self::TokenRefused { .. } | Self::NotSignedIn | Self::NotRenewable)
    }
}

/// Returns the error code of a refusal's body.
pub(super) fn error_code(body: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct ErrorResponse {
        error: Option<String>,
    }
    plain_code(serde_json::from_slice::<ErrorResponse>(body).ok()?.error)
}

/// Returns the error code if it has the form of one; other remote text is not repeated.
pub(super) fn plain_code(text: Option<String>) -> Option<String> {
    text.filter(|text| {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
        !text.is_empty() && text.len() <= 64 && text.chars().all(plain)
    })
}

fn code(error: &Option<String>) -> String {
    error.as_ref().map_or_else(String::new, |error| format!(" (`{error}`)"))
}

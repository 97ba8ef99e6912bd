//! From a definition's `auth` block to the credentials sent with requests.

use capdeck_auth::{Credentials, OutboundError, Secret};
use capdeck_definition::Auth;

use crate::{CallError, ErrorCode};

/// The fixed credentials an `auth` block with resolved references stands for.
pub(crate) fn credentials(auth: &Auth) -> Credentials {
    match auth {
        // The token of a sign-in is asked for with each request instead.
        Auth::None {} | Auth::OAuth2(_) | Auth::Oidc(_) => Credentials::None,
        Auth::Bearer { token } => Credentials::Bearer { token: Secret::new(token.as_str()) },
        Auth::Headers { headers } => Credentials::Headers {
            headers: headers
                .iter()
                .map(|(name, value)| (name.clone(), Secret::new(value.as_str())))
                .collect(),
        },
    }
}

impl From<OutboundError> for CallError {
    fn from(error: OutboundError) -> Self {
        let (code, hint) = match &error {
            OutboundError::EmptyToken | OutboundError::EmptyHeader { .. } => {
                (ErrorCode::AuthRequired, "set the variable the `auth` block refers to")
            }
            OutboundError::ForbiddenHeader { .. } => {
                (ErrorCode::ConfigInvalid, "remove it; the transport sets it")
            }
            OutboundError::IllegalValue { .. } => {
                (ErrorCode::ConfigInvalid, "remove line breaks from the value")
            }
        };
        Self::new(code, error.to_string()).hint(hint)
    }
}

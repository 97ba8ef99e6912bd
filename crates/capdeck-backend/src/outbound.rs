//! From a definition's `auth` block to the credentials sent with requests.

use capdeck_auth::{OutboundError, Secret, StaticCredentials};
use capdeck_definition::BackendAuth;

use crate::{CallError, ErrorCode};

/// The fixed credentials an `auth` block with resolved references stands for.
pub(crate) fn credentials(auth: &BackendAuth) -> StaticCredentials {
    match auth {
        // The token of a sign-in is asked for with each request instead.
        BackendAuth::None {} | BackendAuth::OAuth2(_) | BackendAuth::Oidc(_) => {
            StaticCredentials::None
        }
        BackendAuth::Bearer { token } => {
            StaticCredentials::Bearer { token: Secret::new(token.as_str()) }
        }
        BackendAuth::Headers { headers } => StaticCredentials::Headers {
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

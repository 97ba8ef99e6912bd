//! Sign-out: deletes the tokens here and revokes them at the service if it supports that (RFC 7009).

use std::sync::Arc;

use url::Url;

use super::{
    OAuthError, SignIn,
    fetch::{GuardedFetcher, origin},
    sign_in::blocking,
    sign_in_record::StoredTokens,
};
use crate::Secret;

const ENDPOINT_LABEL: &str = "the revocation endpoint";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignOutReport {
    pub was_signed_in: bool,
    pub revocation: RevocationOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RevocationOutcome {
    /// The service has no revocation endpoint, or there was nothing to revoke.
    NotOffered,
    Done,
    Failed {
        error: OAuthError,
    },
}

impl SignIn {
    /// Deletes the sign-in and its registrations, then revokes the tokens at the service. A failed revocation does
    /// not stop the deletion.
    ///
    /// If the definition names an issuer, the data of other issuers stays. If not, all data is deleted.
    pub async fn sign_out(self: &Arc<Self>) -> Result<SignOutReport, OAuthError> {
        let (entry, issuer) = (self.entry.clone(), self.settings.issuer.clone());
        let (was_signed_in, forgotten) = blocking(move || {
            let _held = entry.lock()?;
            // An unreadable file can still be deleted.
            let mut record = entry.load().ok().flatten().unwrap_or_default();
            let Some(issuer) = issuer else {
                return Ok((entry.remove()?, record.sign_ins.into_values().collect()));
            };
            let forgotten: Vec<StoredTokens> = record.forget(&issuer).into_iter().collect();
            if record.is_empty() {
                return Ok((entry.remove()?, forgotten));
            }
            entry.save(record)?;
            Ok((!forgotten.is_empty(), forgotten))
        })
        .await?;
        let mut revocation = RevocationOutcome::NotOffered;
        for tokens in &forgotten {
            // Of several results, the one that needs an action is returned.
            match self.revoke(tokens).await {
                RevocationOutcome::NotOffered => {}
                told if matches!(revocation, RevocationOutcome::Failed { .. }) => drop(told),
                told => revocation = told,
            }
        }
        Ok(SignOutReport { was_signed_in, revocation })
    }

    async fn revoke(&self, tokens: &StoredTokens) -> RevocationOutcome {
        let Some(endpoint) = &tokens.revocation_endpoint else {
            return RevocationOutcome::NotOffered;
        };
        let told = async {
            let fetcher = GuardedFetcher::new(&self.clients, &self.settings.server).await?;
            let endpoint = fetcher.url(ENDPOINT_LABEL, endpoint)?;
            // Revoking the refresh token ends the sign-in; services need not revoke the access token with it.
            if let Some(token) = &tokens.refresh_token {
                revoke_token(&fetcher, &endpoint, tokens, token, "refresh_token").await?;
            }
            revoke_token(&fetcher, &endpoint, tokens, &tokens.access_token, "access_token").await
        };
        match told.await {
            Ok(()) => RevocationOutcome::Done,
            Err(error) => RevocationOutcome::Failed { error },
        }
    }
}

async fn revoke_token(
    fetcher: &GuardedFetcher,
    endpoint: &Url,
    tokens: &StoredTokens,
    token: &Secret,
    kind: &str,
) -> Result<(), OAuthError> {
    let mut fields = vec![("token", token.expose()), ("token_type_hint", kind)];
    let basic = tokens.client.identify(&mut fields);
    let answer = fetcher.form(ENDPOINT_LABEL, endpoint, &fields, basic).await?;
    match answer.status {
        200..=299 => Ok(()),
        status => {
            Err(OAuthError::Status { what: ENDPOINT_LABEL, origin: origin(endpoint), status })
        }
    }
}

//! The shared state of a started sign-in, and its completion.

use std::sync::Arc;

use super::{
    OAuthError, SignIn, SignInStatus,
    fetch::GuardedFetcher,
    id_token::{ExpectedClaims, verify},
    sign_in::now,
    sign_in_plan::SignInPlan,
    sign_in_record::{ClientRegistration, SignInRecord, StoredTokens},
    token::{IssuedTokens, TokenRequest},
};
use crate::LoginKind;

pub(super) struct SignInAttempt {
    pub(super) sign_in: Arc<SignIn>,
    pub(super) fetcher: GuardedFetcher,
    pub(super) plan: SignInPlan,
    pub(super) client: ClientRegistration,
    pub(super) scopes: Vec<String>,
}

impl SignInAttempt {
    pub(super) fn request(&self) -> TokenRequest<'_> {
        TokenRequest {
            issuer: &self.plan.issuer,
            endpoint: &self.plan.token_endpoint,
            client: &self.client,
            resource: &self.plan.resource,
            scopes: &self.scopes,
            now: now(),
        }
    }

    pub(super) async fn complete(
        self,
        answer: Result<IssuedTokens, OAuthError>,
        nonce: Option<&str>,
    ) -> Result<SignInStatus, OAuthError> {
        if let Err(OAuthError::TokenRefused { error: Some(error), .. }) = &answer
            && error == "invalid_client"
        {
            // The server no longer knows this registration; the next sign-in makes a new one.
            let issuer = self.plan.issuer.clone();
            let forget = move |record: &mut SignInRecord| record.forget_registrations(&issuer);
            self.sign_in.change(forget).await?;
        }
        let IssuedTokens { tokens, id_token } = answer?;
        let kind = self.sign_in.settings.kind;
        let subject = match (kind, tokens.unattended) {
            // Client credentials have no subject.
            (LoginKind::OAuth2, _) | (LoginKind::Oidc, true) => None,
            (LoginKind::Oidc, false) => {
                let id_token = id_token.ok_or(OAuthError::IdToken { reason: "there is none" })?;
                let expected = ExpectedClaims {
                    issuer: &self.plan.issuer,
                    knows_issuer: self.plan.knows_issuer,
                    client_id: &self.client.id,
                    nonce,
                    subject: None,
                    access_token: &tokens.access_token,
                    now: now(),
                };
                let keys = self.plan.keys_url.as_ref();
                Some(verify(&self.fetcher, keys, &id_token, &expected).await?)
            }
        };
        let tokens = StoredTokens {
            subject,
            kind: Some(kind),
            asked_scopes: Some(self.scopes),
            revocation_endpoint: self.plan.revocation_endpoint.map(String::from),
            keys_url: self.plan.keys_url.map(String::from),
            ..tokens
        };
        let keep = move |record: &mut SignInRecord| {
            record.keep(tokens);
            record.challenge = None;
        };
        self.sign_in.change(keep).await?;
        self.sign_in.status()
    }
}

//! The shared state of a started sign-in, and its completion.

use std::sync::Arc;

use super::{
    OAuthError, SignIn, SignInStatus,
    fetch::Fetcher,
    id_token::{Expected, verify},
    plan::Plan,
    record::{Client, Record, Tokens},
    sign_in::now,
    token::{TokenAnswer, TokenRequest},
};
use crate::LoginKind;

pub(super) struct Started {
    pub(super) sign_in: Arc<SignIn>,
    pub(super) fetcher: Fetcher,
    pub(super) plan: Plan,
    pub(super) client: Client,
    pub(super) scopes: Vec<String>,
}

impl Started {
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
        answer: Result<TokenAnswer, OAuthError>,
        nonce: Option<&str>,
    ) -> Result<SignInStatus, OAuthError> {
        if let Err(OAuthError::TokenRefused { error: Some(error), .. }) = &answer
            && error == "invalid_client"
        {
            // The server no longer knows this registration; the next sign-in makes a new one.
            let issuer = self.plan.issuer.clone();
            let forget = move |record: &mut Record| record.forget_registrations(&issuer);
            self.sign_in.change(forget).await?;
        }
        let TokenAnswer { tokens, id_token } = answer?;
        let kind = self.sign_in.settings.kind;
        let subject = match (kind, tokens.unattended) {
            // Client credentials have no subject.
            (LoginKind::OAuth2, _) | (LoginKind::Oidc, true) => None,
            (LoginKind::Oidc, false) => {
                let id_token = id_token.ok_or(OAuthError::IdToken { reason: "there is none" })?;
                let expected = Expected {
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
        let tokens = Tokens {
            subject,
            kind: Some(kind),
            asked_scopes: Some(self.scopes),
            revocation_endpoint: self.plan.revocation_endpoint.map(String::from),
            keys_url: self.plan.keys_url.map(String::from),
            ..tokens
        };
        let keep = move |record: &mut Record| {
            record.keep(tokens);
            record.challenge = None;
        };
        self.sign_in.change(keep).await?;
        self.sign_in.status()
    }
}

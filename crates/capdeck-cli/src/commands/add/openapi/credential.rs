//! The credential of a new API: where its value is, and how a request carries it.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use capdeck_auth::{Secret, VaultError, VaultGrant};
use capdeck_host::{SecurityKind, SecurityScheme, known_capability, vault_holder};
use serde_json::{Value, json};

use super::AddOpenapiArgs;
use crate::{
    commands::{CommandContext, vault::read_value},
    errors::CommandFailure,
    printer::hidden_input,
};

/// How a new definition signs in.
#[derive(Debug)]
pub(super) struct ApiCredential {
    kind: SecurityKind,
    source: CredentialSource,
}

#[derive(Debug)]
enum CredentialSource {
    Environment {
        name: String,
    },
    /// A value is given where the entry is to be saved first.
    Vault {
        name: String,
        value: Option<Secret>,
    },
    /// A person signs in later.
    SignIn,
}

impl ApiCredential {
    /// What the flags say, else what a person at the terminal types. `None` signs in with nothing.
    pub(super) fn decide(
        args: &AddOpenapiArgs,
        scheme: Option<&SecurityScheme>,
        context: &CommandContext<'_>,
    ) -> Result<Option<Self>, CommandFailure> {
        // A description that asks for nothing, or cannot be read, leaves it to the flags.
        let kind = scheme.map_or(SecurityKind::Bearer, |scheme| scheme.kind.clone());
        let is_given = args.token_env.is_some() || args.token_vault.is_some();
        if let (SecurityKind::Other { wanted }, true) = (&kind, is_given) {
            let message =
                format!("the description asks for {wanted}, which a definition cannot give");
            return Err(CommandFailure::usage(message).hint(
                "name another way to sign in with --scheme, or add the API without a token",
            ));
        }
        if let Some(name) = &args.token_env {
            let source = CredentialSource::Environment { name: name.clone() };
            return Ok(Some(Self { kind, source }));
        }
        if let Some(name) = &args.token_vault {
            let value = match context.settings()?.vault.facts(name) {
                Ok(_) => None,
                Err(error @ VaultError::BadName { .. }) => return Err(error.into()),
                Err(_) => Some(read_value(name)?),
            };
            let source = CredentialSource::Vault { name: name.clone(), value };
            return Ok(Some(Self { kind, source }));
        }
        match (&kind, scheme) {
            (_, None) | (SecurityKind::Other { .. }, _) => Ok(None),
            (SecurityKind::OAuth2 { authorization_url: Some(_), .. }, _)
            | (SecurityKind::OpenIdConnect { .. }, _) => {
                Ok(Some(Self { kind, source: CredentialSource::SignIn }))
            }
            _ if args.common.print || !context.printer.can_ask() => Ok(None),
            _ => Self::ask(kind, args, context),
        }
    }

    fn ask(
        kind: SecurityKind,
        args: &AddOpenapiArgs,
        context: &CommandContext<'_>,
    ) -> Result<Option<Self>, CommandFailure> {
        let wanted = match &kind {
            SecurityKind::HeaderKey { header } => format!("value of the header {header}"),
            SecurityKind::Basic => "USER:PASSWORD".to_owned(),
            _ => "token".to_owned(),
        };
        let prompt = format!("{wanted} (not shown; empty for none): ");
        let typed = hidden_input(&prompt).map_err(|error| {
            CommandFailure::request("NO_VALUE", format!("the value cannot be read: {error}"))
        })?;
        let typed =
            typed.ok_or_else(|| CommandFailure::request("CANCELLED", "nothing was written"))?;
        if typed.expose().is_empty() {
            return Ok(None);
        }
        let name = entry_name(args.common.id.as_str());
        if context.settings()?.vault.facts(&name).is_ok() {
            let message = format!("the vault has an entry `{name}` already");
            return Err(CommandFailure::usage(message)
                .hint(format!("use it with --token-vault {name}, or name another entry")));
        }
        let source = CredentialSource::Vault { name, value: Some(typed) };
        Ok(Some(Self { kind, source }))
    }

    /// The `auth` block.
    pub(super) fn auth(&self) -> Value {
        let reference = match &self.source {
            CredentialSource::Environment { name } => format!("${{{name}}}"),
            CredentialSource::Vault { name, .. } => format!("${{vault:{name}}}"),
            CredentialSource::SignIn => return self.sign_in(),
        };
        match &self.kind {
            SecurityKind::HeaderKey { header } => {
                json!({ "type": "headers", "headers": { header: reference } })
            }
            SecurityKind::Basic => {
                json!({ "type": "headers", "headers": { "Authorization": format!("Basic {reference}") } })
            }
            _ => json!({ "type": "bearer", "token": reference }),
        }
    }

    fn sign_in(&self) -> Value {
        match &self.kind {
            SecurityKind::OAuth2 { authorization_url, token_url, scopes } => json!({
                "type": "oauth2",
                "authorizationUrl": authorization_url,
                "tokenUrl": token_url,
                "scopes": (!scopes.is_empty()).then_some(scopes),
            }),
            SecurityKind::OpenIdConnect { configuration_url } => {
                json!({ "type": "oidc", "openidConfigurationUrl": configuration_url })
            }
            _ => json!({ "type": "none" }),
        }
    }

    pub(super) fn auth_type(&self) -> &'static str {
        match (&self.source, &self.kind) {
            (CredentialSource::SignIn, SecurityKind::OpenIdConnect { .. }) => "oidc",
            (CredentialSource::SignIn, _) => "oauth2",
            (_, SecurityKind::HeaderKey { .. } | SecurityKind::Basic) => "headers",
            _ => "bearer",
        }
    }

    /// Saves the value in the vault and lets the new capability read it.
    pub(super) fn store(
        &self,
        id: &str,
        context: &CommandContext<'_>,
    ) -> Result<(), CommandFailure> {
        let CredentialSource::Vault { name, value } = &self.source else { return Ok(()) };
        let settings = context.settings()?;
        if let Some(value) = value {
            settings.vault.set(name, &self.as_sent(value))?;
        }
        let holder = vault_holder(&known_capability(&settings.open_host()?, id)?.definition);
        let grant = VaultGrant { holder, reference: name.clone(), entry: name.clone() };
        settings.vault.grant(grant)?;
        Ok(())
    }

    /// HTTP basic sends the two in one word.
    fn as_sent(&self, value: &Secret) -> Secret {
        match self.kind {
            SecurityKind::Basic if value.expose().contains(':') => {
                Secret::new(STANDARD.encode(value.expose()))
            }
            _ => value.clone(),
        }
    }

    pub(super) fn next_step(&self, id: &str) -> String {
        match (&self.source, &self.kind) {
            (CredentialSource::Environment { name }, SecurityKind::Basic) => {
                format!("{name} has to hold USER:PASSWORD in base64")
            }
            (CredentialSource::Environment { name }, _) => {
                format!("it is read from {name} when the host connects")
            }
            (CredentialSource::Vault { name, value }, _) => {
                let done = if value.is_some() { "saved in" } else { "read from" };
                format!("it is {done} the vault as {name}, granted to {id}")
            }
            (CredentialSource::SignIn, _) => format!("sign in with: capdeck auth login {id}"),
        }
    }
}

/// `my-pets` becomes `MY_PETS_TOKEN`.
fn entry_name(id: &str) -> String {
    let letters = id.chars().map(|letter| match letter {
        '-' => '_',
        letter => letter.to_ascii_uppercase(),
    });
    let name: String = letters.collect();
    match name.starts_with(|first: char| first.is_ascii_uppercase() || first == '_') {
        true => format!("{name}_TOKEN"),
        false => format!("API_{name}_TOKEN"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_names_that_the_vault_takes() {
        for (id, name) in
            [("my-pets", "MY_PETS_TOKEN"), ("2go", "API_2GO_TOKEN"), ("_a", "_A_TOKEN")]
        {
            assert_eq!(entry_name(id), name);
        }
    }

    #[test]
    fn each_kind_has_its_block() {
        let source = || CredentialSource::Environment { name: "KEY".to_owned() };
        let header = SecurityKind::HeaderKey { header: "X-Key".to_owned() };
        for (kind, auth) in [
            (SecurityKind::Bearer, json!({"type": "bearer", "token": "${KEY}"})),
            (header, json!({"type": "headers", "headers": {"X-Key": "${KEY}"}})),
            (
                SecurityKind::Basic,
                json!({"type": "headers", "headers": {"Authorization": "Basic ${KEY}"}}),
            ),
        ] {
            let credential = ApiCredential { kind, source: source() };
            assert_eq!(credential.auth(), auth);
            assert_eq!(auth["type"], credential.auth_type());
        }
    }
}

//! What `capdeck up` starts with: flags over environment over the user's config over defaults.

use std::time::Duration;

use capdeck_auth::{
    ProviderSettings, ReferenceLookup, Secret, UnresolvedReference,
    inbound::{AdminKey, ClientDocuments, IpNetwork, SignUpDomains},
    resolve_text,
};
use capdeck_definition::{BucketConfig, OidcConfig, ServeConfig};
use capdeck_host::ViewPolicy;
use capdeck_serve::{BucketRate, HttpLimits, HttpSettings, OidcSettings, RateLimits};
use url::Url;

use super::UpArgs;
use crate::{env_vars::EnvVars, errors::CommandFailure, settings::CommandSettings};

const DEFAULT_HOST: &str = "127.0.0.1";

const DEFAULT_PORT: u16 = 7717;

/// Where to listen and which clients to accept, resolved. The registry is opened later.
#[derive(Debug)]
pub(crate) struct UpSettings {
    pub(crate) http: HttpSettings,
    /// How long the token of a client lives, where that is set.
    pub(crate) token_lifetime: Option<Duration>,
    pub(crate) client_documents: ClientDocuments,
}

impl UpSettings {
    /// Puts flags over environment over the user's config over defaults.
    pub(crate) fn resolve(
        args: &UpArgs,
        env: &EnvVars,
        file: &ServeConfig,
        places: &CommandSettings,
    ) -> Result<Self, CommandFailure> {
        let UpArgs { host, port, exposure, auth, no_client_documents, open: _ } = args;
        let from_env = env.port.as_deref().map(parse_port).transpose()?;
        let host = host.as_ref().or(env.host.as_ref()).or(file.host.as_ref());
        let port = port.or(from_env).or(file.port).unwrap_or(DEFAULT_PORT);
        let key = given_key(env)?;
        let oidc = provider(file, places)?;
        let public_url = env.public_url.as_deref().map(check_public_url).transpose()?;
        let proxies = file.trusted_proxies.iter().flatten().map(|text| proxy(text));
        let http = HttpSettings {
            auth: auth.or(file.auth),
            key,
            oidc,
            allowed_hosts: public_url.iter().filter_map(|url| host_of(url)).collect(),
            public_url,
            trusted_proxies: proxies.collect::<Result<_, _>>()?,
            rates: rates(file),
            policy: ViewPolicy::offering(*exposure),
            limits: limits(file),
            ..HttpSettings::new(host.map_or(DEFAULT_HOST, String::as_str), port)
        };
        let client_documents = match no_client_documents {
            true => ClientDocuments::Refused,
            false => ClientDocuments::Fetched,
        };
        Ok(Self { http, token_lifetime: token_lifetime(env, file)?, client_documents })
    }
}

fn limits(file: &ServeConfig) -> HttpLimits {
    let default = HttpLimits::default();
    let millis = |set: Option<u64>, default| set.map_or(default, Duration::from_millis);
    HttpLimits {
        session_idle: millis(file.session_idle_ms, default.session_idle),
        question_lifetime: millis(file.question_lifetime_ms, default.question_lifetime),
        ..default
    }
}

fn rates(file: &ServeConfig) -> RateLimits {
    let default = RateLimits::default();
    let limits = file.limits.unwrap_or_default();
    let rate = |set: Option<BucketConfig>, default: BucketRate| match set {
        Some(BucketConfig { per_minute, burst }) => BucketRate { per_minute, burst },
        None => default,
    };
    RateLimits {
        auth: rate(limits.auth, default.auth),
        api: rate(limits.api, default.api),
        mcp: rate(limits.mcp, default.mcp),
        concurrent: limits.concurrent.unwrap_or(default.concurrent),
        sessions: limits.sessions.unwrap_or(default.sessions),
        streams: limits.streams.unwrap_or(default.streams),
    }
}

fn proxy(text: &str) -> Result<IpNetwork, CommandFailure> {
    IpNetwork::parse(text).ok_or_else(|| {
        let what = format!("`serve.trustedProxies` has something that is no network: `{text}`");
        CommandFailure::setup("BAD_PROXY", what)
            .hint("use an address, or a network such as 10.0.0.0/8")
    })
}

fn token_lifetime(env: &EnvVars, file: &ServeConfig) -> Result<Option<Duration>, CommandFailure> {
    let named = env.token_seconds.as_deref().map(|text| {
        text.parse::<u64>().ok().filter(|seconds| *seconds >= 60).ok_or_else(|| {
            let what = format!("CAPSOL_TOKEN_TTL_SECONDS is no number of seconds: `{text}`");
            CommandFailure::setup("BAD_TOKEN_LIFETIME", what).hint("use 60 or more")
        })
    });
    let seconds = named.transpose()?.or(file.token_lifetime_seconds);
    Ok(seconds.map(Duration::from_secs))
}

fn parse_port(text: &str) -> Result<u16, CommandFailure> {
    text.parse().map_err(|_| {
        CommandFailure::setup("BAD_PORT", format!("CAPDECK_PORT is not a port number: `{text}`"))
            .hint("use a number from 0 to 65535")
    })
}

/// The host name in a URL, without port and path.
fn host_of(url: &str) -> Option<String> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next()?;
    let name = match authority.split_once(']') {
        // An address in brackets keeps them, as in the `Host` header.
        Some((address, _)) => format!("{address}]"),
        None => authority.split(':').next()?.to_owned(),
    };
    (!name.is_empty()).then_some(name)
}

pub(super) const KEY_HINT: &str =
    "set CAPDECK_ADMIN_KEY to a long random text, such as the output of: openssl rand -hex 32";

/// The key that was given. One that could not be signed in with is no key at all.
fn given_key(env: &EnvVars) -> Result<Option<AdminKey>, CommandFailure> {
    let key = env.admin_key.clone().map(AdminKey::new).transpose();
    key.map_err(|error| {
        CommandFailure::setup("BAD_ADMIN_KEY", format!("CAPDECK_ADMIN_KEY cannot be used: {error}"))
            .hint(KEY_HINT)
    })
}

fn provider(
    config: &ServeConfig,
    places: &CommandSettings,
) -> Result<Option<OidcSettings>, CommandFailure> {
    let Some(oidc) = &config.oidc else { return Ok(None) };
    let secret = oidc.client_secret.as_ref().map(|text| resolve_own(text, places));
    let client_secret = secret.transpose().map_err(|missing| {
        let what = format!("`serve.oidc.clientSecret` cannot be used: {missing}");
        CommandFailure::setup("NO_CLIENT_SECRET", what).hint(missing.hint())
    })?;
    let OidcConfig { issuer, client_id, client_secret: _, label, new_members } = oidc;
    let label = label.clone().or_else(|| host_of(issuer)).unwrap_or_else(|| issuer.clone());
    Ok(Some(OidcSettings {
        provider: ProviderSettings::new(issuer, client_id, client_secret),
        label,
        newcomers: SignUpDomains { domains: new_members.clone() },
    }))
}

/// A text of the person's own settings with its references replaced, or the first one that cannot be resolved.
pub(super) fn resolve_own(
    text: &str,
    places: &CommandSettings,
) -> Result<Secret, UnresolvedReference> {
    let lookup = ReferenceLookup::of_owner(&places.environment, &places.vault);
    match resolve_text(text, lookup) {
        Ok(resolved) => Ok(Secret::new(resolved.text)),
        Err(mut missing) => Err(missing.swap_remove(0)),
    }
}

/// Takes an address that clients can use, without a slash at its end. It becomes the issuer of tokens and part of every
/// address that clients get, so a wrong one is refused at the start and not found out by each of them. There is no
/// path in it because clients look for `/.well-known/…` at the root.
fn check_public_url(text: &str) -> Result<String, CommandFailure> {
    let refused = |why: &str| {
        CommandFailure::setup("BAD_PUBLIC_URL", format!("CAPDECK_PUBLIC_URL cannot be used: {why}"))
            .hint("use the address that people open, such as https://deck.example")
    };
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "https" | "http"));
    let url =
        url.ok_or_else(|| refused("it is no address that begins with https:// or http://"))?;
    let is_bare = url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    if !is_bare {
        return Err(refused("it has more than a name and a port"));
    }
    Ok(text.trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_found_in_a_public_url() {
        for (url, host) in [
            ("https://deck.example.com/x", Some("deck.example.com")),
            ("https://deck.example.com:8443", Some("deck.example.com")),
            ("http://[::1]:7717/", Some("[::1]")),
            ("deck.example.com", Some("deck.example.com")),
            ("https://", None),
        ] {
            assert_eq!(host_of(url).as_deref(), host, "{url}");
        }
    }

    #[test]
    fn only_what_clients_can_use_is_taken() {
        for (text, taken) in [
            ("https://deck.example", Some("https://deck.example")),
            ("https://deck.example:8443/", Some("https://deck.example:8443")),
            ("http://[::1]:7717", Some("http://[::1]:7717")),
            ("deck.example", None),
            ("localhost:7717", None),
            ("ftp://deck.example", None),
            ("https://", None),
            ("https://deck.example/capdeck", None),
            ("https://deck.example/?a=b", None),
            ("https://ann:secret@deck.example", None),
        ] {
            assert_eq!(check_public_url(text).ok().as_deref(), taken, "{text}");
        }
    }
}

//! `capdeck up`: the deck over HTTP.

mod admin_key;
mod banner;
mod provider;
mod public_url;
mod registry;
pub(crate) mod traces;

use std::{io, time::Duration};

use capdeck_auth::inbound::{AdminKey, Network, Registry};
use capdeck_definition::{BucketConfig, Exposure, ServeConfig};
use capdeck_host::{Host, ViewPolicy};
use capdeck_serve::{
    AuthMode, BindError, HttpLimits, HttpServer, HttpSettings, NoRegistry, OidcSettings, Rate,
    RateLimits, ShellSocket,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::serve::ExposureMode;
use crate::{
    browser::open_browser,
    context::Context,
    env_vars::EnvVars,
    errors::{ExitStatus, Failure},
    runtime::{single_thread, stop_signal},
    settings::Settings,
};

const DEFAULT_HOST: &str = "127.0.0.1";
const DEFAULT_PORT: u16 = 7717;

/// Serve the deck over HTTP
///
/// Runs until Ctrl-C or SIGTERM. With nothing configured, a starter deck is served.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct UpArgs {
    /// The address to listen on. Where other machines reach it everyone needs a token; the admin key is CAPDECK_ADMIN_KEY, or made once.
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// The port to listen on; 0 picks a free one. Default 7717.
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Offer every capability this way, whatever its file says.
    #[arg(long, value_enum, value_name = "MODE")]
    exposure: Option<ExposureMode>,
    /// Who needs a token: `local` lets this machine in without one, `required` nobody. Default: `required` with a key or off loopback.
    #[arg(long, value_enum, value_name = "MODE")]
    auth: Option<AuthChoice>,
    /// Open the address in a browser.
    #[arg(long)]
    open: bool,
}

/// `--auth`.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum AuthChoice {
    Local,
    Required,
}

/// Where and for whom to listen, resolved.
#[derive(Debug)]
pub(crate) struct UpSettings {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) auth: Option<AuthMode>,
    pub(crate) key: Option<AdminKey>,
    pub(crate) oidc: Option<OidcSettings>,
    pub(crate) public_url: Option<String>,
    pub(crate) exposure: Option<Exposure>,
    pub(crate) limits: HttpLimits,
    pub(crate) rates: RateLimits,
    pub(crate) trusted_proxies: Vec<Network>,
    /// How long the token of a client lives, where somebody says.
    pub(crate) token_lifetime: Option<Duration>,
}

impl UpSettings {
    /// Puts flags over environment over the user's config over defaults.
    pub(crate) fn resolve(
        args: &UpArgs,
        env: &EnvVars,
        file: &ServeConfig,
        places: &Settings,
    ) -> Result<Self, Failure> {
        let UpArgs { host, port, exposure, auth, open: _ } = args;
        let from_env = env.port.as_deref().map(parse_port).transpose()?;
        let host = host.as_ref().or(env.host.as_ref()).or(file.host.as_ref());
        Ok(Self {
            host: host.cloned().unwrap_or_else(|| DEFAULT_HOST.to_owned()),
            port: port.or(from_env).or(file.port).unwrap_or(DEFAULT_PORT),
            auth: auth.map(AuthMode::from).or(file.auth.map(as_mode)),
            key: admin_key::given(env)?,
            oidc: provider::provider(file, places)?,
            public_url: env.public_url.as_deref().map(public_url::checked).transpose()?,
            exposure: exposure.map(Exposure::from),
            limits: limits(file),
            rates: rates(file),
            trusted_proxies: file
                .trusted_proxies
                .iter()
                .map(|text| proxy(text))
                .collect::<Result<_, _>>()?,
            token_lifetime: token_lifetime(env, file)?,
        })
    }

    fn to_http(&self, registry: Result<Registry, NoRegistry>) -> HttpSettings {
        HttpSettings {
            host: self.host.clone(),
            port: self.port,
            auth: self.auth,
            key: self.key.clone(),
            oidc: self.oidc.clone(),
            public_url: self.public_url.clone(),
            registry,
            trusted_proxies: self.trusted_proxies.clone(),
            rates: self.rates,
            allowed_hosts: self.public_url.iter().filter_map(|url| host_of(url)).collect(),
            policy: ViewPolicy::offering(self.exposure),
            limits: self.limits,
        }
    }
}

pub(crate) fn run(args: &UpArgs, context: &Context<'_>) -> Result<ExitStatus, Failure> {
    let places = context.settings()?;
    let host = places.open_lasting_host()?;
    let config = host.deck().config.serve.clone();
    let mut settings = UpSettings::resolve(args, &context.env, &config, &places)?;
    // Calls wait for servers, not for this process: one thread answers thousands a second, and waking others for each
    // message would cost more than the messages. What takes long runs on the blocking pool.
    single_thread()?.block_on(async {
        let registry = registry::open(&places, &host, &config, settings.token_lifetime);
        let bind = async |settings: &UpSettings| {
            HttpServer::bind(host.clone(), settings.to_http(registry.clone())).await
        };
        let server = match bind(&settings).await {
            // Everyone needs a token, and there is none yet: the host makes its own key.
            Err(BindError::KeyRequired { .. }) => {
                settings.key = Some(admin_key::own(&places, context)?);
                bind(&settings).await
            }
            bound => bound,
        };
        let server = server.map_err(cannot_listen)?;
        let exporter = traces::start(&host, &context.env.traces, config.otlp.as_ref(), &places);
        if let Err(error) = host.watch() {
            tracing::warn!(%error);
        }
        let url = settings.public_url.clone().unwrap_or_else(|| server.url());
        let url = url.trim_end_matches('/').to_owned();
        let socket = shell_socket(&places);
        if let Ok(registry) = &registry
            && let Err(error) = registry.announce(&url).await
        {
            tracing::warn!(%error, "other processes cannot tell where the registry is");
        }
        // Whoever reads the address may stop the host at once.
        let stopped = stop_signal();
        announce(&url, &host, &settings, context);
        if args.open {
            open_browser(&url, context.printer);
        }
        let stop = CancellationToken::new();
        let stopping = stop.clone();
        tokio::spawn(async move {
            stopped.await;
            stopping.cancel();
        });
        let shell = async {
            if let Some(socket) = socket {
                socket.run(host.clone(), stop.clone()).await;
            }
        };
        tokio::join!(shell, server.run(stop.clone()));
        if let Ok(registry) = registry
            && let Err(error) = registry.settle().await
        {
            tracing::warn!(%error, "when credentials were last used is not written down");
        }
        if let Some(exporter) = exporter {
            exporter.flush().await;
        }
        Ok::<(), Failure>(())
    })?;
    context.printer.note("stopped");
    Ok(ExitStatus::Done)
}

/// Where `capdeck sh` finds this host. Without it everything else works, and `capdeck sh` opens the deck itself.
fn shell_socket(places: &Settings) -> Option<ShellSocket> {
    match ShellSocket::bind(&places.shell_socket()) {
        Ok(socket) => Some(socket),
        Err(error) => {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            tracing::warn!(%error, cause, "`capdeck sh` does not go through this host");
            None
        }
    }
}

impl From<AuthChoice> for AuthMode {
    fn from(choice: AuthChoice) -> Self {
        match choice {
            AuthChoice::Local => Self::Local,
            AuthChoice::Required => Self::Required,
        }
    }
}

fn as_mode(configured: capdeck_definition::AuthMode) -> AuthMode {
    match configured {
        capdeck_definition::AuthMode::Local => AuthMode::Local,
        capdeck_definition::AuthMode::Required => AuthMode::Required,
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
    let rate = |set: Option<BucketConfig>, default: Rate| match set {
        Some(BucketConfig { per_minute, burst }) => Rate { per_minute, burst },
        None => default,
    };
    RateLimits {
        auth: rate(file.limits.auth, default.auth),
        api: rate(file.limits.api, default.api),
        mcp: rate(file.limits.mcp, default.mcp),
        concurrent: file.limits.concurrent.unwrap_or(default.concurrent),
        sessions: file.limits.sessions.unwrap_or(default.sessions),
        streams: file.limits.streams.unwrap_or(default.streams),
    }
}

fn proxy(text: &str) -> Result<Network, Failure> {
    Network::parse(text).ok_or_else(|| {
        let what = format!("`serve.trustedProxies` has something that is no network: `{text}`");
        Failure::setup("BAD_PROXY", what).hint("use an address, or a network such as 10.0.0.0/8")
    })
}

fn token_lifetime(env: &EnvVars, file: &ServeConfig) -> Result<Option<Duration>, Failure> {
    let named = env.token_seconds.as_deref().map(|text| {
        text.parse::<u64>().ok().filter(|seconds| *seconds >= 60).ok_or_else(|| {
            let what = format!("CAPSOL_TOKEN_TTL_SECONDS is no number of seconds: `{text}`");
            Failure::setup("BAD_TOKEN_LIFETIME", what).hint("use 60 or more")
        })
    });
    let seconds = named.transpose()?.or(file.token_lifetime_seconds);
    Ok(seconds.map(Duration::from_secs))
}

fn announce(url: &str, host: &Host, settings: &UpSettings, context: &Context<'_>) {
    if context.printer.wants_json() {
        let catalog = host.catalog();
        let usable = catalog.capabilities().filter(|capability| capability.is_usable()).count();
        context.printer.json_line(&json!({
            "url": url,
            "mcp": format!("{url}/mcp"),
            "pid": std::process::id(),
            "capabilities": usable,
        }));
    } else {
        let has_key = settings.key.is_some();
        context.printer.note(&banner::render(url, host, has_key, context.printer.note_palette()));
    }
}

fn cannot_listen(error: BindError) -> Failure {
    match error {
        BindError::Bind { host, port, source } if source.kind() == io::ErrorKind::AddrInUse => {
            Failure::setup("ADDRESS_IN_USE", format!("port {port} of {host} is already in use"))
                .hint("is capdeck already running? Pick a free port with: capdeck up --port 0")
        }
        BindError::Bind { host, port, source } => {
            Failure::setup("CANNOT_LISTEN", format!("cannot listen on {host}:{port}: {source}"))
                .hint("use an address of this machine, such as --host 127.0.0.1")
        }
        BindError::LocalOffLoopback { host } => Failure::setup(
            "AUTH_NOT_LOCAL",
            format!(
                "{host} can be reached from other machines, so `local` is not enough to be let in"
            ),
        )
        .hint("leave out --auth and `serve.auth`, or listen on 127.0.0.1"),
        BindError::KeyRequired { host } => Failure::setup(
            "KEY_REQUIRED",
            format!("{host} can be reached from other machines, so clients need a key"),
        )
        .hint(admin_key::HINT),
    }
}

fn parse_port(text: &str) -> Result<u16, Failure> {
    text.parse().map_err(|_| {
        Failure::setup("BAD_PORT", format!("CAPDECK_PORT is not a port number: `{text}`"))
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
}

//! `capdeck up`: the deck over HTTP.

pub(crate) mod settings;

use std::{io, sync::Arc, time::Duration};

use capdeck_auth::{
    UnresolvedReference,
    inbound::{
        AdminKey, AuditSink, OpenRegistryError, RedirectPolicy, Registry, RegistryLifetimes,
        RegistryOptions,
    },
};
use capdeck_catalog::Catalog;
use capdeck_definition::{Exposure, OtlpConfig, ServeConfig, SourceLayer};
use capdeck_host::{Host, ItemStatus, ListItem, list_items, watch_files};
use capdeck_serve::{
    BindError, HttpServer, OtlpExporter, OtlpSettings, RegistryTrail, RegistryUnavailable,
    ServeAuthMode, ShellSocket,
};
use serde_json::json;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use self::settings::{KEY_HINT, UpSettings, resolve_own};
use super::serve::EXPOSURES;
use crate::{
    args::choice,
    browser::open_browser,
    commands::CommandContext,
    env_vars::TraceVars,
    errors::{CommandFailure, CommandResult, ExitStatus},
    printer::{ColorPalette, TextStyle},
    runtime::{single_thread, stop_signal},
    service_memory::{give_back_later, return_large_blocks},
    settings::CommandSettings,
    table::{TextTable, cell, cell_or},
};

/// Run the deck as an HTTP server, with a dashboard
///
/// For agents on other machines, for a team, or to keep servers running between calls: `capdeck call` and `capdeck sh` go through a
/// running host of the same deck by themselves. Agents of this machine need none: `capdeck connect` lets them start what they need.
///
/// Runs until Ctrl-C or SIGTERM. With nothing configured, a starter deck is served.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct UpArgs {
    /// The address to listen on. On one that other machines reach, every client needs a token. The owner's key is CAPDECK_ADMIN_KEY, or
    /// is made at the first start.
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// The port to listen on; 0 picks a free one. Default 7717.
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Offer every capability this way, regardless of its file.
    #[arg(long, value_name = "MODE", value_parser = choice(EXPOSURES))]
    exposure: Option<Exposure>,
    /// Who needs a token: `local` lets this machine in without one, `required` does not. Default: `required` with a key or off loopback.
    #[arg(long, value_name = "MODE", value_parser = choice([("local", "", ServeAuthMode::Local), ("required", "", ServeAuthMode::Required)]))]
    auth: Option<ServeAuthMode>,
    /// Do not fetch the documents by which some clients describe themselves (client id metadata documents); such clients register
    /// themselves instead. For a host without a way to the Internet.
    #[arg(long)]
    no_client_documents: bool,
    /// Open the address in a browser.
    #[arg(long)]
    open: bool,
}

pub(crate) fn run(args: &UpArgs, context: &CommandContext<'_>) -> CommandResult {
    return_large_blocks();
    let places = context.settings()?;
    let host = places.open_lasting_host()?;
    let config = host.deck().config.serve.clone();
    let UpSettings { mut http, token_lifetime, client_documents } =
        UpSettings::resolve(args, &context.env, &config, &places)?;
    // Calls wait for servers, not for this process: one thread answers thousands a second, and waking others for each
    // message would cost more than the messages. What takes long runs on the blocking pool.
    let status = single_thread()?.block_on(async {
        let kept = RegistryOptions { client_documents, ..RegistryOptions::default() };
        let registry = open_registry(&places, &host, &config, token_lifetime, kept);
        http.registry = registry.clone();
        let server = match HttpServer::bind(host.clone(), http.clone()).await {
            // Everyone needs a token, and there is none yet: the host makes its own key.
            Err(BindError::KeyRequired { .. }) => {
                http.key = Some(own_key(&places, context)?);
                HttpServer::bind(host.clone(), http.clone()).await
            }
            bound => bound,
        };
        let server = server.map_err(cannot_listen)?;
        let exporter = start_traces(&host, &context.env.traces, config.otlp.as_ref(), &places);
        if let Err(error) = watch_files(&host) {
            tracing::warn!(%error);
        }
        let url = http.public_url.clone().unwrap_or_else(|| server.url());
        let url = url.trim_end_matches('/').to_owned();
        let socket = shell_socket(&places);
        if let Ok(registry) = &registry
            && let Err(error) = registry.announce(&url).await
        {
            tracing::warn!(%error, "other processes cannot tell where the registry is");
        }
        // The reader of the address may stop the host at once.
        let stopped = stop_signal();
        announce(&url, &host, http.key.is_some(), context);
        give_back_later();
        if args.open {
            open_browser(&url, context.printer);
        }
        let stop = CancellationToken::new();
        let stopping = stop.clone();
        let stopped = tokio::spawn(async move {
            let signal = stopped.await;
            stopping.cancel();
            signal.server_status()
        });
        let shell = async {
            if let Some(socket) = socket {
                socket.run(host.clone(), stop.clone()).await;
            }
        };
        tokio::join!(shell, server.run(stop.clone()));
        if let Ok(registry) = registry
            && let Err(error) = registry.save_last_used().await
        {
            tracing::warn!(%error, "when credentials were last used is not written down");
        }
        if let Some(exporter) = exporter {
            exporter.flush().await;
        }
        // The server ends only when it is stopped.
        Ok::<_, CommandFailure>(stopped.await.unwrap_or(ExitStatus::Done))
    })?;
    context.printer.note("stopped");
    Ok(status)
}

/// Where `capdeck sh` finds this host. Without it everything else works, and `capdeck sh` opens the deck itself.
fn shell_socket(places: &CommandSettings) -> Option<ShellSocket> {
    match ShellSocket::bind(&places.shell_socket()) {
        Ok(socket) => Some(socket),
        Err(error) => {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            tracing::warn!(%error, cause, "`capdeck sh` does not go through this host");
            None
        }
    }
}

fn announce(url: &str, host: &Host, has_key: bool, context: &CommandContext<'_>) {
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
        context.printer.note(&banner(url, host, has_key, context.printer.note_palette));
    }
}

fn cannot_listen(error: BindError) -> CommandFailure {
    let (code, message, hint) = match error {
        BindError::Bind { host, port, source } if source.kind() == io::ErrorKind::AddrInUse => {
            let hint = "is capdeck already running? Pick a free port with: capdeck up --port 0";
            ("ADDRESS_IN_USE", format!("port {port} of {host} is already in use"), hint)
        }
        BindError::Bind { host, port, source } => {
            let hint = "use an address of this machine, such as --host 127.0.0.1";
            ("CANNOT_LISTEN", format!("cannot listen on {host}:{port}: {source}"), hint)
        }
        BindError::LocalOffLoopback { host } => {
            let message = format!(
                "{host} can be reached from other machines, so `local` is not enough to be let in"
            );
            let hint = "leave out --auth and `serve.auth`, or listen on 127.0.0.1";
            ("AUTH_NOT_LOCAL", message, hint)
        }
        BindError::KeyRequired { host } => {
            let message =
                format!("{host} can be reached from other machines, so clients need a key");
            ("KEY_REQUIRED", message, KEY_HINT)
        }
    };
    CommandFailure::setup(code, message).hint(hint)
}

/// The key of a host that needs one and was given none: made once, kept in the state folder, shown once.
fn own_key(
    places: &CommandSettings,
    context: &CommandContext<'_>,
) -> Result<AdminKey, CommandFailure> {
    let file = places.state_dir.join("admin.key");
    let loaded = AdminKey::load_or_create(&file).map_err(|error| {
        CommandFailure::setup("NO_ADMIN_KEY", format!("there is no admin key: {error}"))
            .hint(KEY_HINT)
    })?;
    let place = file.display();
    let may_show = context.env.print_admin_key || context.printer.stderr_is_terminal;
    match (loaded.is_new, may_show) {
        (true, true) => {
            let key = loaded.key.reveal();
            context.printer.note(&format!(
                "The admin key of this host, to sign in to the dashboard. It is shown this once and stored in {place}\n\n{key}\n"
            ));
        }
        _ => context.printer.note(&format!("The admin key of this host is in {place}")),
    }
    Ok(loaded.key)
}

/// Opens the registry. Nothing is made on disk by it. Without it the deck is served all the same.
fn open_registry(
    places: &CommandSettings,
    host: &Host,
    config: &ServeConfig,
    token_lifetime: Option<Duration>,
    given: RegistryOptions,
) -> Result<Registry, RegistryUnavailable> {
    let lifetimes = RegistryLifetimes::default();
    let redirects = config.redirects.clone().unwrap_or_default();
    let options = RegistryOptions {
        lifetimes: RegistryLifetimes {
            access_token: token_lifetime.unwrap_or(lifetimes.access_token),
            ..lifetimes
        },
        redirects: RedirectPolicy { hosts: redirects.hosts, native_schemes: redirects.schemes },
        audit: host.capsules().map(|service| -> Arc<dyn AuditSink> {
            RegistryTrail::new(Arc::clone(service), Handle::current())
        }),
        ..given
    };
    Registry::open(places.data_dir.join("registry"), options).map_err(|error| {
        tracing::warn!(%error, "clients cannot sign in to this host");
        let reason = error.to_string();
        let served_at = match error {
            OpenRegistryError::InUse { at, .. } => at,
            _ => None,
        };
        RegistryUnavailable { reason, served_at }
    })
}

/// Begins to send spans, if anything says where to. What cannot be sent never stops the host.
fn start_traces(
    host: &Host,
    variables: &TraceVars,
    config: Option<&OtlpConfig>,
    places: &CommandSettings,
) -> Option<Arc<OtlpExporter>> {
    let configured = config.cloned().unwrap_or_default();
    let (endpoint, headers) = match (&variables.endpoint, &configured.endpoint) {
        // What the file sends along is for the collector that the file names, and for no other.
        (Some(endpoint), _) => (endpoint.expose().to_owned(), Vec::new()),
        (None, Some(endpoint)) => match configured_headers(&configured, places) {
            Ok(headers) => (endpoint.clone(), headers),
            Err(missing) => {
                tracing::warn!(hint = missing.hint(), "calls are not traced: {missing}");
                return None;
            }
        },
        (None, None) => return None,
    };
    let service = variables.service.clone().or(configured.service);
    let settings = OtlpSettings {
        endpoint,
        headers: variables.headers.as_ref().map_or(headers, |given| header_pairs(given.expose())),
        service: service.unwrap_or_else(|| "capdeck".to_owned()),
        version: host.settings().version.clone(),
    };
    match OtlpExporter::start(settings) {
        Ok(exporter) => {
            host.trace_to(exporter.clone());
            Some(exporter)
        }
        Err(error) => {
            tracing::warn!(%error, "calls are not traced");
            None
        }
    }
}

/// The headers of the config with their references replaced.
pub(super) fn configured_headers(
    config: &OtlpConfig,
    places: &CommandSettings,
) -> Result<Vec<(String, String)>, UnresolvedReference> {
    let resolved = config.headers.iter().map(|(name, value)| {
        resolve_own(value, places).map(|value| (name.clone(), value.expose().to_owned()))
    });
    resolved.collect()
}

/// `name=value` between commas.
fn header_pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
}

/// More capabilities than this are counted, not shown.
const MAX_SHOWN_CAPABILITIES: usize = 20;

/// What is printed at the start: the address, what is served, and what to paste into a client.
fn banner(url: &str, host: &Host, has_key: bool, palette: ColorPalette) -> String {
    let catalog = &host.catalog();
    let items = list_items(host, catalog);
    let (usable, others): (Vec<ListItem>, Vec<ListItem>) = items
        .into_iter()
        .partition(|item| matches!(item.status, ItemStatus::Ready | ItemStatus::Stale));
    let mut text = format!("Capdeck serves {}\n\n", palette.paint(TextStyle::Strong, url));
    text.push_str(&capabilities(&usable, catalog, palette));
    let is_ours = |layer| matches!(layer, SourceLayer::Starter | SourceLayer::BuiltIn);
    let starter = usable.iter().any(|item| item.source.layer == SourceLayer::Starter);
    if starter && usable.iter().all(|item| is_ours(item.source.layer)) {
        text.push_str("\nThis is the starter deck. Begin your own with: capdeck init\n");
    }
    if let Some(note) = left_out(&others) {
        text.push_str(&format!("\n{}\n", palette.paint(TextStyle::Careful, &note)));
    }
    text.push_str(&format!("\nDashboard: {url}/\n"));
    text.push_str(&format!("\nPaste this into an MCP client:\n\n{}\n", client_entry(url)));
    if has_key {
        text.push_str(&signing_in(url));
    }
    text.push_str("\nStop with Ctrl-C.");
    text
}

fn capabilities(usable: &[ListItem], catalog: &Catalog, palette: ColorPalette) -> String {
    let shown = usable.iter().take(MAX_SHOWN_CAPABILITIES);
    let table = TextTable::new(["CAPABILITY", "TOOLS", "NAME"], shown, |item| {
        let known = catalog.get(&item.id).and_then(|capability| capability.discovery.as_ref());
        let tools = known.map(|known| known.tools.len());
        [cell(&item.id), cell_or("?", tools), cell(&item.name)]
    });
    let more = usable.len().saturating_sub(MAX_SHOWN_CAPABILITIES);
    let rest =
        if more > 0 { format!("and {more} more; see: capdeck list\n") } else { String::new() };
    table.render(palette, None).lines().map(|line| format!("  {line}\n")).collect::<String>()
        + &rest
}

fn left_out(others: &[ListItem]) -> Option<String> {
    let count = |status: ItemStatus| others.iter().filter(|item| item.status == status).count();
    let parts: Vec<String> = [
        (ItemStatus::Quarantined, "broken (capdeck validate)"),
        (ItemStatus::Untrusted, "untrusted (capdeck trust)"),
        (ItemStatus::Hidden, "hidden (capdeck list)"),
    ]
    .into_iter()
    .filter(|(status, _)| count(*status) > 0)
    .map(|(status, what)| format!("{} {what}", count(status)))
    .collect();
    (!parts.is_empty()).then(|| format!("Not served: {}", parts.join(", ")))
}

/// The `mcpServers` block that most clients take. There is no key in it: clients sign in by themselves.
fn client_entry(url: &str) -> String {
    let server = json!({ "type": "http", "url": format!("{url}/mcp") });
    let block = json!({ "mcpServers": { "capdeck": server } });
    let text = serde_json::to_string_pretty(&block).unwrap_or_default();
    text.lines().map(|line| format!("  {line}\n")).collect::<String>().trim_end().to_owned()
}

/// What people and agents do first where everyone has to sign in.
fn signing_in(url: &str) -> String {
    format!(
        "\nThe client opens a page in the browser, where you choose what it can use.\n\
         An agent without a browser enrolls: POST {url}/v1/agent-enrollments\n\
         The admin key is for people, to sign in to the dashboard. Do not give it to agents.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_pairs_between_commas() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            header_pairs("x-key=a=b, other = c,,none"),
            [pair("x-key", "a=b"), pair("other", "c")]
        );
        assert!(header_pairs("").is_empty());
    }

    #[test]
    fn no_client_is_given_a_key() {
        let entry = client_entry("http://127.0.0.1:7717");
        assert!(!entry.contains("Authorization") && !entry.contains("Bearer"), "{entry}");
    }
}

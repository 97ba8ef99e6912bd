//! Starts or contacts a server and opens a session.

use std::{sync::Arc, time::Duration};

use capdeck_catalog::RawMembers;
use capdeck_definition::{McpServer, McpTransport, ProtocolEra};
use capdeck_mcp::{
    Era,
    client::{
        ClientDescription, ClientError, CredentialProvider, EraChoice, HttpTarget, McpClient,
    },
};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::value::{RawValue, to_raw_value};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{
    MessageBridge, ServerScrubber,
    failure::{McpOperation, call_error},
    session::{McpSession, McpSessionParts, McpStartError},
};
use crate::{
    CallError, ConnectOptions,
    child_environment::{PassedVariables, child_environment},
    connect::ResolvedBackend,
    connector_context::ConnectorContext,
    process::{ChildCommand, Process},
    process_log::ProcessLog,
    sign_in::{CapabilitySignIn, credentials},
    start_allowance::StartAllowance,
};

struct McpStartup {
    prepared: ResolvedBackend<McpServer>,
    options: ConnectOptions,
    allowance: StartAllowance,
    stop: CancellationToken,
    sign_in: Option<CapabilitySignIn>,
}

pub(super) async fn open(
    prepared: ResolvedBackend<McpServer>,
    options: ConnectOptions,
    stop: CancellationToken,
    sign_in: Option<CapabilitySignIn>,
) -> Result<Arc<McpSession>, CallError> {
    let limit = options.start_limit.unwrap_or_else(|| prepared.block.start_limit(None));
    let (_start, turn) = match prepared.block.launcher() {
        Some(launcher) => {
            let package = launcher.package.unwrap_or_else(|| launcher.program.to_owned());
            let package = prepared.log_scrubber.text(&package).into_owned();
            let surroundings = &prepared.surroundings;
            let start = surroundings.starting.begin(prepared.id.clone(), package);
            (Some(start), surroundings.install_turns.take().await)
        }
        None => (None, None),
    };
    let allowance = StartAllowance::begin(limit, turn);
    let declared = prepared.block.transport;
    let transport = prepared.block.effective_transport();
    let opening = McpStartup { prepared, options, allowance, stop, sign_in };
    match transport {
        McpTransport::Stdio => {
            let era = opening.era();
            let (client, process) = opening.start_program()?;
            let failed = match opening.session(client, Some(process), era).await {
                Ok(session) => return Ok(session),
                Err(failed) => failed,
            };
            // Some programs exit when they get a request of an unknown era; some stay in the era of the handshake that
            // they refused.
            let is_refused = failed.error.rpc.is_some();
            let other = match era {
                EraChoice::Auto if failed.ended => EraChoice::Legacy,
                EraChoice::LegacyFirst
                    if (failed.ended || is_refused) && !opening.options.era.is_only_era =>
                {
                    EraChoice::Modern
                }
                _ => return Err(failed.error),
            };
            let (client, process) = opening.start_program()?;
            let again = opening.session(client, Some(process), other).await;
            // If it exits again, or does not speak the other era either, the first error has the cause.
            let has_cause = |second: &McpStartError| second.ended || is_refused;
            again.map_err(|second| if has_cause(&second) { failed.error } else { second.error })
        }
        McpTransport::Http => {
            let target = opening.target()?;
            let client = McpClient::http(target.clone(), opening.handler());
            let failed = match opening.session(client, None, opening.era()).await {
                Ok(session) => return Ok(session),
                Err(failed) => failed,
            };
            // A server older than Streamable HTTP rejects the POST. A declared transport is not changed.
            if declared.is_none()
                && matches!(failed.status, Some(400 | 404 | 405))
                && let Ok(client) = opening.reach_sse(target).await
            {
                let session = opening.session(client, None, EraChoice::Legacy).await;
                return session.map_err(|failed| failed.error);
            }
            Err(failed.error)
        }
        McpTransport::Sse => {
            let client = opening.reach_sse(opening.target()?).await.map_err(|error| {
                call_error(opening.prepared.id.as_str(), McpOperation::Start, error)
            })?;
            // The older transport predates the modern era.
            let session = opening.session(client, None, EraChoice::Legacy).await;
            session.map_err(|failed| failed.error)
        }
    }
}

impl McpStartup {
    fn start_program(&self) -> Result<(McpClient, (Process, ProcessLog)), CallError> {
        let ResolvedBackend { id, block, folder, surroundings, log_scrubber, .. } = &self.prepared;
        let program = block.command.clone().ok_or_else(|| {
            CallError::invalid_config(format!("`{id}` has no `command` to start"))
        })?;
        let log = surroundings.logs.of_process(id);
        let passed = PassedVariables::of_command(&block.pass_env, &program, &block.args);
        let command = ChildCommand {
            program,
            args: block.args.clone(),
            env: child_environment(&surroundings.settings.environment, &passed, [&block.env]),
            folder: folder.resolve(block.cwd.as_deref())?,
            pipes_stdin: true,
            error_log: Some((log.clone(), log_scrubber.clone())),
        };
        let (process, pipes) = surroundings.spawner.spawn(&command)?;
        let (Some(stdin), Some(stdout)) = (pipes.stdin, pipes.stdout) else {
            let message = format!("`{id}` was started without its pipes");
            return Err(CallError::internal(message));
        };
        Ok((McpClient::stdio(stdout, stdin, self.handler()), (process, log)))
    }

    async fn reach_sse(&self, target: HttpTarget) -> Result<McpClient, ClientError> {
        McpClient::sse(target, self.handler(), self.allowance.remaining()).await
    }

    async fn session(
        &self,
        client: McpClient,
        process: Option<(Process, ProcessLog)>,
        era: EraChoice,
    ) -> Result<Arc<McpSession>, McpStartError> {
        let ResolvedBackend { id, block, surroundings, log_scrubber, .. } = &self.prepared;
        let client = match &block.chaos {
            Some(chaos) => client.with_chaos(surroundings.faults.get_or_insert(id, chaos)),
            None => client,
        };
        let (process, log) = match process {
            Some((process, log)) => (Some(process), log),
            None => (None, surroundings.logs.of_process(id)),
        };
        let parts = McpSessionParts {
            id: id.clone(),
            client,
            process,
            log,
            listener: Arc::clone(&self.options.listener),
            introduction: self.introduction(),
            own_info: own_info(surroundings),
            era,
            refuses_other_era: self.refuses_other_era(era),
            call_timeout: Duration::from_millis(block.call_timeout_ms),
            log_scrubber: log_scrubber.clone(),
            given: self.given(),
        };
        // A separate token, so that a failed first attempt is cleaned up before a second.
        let stop = self.stop.child_token();
        let opened = McpSession::start(parts, &self.allowance, stop.clone()).await;
        if opened.is_err() {
            stop.cancel();
        }
        opened
    }

    /// Uses the definition's era, else the one to try first, else probes.
    fn era(&self) -> EraChoice {
        match self.prepared.block.protocol_era {
            ProtocolEra::Legacy => EraChoice::Legacy,
            ProtocolEra::Modern => EraChoice::Modern,
            ProtocolEra::Auto if self.options.era.legacy_first => EraChoice::LegacyFirst,
            ProtocolEra::Auto => EraChoice::Auto,
        }
    }

    /// The era that the server is known to refuse, if it answers in the one that is tried first. A program that is
    /// started again ended when it got the first message of the other era.
    fn refuses_other_era(&self, choice: EraChoice) -> Option<Era> {
        match choice {
            _ if choice != self.era() => match choice {
                EraChoice::Modern => Some(Era::Legacy),
                _ => Some(Era::Modern),
            },
            EraChoice::LegacyFirst if self.options.era.is_only_era => Some(Era::Modern),
            EraChoice::Auto if self.options.era.is_only_era => Some(Era::Legacy),
            _ => None,
        }
    }

    fn introduction(&self) -> ClientDescription {
        let client = &self.options.client;
        let own = || own_info(&self.prepared.surroundings);
        ClientDescription {
            info: client.info.clone().unwrap_or_else(own),
            capabilities: client.capabilities.clone(),
        }
    }

    fn handler(&self) -> Arc<MessageBridge> {
        let target = Arc::clone(&self.options.listener);
        Arc::new(MessageBridge { target, given: self.given() })
    }

    fn given(&self) -> Arc<ServerScrubber> {
        Arc::new(ServerScrubber {
            by_definition: self.prepared.result_scrubber.clone(),
            sign_in: self.sign_in.clone(),
        })
    }

    fn target(&self) -> Result<HttpTarget, CallError> {
        let ResolvedBackend { id, block, surroundings, .. } = &self.prepared;
        let text = block.url.as_deref().ok_or_else(|| {
            CallError::invalid_config(format!("`{id}` has no `url` to connect to"))
        })?;
        let url = Url::parse(text).map_err(|error| {
            CallError::invalid_config(format!("the `url` of `{id}` is not one"))
                .detail(error)
                .hint("write it as `https://host/path`")
        })?;
        let mut headers = HeaderMap::new();
        let declared = block.auth.as_ref().map(credentials).unwrap_or_default().headers()?;
        let declared = declared.iter().map(|header| (&header.name, &header.value));
        let taken = self.prepared.headers.iter().map(|(name, value)| (name, value));
        for (name, value) in declared.chain(taken) {
            let parsed =
                (HeaderName::try_from(name.as_str()), HeaderValue::try_from(value.expose()));
            let (Ok(name), Ok(mut value)) = parsed else {
                let message = format!("`{name}` is not an HTTP header that can be sent");
                return Err(CallError::invalid_config(message));
            };
            value.set_sensitive(true);
            headers.append(name, value);
        }
        let credentials =
            self.sign_in.clone().map(|sign_in| Arc::new(sign_in) as Arc<dyn CredentialProvider>);
        Ok(HttpTarget { url, headers, http: surroundings.http()?.clone(), credentials })
    }
}

fn own_info(surroundings: &ConnectorContext) -> RawMembers {
    let text = |text: &str| to_raw_value(text).unwrap_or_else(|_| RawValue::NULL.to_owned());
    [
        ("name".to_owned(), text(&surroundings.settings.client_name)),
        ("version".to_owned(), text(&surroundings.settings.client_version)),
    ]
    .into_iter()
    .collect()
}

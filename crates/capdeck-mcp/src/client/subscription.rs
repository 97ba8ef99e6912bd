//! The subscription stream of a modern server: `subscriptions/listen`.
//!
//! One task holds one stream. When the filter changes, it opens a new stream before it closes the old one. It reopens
//! a stream that ended.

use std::{sync::Arc, time::Duration};

use serde::Serialize;
use tokio::{
    sync::{oneshot, watch},
    time::Instant,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    ClientDescription, ClientError, RequestOptions,
    call::{ClientTransport, OutgoingRequest, ResponseResult, exchange, saturating_deadline},
    message_hub::MessageHub,
};
use crate::{
    ProtocolRevision, RawObject, RpcError, raw, request_head::RequestHead,
    request_meta::RequestMeta,
};

const LISTEN_METHOD: &str = "subscriptions/listen";

const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_secs(10);

/// The delay before a stream is reopened; it doubles on failure.
const FIRST_RECONNECT_DELAY: Duration = Duration::from_millis(500);
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(60);

/// A stream that lasted this long resets the delay.
const STABLE_STREAM_AGE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SubscriptionFilter {
    #[serde(skip_serializing_if = "is_false")]
    tools_list_changed: bool,
    #[serde(skip_serializing_if = "is_false")]
    prompts_list_changed: bool,
    #[serde(skip_serializing_if = "is_false")]
    resources_list_changed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) resource_subscriptions: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) task_ids: Vec<String>,
}

/// Controls the task; dropping it ends the task.
pub(super) struct SubscriptionHandle {
    wanted: watch::Sender<SubscriptionRequest>,
    granted: watch::Receiver<SubscriptionResult>,
}

#[derive(Debug, Clone, Default)]
struct SubscriptionRequest {
    number: u64,
    filter: SubscriptionFilter,
}

#[derive(Debug, Clone)]
struct SubscriptionResult {
    number: u64,
    outcome: Result<(), ClientError>,
}

struct SubscriptionTask {
    hub: Arc<MessageHub>,
    transport: Arc<dyn ClientTransport>,
    revision: ProtocolRevision,
    hello: Arc<ClientDescription>,
    wanted: watch::Receiver<SubscriptionRequest>,
    granted: watch::Sender<SubscriptionResult>,
}

/// One stream. Dropping it ends it.
struct SubscriptionStream {
    acknowledged: CancellationToken,
    ended: oneshot::Receiver<ResponseResult>,
    _cancel: DropGuard,
}

impl SubscriptionHandle {
    /// Starts the task. Without declared notifications it waits for the first subscription.
    pub(super) fn start(
        hub: &Arc<MessageHub>,
        transport: &Arc<dyn ClientTransport>,
        revision: ProtocolRevision,
        hello: &Arc<ClientDescription>,
        capabilities: &RawObject,
    ) -> Self {
        let filter = SubscriptionFilter::from_capabilities(capabilities);
        let (wanted, wants) = watch::channel(SubscriptionRequest { number: 1, filter });
        let (grants, granted) = watch::channel(SubscriptionResult { number: 0, outcome: Ok(()) });
        let listener = SubscriptionTask {
            hub: Arc::clone(hub),
            transport: Arc::clone(transport),
            revision,
            hello: Arc::clone(hello),
            wanted: wants,
            granted: grants,
        };
        tokio::spawn(listener.run());
        Self { wanted, granted }
    }

    pub(super) async fn watch(
        &self,
        change: impl FnOnce(&mut SubscriptionFilter),
    ) -> Result<(), ClientError> {
        let mut number = 0;
        self.wanted.send_modify(|wanted| {
            change(&mut wanted.filter);
            wanted.number += 1;
            number = wanted.number;
        });
        let mut granted = self.granted.clone();
        match granted.wait_for(|granted| granted.number >= number).await {
            Ok(granted) => granted.outcome.clone(),
            Err(_) => Err(ClientError::Closed { reason: "the connection is closed".to_owned() }),
        }
    }
}

impl SubscriptionTask {
    async fn run(mut self) {
        let hub = Arc::clone(&self.hub);
        tokio::select! {
            () = self.hold() => {}
            () = hub.stopped() => {}
        }
    }

    /// Holds a stream while there is a filter. A rejected filter does not end the current stream.
    async fn hold(&mut self) {
        let mut failures = 0_u32;
        let mut current: Option<SubscriptionStream> = None;
        let mut good = SubscriptionFilter::default();
        let mut refused = None;
        loop {
            let wanted = self.wanted.borrow_and_update().clone();
            let is_new = refused != Some(wanted.number);
            let filter = if is_new { wanted.filter } else { good.clone() };
            if filter == SubscriptionFilter::default() {
                current = None;
                good = filter;
                if is_new {
                    self.grant(wanted.number, Ok(()));
                }
                if self.wanted.changed().await.is_err() {
                    return;
                }
                continue;
            }
            let mut stream = self.open(&filter);
            let started = Instant::now();
            match stream.opened().await {
                Ok(()) => {
                    // The old stream ends before any caller relies on the new one.
                    current = Some(stream);
                    good = filter;
                    if is_new {
                        self.grant(wanted.number, Ok(()));
                    }
                }
                Err(error) => {
                    if current.is_some() || is_final(&error) {
                        refused = Some(wanted.number);
                    }
                    if is_new {
                        self.grant(wanted.number, Err(error));
                    }
                }
            }
            if let Some(held) = &mut current {
                tokio::select! {
                    _ = &mut held.ended => {}
                    changed = self.wanted.changed() => match changed {
                        Ok(()) => continue,
                        Err(_) => return,
                    },
                }
                current = None;
            }
            let lasted = started.elapsed() > STABLE_STREAM_AGE;
            failures = if lasted { 0 } else { failures.saturating_add(1) };
            let delay = FIRST_RECONNECT_DELAY.saturating_mul(2_u32.saturating_pow(failures.min(8)));
            tokio::select! {
                () = tokio::time::sleep(delay.min(MAX_RECONNECT_DELAY)) => {}
                changed = self.wanted.changed() => if changed.is_err() { return },
            }
        }
    }

    fn grant(&self, number: u64, outcome: Result<(), ClientError>) {
        if let Err(error) = &outcome {
            tracing::debug!(%error, "the server offers no stream to listen on");
        }
        self.granted.send_replace(SubscriptionResult { number, outcome });
    }

    fn open(&self, filter: &SubscriptionFilter) -> SubscriptionStream {
        let mut params = RawObject::from_iter([("notifications".to_owned(), raw::raw(filter))]);
        let ClientDescription { info, capabilities } = &*self.hello;
        let with_tasks = (!filter.task_ids.is_empty()).then(|| with_tasks(capabilities));
        let capabilities = with_tasks.as_ref().unwrap_or(capabilities);
        RequestMeta::put(&mut params, self.revision, capabilities, info, None);
        let head = RequestHead::from_request(self.revision, LISTEN_METHOD, &params, Vec::new());
        let acknowledged = CancellationToken::new();
        let cancel = CancellationToken::new();
        let options =
            RequestOptions { cancel: cancel.clone(), ..RequestOptions::within(Duration::MAX) };
        let (report, ended) = oneshot::channel();
        let (hub, transport) = (Arc::clone(&self.hub), Arc::clone(&self.transport));
        let acknowledgement = acknowledged.clone();
        tokio::spawn(async move {
            let mut params = Some(params);
            let outgoing = OutgoingRequest {
                method: LISTEN_METHOD,
                params: &mut params,
                head: Some(head),
                acknowledged: Some(acknowledgement),
            };
            let never = saturating_deadline(Instant::now(), Duration::MAX);
            report.send(exchange(&hub, &transport, outgoing, &options, never).await).ok();
        });
        SubscriptionStream { acknowledged, ended, _cancel: cancel.drop_guard() }
    }
}

impl SubscriptionStream {
    async fn opened(&mut self) -> Result<(), ClientError> {
        tokio::select! {
            biased;
            () = self.acknowledged.cancelled() => Ok(()),
            ended = &mut self.ended => match ended {
                Ok(Err(error)) => Err(error),
                _ => Err(ClientError::protocol("the stream ended before it was acknowledged")),
            },
            () = tokio::time::sleep(ACKNOWLEDGE_TIMEOUT) => {
                Err(ClientError::timeout(LISTEN_METHOD, ACKNOWLEDGE_TIMEOUT))
            }
        }
    }
}

impl SubscriptionFilter {
    fn from_capabilities(capabilities: &RawObject) -> Self {
        let changes = |kind: &str| {
            let declared = raw::object_member(capabilities, kind);
            declared.and_then(|kind| Some(kind.get("listChanged")?.get() == "true")) == Some(true)
        };
        Self {
            tools_list_changed: changes("tools"),
            prompts_list_changed: changes("prompts"),
            resources_list_changed: changes("resources"),
            ..Self::default()
        }
    }
}

/// Only a client that declares the extension may receive task notifications; the caller has it.
fn with_tasks(capabilities: &RawObject) -> RawObject {
    let mut capabilities = capabilities.clone();
    let mut extensions = raw::object_member(&capabilities, "extensions").unwrap_or_default();
    extensions.entry(TASKS_EXTENSION.to_owned()).or_insert_with(raw::empty_object);
    capabilities.insert("extensions".to_owned(), raw::raw(&extensions));
    capabilities
}

/// Returns whether a retry would fail with the same error.
fn is_final(error: &ClientError) -> bool {
    match error {
        ClientError::Rpc(error) => {
            matches!(error.code, RpcError::METHOD_NOT_FOUND | RpcError::INVALID_PARAMS)
        }
        ClientError::Http { status, .. } => matches!(status, 400..=405),
        _ => false,
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !*value
}

//! The REST API: `/v1/*`, and its OpenAPI document.
//!
//! Read [`operation::Operation`] first: every operation is declared once, in the files below `capsules`, `deck` and
//! `registry`; the router and `GET /v1/openapi.json` are built from the same table.

mod activity;
mod call;
mod capsules;
mod connect;
mod deck;
mod idempotency;
mod input;
mod openapi;
mod operation;
mod overview;
mod page;
mod problem;
mod registry;
mod reply;
mod serving;
mod shapes;
mod who;

#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use capdeck_host::Host;
use capdeck_mcp::server::Load;
use jiff::Timestamp;

pub(crate) use self::serving::{Routers, into_problem, is_interface, routers};
use self::{
    activity::Feed,
    idempotency::Idempotency,
    input::{NoBody, NoQuery},
    operation::{Operation, get},
    reply::{Document, Reply},
    who::Who,
};
use crate::http_state::HttpState;

pub(crate) struct Rest {
    host: Host,
    http_state: Arc<HttpState>,
    operations: Vec<Operation>,
    document: Bytes,
    idempotency: Arc<Idempotency>,
    body_timeout: Duration,
    feed: Feed,
    connected: Connected,
    started_at: Timestamp,
}

pub(crate) type Connected = Box<dyn Fn() -> Load + Send + Sync>;

impl Rest {
    pub(crate) fn new(
        http_state: Arc<HttpState>,
        connected: Connected,
        body_timeout: Duration,
    ) -> Arc<Self> {
        let host = http_state.host.clone();
        let operations = operations();
        let document = openapi::document(&operations, &host.settings().version);
        Arc::new(Self {
            feed: Feed::new(host.clone(), http_state.registry().cloned()),
            host,
            http_state,
            connected,
            started_at: Timestamp::now(),
            document: document.to_string().into(),
            operations,
            idempotency: Arc::default(),
            body_timeout,
        })
    }
}

impl Rest {
    pub(crate) fn close(&self) {
        self.feed.close();
    }
}

impl fmt::Debug for Rest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Rest").field("operations", &self.operations.len()).finish()
    }
}

fn operations() -> Vec<Operation> {
    let document = get("/v1/openapi.json", "getDocument", "Get this document")
        .who(Who::Anyone)
        .done_by(|call: call::Call, _: NoQuery, _: NoBody| async move {
            Ok(Reply::new(Document(call.rest.document.clone())))
        });
    let parts = [
        vec![document],
        overview::operations(),
        capsules::operations(),
        deck::operations(),
        registry::operations(),
        connect::operations(),
    ];
    parts.into_iter().flatten().collect()
}

//! The interface for programs: `/v1/*`, and the document that describes it.
//!
//! Read [`operation::Operation`] first: every operation is declared once, in the files below `capsules`, `deck` and
//! `registry`, and both the router and `GET /v1/openapi.json` are made from the same table.

mod call;
mod capsules;
mod idempotency;
mod input;
mod openapi;
mod operation;
mod page;
mod problem;
mod reply;
mod serving;
mod who;

#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use capdeck_host::Host;

pub(crate) use self::serving::{dress_refusals, router};
use self::{
    idempotency::Idempotency,
    input::{NoBody, NoQuery},
    operation::{Operation, get},
    reply::{Document, Reply},
    who::Who,
};

/// What all operations share.
pub(crate) struct Rest {
    host: Host,
    operations: Vec<Operation>,
    document: Bytes,
    idempotency: Idempotency,
    body_timeout: Duration,
}

impl Rest {
    /// The interface to a host. Nothing is opened by it.
    pub(crate) fn new(host: Host, body_timeout: Duration) -> Arc<Self> {
        let operations = operations();
        let document = openapi::document(&operations, &host.settings().version);
        Arc::new(Self {
            host,
            document: document.to_string().into(),
            operations,
            idempotency: Idempotency::default(),
            body_timeout,
        })
    }
}

impl fmt::Debug for Rest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Rest").field("operations", &self.operations.len()).finish()
    }
}

/// The table of everything that can be asked.
fn operations() -> Vec<Operation> {
    let document = get("/v1/openapi.json", "getDocument", "This document")
        .who(Who::Anyone)
        .done_by(|call: call::Call, _: NoQuery, _: NoBody| async move {
            Ok(Reply::new(Document(call.rest.document.clone())))
        });
    let parts = [vec![document], capsules::operations()];
    parts.into_iter().flatten().collect()
}

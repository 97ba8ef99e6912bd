//! Calls as spans of a trace, for whoever collects them.
//!
//! A client says in `_meta.traceparent` which trace its call belongs to. A call that is traced becomes two spans: the call itself, and
//! inside of it the time its backend took. The backend is told of the inner one, so that what it traces hangs below. Without a sink
//! nothing of this happens, and `_meta` passes as it is.

mod trace_parent;

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::SystemTime,
};

use capdeck_catalog::RawObject;
use parking_lot::Mutex;
use serde_json::json;

pub use self::trace_parent::TraceParent;
use crate::{Host, ToolRequest, raw};

/// Takes spans that are over.
pub trait SpanSink: fmt::Debug + Send + Sync {
    /// Takes one span. Must not block.
    fn record(&self, span: Span);
}

/// Something that was done, from its start to its end.
#[derive(Debug, Clone)]
pub struct Span {
    pub name: String,
    pub kind: SpanKind,
    /// The trace and the span itself.
    pub place: TraceParent,
    /// The span that it is part of.
    pub parent: Option<[u8; 8]>,
    pub start: SystemTime,
    pub end: SystemTime,
    pub attributes: Vec<(&'static str, String)>,
    /// What went wrong, by its short name.
    pub error: Option<String>,
}

/// On which side of a call a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// A call that a client made.
    Server,
    /// A call that was made to a backend.
    Client,
}

/// Where the host's spans go, once somebody said so.
#[derive(Debug, Default)]
pub(crate) struct Spans(OnceLock<Arc<dyn SpanSink>>);

/// A call that is being traced.
pub(crate) struct CallSpan {
    sink: Arc<dyn SpanSink>,
    parent: Option<[u8; 8]>,
    outer: TraceParent,
    inner: TraceParent,
    start: SystemTime,
    /// When the backend began and ended.
    backend: Mutex<Option<(SystemTime, SystemTime)>>,
}

impl Host {
    /// Has every call from now on told to this sink. Only the first one is taken.
    pub fn trace_to(&self, sink: Arc<dyn SpanSink>) {
        if self.0.spans.0.set(sink).is_err() {
            tracing::warn!("calls are traced already; the second receiver is not used");
        }
    }

    /// Begins the span of a call, if calls are traced and the caller does not want this one left out.
    pub(crate) fn begin_span(&self, request: &ToolRequest) -> Option<CallSpan> {
        let sink = self.0.spans.0.get()?;
        let sent = request.meta.as_ref().and_then(|meta| raw::string(meta.get("traceparent")?));
        let given = sent.as_deref().and_then(TraceParent::parse);
        if given.is_some_and(|given| !given.is_sampled()) {
            return None;
        }
        let outer = match given {
            Some(given) => given.child()?,
            None => TraceParent::new()?,
        };
        Some(CallSpan {
            sink: Arc::clone(sink),
            parent: given.map(|given| given.span),
            outer,
            inner: outer.child()?,
            start: SystemTime::now(),
            backend: Mutex::new(None),
        })
    }
}

impl CallSpan {
    /// What the backend is told: that it works for the inner span. What the client said of the trace beyond that stays,
    /// unless it belongs to no trace.
    pub(crate) fn meta(&self, sent: Option<RawObject>) -> RawObject {
        let mut meta = sent.unwrap_or_default();
        if self.parent.is_none() {
            meta.shift_remove("tracestate");
        }
        meta.extend(raw::object([("traceparent", json!(self.inner.to_string()))]));
        meta
    }

    /// The backend answered a call that began then.
    pub(crate) fn backend_answered(&self, began: SystemTime) {
        *self.backend.lock() = Some((began, SystemTime::now()));
    }

    /// The call is over.
    pub(crate) fn end(self, request: &ToolRequest, client: &str, outcome: &'static str) {
        let error = (outcome != "ok").then(|| outcome.to_owned());
        let attributes = || {
            vec![
                ("mcp.method.name", "tools/call".to_owned()),
                ("gen_ai.tool.name", request.tool.clone()),
                ("capdeck.capability", request.capability.clone()),
            ]
        };
        let name = format!("tools/call {}", request.tool);
        if let Some((start, end)) = self.backend.into_inner() {
            self.sink.record(Span {
                name: format!("{name} of {}", request.capability),
                kind: SpanKind::Client,
                place: self.inner,
                parent: Some(self.outer.span),
                start,
                end,
                attributes: attributes(),
                error: error.clone(),
            });
        }
        let mut all = attributes();
        all.push(("capdeck.client", client.to_owned()));
        all.push(("capdeck.outcome", outcome.to_owned()));
        self.sink.record(Span {
            name,
            kind: SpanKind::Server,
            place: self.outer,
            parent: self.parent,
            start: self.start,
            end: SystemTime::now(),
            attributes: all,
            error,
        });
    }
}

//! Calls as spans of the trace in `_meta.traceparent`: the call, and inside of it the time of its
//! backend, which gets the inner one as its parent. Without a sink there are no spans, and `_meta`
//! passes unchanged.

mod trace_parent;

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::SystemTime,
};

use capdeck_catalog::RawMembers;
use parking_lot::Mutex;
use serde_json::json;

pub use self::trace_parent::TraceParent;
use crate::{Host, ToolRequest, raw};

/// Receives finished spans. A trait, because spans leave over HTTP, which this crate does not know.
pub trait SpanSink: fmt::Debug + Send + Sync {
    /// Receives one span. Must not block.
    fn record(&self, span: TraceSpan);
}

/// A finished piece of work.
#[derive(Debug, Clone)]
pub struct TraceSpan {
    pub name: String,
    pub kind: SpanKind,
    /// The trace and the span itself.
    pub place: TraceParent,
    pub parent: Option<[u8; 8]>,
    pub start: SystemTime,
    pub end: SystemTime,
    pub attributes: Vec<(&'static str, String)>,
    pub error: Option<String>,
}

/// The side of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    Server,
    Client,
}

#[derive(Debug, Default)]
pub(crate) struct SpanRecorder(OnceLock<Arc<dyn SpanSink>>);

pub(crate) struct CallSpan {
    sink: Arc<dyn SpanSink>,
    parent: Option<[u8; 8]>,
    outer: TraceParent,
    inner: TraceParent,
    start: SystemTime,
    backend: Mutex<Option<(SystemTime, SystemTime)>>,
}

impl Host {
    /// Sends the spans of every call to this sink. Only the first sink counts.
    pub fn trace_to(&self, sink: Arc<dyn SpanSink>) {
        if self.0.spans.0.set(sink).is_err() {
            tracing::warn!("calls are already traced; ignoring the second sink");
        }
    }
}

impl SpanRecorder {
    pub(crate) fn begin(&self, request: &ToolRequest) -> Option<CallSpan> {
        let sink = self.0.get()?;
        let sent = request.meta.as_ref().and_then(|meta| raw::get::<String>(meta, "traceparent"));
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
    /// The `_meta` for the backend, with the inner span as parent. The client's other trace members
    /// remain, unless they belong to no trace.
    pub(crate) fn meta(&self, sent: Option<RawMembers>) -> RawMembers {
        let mut meta = sent.unwrap_or_default();
        if self.parent.is_none() {
            meta.shift_remove("tracestate");
        }
        meta.extend(raw::object([("traceparent", json!(self.inner.to_string()))]));
        meta
    }

    pub(crate) fn backend_answered(&self, began: SystemTime) {
        *self.backend.lock() = Some((began, SystemTime::now()));
    }

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
            self.sink.record(TraceSpan {
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
        self.sink.record(TraceSpan {
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

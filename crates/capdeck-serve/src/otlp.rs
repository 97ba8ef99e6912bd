//! Exports spans of calls to a collector: OTLP over HTTP, as JSON.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use capdeck_host::{CallError, JsonSender, SpanKind, SpanSink, TraceSpan};
use capdeck_storage::to_hex;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

/// Further spans are dropped: an unreachable collector must not cost memory.
const MAX_QUEUED_SPANS: usize = 4_096;

const MAX_BATCH_SPANS: usize = 512;

/// How long a span waits for others.
const BATCH_INTERVAL: Duration = Duration::from_secs(1);

/// Where spans are sent, and under which name.
#[derive(Debug, Clone)]
pub struct OtlpSettings {
    /// The base address of the collector; `/v1/traces` is appended.
    pub endpoint: String,
    /// Headers of every request, such as an API key.
    pub headers: Vec<(String, String)>,
    /// The service name in traces.
    pub service: String,
    /// The service version in traces.
    pub version: String,
}

/// Sends spans in the background, on the runtime it was started in.
#[derive(Debug)]
pub struct OtlpExporter {
    spans: mpsc::Sender<ExporterMessage>,
    dropped: Mutex<u64>,
}

#[derive(Debug)]
enum ExporterMessage {
    Span(Box<TraceSpan>),
    Flush(oneshot::Sender<()>),
}

impl OtlpExporter {
    pub fn start(settings: OtlpSettings) -> Result<Arc<Self>, CallError> {
        let url = format!("{}/v1/traces", settings.endpoint.trim_end_matches('/'));
        let sender = JsonSender::new(url, settings.headers.clone(), &settings.version)?;
        let (spans, waiting) = mpsc::channel(MAX_QUEUED_SPANS);
        tokio::spawn(send_all(waiting, sender, settings));
        Ok(Arc::new(Self { spans, dropped: Mutex::new(0) }))
    }

    /// Waits until all recorded spans are sent or have failed.
    pub async fn flush(&self) {
        let (done, is_done) = oneshot::channel();
        if self.spans.send(ExporterMessage::Flush(done)).await.is_ok() {
            let _gone = is_done.await;
        }
    }
}

impl SpanSink for OtlpExporter {
    fn record(&self, span: TraceSpan) {
        if self.spans.try_send(ExporterMessage::Span(Box::new(span))).is_ok() {
            return;
        }
        let mut dropped = self.dropped.lock();
        *dropped += 1;
        if dropped.is_power_of_two() {
            tracing::warn!(dropped = *dropped, "dropping spans: the collector is too slow");
        }
    }
}

#[derive(Default)]
struct SpanBatch {
    spans: Vec<TraceSpan>,
    flushes: Vec<oneshot::Sender<()>>,
}

impl SpanBatch {
    fn take(&mut self, item: ExporterMessage) {
        match item {
            ExporterMessage::Span(span) => self.spans.push(*span),
            ExporterMessage::Flush(done) => self.flushes.push(done),
        }
    }

    fn may_grow(&self) -> bool {
        self.spans.len() < MAX_BATCH_SPANS && self.flushes.is_empty()
    }
}

async fn send_all(
    mut waiting: mpsc::Receiver<ExporterMessage>,
    sender: JsonSender,
    settings: OtlpSettings,
) {
    let mut is_away = false;
    while let Some(first) = waiting.recv().await {
        let mut batch = SpanBatch::default();
        batch.take(first);
        let end = tokio::time::Instant::now() + BATCH_INTERVAL;
        while batch.may_grow() {
            match tokio::time::timeout_at(end, waiting.recv()).await {
                Ok(Some(item)) => batch.take(item),
                Ok(None) | Err(_) => break,
            }
        }
        if !batch.spans.is_empty() {
            let body = export_request(&batch.spans, &settings);
            match sender.send(body).await {
                Ok(()) => is_away = false,
                // Log only once; the next batch retries.
                Err(error) if !is_away => {
                    is_away = true;
                    tracing::warn!(%error, "cannot send spans to the collector");
                }
                Err(_) => {}
            }
        }
        for done in batch.flushes {
            let _nobody_waits = done.send(());
        }
    }
}

/// Spans as an `ExportTraceServiceRequest`, in the JSON form of OTLP.
fn export_request(spans: &[TraceSpan], settings: &OtlpSettings) -> String {
    let resource =
        [text("service.name", &settings.service), text("service.version", &settings.version)];
    json!({
        "resourceSpans": [{
            "resource": { "attributes": resource },
            "scopeSpans": [{
                "scope": { "name": "capdeck", "version": settings.version },
                "spans": spans.iter().map(span).collect::<Vec<_>>(),
            }],
        }],
    })
    .to_string()
}

fn span(span: &TraceSpan) -> Value {
    let attributes = span.attributes.iter().map(|(key, value)| text(key, value));
    let mut fields = json!({
        "traceId": to_hex(span.place.trace),
        "spanId": to_hex(span.place.span),
        "name": span.name,
        "kind": match span.kind {
            SpanKind::Server => 2,
            SpanKind::Client => 3,
        },
        // OTLP JSON encodes 64-bit integers as strings.
        "startTimeUnixNano": nanoseconds(span.start),
        "endTimeUnixNano": nanoseconds(span.end),
        "attributes": attributes.collect::<Vec<_>>(),
    });
    if let Some(parent) = &span.parent {
        fields["parentSpanId"] = json!(to_hex(parent));
    }
    fields["status"] = match &span.error {
        Some(error) => json!({ "code": 2, "message": error }),
        None => json!({}),
    };
    fields
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn nanoseconds(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}

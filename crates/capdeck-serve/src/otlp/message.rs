//! Spans as an `ExportTraceServiceRequest`, in the JSON form of OTLP.

use std::time::{SystemTime, UNIX_EPOCH};

use capdeck_host::{SpanKind, TraceSpan};
use serde_json::{Value, json};

use super::OtlpSettings;

pub(super) fn of(spans: &[TraceSpan], settings: &OtlpSettings) -> String {
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
    let mut told = json!({
        "traceId": hex(&span.place.trace),
        "spanId": hex(&span.place.span),
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
        told["parentSpanId"] = json!(hex(parent));
    }
    told["status"] = match &span.error {
        Some(error) => json!({ "code": 2, "message": error }),
        None => json!({}),
    };
    told
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn nanoseconds(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

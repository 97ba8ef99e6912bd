//! What the tests share: a service with a few telling methods, a recording handler, loopback servers.

mod fixture;
mod http;
mod modern_talk;
mod pipes;
mod recorder;

use std::{sync::Arc, time::Duration};

use capdeck_mcp::{
    RawObject,
    client::{ClientDescription, ClientError, ClientHandler, McpClient, RequestOptions},
    server::{StdioOptions, serve_stdio},
};
use serde_json::value::RawValue;

pub(crate) use fixture::{Fixture, Happening};
pub(crate) use http::{Scripted, connect, http_client, serve_endpoint, serve_router, target};
pub(crate) use modern_talk::{META, ModernTalk, outcome};
pub(crate) use pipes::{PipedServer, pair};
pub(crate) use recorder::Recorder;

/// Longer than any test needs; reached only when something hangs.
pub(crate) const PLENTY: Duration = Duration::from_secs(20);

/// An object from its text.
pub(crate) fn object(text: &str) -> RawObject {
    serde_json::from_str(text).unwrap()
}

/// A raw value from its text.
pub(crate) fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

/// Params for `tools/call`.
pub(crate) fn tool(name: &str) -> Option<RawObject> {
    Some(object(&format!(r#"{{"name":"{name}"}}"#)))
}

/// How the tests introduce themselves.
pub(crate) fn hello() -> ClientDescription {
    ClientDescription {
        info: object(r#"{"name":"test","version":"1"}"#),
        capabilities: object(r#"{"elicitation":{}}"#),
    }
}

/// A client and a fixture server joined by in-memory pipes, not yet introduced.
pub(crate) fn joined(fixture: &Arc<Fixture>, handler: Arc<dyn ClientHandler>) -> McpClient {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(theirs);
    let service = Arc::clone(fixture);
    let options =
        StdioOptions { finish_grace: Duration::from_millis(20), ..StdioOptions::default() };
    tokio::spawn(async move { serve_stdio(reader, writer, service, options).await });
    let (reader, writer) = tokio::io::split(ours);
    McpClient::stdio(reader, writer, handler)
}

/// Sends a request that has plenty of time.
pub(crate) async fn ask(
    client: &McpClient,
    method: &str,
    params: Option<RawObject>,
) -> Result<Box<RawValue>, ClientError> {
    client.request(method, params, RequestOptions::within(PLENTY)).await
}

/// Fails a test that would hang.
pub(crate) async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PLENTY, work).await.expect("the test hangs")
}

//! Shared parts of HTTP backends: requests, sending and responses.
//!
//! An [`ApiEndpoint`] is one remote API. Backends build a [`EndpointRequest`] from a call's arguments; the endpoint adds
//! credentials, sends it and converts the response to a call result.

mod body;
mod charset;
pub(crate) mod client;
mod endpoint;
mod endpoint_limiter;
mod fetch_text;
mod file_name;
mod json_sender;
mod network;
mod progress_deadline;
mod rejected_credentials;
mod request;
mod response;
mod retry;
mod send;
mod target;

pub(crate) use self::{
    body::HttpRequestBody,
    endpoint::{ApiEndpoint, ResponseDelivery},
    progress_deadline::ProgressDeadline,
    request::{EndpointRequest, RedirectScope, header_name, header_value},
    response::DEFAULT_MAX_INLINE_BYTES,
    send::no_response_error,
    target::{below, encode_segment, parse_base},
};
pub use self::{fetch_text::fetch_text, json_sender::JsonSender};

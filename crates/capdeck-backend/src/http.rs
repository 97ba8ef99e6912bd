//! Shared parts of HTTP backends: requests, sending and responses.
//!
//! An [`ApiEndpoint`] is one remote API. Backends build a [`EndpointRequest`] from a call's arguments; the endpoint adds
//! credentials, sends it and converts the response to a call result.

pub(crate) mod client;
mod endpoint;
mod limits;
mod request;
mod response;
mod send;

pub use self::{
    client::{JsonSender, fetch_text},
    request::encode_segment,
};
pub(crate) use self::{
    endpoint::{ApiEndpoint, ResponseDelivery},
    limits::EndpointNetwork,
    request::{
        EndpointRequest, HttpBodyPart, HttpRequestBody, RedirectScope, below, header_name,
        header_value, parse_address, parse_bare_address, parse_base,
    },
    response::DEFAULT_MAX_INLINE_BYTES,
    send::no_response_error,
};

//! Shared parts of HTTP backends: requests, sending and responses.
//!
//! An [`Endpoint`] is one remote API. Backends build a [`Request`] from a call's arguments; the endpoint adds
//! credentials, sends it and converts the response to a call result.

mod body;
mod charset;
pub(crate) mod client;
mod endpoint;
mod fetch_text;
mod file_name;
mod json_sender;
mod network;
mod pace;
mod refusal;
mod request;
mod response;
mod retry;
mod send;
mod target;
mod turns;

pub(crate) use self::{
    body::Body,
    endpoint::{Delivery, Endpoint},
    pace::Pace,
    request::{Redirects, Request, header_name, header_value},
    response::DEFAULT_INLINE,
    send::failure,
    target::{below, encode_segment, parse_base},
};
pub use self::{fetch_text::fetch_text, json_sender::JsonSender};

//! Status, content type and bounded bodies of HTTP responses.

use http::{StatusCode, header::LOCATION};
use reqwest::Response;
use url::Url;

use crate::{
    MAX_MESSAGE_BYTES, MalformedMessage, RpcError, RpcMessage,
    client::{ClientError, http_target::challenge, message_hub::excerpt},
    message_budget::{MessageBudget, MessageRoom, RoomReservation},
    request_head::content_type,
};

const ERROR_BODY: usize = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseForm {
    Json,
    Events,
    Other,
}

pub(super) fn form(response: &Response) -> ResponseForm {
    let essence = content_type(response.headers());
    if essence.eq_ignore_ascii_case("application/json") {
        ResponseForm::Json
    } else if essence.eq_ignore_ascii_case("text/event-stream") {
        ResponseForm::Events
    } else {
        ResponseForm::Other
    }
}

pub(in crate::client) async fn check_status(response: Response) -> Result<Response, ClientError> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    if status.is_redirection() {
        return Err(ClientError::Http {
            status: status.as_u16(),
            excerpt: redirect_refused(&response),
            www_authenticate: None,
        });
    }
    let www_authenticate = challenge(response.headers());
    let body = read_head(response, ERROR_BODY).await;
    let is_login = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    // Some servers send the JSON-RPC error of a request with an HTTP error status.
    match RpcMessage::parse(&body) {
        _ if is_login => {}
        Ok(RpcMessage::Response { outcome: Err(error), .. }) => {
            return Err(ClientError::Rpc(error));
        }
        // A modern server that could not read the id of the rejected request.
        Err(MalformedMessage { id: None, error, .. })
            if RpcError::is_of_modern_protocol(error.code) =>
        {
            return Err(ClientError::Rpc(error));
        }
        _ => {}
    }
    Err(ClientError::Http { status: status.as_u16(), excerpt: excerpt(&body), www_authenticate })
}

/// Reads a whole body within the message limit, counted after decompression. Returns its room if it is large.
pub(super) async fn read_message(
    mut response: Response,
) -> Result<(Vec<u8>, Option<MessageRoom>), ClientError> {
    let mut reservation = RoomReservation::new(MessageBudget::of_process(), MAX_MESSAGE_BYTES);
    let declared = response.content_length().unwrap_or(0);
    let declared = usize::try_from(declared).unwrap_or(0).min(MAX_MESSAGE_BYTES);
    reservation.admit(declared).await;
    let mut body = Vec::with_capacity(declared);
    while let Some(chunk) =
        reservation.read(response.chunk()).await.map_err(ClientError::unreachable)?
    {
        if body.len() + chunk.len() > MAX_MESSAGE_BYTES {
            return Err(ClientError::TooLarge { limit: MAX_MESSAGE_BYTES });
        }
        body.extend_from_slice(&chunk);
        reservation.admit(body.len()).await;
    }
    let room = reservation.finish(body.len());
    Ok((body, room))
}

async fn read_head(mut response: Response, limit: usize) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(chunk.get(..limit - body.len()).unwrap_or(&chunk));
        if body.len() >= limit {
            break;
        }
    }
    body
}

fn redirect_refused(response: &Response) -> String {
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let place = location
        .and_then(|text| response.url().join(text).ok())
        .map(|url: Url| format!("{}{}", url.origin().ascii_serialization(), url.path()));
    match place {
        Some(place) => format!("redirects are not followed; the server moved to `{place}`"),
        None => "redirects are not followed".to_owned(),
    }
}

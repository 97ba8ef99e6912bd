//! Encodes messages as one line of JSON around raw payloads.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::{RawObject, RequestId, RpcError};

pub(crate) fn request(id: &RequestId, method: &str, params: Option<&RawObject>) -> Vec<u8> {
    let mut line = head(params.map_or(0, payload_size));
    push(&mut line, b",\"id\":", id);
    push(&mut line, b",\"method\":", method);
    finish_params(line, params)
}

pub(crate) fn notification(method: &str, params: Option<&RawObject>) -> Vec<u8> {
    let mut line = head(params.map_or(0, payload_size));
    push(&mut line, b",\"method\":", method);
    finish_params(line, params)
}

pub(crate) fn response(id: &RequestId, outcome: &Result<Box<RawValue>, RpcError>) -> Vec<u8> {
    match outcome {
        Ok(result) => success(id, result.get()),
        Err(error) => failure(Some(id), error),
    }
}

pub(crate) fn text_response(id: &RequestId, outcome: &Result<String, RpcError>) -> Vec<u8> {
    match outcome {
        Ok(result) => success(id, result),
        Err(error) => failure(Some(id), error),
    }
}

/// An error response; without an id when the request's id was unreadable.
pub(crate) fn failure(id: Option<&RequestId>, error: &RpcError) -> Vec<u8> {
    let mut line = head(256);
    push(&mut line, b",\"id\":", &id);
    push(&mut line, b",\"error\":", error);
    finish(line)
}

pub(crate) fn cancelled(id: &RequestId, reason: &str) -> Vec<u8> {
    let params = [
        ("requestId".to_owned(), crate::raw::raw(id)),
        ("reason".to_owned(), crate::raw::raw(reason)),
    ];
    notification("notifications/cancelled", Some(&params.into_iter().collect()))
}

fn success(id: &RequestId, result: &str) -> Vec<u8> {
    let mut line = head(result.len());
    push(&mut line, b",\"id\":", id);
    line.extend_from_slice(b",\"result\":");
    line.extend_from_slice(result.as_bytes());
    finish(line)
}

fn head(payload: usize) -> Vec<u8> {
    let mut line = Vec::with_capacity(payload + 96);
    line.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
    line
}

fn push(line: &mut Vec<u8>, key: &[u8], value: &(impl Serialize + ?Sized)) {
    line.extend_from_slice(key);
    // Writing plain values to memory cannot fail.
    serde_json::to_writer(line, value).ok();
}

fn finish_params(mut line: Vec<u8>, params: Option<&RawObject>) -> Vec<u8> {
    if let Some(params) = params {
        push(&mut line, b",\"params\":", params);
    }
    finish(line)
}

/// Ends the object on one line. A raw payload may contain line breaks, which JSON allows only between tokens, so a
/// space instead changes nothing.
fn finish(mut line: Vec<u8>) -> Vec<u8> {
    line.push(b'}');
    for byte in &mut line {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    line
}

fn payload_size(params: &RawObject) -> usize {
    params.iter().map(|(key, value)| key.len() + value.get().len() + 4).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_breaks_inside_a_payload_become_spaces() {
        let result = RawValue::from_string("{\n  \"a\": \"x\\ny\"\r\n}".to_owned()).unwrap();
        let line = response(&RequestId::from(1), &Ok(result));
        let expected = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{   \"a\": \"x\\ny\"  }}";
        assert_eq!(String::from_utf8(line).unwrap(), expected);
    }

    #[test]
    fn an_error_without_an_id_says_null() {
        let line = failure(None, &RpcError::new(-32700, "no"));
        let expected = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#;
        assert_eq!(String::from_utf8(line).unwrap(), expected);
    }
}

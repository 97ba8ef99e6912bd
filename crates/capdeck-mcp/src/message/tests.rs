//! Tests of valid and invalid messages.

use proptest::prelude::*;

use super::*;
use crate::encode;

fn parse(text: &str) -> Result<RpcMessage, MalformedMessage> {
    RpcMessage::parse(text.as_bytes())
}

#[test]
fn payloads_keep_their_exact_text() {
    let text =
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{ "z":1.50, "a":1e400, "😀":"\u0041" }}"#;
    let Ok(RpcMessage::Request { id, method, params: Some(params) }) = parse(text) else {
        panic!("not a request");
    };
    assert_eq!((id, method.as_str()), (RequestId::from(1), "m"));
    assert_eq!(params.get(), r#"{ "z":1.50, "a":1e400, "😀":"\u0041" }"#);
}

#[test]
fn a_null_result_is_an_answer() {
    let Ok(RpcMessage::Response { outcome: Ok(result), .. }) = parse(r#"{"id":"x","result":null}"#)
    else {
        panic!("not a response");
    };
    assert_eq!(result.get(), "null");
}

#[test]
fn a_null_error_beside_a_result_is_no_error() {
    let message = parse(r#"{"id":1,"error":null,"result":{}}"#);
    assert!(matches!(message, Ok(RpcMessage::Response { outcome: Ok(_), .. })));
}

#[test]
fn errors_keep_code_message_and_data() {
    let message = parse(r#"{"id":1,"error":{"code":-32042,"message":"go","data":{"u":[1]}}}"#);
    let Ok(RpcMessage::Response { outcome: Err(error), .. }) = message else {
        panic!("not an error");
    };
    assert_eq!((error.code, error.message.as_str()), (-32042, "go"));
    assert_eq!(error.data.unwrap().get(), r#"{"u":[1]}"#);
}

#[test]
fn a_malformed_error_is_kept_whole() {
    let Ok(RpcMessage::Response { outcome: Err(error), .. }) = parse(r#"{"id":1,"error":"boom"}"#)
    else {
        panic!("not an error");
    };
    assert_eq!(error.data.unwrap().get(), r#""boom""#);
}

#[test]
fn what_is_no_message_says_why() {
    let cases = [
        ("{", None, -32700, "the message is not JSON (line 1, column 1)"),
        ("7", None, -32600, "a message has to be one JSON object"),
        (r#"{"id":{},"method":"m"}"#, None, -32600, "`id` has to be a string or a number"),
        (r#"{"id":null,"method":"m"}"#, None, -32600, "`id` has to be a string or a number"),
        (r#"{"id":4,"method":5}"#, Some(4), -32600, "`method` has to be a string"),
        (
            r#"{"id":4}"#,
            Some(4),
            -32600,
            "a message needs `method`, or `id` with `result` or `error`",
        ),
        (r#"{"result":1}"#, None, -32600, "a response needs the `id` it answers"),
    ];
    for (text, id, code, message) in cases {
        let malformed = parse(text).unwrap_err();
        assert_eq!(malformed.id, id.map(RequestId::from), "{text}");
        assert_eq!((malformed.error.code, malformed.error.message.as_str()), (code, message));
    }
}

#[test]
fn batches_keep_their_good_parts() {
    let Ok(RpcFrame::Batch(parts)) =
        RpcFrame::parse(br#" [{"method":"a"},7,{"id":1,"method":"b"}]"#)
    else {
        panic!("not a batch");
    };
    assert!(matches!(&parts[0], Ok(RpcMessage::Notification { method, .. }) if method == "a"));
    assert!(parts[1].is_err());
    assert!(matches!(&parts[2], Ok(RpcMessage::Request { method, .. }) if method == "b"));
    assert!(RpcFrame::parse(b"[]").is_err());
}

#[test]
fn deep_nesting_is_passed_over_without_recursion() {
    let deep = format!(r#"{{"id":1,"result":{}1{}}}"#, "[".repeat(200_000), "]".repeat(200_000));
    assert!(matches!(parse(&deep), Ok(RpcMessage::Response { .. })));
}

proptest! {
    #[test]
    fn any_bytes_parse_or_fail_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        drop(RpcFrame::parse(&bytes));
    }

    #[test]
    fn what_is_encoded_parses_back(method in ".{0,40}", id in ".{0,20}", value in ".{0,80}") {
        let params = [("k".to_owned(), crate::raw::raw(&value))].into_iter().collect();
        let id = RequestId::String(id);
        let line = encode::request(&id, &method, Some(&params));
        prop_assert!(!line.contains(&b'\n') && !line.contains(&b'\r'));
        let Ok(RpcMessage::Request { id: back, method: name, params: Some(text) }) = RpcMessage::parse(&line) else {
            return Err(TestCaseError::fail("not a request"));
        };
        prop_assert_eq!((back, name), (id, method));
        let back: crate::RawObject = serde_json::from_str(text.get()).unwrap();
        prop_assert_eq!(serde_json::from_str::<String>(back["k"].get()).unwrap(), value);
    }
}

//! Converts legacy errors to the modern form.

use serde_json::{json, value::RawValue};

use super::input_capability::InputCapability;
use crate::{
    RawObject, RpcError,
    raw::{object_member, raw, text_member},
};

const NOT_FOUND: i64 = -32002;
/// The person must open an address before the request can succeed.
const URL_ELICITATION_REQUIRED: i64 = -32042;

/// Returns questions to the person, after whose answers the request runs again, or the error.
pub(super) fn translate(
    error: RpcError,
    method: &str,
    params: Option<&RawValue>,
    capabilities: &RawObject,
) -> Result<RawObject, RpcError> {
    match error.code {
        NOT_FOUND => Err(not_found(error, method, params)),
        URL_ELICITATION_REQUIRED => match questions(&error) {
            None => Err(RpcError { code: RpcError::INTERNAL_ERROR, ..error }),
            Some(_) if !InputCapability::Url.is_declared(capabilities) => {
                Err(InputCapability::missing(&[InputCapability::Url]))
            }
            Some(questions) => Ok(questions),
        },
        _ => Err(error),
    }
}

/// A missing resource is an invalid parameter in the modern era, and the error names it.
fn not_found(error: RpcError, method: &str, params: Option<&RawValue>) -> RpcError {
    let mut data: RawObject = error
        .data
        .as_deref()
        .and_then(|data| serde_json::from_str(data.get()).ok())
        .unwrap_or_default();
    if method == "resources/read" && !data.contains_key("uri") {
        let params: Option<RawObject> =
            params.and_then(|params| serde_json::from_str(params.get()).ok());
        if let Some(uri) = params.and_then(|params| params.get("uri").cloned()) {
            data.insert("uri".to_owned(), uri);
        }
    }
    let data = if data.is_empty() { error.data } else { Some(raw(&data)) };
    RpcError { code: RpcError::INVALID_PARAMS, message: error.message, data }
}

fn questions(error: &RpcError) -> Option<RawObject> {
    let data: RawObject = serde_json::from_str(error.data.as_deref()?.get()).ok()?;
    let elicitations: Vec<RawObject> =
        serde_json::from_str(data.get("elicitations")?.get()).ok()?;
    let mut questions = RawObject::new();
    for (number, elicitation) in elicitations.iter().enumerate() {
        let url = text_member(elicitation, "url")?;
        let message = text_member(elicitation, "message").unwrap_or_else(|| error.message.clone());
        let mut params = json!({ "mode": "url", "message": message, "url": url });
        if let Some(meta) = object_member(elicitation, "_meta") {
            params["_meta"] = serde_json::from_str(raw(&meta).get()).unwrap_or_default();
        }
        let question = json!({ "method": "elicitation/create", "params": params });
        questions.insert(format!("visit-{}", number + 1), raw(&question));
    }
    (!questions.is_empty()).then_some(questions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn translated(
        error: RpcError,
        method: &str,
        capabilities: &str,
    ) -> Result<RawObject, RpcError> {
        let params = value(r#"{"uri":"test://x"}"#);
        translate(error, method, Some(&params), &serde_json::from_str(capabilities).unwrap())
    }

    #[test]
    fn a_resource_that_is_not_there_is_a_wrong_parameter() {
        for (data, expected) in [
            (None, r#"{"uri":"test://x"}"#),
            (Some(r#"{"uri":"test://theirs"}"#), r#"{"uri":"test://theirs"}"#),
            (Some(r#"{"more":1}"#), r#"{"more":1,"uri":"test://x"}"#),
            (Some("3"), r#"{"uri":"test://x"}"#),
        ] {
            let mut error = RpcError::new(-32002, "gone");
            error.data = data.map(value);
            let Err(error) = translated(error, "resources/read", "{}") else { panic!() };
            assert_eq!(error.code, RpcError::INVALID_PARAMS);
            assert_eq!(error.data.unwrap().get(), expected);
        }
    }

    #[test]
    fn addresses_to_open_become_questions() {
        let data = r#"{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://a.test/","message":"sign in"}]}"#;
        let error = || RpcError::new(-32042, "first sign in").with_data(value(data));
        let url = r#"{"elicitation":{"url":{}}}"#;
        let Ok(questions) = translated(error(), "tools/call", url) else { panic!() };
        assert_eq!(
            questions["visit-1"].get(),
            r#"{"method":"elicitation/create","params":{"mode":"url","message":"sign in","url":"https://a.test/"}}"#
        );
        let Err(missing) = translated(error(), "tools/call", "{}") else { panic!() };
        assert_eq!(missing.code, RpcError::MISSING_CAPABILITY);
        let empty = RpcError::new(-32042, "no address");
        let Err(empty) = translated(empty, "tools/call", url) else { panic!() };
        assert_eq!((empty.code, empty.message.as_str()), (RpcError::INTERNAL_ERROR, "no address"));
    }
}

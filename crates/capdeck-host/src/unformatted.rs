//! The reserved argument that asks for a result as the backend gave it.

use std::borrow::Cow;

use capdeck_catalog::RawObject;
use serde_json::value::to_raw_value;

use crate::ToolRequest;

/// The argument's name, as agents of capability files know it. It never reaches a backend.
const RESERVED: &str = "_capa_raw";

/// The request without the reserved argument, which becomes what it asks for. Elsewhere the name means nothing.
pub(crate) fn read(
    request: &ToolRequest,
    is_reserved: impl FnOnce() -> bool,
) -> Cow<'_, ToolRequest> {
    // Almost no call has it, and reading arguments costs.
    let Some(text) = request.arguments.as_deref().filter(|text| text.get().contains(RESERVED))
    else {
        return Cow::Borrowed(request);
    };
    if !is_reserved() {
        return Cow::Borrowed(request);
    }
    let Ok(mut arguments) = serde_json::from_str::<RawObject>(text.get()) else {
        return Cow::Borrowed(request);
    };
    let Some(asked) = arguments.shift_remove(RESERVED) else { return Cow::Borrowed(request) };
    let Ok(arguments) = to_raw_value(&arguments) else { return Cow::Borrowed(request) };
    let unformatted = matches!(asked.get(), "true" | "\"true\"");
    Cow::Owned(ToolRequest {
        arguments: Some(arguments),
        unformatted: request.unformatted || unformatted,
        ..request.clone()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn of(arguments: &str) -> (bool, String) {
        let arguments = Some(RawValue::from_string(arguments.to_owned()).unwrap());
        let request = ToolRequest { arguments, ..ToolRequest::default() };
        let read = read(&request, || true);
        (read.unformatted, read.arguments.as_deref().unwrap().get().to_owned())
    }

    #[test]
    fn the_argument_is_taken_out_and_heard() {
        for yes in ["true", "\"true\""] {
            let given = format!("{{\"a\":1.0,\"_capa_raw\":{yes},\"b\":2}}");
            assert_eq!(of(&given), (true, "{\"a\":1.0,\"b\":2}".to_owned()));
        }
        assert_eq!(of("{\"_capa_raw\":false}"), (false, "{}".to_owned()));
        for same in ["{\"a\":\"_capa_raw\"}", "[\"_capa_raw\"]", "{}"] {
            assert_eq!(of(same), (false, same.to_owned()));
        }
    }
}

//! The client capabilities that questions need.

use serde_json::json;

use crate::{
    RawObject, RpcError,
    raw::{object_member, raw, text_member},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputCapability {
    Form,
    Url,
    Sampling,
    SamplingWithTools,
    Roots,
}

impl InputCapability {
    /// Returns the capability that a client request needs. Only three methods can be part of a result.
    pub(super) fn required_by(method: &str, params: Option<&RawObject>) -> Result<Self, RpcError> {
        let member = |key| params.and_then(|params| text_member(params, key));
        match method {
            "elicitation/create" if member("mode").as_deref() == Some("url") => Ok(Self::Url),
            "elicitation/create" => Ok(Self::Form),
            "sampling/createMessage"
                if params.is_some_and(|params| params.contains_key("tools")) =>
            {
                Ok(Self::SamplingWithTools)
            }
            "sampling/createMessage" => Ok(Self::Sampling),
            "roots/list" => Ok(Self::Roots),
            _ => Err(RpcError::method_not_found(method)),
        }
    }

    pub(super) fn is_declared(self, capabilities: &RawObject) -> bool {
        let (capability, part) = match self {
            // Elicitation without members means forms, the first mode.
            Self::Form => {
                return object_member(capabilities, "elicitation")
                    .is_some_and(|parts| parts.contains_key("form") || !parts.contains_key("url"));
            }
            Self::Url => ("elicitation", Some("url")),
            Self::Sampling => ("sampling", None),
            Self::SamplingWithTools => ("sampling", Some("tools")),
            Self::Roots => ("roots", None),
        };
        object_member(capabilities, capability)
            .is_some_and(|parts| part.is_none_or(|part| parts.contains_key(part)))
    }

    pub(super) fn missing(needs: &[Self]) -> RpcError {
        let mut elicitation = json!({});
        let mut required = RawObject::new();
        for need in needs {
            match need {
                Self::Form => elicitation["form"] = json!({}),
                Self::Url => elicitation["url"] = json!({}),
                Self::Sampling => {
                    required.entry("sampling".to_owned()).or_insert_with(|| raw(&json!({})));
                }
                Self::SamplingWithTools => {
                    required.insert("sampling".to_owned(), raw(&json!({"tools": {}})));
                }
                Self::Roots => {
                    required.insert("roots".to_owned(), raw(&json!({})));
                }
            }
        }
        if elicitation != json!({}) {
            required.insert("elicitation".to_owned(), raw(&elicitation));
        }
        let mut names = Vec::new();
        for name in required.keys() {
            let parts = object_member(&required, name).unwrap_or_default();
            match parts.is_empty() {
                true => names.push(format!("`{name}`")),
                false => names.extend(parts.keys().map(|part| format!("`{name}.{part}`"))),
            }
        }
        RpcError::missing_capability(
            format!("this request needs a client that declares {}", names.join(" and ")),
            &required,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> RawObject {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn parts_of_a_capability_are_told_apart() {
        for (capabilities, covers) in [
            (r#"{"elicitation":{}}"#, &[InputCapability::Form] as &[InputCapability]),
            (r#"{"elicitation":{"form":{}}}"#, &[InputCapability::Form]),
            (r#"{"elicitation":{"url":{}}}"#, &[InputCapability::Url]),
            (
                r#"{"elicitation":{"form":{},"url":{}}}"#,
                &[InputCapability::Form, InputCapability::Url],
            ),
            (r#"{"sampling":{}}"#, &[InputCapability::Sampling]),
            (
                r#"{"sampling":{"tools":{}}}"#,
                &[InputCapability::Sampling, InputCapability::SamplingWithTools],
            ),
            (r#"{"roots":{"listChanged":true}}"#, &[InputCapability::Roots]),
            (r#"{"roots":true,"sampling":null}"#, &[]),
        ] {
            let declared = object(capabilities);
            let all = [
                InputCapability::Form,
                InputCapability::Url,
                InputCapability::Sampling,
                InputCapability::SamplingWithTools,
                InputCapability::Roots,
            ];
            let covered: Vec<InputCapability> =
                all.into_iter().filter(|need| need.is_declared(&declared)).collect();
            assert_eq!(covered, covers, "{capabilities}");
        }
    }

    #[test]
    fn questions_are_read_for_what_they_need() {
        let of = |method, params| InputCapability::required_by(method, Some(&object(params)));
        assert_eq!(of("elicitation/create", r#"{"mode":"url"}"#).unwrap(), InputCapability::Url);
        assert_eq!(of("elicitation/create", "{}").unwrap(), InputCapability::Form);
        assert_eq!(
            of("sampling/createMessage", r#"{"tools":[]}"#).unwrap(),
            InputCapability::SamplingWithTools
        );
        assert_eq!(
            InputCapability::required_by("roots/list", None).unwrap(),
            InputCapability::Roots
        );
        assert_eq!(of("tools/call", "{}").unwrap_err().code, RpcError::METHOD_NOT_FOUND);
    }

    #[test]
    fn what_is_missing_is_named_for_people_and_for_machines() {
        let error = InputCapability::missing(&[
            InputCapability::Url,
            InputCapability::Sampling,
            InputCapability::Form,
        ]);
        assert_eq!(error.code, RpcError::MISSING_CAPABILITY);
        assert_eq!(
            error.data.unwrap().get(),
            r#"{"requiredCapabilities":{"sampling":{},"elicitation":{"url":{},"form":{}}}}"#
        );
        assert_eq!(
            error.message,
            "this request needs a client that declares `sampling` and `elicitation.url` and `elicitation.form`"
        );
    }
}

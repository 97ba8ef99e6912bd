//! Reads the `resultType` of a modern result without parsing the rest.

use std::fmt;

use serde::{
    Deserialize, Deserializer as _,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ResultType {
    Answer,
    InputRequired,
    Unknown(String),
}

/// Reads the type. A result without one is complete.
pub(super) fn result_type(result: &RawValue) -> ResultType {
    let mut found = None;
    let mut reader = serde_json::Deserializer::from_str(result.get());
    // Stopping at the member leaves the reader inside the object, which it reports as an error; the text is valid
    // JSON.
    reader.deserialize_map(ResultTypeFinder(&mut found)).ok();
    match found.as_deref() {
        None | Some("complete" | "task") => ResultType::Answer,
        Some("input_required") => ResultType::InputRequired,
        Some(other) => ResultType::Unknown(other.to_owned()),
    }
}

struct ResultTypeFinder<'a>(&'a mut Option<String>);

#[derive(Deserialize)]
#[serde(field_identifier)]
enum ResultMember {
    #[serde(rename = "resultType")]
    ResultType,
    #[serde(other)]
    Other,
}

impl<'de> Visitor<'de> for ResultTypeFinder<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a result")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(member) = members.next_key::<ResultMember>()? {
            match member {
                ResultMember::Other => {
                    members.next_value::<IgnoredAny>()?;
                }
                ResultMember::ResultType => {
                    let text: &RawValue = members.next_value()?;
                    let word = serde_json::from_str(text.get());
                    *self.0 = Some(word.unwrap_or_else(|_| text.get().to_owned()));
                    break;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_is_the_top_level_member_and_complete_when_absent() {
        let found = |text: &str| result_type(&RawValue::from_string(text.to_owned()).unwrap());
        assert_eq!(found(r#"{"resultType":"complete","content":[]}"#), ResultType::Answer);
        assert_eq!(found(r#"{"content":[{"resultType":"input_required"}]}"#), ResultType::Answer);
        assert_eq!(
            found(r#"{"a":{"b":1},"resultType":"input_required"}"#),
            ResultType::InputRequired
        );
        assert_eq!(found(r#"{"resultType":"task","taskId":"1"}"#), ResultType::Answer);
        assert_eq!(found("{}"), ResultType::Answer);
        assert_eq!(found("[]"), ResultType::Answer);
        assert_eq!(found(r#"{"resultType":"later"}"#), ResultType::Unknown("later".to_owned()));
        assert_eq!(found(r#"{"resultType":7}"#), ResultType::Unknown("7".to_owned()));
    }
}

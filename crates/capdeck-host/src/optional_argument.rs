//! Optional arguments of the deck's own tools. A client whose model must name every argument sends `null` or an empty
//! text for what it does not mean, and some send a number as text.

use serde::{Deserialize, Deserializer, de::DeserializeOwned, de::Error as _};
use serde_json::Value;

/// True for a value that means "not given".
pub(crate) fn is_absent(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

/// The number that a value is, or that it spells.
pub(crate) fn as_number(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_u64(),
    }
}

/// An optional argument of any type.
pub(crate) fn given<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let value = Value::deserialize(deserializer)?;
    if is_absent(&value) {
        return Ok(None);
    }
    serde_json::from_value(value).map(Some).map_err(D::Error::custom)
}

/// An optional argument that counts something; zero of it is meant by no one.
pub(crate) fn count<'de, D>(deserializer: D) -> Result<Option<u64>, D::Error>
where
    D: Deserializer<'de>,
{
    let value = Value::deserialize(deserializer)?;
    if is_absent(&value) {
        return Ok(None);
    }
    let number = as_number(&value).ok_or_else(|| {
        D::Error::custom(format!("invalid value: {value}, expected a whole number of at least 1"))
    })?;
    Ok(Some(number).filter(|number| *number > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct SomeArguments {
        #[serde(default, deserialize_with = "given")]
        text: Option<String>,
        #[serde(default, deserialize_with = "given")]
        list: Option<Vec<String>>,
        #[serde(default, deserialize_with = "count")]
        limit: Option<u64>,
    }

    #[test]
    fn what_is_not_meant_is_not_given() {
        let read = |text: &str| serde_json::from_str::<SomeArguments>(text);
        let nothing = SomeArguments { text: None, list: None, limit: None };
        for text in [
            "{}",
            r#"{"text":null,"list":null,"limit":null}"#,
            r#"{"text":"","list":" ","limit":""}"#,
            r#"{"limit":0}"#,
            r#"{"limit":"0"}"#,
        ] {
            assert_eq!(read(text).unwrap(), nothing, "{text}");
        }
        let all = read(r#"{"text":"a","list":["b"],"limit":" 7 "}"#).unwrap();
        assert_eq!(all.limit, Some(7));
        assert_eq!((all.text.as_deref(), all.list), (Some("a"), Some(vec!["b".to_owned()])));
        for wrong in [r#"{"text":1}"#, r#"{"list":"b"}"#, r#"{"limit":"many"}"#, r#"{"limit":-1}"#]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}

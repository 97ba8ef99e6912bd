//! Reads the searchable texts out of raw JSON without building values, and passes over the rest.
//!
//! Indexing reads every schema of every tool, so this is where its time goes; and whatever a server
//! puts into a schema must not stop the rest of it from being read.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// The strings of a string or of a list of strings; nothing of anything else.
pub(super) struct TextList<'a>(pub(super) Vec<Cow<'a, str>>);

/// The texts of an input schema's top level.
#[derive(Deserialize)]
pub(super) struct SchemaTexts<'a> {
    #[serde(borrow, default)]
    pub(super) properties: SchemaParameters<'a>,
}

/// Names of the top-level parameters; their descriptions and choices.
#[derive(Default)]
pub(super) struct SchemaParameters<'a> {
    pub(super) names: Vec<Cow<'a, str>>,
    pub(super) texts: Vec<Cow<'a, str>>,
}

/// Description and choices of one parameter.
struct ParameterTexts<'a>(Vec<Cow<'a, str>>);

impl<'de: 'a, 'a> Deserialize<'de> for TextList<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextsVisitor).map(TextList)
    }
}

struct TextsVisitor;

/// Declares that values of other kinds are passed over, whatever a schema puts there.
macro_rules! pass_over {
    ($($method:ident: $type:ty),*) => {
        $(fn $method<E>(self, _: $type) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        })*
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
}

impl<'de> Visitor<'de> for TextsVisitor {
    type Value = Vec<Cow<'de, str>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(vec![Cow::Borrowed(text)])
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(vec![Cow::Owned(text.to_owned())])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(TextList(mut texts)) = items.next_element()? {
            all.append(&mut texts);
        }
        Ok(all)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Vec::new())
    }

    pass_over!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64);
}

impl<'de: 'a, 'a> Deserialize<'de> for SchemaParameters<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ParametersVisitor)
    }
}

struct ParametersVisitor;

impl<'de> Visitor<'de> for ParametersVisitor {
    type Value = SchemaParameters<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut all = SchemaParameters::default();
        while let Some(TextList(mut name)) = members.next_key()? {
            let ParameterTexts(mut texts) = members.next_value()?;
            all.names.append(&mut name);
            all.texts.append(&mut texts);
        }
        Ok(all)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(SchemaParameters::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(SchemaParameters::default())
    }

    pass_over!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64);
}

impl<'de: 'a, 'a> Deserialize<'de> for ParameterTexts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ParameterVisitor).map(ParameterTexts)
    }
}

struct ParameterVisitor;

impl<'de> Visitor<'de> for ParameterVisitor {
    type Value = Vec<Cow<'de, str>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(TextList(key)) = members.next_key()? {
            match key.first().map(AsRef::as_ref) {
                Some("description" | "enum") => {
                    let TextList(mut texts) = members.next_value()?;
                    all.append(&mut texts);
                }
                _ => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(all)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Vec::new())
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    pass_over!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64);
}

//! Reads the searchable texts out of raw JSON without building values, and passes over the rest.
//!
//! Indexing reads every schema of every tool, so this is where its time goes; and whatever text a server
//! puts into a schema must not stop the rest of it from being read.

use std::{borrow::Cow, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// Texts as they are in the JSON.
pub(super) type JsonTexts<'a> = Vec<Cow<'a, str>>;

/// The texts of an input schema's top level.
#[derive(Deserialize)]
pub(super) struct SchemaTexts<'a> {
    #[serde(borrow, default)]
    pub(super) properties: LenientValue<SchemaParameters<'a>>,
}

/// Names of the top-level parameters; their descriptions and choices.
#[derive(Default)]
pub(super) struct SchemaParameters<'a> {
    pub(super) names: JsonTexts<'a>,
    pub(super) texts: JsonTexts<'a>,
}

/// Description and choices of one parameter.
#[derive(Default)]
struct ParameterTexts<'a>(JsonTexts<'a>);

/// A value of any kind.
#[derive(Default)]
pub(super) struct LenientValue<T>(pub(super) T);

/// What is read of a JSON value. Kinds that are not overridden are passed over.
pub(super) trait ReadLenient<'de>: Default {
    fn text(_: Cow<'de, str>) -> Self {
        Self::default()
    }

    fn list<A: SeqAccess<'de>>(mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    fn map<A: MapAccess<'de>>(mut members: A) -> Result<Self, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

impl<'de, T: ReadLenient<'de>> Deserialize<'de> for LenientValue<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LenientVisitor(PhantomData)).map(LenientValue)
    }
}

struct LenientVisitor<T>(PhantomData<T>);

impl<'de, T: ReadLenient<'de>> Visitor<'de> for LenientVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<T, A::Error> {
        T::list(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
        T::map(members)
    }
}

/// The strings of a string or of a list of strings.
impl<'de: 'a, 'a> ReadLenient<'de> for JsonTexts<'a> {
    fn text(text: Cow<'de, str>) -> Self {
        vec![text]
    }

    fn list<A: SeqAccess<'de>>(mut items: A) -> Result<Self, A::Error> {
        let mut all = Vec::new();
        while let Some(LenientValue(mut texts)) = items.next_element::<LenientValue<Self>>()? {
            all.append(&mut texts);
        }
        Ok(all)
    }
}

impl<'de: 'a, 'a> ReadLenient<'de> for SchemaParameters<'a> {
    fn map<A: MapAccess<'de>>(mut members: A) -> Result<Self, A::Error> {
        let mut all = Self::default();
        while let Some(LenientValue(mut name)) =
            members.next_key::<LenientValue<JsonTexts<'a>>>()?
        {
            let LenientValue(ParameterTexts(mut texts)) = members.next_value()?;
            all.names.append(&mut name);
            all.texts.append(&mut texts);
        }
        Ok(all)
    }
}

impl<'de: 'a, 'a> ReadLenient<'de> for ParameterTexts<'a> {
    fn map<A: MapAccess<'de>>(mut members: A) -> Result<Self, A::Error> {
        let mut all = Vec::new();
        while let Some(LenientValue(key)) = members.next_key::<LenientValue<JsonTexts<'a>>>()? {
            if matches!(key.first().map(AsRef::as_ref), Some("description" | "enum")) {
                let LenientValue(mut texts) =
                    members.next_value::<LenientValue<JsonTexts<'a>>>()?;
                all.append(&mut texts);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Self(all))
    }
}

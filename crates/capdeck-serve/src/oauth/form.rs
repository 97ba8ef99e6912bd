//! Parameters of a query or a form. Only list parameters can be repeated.

use std::collections::BTreeMap;

#[derive(Debug, Clone, Default)]
pub(crate) struct Form(BTreeMap<String, Vec<String>>);

/// A repeated parameter that must occur once.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{name}` is repeated")]
pub(crate) struct Repeated {
    pub(crate) name: &'static str,
}

impl Form {
    pub(crate) fn parse(text: &[u8]) -> Self {
        let mut fields: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(text) {
            fields.entry(name.into_owned()).or_default().push(value.into_owned());
        }
        Self(fields)
    }

    /// The value of a parameter; an empty one counts as absent.
    pub(crate) fn one(&self, name: &'static str) -> Result<Option<&str>, Repeated> {
        match self.0.get(name).map(Vec::as_slice) {
            None | Some([]) => Ok(None),
            Some([value]) => Ok(Some(value.as_str()).filter(|value| !value.is_empty())),
            Some(_) => Err(Repeated { name }),
        }
    }

    /// The last value of a parameter with a generated name.
    pub(crate) fn named(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.last().map(String::as_str).filter(|value| !value.is_empty())
    }

    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.get(name).into_iter().flatten().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_repeats_are_seen() {
        let form = Form::parse(b"a=1+2%26&b=&c=x&c=y");
        assert_eq!(form.one("a"), Ok(Some("1 2&")));
        assert_eq!(form.one("b"), Ok(None));
        assert_eq!(form.one("none"), Ok(None));
        assert_eq!(form.one("c"), Err(Repeated { name: "c" }));
        assert_eq!(form.all("c").collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!(form.named("c"), Some("y"));
    }
}

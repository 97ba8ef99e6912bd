//! Parameters of a query or a form. Only list parameters can be repeated.

use std::collections::BTreeMap;

#[derive(Debug, Clone, Default)]
pub(crate) struct OauthForm(BTreeMap<String, Vec<String>>);

/// A repeated parameter that must occur once.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{name}` is repeated")]
pub(crate) struct RepeatedParameter {
    pub(crate) name: &'static str,
}

impl OauthForm {
    pub(crate) fn parse(text: &[u8]) -> Self {
        let mut fields: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(text) {
            fields.entry(name.into_owned()).or_default().push(value.into_owned());
        }
        Self(fields)
    }

    /// The value of a parameter; an empty one counts as absent.
    pub(crate) fn single(&self, name: &'static str) -> Result<Option<&str>, RepeatedParameter> {
        match self.0.get(name).map(Vec::as_slice) {
            None | Some([]) => Ok(None),
            Some([value]) => Ok(Some(value.as_str()).filter(|value| !value.is_empty())),
            Some(_) => Err(RepeatedParameter { name }),
        }
    }

    /// The last value of a parameter with a generated name.
    pub(crate) fn last_value(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.last().map(String::as_str).filter(|value| !value.is_empty())
    }

    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.get(name).into_iter().flatten().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_repeats_are_seen() {
        let form = OauthForm::parse(b"a=1+2%26&b=&c=x&c=y");
        assert_eq!(form.single("a"), Ok(Some("1 2&")));
        assert_eq!(form.single("b"), Ok(None));
        assert_eq!(form.single("none"), Ok(None));
        assert_eq!(form.single("c"), Err(RepeatedParameter { name: "c" }));
        assert_eq!(form.values("c").collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!(form.last_value("c"), Some("y"));
    }
}

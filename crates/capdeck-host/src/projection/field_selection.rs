//! The selected paths as one tree.

use std::collections::BTreeMap;

use capdeck_backend::{CallError, ErrorCode};

#[derive(Debug, Default, Clone)]
pub(super) struct FieldSelection {
    is_whole: bool,
    members: BTreeMap<String, FieldSelection>,
}

impl FieldSelection {
    /// Parses dotted paths. A dot in a name is written `\.`.
    pub(super) fn of(fields: &[String]) -> Result<Self, CallError> {
        let mut root = Self::default();
        for path in fields {
            let mut place = &mut root;
            for name in segments(path) {
                let forbidden = name.is_empty()
                    || name == "*"
                    || name.bytes().all(|byte| byte.is_ascii_digit())
                    || ["__proto__", "prototype", "constructor"].contains(&name.as_str());
                if forbidden {
                    return Err(CallError::new(
                        ErrorCode::RequestInvalid,
                        format!("`{path}` is not a field path"),
                    )
                    .hint("paths are dotted property names, such as `items.id`; arrays are passed through"));
                }
                place = place.members.entry(name).or_default();
            }
            place.is_whole = true;
        }
        Ok(root)
    }

    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    pub(super) fn member(&self, name: &str) -> Option<&Self> {
        self.members.get(name)
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }
}

pub(super) fn segments(path: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut letters = path.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some('.' | '\\')) => {
                let escaped = letters.next();
                names.last_mut().into_iter().for_each(|name| name.extend(escaped));
            }
            ('.', _) => names.push(String::new()),
            _ => names.last_mut().into_iter().for_each(|name| name.push(letter)),
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dot_may_belong_to_a_name() {
        assert_eq!(segments("a.b"), ["a", "b"]);
        assert_eq!(segments(r"a\.b.c"), ["a.b", "c"]);
        assert_eq!(segments(r"a\\.c"), [r"a\", "c"]);
        assert_eq!(segments(r"a\b"), [r"a\b"]);
        assert_eq!(segments(""), [""]);
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for wrong in ["", ".", "a..b", "items.0.id", "items.*", "__proto__", "a.constructor"] {
            assert!(FieldSelection::of(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }
}

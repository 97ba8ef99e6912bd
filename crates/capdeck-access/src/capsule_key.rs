//! How the registry names a capsule.
//!
//! The id of a capsule is made from its name, and a later capsule may have it again. So records name a capsule by its key,
//! `<id>@<uid>`: the id for people, the uid because no other capsule ever has it. To the registry a key is a text that is
//! the same or is not.

/// In the place of a uid: no capsule had this name when it was asked for. No capsule ever has this key.
const NO_UID: &str = "-";

pub fn capsule_key(id: &str, uid: &str) -> String {
    format!("{id}@{uid}")
}

pub fn is_capsule_key(key: &str, id: &str, uid: &str) -> bool {
    !uid.is_empty() && key.rsplit_once('@') == Some((id, uid))
}

/// The key of a capsule that was asked for and does not exist.
pub fn missing_capsule_key(name: &str) -> String {
    capsule_key(name, NO_UID)
}

/// The id in a key, to be shown to people.
pub fn capsule_id_of(key: &str) -> &str {
    key.rsplit_once('@').map_or(key, |(id, _)| id)
}

/// What a text in a record says about a capsule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapsuleKeyText<'a> {
    /// An id alone, as version 0.1 wrote it.
    Id(&'a str),
    /// A name that no capsule had.
    Missing,
    Key(&'a str),
}

impl<'a> CapsuleKeyText<'a> {
    pub fn of(text: &'a str) -> Self {
        match text.rsplit_once('@') {
            None => Self::Id(text),
            Some((_, NO_UID)) => Self::Missing,
            Some(_) => Self::Key(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_an_id_for_people() {
        let key = capsule_key("team", "0192");
        assert_eq!((key.as_str(), capsule_id_of(&key)), ("team@0192", "team"));
        assert_eq!(CapsuleKeyText::of(&key), CapsuleKeyText::Key("team@0192"));
        assert_eq!(CapsuleKeyText::of("team"), CapsuleKeyText::Id("team"));
        assert!(is_capsule_key(&key, "team", "0192"));
        for (key, uid) in [("team", "0192"), ("team", ""), ("team@", ""), ("team@01", "0192")] {
            assert!(!is_capsule_key(key, "team", uid), "{key}");
        }
        // A name that looks like a key is a name all the same.
        let missing = missing_capsule_key("team@0192");
        assert_eq!(CapsuleKeyText::of(&missing), CapsuleKeyText::Missing);
        assert_eq!(capsule_id_of(&missing), "team@0192");
    }
}

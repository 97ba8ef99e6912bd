//! Texts from outside that are kept and shown: short, on one line, without letters that hide or turn others round.

use super::{RegistryError, RegistryResult};

const MAX_NAME_LENGTH: usize = 100;
const MAX_NOTE_LENGTH: usize = 1000;

/// A name for people: 1 to 100 characters.
pub(super) fn name(what: &'static str, text: &str) -> RegistryResult<String> {
    let text = text.trim();
    if text.is_empty() {
        return Err(RegistryError::invalid(what, "it is empty"));
    }
    checked(what, text, MAX_NAME_LENGTH)
}

/// A reason or a note; empty ones are none.
pub(super) fn check_note(what: &'static str, text: Option<&str>) -> RegistryResult<Option<String>> {
    match text.map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => checked(what, text, MAX_NOTE_LENGTH).map(Some),
        None => Ok(None),
    }
}

fn checked(what: &'static str, text: &str, longest: usize) -> RegistryResult<String> {
    if text.chars().count() > longest {
        return Err(RegistryError::invalid(what, format!("at most {longest} characters")));
    }
    if text.contains(is_hiding) {
        return Err(RegistryError::invalid(what, "one line of visible characters"));
    }
    Ok(text.to_owned())
}

/// Control characters, those that reorder or hide what is beside them, and those that show nothing: a name made of them can
/// pass for another one, or for none. The selectors that go with emoji (U+FE00 to U+FE0F) stay, since names have emoji.
fn is_hiding(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2800}'
                | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_visible_line() {
        assert_eq!(name("name", "  Ann's agent ").unwrap(), "Ann's agent");
        for wrong in ["", "  ", "a\nb", "a\u{202e}b", "\u{200b}", "a\u{0}", &"x".repeat(101)] {
            assert!(name("name", wrong).is_err(), "{wrong:?}");
        }
        for unseen in
            ['\u{ad}', '\u{61c}', '\u{115f}', '\u{2800}', '\u{3164}', '\u{ffa0}', '\u{e0041}']
        {
            assert!(name("name", &format!("Claude{unseen}")).is_err(), "{unseen:?}");
        }
        assert_eq!(
            name("name", "Ann's \u{2764}\u{fe0f} agent").unwrap(),
            "Ann's \u{2764}\u{fe0f} agent"
        );
        assert_eq!(check_note("reason", Some("  ")).unwrap(), None);
        assert!(check_note("reason", Some(&"x".repeat(1001))).is_err());
    }
}

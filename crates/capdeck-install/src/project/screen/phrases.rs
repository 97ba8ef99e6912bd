//! Phrases that are found however they are written.

use icu_normalizer::ComposingNormalizerBorrowed;

/// Phrases in their plainest form.
#[derive(Debug, Default)]
pub(super) struct Phrases(Vec<(String, String)>);

impl Phrases {
    /// Blank lines are no phrases.
    pub(super) fn new<'a>(phrases: impl Iterator<Item = &'a str>) -> Self {
        let plain = phrases.map(|phrase| (phrase.trim().to_owned(), plain(phrase)));
        Self(plain.filter(|(_, plain)| !plain.is_empty()).collect())
    }

    /// The first phrase that a text holds.
    pub(super) fn find(&self, text: &str) -> Option<&str> {
        if self.0.is_empty() {
            return None;
        }
        let text = plain(text);
        self.0.iter().find(|(_, phrase)| text.contains(phrase)).map(|(shown, _)| shown.as_str())
    }
}

/// Compatible characters as one, lower case, nothing invisible, one blank between words.
fn plain(text: &str) -> String {
    let normal = ComposingNormalizerBorrowed::new_nfkc().normalize(text);
    let visible: String =
        normal.chars().filter(|c| !is_invisible(*c)).flat_map(char::to_lowercase).collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
        | '\u{180B}'..='\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}'
        | '\u{E0000}'..='\u{E0FFF}')
        || (c.is_control() && !c.is_whitespace())
}

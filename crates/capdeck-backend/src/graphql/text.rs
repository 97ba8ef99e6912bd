//! Shortens descriptions for tool lists.

const MAX_DESCRIPTION_LENGTH: usize = 600;

pub(super) fn shortened(text: &str) -> String {
    let mut words = String::with_capacity(text.len().min(MAX_DESCRIPTION_LENGTH + 4));
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        let room = MAX_DESCRIPTION_LENGTH.saturating_sub(words.len());
        if word.len() > room {
            words.extend(word.chars().take(room / 4));
            words.push('…');
            break;
        }
        words.push_str(word);
    }
    words
}

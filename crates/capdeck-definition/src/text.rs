//! Texts of others made short.

/// A text on one line: white space between words becomes one space each.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first letters of a text, with a mark where more are left out.
pub fn first_letters(text: &str, max_letters: usize) -> String {
    match text.char_indices().nth(max_letters) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_short() {
        assert_eq!(one_line(" a\r\n\tb  c "), "a b c");
        assert_eq!(first_letters("äöü", 3), "äöü");
        assert_eq!(first_letters("äöü", 2), "äö…");
    }
}

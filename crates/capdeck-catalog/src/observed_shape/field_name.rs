//! Tells the names of fields from data that stands in the place of names.

/// The longest name of a field.
const MAX_NAME_LENGTH: usize = 48;

/// True for a key that somebody chose as a name. A map from addresses, identifiers or dates has keys that are data, and
/// data is never kept.
pub(super) fn is_field_name(key: &str) -> bool {
    let is_plain = |letter: char| {
        letter.is_alphanumeric() || matches!(letter, '_' | '-' | '$' | '.' | ' ' | '@')
    };
    let digits = key.chars().filter(char::is_ascii_digit).count();
    let letters = key.chars().filter(|letter| letter.is_alphabetic()).count();
    let words = key.split([' ', '_', '-', '.']).count();
    let is_address = key.chars().skip(1).any(|letter| letter == '@');
    let is_hexadecimal = key.len() >= 12 && key.chars().all(|letter| letter.is_ascii_hexdigit());
    let has_long_part = key.split([' ', '_', '-', '.']).any(|word| word.len() > 24);
    !key.is_empty()
        && key.len() <= MAX_NAME_LENGTH
        && key.chars().all(is_plain)
        && letters > 0
        && digits <= 4
        && words <= 6
        && !is_address
        && !is_hexadecimal
        && !has_long_part
}

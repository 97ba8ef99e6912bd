//! Names as one word of a shell's command line.

/// A name as a shell takes it: bare where it is plain, else quoted. It never becomes more than one word, and it keeps
/// its value: what a terminal would not show is written as bytes in the form `$'…'` of bash and zsh.
pub fn shell_word(name: &str) -> String {
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.to_owned();
    }
    if !name.chars().any(is_unprintable) {
        return format!("'{}'", name.replace('\'', r"'\''"));
    }
    let mut word = "$'".to_owned();
    for letter in name.chars() {
        match letter {
            '\'' | '\\' => word.extend(['\\', letter]),
            _ if is_unprintable(letter) => {
                let mut bytes = [0; 4];
                for byte in letter.encode_utf8(&mut bytes).bytes() {
                    word.push_str(&format!("\\x{byte:02x}"));
                }
            }
            _ => word.push(letter),
        }
    }
    word.push('\'');
    word
}

/// A capability and its tool as the words after `capdeck call`, `capdeck describe` or `capdeck pins approve`.
pub fn tool_words(id: &str, tool: &str) -> String {
    // A word that begins with a hyphen would be read as a flag.
    let mark = if [id, tool].iter().any(|name| name.starts_with('-')) { "-- " } else { "" };
    format!("{mark}{} {}", shell_word(id), shell_word(tool))
}

fn is_plain(letter: char) -> bool {
    letter.is_alphanumeric() || "_-./:@%+,".contains(letter)
}

/// Control characters, and characters that take no room but change how others are read.
pub fn is_unprintable(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}'
                | '\u{feff}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_names_stay_bare() {
        for name in ["get-sum", "files.read", "größe", "2fa"] {
            assert_eq!(shell_word(name), name);
        }
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("a\n\u{202e}'b"), r"$'a\x0a\xe2\x80\xae\'b'");
        assert_eq!(tool_words("x", "-rf"), "-- x -rf");
        assert_eq!(tool_words("x", "a b"), "x 'a b'");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// A shell reads the word back as the name.
        #[test]
        fn a_shell_reads_back_the_name(name in "[^\0]{1,24}") {
            let word = shell_word(&name);
            prop_assert!(!word.chars().any(is_unprintable), "{word}");
            let script = format!("printf '%s' {word}");
            let output = Command::new("bash").args(["-c", &script]).output().unwrap();
            prop_assert_eq!(String::from_utf8(output.stdout).unwrap(), name);
        }
    }
}

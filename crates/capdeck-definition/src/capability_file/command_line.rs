//! A command line taken apart the way a POSIX shell does it, without anything else a shell does.

/// Why a line cannot be taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CommandLineError {
    #[error("has a quote that is not closed")]
    OpenQuote,
    #[error("is empty")]
    Empty,
}

impl CommandLineError {
    pub fn fix(self) -> &'static str {
        match self {
            Self::OpenQuote => "close the quote, or put a backslash before it",
            Self::Empty => "name the program to run",
        }
    }
}

/// Splits a line at blanks outside quotes. Quotes may be in the middle of a word; a backslash takes the next
/// character as it is, inside double quotes only before `"`, `\`, `$` and a backtick.
pub fn split(line: &str) -> Result<Vec<String>, CommandLineError> {
    let mut words = Vec::new();
    // `None` between words, so that `''` is a word and blanks are none.
    let mut word: Option<String> = None;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        Some('\'') => break,
                        Some(inner) => word.push(inner),
                        None => return Err(CommandLineError::OpenQuote),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        Some('"') => break,
                        Some('\\') => {
                            let escaped =
                                characters.next_if(|c| matches!(c, '"' | '\\' | '$' | '`'));
                            word.push(escaped.unwrap_or('\\'));
                        }
                        Some(inner) => word.push(inner),
                        None => return Err(CommandLineError::OpenQuote),
                    }
                }
            }
            // At the end of the line a backslash is literal.
            '\\' => word.get_or_insert_default().push(characters.next().unwrap_or('\\')),
            blank if blank.is_whitespace() => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    if words.is_empty() { Err(CommandLineError::Empty) } else { Ok(words) }
}

/// Whether a line means something that only a shell does: pipes, redirections, several commands, substitutions.
pub fn needs_shell(line: &str) -> bool {
    let (mut single, mut double) = (false, false);
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\'' if !double => single = !single,
            '"' if !single => double = !double,
            '\\' if !single => drop(characters.next()),
            '$' | '`' if !single => return true,
            '|' | '&' | ';' | '<' | '>' | '(' | ')' | '*' | '~' | '\n' if !single && !double => {
                return true;
            }
            _ => {}
        }
    }
    false
}

/// Whether a program is one that reads its arguments as a script.
pub fn is_shell(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program).to_ascii_lowercase();
    let name = name.strip_suffix(".exe").unwrap_or(&name);
    matches!(
        name,
        "sh" | "bash"
            | "dash"
            | "zsh"
            | "ksh"
            | "ash"
            | "fish"
            | "csh"
            | "tcsh"
            | "cmd"
            | "powershell"
            | "pwsh"
    )
}

/// The parts of a word: plain text, and the names inside `{name}`. `${name}` is a variable of the project and stays
/// in the text.
pub fn placeholders(word: &str) -> Vec<WordPart<'_>> {
    let mut parts = Vec::new();
    let (mut text_start, mut at) = (0, 0);
    while let Some(offset) = word.get(at..).and_then(|rest| rest.find('{')) {
        let brace = at + offset;
        at = brace + 1;
        let before = word.get(text_start..brace).unwrap_or_default();
        let after = word.get(at..).unwrap_or_default();
        let Some((name, _)) = after.split_once('}') else { break };
        if before.ends_with('$') {
            at += name.len() + 1;
        } else if is_name(name) {
            parts.push(WordPart::Text(before));
            parts.push(WordPart::Argument(name));
            at += name.len() + 1;
            text_start = at;
        }
    }
    parts.push(WordPart::Text(word.get(text_start..).unwrap_or_default()));
    parts.retain(|part| *part != WordPart::Text(""));
    parts
}

pub fn has_placeholder(word: &str) -> bool {
    placeholders(word).iter().any(|part| matches!(part, WordPart::Argument(_)))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordPart<'a> {
    Text(&'a str),
    /// The name of an argument that is filled in.
    Argument(&'a str),
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::{CommandLineError, WordPart, is_shell, needs_shell, placeholders, split};

    #[test]
    fn placeholders_are_names_in_braces() {
        use WordPart::{Argument, Text};
        let table: [(&str, &[WordPart<'_>]); 7] = [
            ("plain", &[Text("plain")]),
            ("{a}", &[Argument("a")]),
            (
                "--x={a}-{b_1}.",
                &[Text("--x="), Argument("a"), Text("-"), Argument("b_1"), Text(".")],
            ),
            ("{}", &[Text("{}")]),
            ("{1}", &[Text("{1}")]),
            ("{{a}}", &[Text("{"), Argument("a"), Text("}")]),
            ("é${a}{b}$", &[Text("é${a}"), Argument("b"), Text("$")]),
        ];
        for (word, parts) in table {
            assert_eq!(placeholders(word), parts, "{word}");
        }
    }

    #[test]
    fn plain_lines_need_no_shell() {
        for line in ["jq .", "jq '.a | .b'", "sed 's/$x/;/'", r"grep \| x", "a \"b c\""] {
            assert!(!needs_shell(line), "{line}");
        }
        for line in [
            "jq . | head",
            "a > b",
            "a; b",
            "a && b",
            "echo $HOME",
            "echo \"$HOME\"",
            "a `b`",
            "cat *",
        ] {
            assert!(needs_shell(line), "{line}");
        }
    }

    #[test]
    fn shells_are_known_by_name() {
        assert!(["sh", "/bin/bash", "C:\\x\\cmd.EXE", "pwsh"].iter().all(|name| is_shell(name)));
        assert!(!["bashful", "ssh", "python3", ""].iter().any(|name| is_shell(name)));
    }

    #[test]
    fn words_and_quotes() {
        let table: [(&str, &[&str]); 9] = [
            ("a b  c", &["a", "b", "c"]),
            (" npx\t-y\npkg ", &["npx", "-y", "pkg"]),
            ("a 'b c' \"d e\"", &["a", "b c", "d e"]),
            ("a'b'\"c\"d", &["abcd"]),
            ("a '' \"\"", &["a", "", ""]),
            (r"a\ b \'", &["a b", "'"]),
            (r#""a\"b\\c\$d\`e\nf""#, &[r#"a"b\c$d`e\nf"#]),
            (r"'a\b'", &[r"a\b"]),
            ("a | b > c; $(d)", &["a", "|", "b", ">", "c;", "$(d)"]),
        ];
        for (line, words) in table {
            assert_eq!(split(line).unwrap(), words, "{line}");
        }
        assert_eq!(split("a 'b"), Err(CommandLineError::OpenQuote));
        assert_eq!(split("a \"b\\\""), Err(CommandLineError::OpenQuote));
        assert_eq!(split("  "), Err(CommandLineError::Empty));
    }
}

//! The program that a new capability runs: one word, with its arguments apart.

use std::path::Path;

use crate::{
    errors::Failure,
    plain_text::{command_line, one_line},
};

/// Refuses a whole command line, which no file could start, and says how it is typed. A path may hold blanks, where a file is.
pub(super) fn program<'a>(typed: &'a str, here: &Path) -> Result<&'a str, Failure> {
    let mut words = typed.split_whitespace();
    let Some(first) = words.next() else {
        return Err(Failure::usage("--command: there is no program")
            .hint("name one, such as: --command npx"));
    };
    let arguments: Vec<String> = words.map(|word| format!(" --arg {}", quoted(word))).collect();
    if arguments.is_empty() || here.join(typed).is_file() {
        return Ok(typed);
    }
    let message = format!("--command: `{}` is a program with arguments", one_line(typed));
    let hint = format!("give them apart: --command {}{}", quoted(first), arguments.concat());
    Err(Failure::usage(message).hint(hint))
}

/// A word as a shell takes it. `$input.name` is for the file and not for the shell.
fn quoted(word: &str) -> String {
    if word.contains('$') && !word.contains('\'') {
        return format!("'{word}'");
    }
    command_line([word])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_refused_with_how_it_is_typed() {
        let here = tempfile::tempdir().unwrap();
        std::fs::write(here.path().join("my tool"), "").unwrap();
        for sound in ["npx", "/usr/bin/rg", "./a", "my tool"] {
            assert_eq!(program(sound, here.path()).unwrap(), sound);
        }
        for (typed, hint) in [
            ("npx -y @example/notes", "--command npx --arg -y --arg @example/notes"),
            ("rg -- $input.pattern", "--command rg --arg -- --arg '$input.pattern'"),
            (" ", "name one, such as: --command npx"),
        ] {
            let refused = program(typed, here.path()).unwrap_err();
            assert!(refused.hint.as_deref().unwrap().ends_with(hint), "{:?}", refused.hint);
        }
    }
}

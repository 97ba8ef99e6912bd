//! A value typed on the command line: itself, the text of a file, or stdin.

use std::{fs::File, io::Read};

use crate::errors::Failure;

/// Longer values come by mistake, such as a device as `@file`.
const MAX_VALUE_BYTES: u64 = 16 << 20;

/// Where values come from. Stdin can be read once.
#[derive(Debug, Default)]
pub(crate) struct TextSource {
    /// The flag that took stdin.
    stdin_taken_by: Option<String>,
}

impl TextSource {
    /// The text that `typed` stands for: `@FILE` a file's, `-` stdin's, `@@…` a text that begins with `@`.
    pub(crate) fn text(&mut self, flag: &str, typed: &str) -> Result<String, Failure> {
        if let Some(literal) = typed.strip_prefix("@@") {
            return Ok(format!("@{literal}"));
        }
        if let Some(file) = typed.strip_prefix('@') {
            let opened = File::open(file);
            return opened
                .and_then(read_all)
                .map_err(|error| unreadable(flag, &format!("`{file}`"), &error))
                .map_err(|failure| {
                    failure.hint(format!("for the text `{typed}` itself, write `@{typed}`"))
                });
        }
        if typed != "-" {
            return Ok(typed.to_owned());
        }
        if let Some(other) = self.stdin_taken_by.replace(flag.to_owned()) {
            return Err(Failure::usage(format!("{flag}: {other} has read stdin already"))
                .hint("give one of them a file, such as @FILE"));
        }
        read_all(std::io::stdin().lock()).map_err(|error| unreadable(flag, "stdin", &error))
    }
}

fn read_all(reader: impl Read) -> std::io::Result<String> {
    let mut text = String::new();
    reader.take(MAX_VALUE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_VALUE_BYTES {
        return Err(std::io::Error::other("it is longer than 16 MiB"));
    }
    Ok(text)
}

fn unreadable(flag: &str, what: &str, error: &std::io::Error) -> Failure {
    Failure::usage(format!("{flag}: cannot read {what}: {error}"))
}
